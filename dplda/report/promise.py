"""The numbers and key phrases of a report's privacy promise: the guarantee in plain words, for one or all runs.

The sentences around them are in templates/parts.html.j2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dplda.budget import DatasetRecord, RunRecord
from dplda.budget.events import PrivacyStatement, Stage, at_least
from dplda.budget.grants import Grant, Guarantee
from dplda.model import TopicModel
from dplda.report import attack_bounds
from dplda.report.pictures import percent, shown
from dplda.runs.forecast import units_needed

_SEVERAL = 2, 6  # documents of one person, for which the promise is told where documents are the units
_PRIORS = (0.01, 0.1, 0.5)  # prior beliefs of an attacker that the table of beliefs lists
_STRENGTHS = (  # how well membership is protected, by the largest success and belief for which it is said
    (0.6, 0.65, "can hardly be told"),
    (0.75, 0.8, "cannot be told with confidence"),
    (0.9, 0.9, "remains uncertain"),
    (0.9, 0.999, "is protected to a limited degree"),
    (0.9, 1.0, "is protected only weakly"),
    (1.0, 1.0, "is hardly protected"),
)
_REGULAR = re.compile(  # names of units that are English nouns, with a plural in s
    "author|client|customer|employee|guest|household|member|owner|patient|resident|reviewer|sender|speaker|student|"
    "tenant|user|visitor|worker|writer"
)
_IRREGULAR = {"company": "companies", "person": "people"}


@dataclass(frozen=True)
class AllRuns:
    """The `runs` that a ledger has recorded for a dataset, and the `guarantee` for all of them, also in words.

    `unknown` is the number of runs on the page that the ledger has not recorded for this dataset. `grant` is the total
    in force, and `records` are the runs as the ledger shares them (`RunRecord.to_json`), if the ledger's runs were
    given. `batches` is the declared most batches of a series in which one document is.

    Only runs under the dataset's own name count: which other names share its documents is an exact fact about these
    (docs/privacy.md, section 9.5).
    """

    runs: int
    guarantee: Guarantee
    described: str
    unknown: int = 0
    grant: Grant | None = None
    records: tuple[Mapping[str, Any], ...] = ()
    batches: int = 1


@dataclass(frozen=True)
class Unit:
    """A privacy unit: its `name`; its singular (`one`), its plural (`many`) and its definition in prose."""

    name: str
    one: str
    many: str
    defined: str = ""


@dataclass(frozen=True)
class Promise:
    """A bound on guesses about one unit: `strength` in words, `success` in percent, and the epsilon and delta.

    `belief` (percent) bounds how sure an attacker who starts from even odds can become, except with a probability of at
    most `surer`. `several` bounds guesses about groups of units, by their size.
    """

    strength: str
    success: str
    belief: str
    surer: str
    several: Mapping[int, str]
    epsilon: str
    delta: str

    @classmethod
    def of(cls, success: float, epsilon: float, delta: float, mu: float, failures: float) -> Promise:
        """The promise of a bound on guesses, `success`, and of (`epsilon`, `delta`).

        `mu` and `failures` are what `attack_bounds.noise` returns.
        """
        belief = attack_bounds.belief_at_most(0.5, epsilon, delta)
        return cls(
            strength=next(words for right, sure, words in _STRENGTHS if success <= right and belief <= sure),
            success=percent(success, upwards=True),
            belief=percent(belief, upwards=True),
            surer=at_least(attack_bounds.surer_at_most(epsilon, mu, failures)),
            several=for_several(mu, failures),
            epsilon=at_least(epsilon),
            delta=f"{delta:g}",
        )


def for_several(mu: float, failures: float) -> dict[int, str]:
    """Bounds on guesses about groups of units, in percent by their size."""
    return {n: percent(attack_bounds.success_for_several(n, mu, failures), upwards=True) for n in _SEVERAL}


def all_runs(
    records: Sequence[DatasetRecord], models: Sequence[TopicModel], runs: Iterable[RunRecord] = ()
) -> dict[str, AllRuns]:
    """What a ledger's `records` of datasets say of all runs on each dataset, by the dataset's name.

    Only datasets count for which a run in `models` is recorded. `runs`, the ledger's runs, are only for
    `AllRuns.records`, which is empty without them.
    """
    shared: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        shared.setdefault(run.dataset, []).append(run.to_json())
    shown_runs: dict[str, set[str]] = {}
    for model in models:
        shown_runs.setdefault(str(model.parameters.get("dataset", "")), set()).add(str(model.parameters.get("run")))
    return {
        record.name: AllRuns(
            len(record.runs),
            record.guaranteed_alone,
            record.guaranteed_alone.described(record.grant),
            unknown=len(shown_runs[record.name] - set(record.runs)),
            grant=record.grant,
            records=tuple(shared.get(record.name, ())),
            batches=record.batches_declared,
        )
        for record in records
        if shown_runs.get(record.name, set()) & set(record.runs)
    }


def unit_of(privacy: PrivacyStatement) -> Unit:
    """The unit of `privacy` in prose. Names other than common nouns are quoted, as they may be in any language."""
    name = shown(privacy.unit)
    if name == "document":
        return Unit(name, "document", "documents")
    defined = f"all documents with the same value of “{name}”"
    noun = name.casefold()
    if noun in _IRREGULAR or _REGULAR.fullmatch(noun):
        return Unit(name, noun, _IRREGULAR.get(noun, f"{noun}s"), defined)
    return Unit(name, f"“{name}”", f"different values of “{name}”", defined)


def of_each(statements: Sequence[PrivacyStatement]) -> Promise:
    """The promise that each of these runs keeps by itself."""
    success = max(attack_bounds.success_at_most(privacy) for privacy in statements)
    epsilon = max(privacy.epsilon for privacy in statements)
    delta = max(privacy.delta for privacy in statements)
    mus, failures = zip(*map(attack_bounds.noise, statements), strict=True)
    return Promise.of(success, epsilon, delta, max(mus), max(failures))


def spent(statements: Sequence[PrivacyStatement]) -> dict[str, str] | None:
    """The total that several runs on the same data spent; None for a single run."""
    if len(statements) < 2:
        return None
    epsilon, delta = attack_bounds.spent_together(statements)
    return {"epsilon": at_least(epsilon), "delta": f"{delta:g}"}


def of_all(together: AllRuns | None) -> Promise | None:
    """The promise of all runs together if several are recorded and a guarantee fixed beforehand holds, else None."""
    return of_total(together) if together is not None and together.runs > 1 else None


def of_total(together: AllRuns | None) -> Promise | None:
    """The promise of all runs that a dataset's total allows; None unless it was fixed beforehand and is finite."""
    if together is None or together.unknown or not together.guarantee.holds:
        return None
    epsilon, delta = together.guarantee.largest_total
    if math.isinf(epsilon):
        return None
    noise = attack_bounds.noise_under_filter(epsilon, delta)
    return Promise.of(attack_bounds.success_under_filter(epsilon, delta), epsilon, delta, *noise)


def beliefs(privacy: PrivacyStatement, together: AllRuns | None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of the table of beliefs: after this run, and after all recorded runs if they are several."""
    bounds = [("this run", privacy.epsilon, privacy.delta)]
    if together is not None and of_all(together) is not None:
        bounds.append((f"all {together.runs} runs", *together.guarantee.largest_total))
    columns = ("believed before", *(f"can believe after {what}, at most" for what, _, _ in bounds))
    rows = []
    for prior in _PRIORS:
        after = (attack_bounds.belief_at_most(prior, epsilon, delta) for _, epsilon, delta in bounds)
        rows.append((f"{prior:.0%}", *(percent(most, upwards=True) for most in after)))
    return columns, rows


def size(model: TopicModel) -> tuple[str, str]:
    """How many units a run is about, such as ``about 4,067 customers``, and why the number is inexact.

    Both are empty if the number is not known.
    """
    documents, unit = model.parameters.get("documents"), unit_of(model.privacy)
    if not isinstance(documents, int) or isinstance(documents, bool):
        return "", ""
    counted = f"{documents:,} {unit.one if documents == 1 else unit.many}"
    if not model.privacy.sound:
        return counted, ""
    stages = {event.stage: event for event in model.privacy.events}
    if Stage.SIZE_LOWER_BOUND in stages:
        return f"at least about {counted}", "The number is inexact on purpose."
    event = stages.get(Stage.SIZE)
    if event is None or event.noise_multiplier is None:
        return f"about {counted}", "The number is inexact on purpose."
    spread = math.ceil(2 * event.noise_multiplier)  # two standard deviations: a unit changes the size by 1 at most
    return f"about {counted}", f"The number is inexact on purpose, mostly by less than {spread:,}."


def rarest(privacy: PrivacyStatement) -> str:
    """About how many units must use a word for it to be on the page, such as ``260 customers``; empty if not known."""
    needed = units_needed(privacy)
    return "" if needed is None else f"{float(f'{needed:.2g}'):,.0f} {unit_of(privacy).many}"


def settings_name(privacy: PrivacyStatement) -> str:
    """The label of the number of units in a run's settings, such as ``number of customers (inexact on purpose)``."""
    unit = unit_of(privacy)
    return f"number of {unit.many}" + (" (inexact on purpose)" if privacy.sound else "")
