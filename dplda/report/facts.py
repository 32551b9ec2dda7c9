"""Facts of a run for auditors: who is protected, from whom, how much, for how long, and what is not protected.

The report and the papers (registry entry, checklist, assessment) say each fact in the sentences of this module, whose
wording is in ``templates/facts.txt.j2``. All of it follows from released numbers, public settings and what the ledger
shares of its runs. No fact holds a word of a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any, Self

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from dplda.base.config import ADJACENCIES, MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.base.software import describe, software_of
from dplda.budget import RunRecord
from dplda.budget.accountant import capacity, zcdp
from dplda.budget.events import EXACT, GAUSSIAN, GAUSSIAN_THRESHOLD, PURE, PrivacyStatement, at_least
from dplda.budget.ledger_records import released_in_words
from dplda.learning.settings import DEFAULTS, LISTED
from dplda.model import TopicModel
from dplda.model.run_facts import PriorFacts, RunFacts
from dplda.report import promise
from dplda.report.pictures import number, percent, shown
from dplda.report.promise import AllRuns, Unit, unit_of

TITLES = {  # of the questions, in the order in which the report answers them
    "protected": "Who is protected",
    "neighbours": "Neighbouring collections",
    "domain": "Data domain",
    "against": "From whom",
    "strength": "How much",
    "total": "The grant: the total of all runs",
    "duration": "For how long",
    "composition": "Composition",
    "released": "What this run released",
    "others": "What else was released",
    "unprotected": "What is not protected",
    "trust": "Trust model",
    "actors": "Actors",
    "data": "Static or growing data, refresh of the budget",
    "reading": "Reading the documents",
    "chosen": "How epsilon, topics and words were chosen",
    "tuning": "Whether tuning was charged",
    "mechanisms": "Mechanisms",
    "implementation": "Implementation",
    "side_channels": "Side channels",
    "post_processing": "Post-processing",
    "rare": "Bias against rare topics",
    "made_by": "Software and source of noise",
    "verify": "How to verify",
}
_READING = ("language", "tokenizer", "lemmas", "ngrams", "stopwords")  # how text became words
_MECHANISMS = {
    GAUSSIAN: "discrete Gaussian noise",
    GAUSSIAN_THRESHOLD: "discrete Gaussian noise, and a threshold on the noisy value",
    PURE: "a pure differentially private choice",
    EXACT: "exact, without noise",
}
_MOST_LISTED = 20  # maximum number of other runs that are listed by name; more are counted


@dataclass(frozen=True)
class Quoted:
    """The guarantee to quote: `epsilon`, `delta`, `rho` (zCDP), the odds of a guess, and which runs it `covers`."""

    epsilon: float
    delta: float
    rho: float
    odds: str
    covers: str
    failures: float
    """The sum of the deltas of single releases, which is a part of delta."""


@dataclass(frozen=True)
class RunWithoutTopics:
    """A run that released answers and no topics, such as counts, with what a `TopicModel` tells of a run."""

    privacy: PrivacyStatement
    """The guarantee."""
    facts: RunFacts
    """Its public settings; ``other_answers`` are all that it was asked."""

    @classmethod
    def of(cls, run: RunRecord) -> Self:
        """Read a `run` from the ledger that released something. Raises `InputError` for one that did not."""
        if run.result is None:
            raise InputError(f"run {run.id} released nothing ({run.status_in_words}).")
        asked = run.parameters.get("other_answers") or [released_in_words(run.parameters)]
        if any(question["kind"] == "fit" for question in run.parameters.get("questions", ())):
            asked = ["topics", *asked]  # which were not found
        facts = RunFacts(
            run=run.id,
            dataset=run.dataset,
            series=None if run.batch is None else run.dataset,
            batch=run.batch,
            software=software_of(run.parameters),
            epsilon=run.epsilon,
            delta=run.delta,
            adjacency=run.adjacency,
            other_answers=tuple(asked),
        )
        return cls(PrivacyStatement.from_json(dict(run.result["privacy"])), facts)


@dataclass(frozen=True)
class Facts:
    """The facts of a run of `model`, and of all runs `together` that a ledger has recorded, if it knows the run.

    ``facts[key]`` are the sentences that answer the question with that key of `TITLES`.
    """

    model: TopicModel | RunWithoutTopics
    together: AllRuns | None = None

    def __getitem__(self, key: str) -> tuple[str, ...]:
        if key not in TITLES:
            raise KeyError(key)
        paragraphs = getattr(_wording().module, key)(self).split("\n\n")
        return tuple(" ".join(each.split()) for each in paragraphs if each.strip())

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the run."""
        return self.model.privacy

    @property
    def recorded(self) -> RunFacts:
        """Public settings and released facts of the run."""
        return self.model.facts

    @property
    def topics(self) -> TopicModel | None:
        """The topics of the run; None if it released answers alone."""
        return self.model if isinstance(self.model, TopicModel) else None

    @property
    def other_answers(self) -> list[str]:
        """What the run was asked besides topics, in words; empty if it was a fit alone."""
        return [shown(each) for each in self.recorded.other_answers or ()]

    @property
    def topics_share(self) -> str:
        """The share of the run's budget that its topics had, in percent."""
        return percent(1.0 if self.recorded.budget_share is None else self.recorded.budget_share)

    @property
    def title(self) -> str:
        """The title of a paper, unless another is given."""
        if self.topics is None:
            return f"Answers about {self.dataset}"
        return f"{'Topics and answers about' if self.other_answers else 'Topics of'} {self.dataset}"

    @property
    def run(self) -> str:
        """The id of the run."""
        return shown(self.recorded.run or "without a name")

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return shown(self.recorded.dataset or "without a name")

    @property
    def today(self) -> str:
        """The day on which these facts are told, in ISO 8601: the ledger may record further runs."""
        return date.today().isoformat()

    @property
    def under(self) -> str:
        """The names under which the runs are recorded that count together, in words."""
        return "" if self.together is None else self.together.under(self.recorded.dataset or "without a name")

    @property
    def other_names(self) -> str:
        """What runs on the same documents that are not counted may be recorded under."""
        return "yet other names" if self.together is not None and self.together.others else "other names"

    @property
    def unit(self) -> Unit:
        """The privacy unit in prose; `Unit.defined` is empty if the unit is the document."""
        return unit_of(self.privacy)

    @property
    def replaced(self) -> bool:
        """Whether neighbouring collections differ by a unit that is replaced."""
        return self.privacy.adjacency != ADJACENCIES[0]

    @property
    def documents(self) -> int | None:
        """The released, noisy number of units; None if it was not released."""
        return self.recorded.documents

    @property
    def size(self) -> str:
        """The released number of units in words; empty if it was not released."""
        return promise.size(self.topics)[0] if self.topics is not None else ""

    @property
    def rarest(self) -> str:
        """The number of units that use a word with an even chance to be released; empty if none was chosen privately.

        Of words that were compared with a public list (`listed`), this holds for those outside the list, and in a
        series for words that the run chose itself (`RunFacts.has_words_of_series`).
        """
        return promise.rarest(self.privacy)

    @property
    def too_frequent(self) -> bool:
        """Whether words outside the public list may be left out as too frequent (`promise.too_frequent`)."""
        return promise.too_frequent(self.privacy, self.recorded)

    @property
    def listed(self) -> bool:
        """Whether the run compared its words with a public list of the language."""
        return self.recorded.words == LISTED

    @property
    def series(self) -> str:
        """The series that the run belongs to; empty if there is none."""
        return shown(self.recorded.series or "")

    @property
    def batch(self) -> str:
        """The batch of the series that the documents belong to."""
        return shown(self.recorded.batch or "")

    @property
    def many_releases(self) -> bool:
        """Whether the dataset has, or is to have, more releases than this run."""
        return bool(self.series) or (self.together is not None and self.together.runs > 1)

    @property
    def prior(self) -> PriorFacts | None:
        """What the run recorded about the prior topics that it tested; None if it tested none."""
        return None if self.recorded.prior_used is None else self.recorded.prior

    @property
    def seed_words(self) -> str:
        """The seed words of guided topics, by topic; empty without any."""
        given, unseen = self.recorded.seed_words or {}, self.recorded.unseen_seeds or ()
        return "; ".join(
            f"{shown(name)} ({', '.join(map(shown, words))}{'; guided no topic' if name in unseen else ''})"
            for name, words in given.items()
        )

    @property
    def tokenization(self) -> str:
        """How text became words, as settings."""
        found = {name: value for name in _READING if (value := getattr(self.recorded, name)) is not None}
        plain = {name: {True: "yes", False: "no"}.get(value, value) for name, value in found.items()}
        return ", ".join(f"{name} {shown(value)}" for name, value in plain.items())

    @property
    def of_batches(self) -> str:
        """For which documents of a series the total holds, in words; empty unless batches are charged in parallel."""
        most = self.together.guarantee.batches if self.together else int(bool(self.series) and not self.unit.defined)
        if not most:
            return ""
        held = "one batch" if most == 1 else f"{most} batches at most"
        return (
            f"What all batches of the series promise together holds for a document that is in {held}. That none is in "
            "more rests on the word of whoever holds the ledger."
        )

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter of the run."""
        return promise.noise(self.privacy)[0]

    @property
    def failures(self) -> float:
        """The sum of the deltas of the run's events (`promise.noise`)."""
        return promise.noise(self.privacy)[1]

    @property
    def several(self) -> dict[int, str]:
        """Bounds on guesses about all documents of one person, by their number; empty if persons are the units."""
        return promise.for_several(self.mu, self.failures) if self.privacy.sound and not self.unit.defined else {}

    @cached_property
    def of_run(self) -> Quoted:
        """The guarantee of this run alone."""
        odds = percent(promise.success_at_most(self.privacy), upwards=True)
        rho = zcdp(self.privacy.events)
        return Quoted(self.privacy.epsilon, self.privacy.delta, rho, odds, "this run alone", self.failures)

    @cached_property
    def of_total(self) -> Quoted | None:
        """The guarantee of all runs that the grant allows; None unless it was finite and fixed before the first run."""
        kept = promise.of_total(self.together)
        if self.together is None or kept is None:
            return None
        epsilon, delta = self.together.guarantee.largest_total
        limit, covers = capacity(epsilon, delta), f"the total of all runs recorded under {self.under}"
        return Quoted(epsilon, delta, limit.mu_squared / 2, kept.success, covers, limit.delta)

    @property
    def quoted(self) -> Quoted:
        """The guarantee to quote: the total of all runs, if one holds, otherwise that of this run."""
        return self.of_total or self.of_run

    @property
    def other_runs(self) -> list[str]:
        """The other recorded runs of the dataset, in words."""
        records = () if self.together is None else self.together.records
        others = [record for record in records if record["id"] != self.recorded.run]
        more = [f"{len(others) - _MOST_LISTED} more, which `dplda runs` lists."] * (len(others) > _MOST_LISTED)
        return [_run_in_words(record) for record in others[:_MOST_LISTED]] + more

    @property
    def software(self) -> Mapping[str, Any]:
        """The software that made the run; empty if it was not recorded."""
        return self.recorded.software or {}

    @property
    def libraries(self) -> str:
        """Names and versions of the libraries that decide what the run released."""
        known = self.software.get("libraries")
        each = known.items() if isinstance(known, dict) else ()
        return shown(", ".join(f"{name} {about.get('version')}" for name, about in each if isinstance(about, dict)))


def _run_in_words(record: Mapping[str, Any]) -> str:
    """Describe a run as the ledger shares it: ``Run notes-abc: topics, epsilon 2, delta 1e-06, done.``"""
    guarantee = f"epsilon {record['epsilon']:g}, delta {record['delta']:g}" if record["sound"] else "NOT PRIVATE"
    asked = "asked for " * ("questions" in record["parameters"])  # which of them have an answer is not shared here
    what = f"{asked}{released_in_words(record['parameters'])}"
    return shown(f"Run {record['id']}: {what}, {guarantee}, {record['status']}.")


@cache
def _wording() -> Template:
    environment = Environment(  # plain text, which the page escapes
        loader=PackageLoader("dplda.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"shown": shown, "at_least": at_least, "number": number, "describe": describe}
    environment.globals |= {"mechanism_names": _MECHANISMS, "shortest": MINIMUM_LENGTH, "usual": DEFAULTS.privacy}
    return environment.get_template("facts.txt.j2")
