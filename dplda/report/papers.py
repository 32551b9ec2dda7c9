"""Papers about one private run for those who must approve it, from its facts and the deployer's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dplda.errors import InputError
from dplda.model import TopicModel
from dplda.report import registry
from dplda.report.answers import Answers, Question
from dplda.report.facts import Facts
from dplda.report.promise import AllRuns


@dataclass(frozen=True)
class Paper:
    """A kind of paper: the `file` that it is written to by default, what it asks the deployer, and how it is made."""

    file: str
    asks: Sequence[str]
    make: Callable[[Facts, Answers, str], str]


PAPERS = {
    "registry": Paper("registry.yaml", registry.ASKED, registry.registry_entry),
}


def write_paper(
    kind: str, model: TopicModel, together: AllRuns | None = None, answers: Answers | None = None, title: str = ""
) -> tuple[str, list[Question]]:
    """The text of the paper of that `kind` about `model`, and the questions that its deployer has yet to answer.

    `together` is what a ledger recorded of all runs on the dataset (`all_runs`). The paper holds released numbers,
    public settings and answers only. Raises `InputError` for a run without a privacy guarantee.
    """
    if not model.privacy.sound:
        raise InputError(
            f"run {model.parameters.get('run', 'without a name')} has no privacy guarantee, which such a paper would "
            "claim. Give a private run; `dplda runs` lists which runs are private."
        )
    paper, given = PAPERS[kind], answers or Answers()
    return paper.make(Facts(model, together), given, title), given.missing(paper.asks)
