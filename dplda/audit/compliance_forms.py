"""Forms about one private run for those who must approve it, from its facts and the deployer's answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dplda.audit import checklist, deployments_registry
from dplda.audit.answers import QUESTIONS, Answers, Question
from dplda.base.characters import without_markup
from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.report.facts import Facts, RunWithoutTopics
from dplda.report.pictures import shown
from dplda.report.promise import AllRuns

_ASSESSED = (  # in the order of the assessment
    *("curators", "contact", "authors", "purpose", "collection", "data_categories", "data_subjects", "preparation"),
    *("audience", "recipients", "publication_date", "raw_data", "trust", "retention", "legal_basis", "necessity"),
    *("epsilon_choice", "settings_choice", "accuracy", "rights", "other_releases", "later_runs", "small_groups"),
    *("other_risks", "other_measures", "consultation", "decision"),
)


@dataclass(frozen=True)
class Form:
    """A kind of form."""

    asks: Sequence[str]
    """The names of the questions that it asks the deployer."""
    make: Callable[[Facts, Answers, str], str]
    """Writes the form, given its title."""


def write_form(
    kind: str,
    model: TopicModel | RunWithoutTopics,
    together: AllRuns | None = None,
    answers: Answers | None = None,
    title: str = "",
) -> tuple[str, list[Question]]:
    """Write a form of this `kind` about `model`; also return the questions that its deployer has not answered yet.

    `together` is what a ledger recorded of all runs on the dataset (`all_runs`). A form contains released numbers,
    public settings and answers only. Raises `InputError` for a run without a privacy guarantee.
    """
    if not model.privacy.sound:
        raise InputError(
            f"run {model.facts.run or 'without a name'} has no privacy guarantee, which such a paper would "
            "claim. Give a private run; `dplda runs` lists which runs are private."
        )
    form, given = FORMS[kind], answers or Answers()
    return form.make(Facts(model, together), given, title), given.missing(form.asks)


def _checklist(facts: Facts, answers: Answers, title: str) -> str:
    points = checklist.judge_points(facts, answers)
    more = {"points": points, "counts": checklist.counts(points), "sections": checklist.SECTIONS}
    return _markdown("checklist", facts, answers, title, checklist.ASKED, **more)


def _assessment(facts: Facts, answers: Answers, title: str) -> str:
    return _markdown("assessment", facts, answers, title, _ASSESSED)


def _markdown(template: str, facts: Facts, answers: Answers, title: str, asks: Sequence[str], **more: Any) -> str:
    """Write a form as Markdown that is readable as it is: no HTML, one empty line between paragraphs."""
    environment = Environment(
        loader=PackageLoader("dplda.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: without_markup(value) if isinstance(value, str) else value,
    )
    environment.filters["quoted"] = lambda text: "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    environment.globals["questions"] = QUESTIONS
    text = environment.get_template(f"{template}.md.j2").render(
        facts=facts,
        answers=answers,
        missing=answers.missing(asks),
        title=shown(title) or facts.title,
        **more,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


FORMS = {
    "registry": Form(deployments_registry.ASKED, deployments_registry.registry_entry),
    "checklist": Form(checklist.ASKED, _checklist),
    "assessment": Form(_ASSESSED, _assessment),
}
