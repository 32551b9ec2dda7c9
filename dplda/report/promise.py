"""What a privacy statement promises: bounds on attacks, and the promise of one run or of all runs in plain words.

The bounds come first; `Promise` and the functions after it put them into the numbers and phrases that a report shows.
The sentences around these are in templates/parts.html.j2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dplda.base.config import DEFAULT_GRANT
from dplda.budget import DatasetRecord, RunRecord
from dplda.budget.accountant import NOTHING, capacity, cost, gaussian_epsilon
from dplda.budget.events import Event, PrivacyStatement, Stage, at_least, base_of
from dplda.budget.guarantees import Grant, Guarantee
from dplda.learning.model_size import USUAL_LIMIT
from dplda.learning.settings import LISTED
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts
from dplda.report.pictures import percent, shown
from dplda.runs.forecast import units_needed
from dplda.runs.released_table import Tables

_RARE = 0.01  # belief bounds hold for tests that are positive for at least this share of units; delta covers rarer ones
_SEVERAL = 2, 6  # documents of one person, for which the promise is told where documents are the units
_POINTS = 100_001  # at which success is bounded; more make the bound closer, by 2e-5 at most
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
class StageShare:
    """The shares of the run's mu^2 (`noise`) that a stage takes."""

    stage: str
    releases: float
    """The share of the stage's releases."""
    clip: float
    """The share of choosing their clipping norm."""
    count: int
    """The number of releases."""
    multiplier: float | None
    """The least noise of a release over its sensitivity; None without noise."""


def belief_at_most(prior: float, epsilon: float, delta: float) -> float:
    """Bound an attacker's belief that a unit is in the data, after evidence from the release.

    `prior` is the probability of this before the evidence, and `epsilon` is in nats. The bound is only for evidence
    with a probability t of at least `_RARE` (0.01) if the unit is present; rarer evidence might come from delta alone.
    As t <= e^epsilon P(evidence | unit absent) + delta, Bayes' rule gives the bound. It is 1 if `delta` >= `_RARE`.
    """
    if math.isinf(epsilon) or delta >= _RARE:
        return 1.0
    odds = prior / (1 - prior) * math.exp(min(epsilon, 700.0)) / (1 - delta / _RARE)
    return odds / (1 + odds)


def success_at_most(statement: PrivacyStatement) -> float:
    """Bound an attacker's probability of guessing membership, with prior probability 1/2.

    The smaller of (e^epsilon + delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015) and, with the mu and the sum
    of deltas that `noise` returns, Phi(mu / 2) (Dong, Roth and Su 2022) plus half of that sum.
    """
    if math.isinf(statement.epsilon):
        return 1.0
    return _success(statement.epsilon, statement.delta, *noise(statement))


def success_under_filter(epsilon: float, delta: float) -> float:
    """Bound success as `success_at_most` for all runs together of a dataset whose grant is (epsilon, delta)."""
    return 1.0 if math.isinf(epsilon) else _success(epsilon, delta, *noise_under_filter(epsilon, delta))


def noise_under_filter(epsilon: float, delta: float) -> tuple[float, float]:
    """Return `noise` for all runs together of a dataset whose grant is (epsilon, delta), with a finite epsilon.

    The ledger admits runs up to a limit on the sum of their mu^2 and a limit on the sum of their deltas, which follow
    from the grant (`accountant.capacity`; docs/privacy.md, sections 4.3 and 9.5). Returns mu and the sum of deltas at
    these limits.
    """
    limit = capacity(epsilon, delta)
    return math.sqrt(limit.mu_squared), limit.delta


def weaknesses(epsilon: float, delta: float, success: float, n_units: float | None = None) -> list[str]:
    """Say in words what (`epsilon`, `delta`) leaves open if either is unusually large; an empty list if neither is.

    `success` is the bound on guesses, such as `success_at_most`. `n_units` is about the number of units; if it is None,
    delta is compared with that of the grant that every dataset has first.
    """
    usual_epsilon, usual_delta = DEFAULT_GRANT
    found = []
    if epsilon > usual_epsilon:
        found.append(
            f"Epsilon {at_least(epsilon)} promises little: an attacker who knows all other data may tell, in up to "
            f"{percent(success, upwards=True)} of cases, whether someone is in the data (a coin toss: 50%). Up to "
            f"{usual_epsilon:g} is usual."
        )
    if delta > (usual_delta if n_units is None else 1 / max(n_units, 1.0)):
        than = f"with more than {1 / delta:,.0f} units" if n_units is None else f"with about {n_units:,.0f} units"
        found.append(
            f"Delta {delta:g} is large {than}: this guarantee would even allow publishing one of them, drawn at "
            "random. Choose less than one over the number of units."
        )
    return found


def success_for_several(units: int, mu: float, failures: float) -> float:
    """Bound success as `success_at_most` for a group of `units` that are all in the data or not at all.

    `mu` and `failures`, a sum of deltas, are what `noise` returns. One gets from data without the group to data with it
    in steps that each add one unit. A step raises a detection rate x to at most Phi(Phi^-1(x) + mu) + failures (Dong,
    Roth and Su 2022, for Gaussian noise), which grows with x. So all steps together raise it to at most some h(x), and
    a guess from even odds is right in (1 + h(x) - x) / 2 of cases. Between two points a < b that is at most
    (1 + h(b) - a) / 2, of which the largest of all neighbouring points is returned.
    """
    points = np.concatenate(([0.0], ndtr(np.linspace(-8.5, 8.5, _POINTS)), [1.0]))
    raised = points
    for _ in range(units):
        raised = np.minimum(ndtr(ndtri(raised) + mu) + failures, 1.0)
    return float(min((1.0 + (raised[1:] - points[:-1]).max()) / 2, 1.0))


def surer_at_most(epsilon: float, mu: float, failures: float) -> float:
    """Bound the probability of a release more than e^`epsilon` times as likely with a unit as without it.

    The bound holds whether or not the unit is there, because the log likelihood ratio of a Gaussian mechanism with `mu`
    has a mean of at most mu^2 / 2, and the standard deviation mu (docs/privacy.md, section 4.1).
    """
    return float(min(ndtr(mu / 2 - epsilon / mu) + failures, 1.0)) if mu > 0 else failures


def _success(epsilon: float, delta: float, mu: float, failures: float) -> float:
    even = 1 - (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    return float(min(even, ndtr(mu / 2) + failures / 2))


def noise(statement: PrivacyStatement) -> tuple[float, float]:
    """Return the run's GDP parameter mu, and the sum of the deltas of its events.

    mu is the root of the sum of the events' mu^2, and infinite without noise.
    """
    spent = cost(statement.events)
    return math.sqrt(spent.mu_squared), spent.delta


def detected_at_most(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Bound the detection rate of any test at each rate of `false_alarms` (docs/privacy.md, 4.1).

    The minimum of `epsilon_curve` and `gaussian_curve`, because both bounds hold.
    """
    return np.minimum(epsilon_curve(false_alarms, statement), gaussian_curve(false_alarms, statement))


def epsilon_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Bound the detection rate by (epsilon, delta) alone (Kairouz, Oh and Viswanath 2015, Theorem 2.4)."""
    if math.isinf(statement.epsilon):
        return np.ones_like(false_alarms)
    grown = math.exp(min(statement.epsilon, 700.0))
    few = grown * false_alarms + statement.delta
    many = 1 - (1 - false_alarms - statement.delta) / grown
    return np.asarray(np.clip(np.minimum(few, many), false_alarms, 1.0))


def gaussian_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Bound the detection rate by the run's Gaussian noise: Phi(Phi^-1(rate) + mu) plus the deltas.

    Dong, Roth and Su 2022, section 2.2; an event with a pure epsilon guarantee (delta 0) counts as a Gaussian mechanism
    that reveals at least as much.
    """
    mu, failures = noise(statement)
    if math.isinf(mu):
        return np.ones_like(false_alarms)
    return np.asarray(np.minimum(ndtr(ndtri(false_alarms) + mu) + failures, 1.0))


def spent_together(statements: Sequence[PrivacyStatement]) -> tuple[float, float]:
    """Return (epsilon, delta) that several sound runs on the same units spent together, at the sum of their deltas.

    The guarantee is not what was spent but the dataset's grant (docs/privacy.md, rule 7).
    """
    spent = sum((cost(statement.events) for statement in statements), NOTHING)
    delta = math.fsum(statement.delta for statement in statements)
    return gaussian_epsilon(math.sqrt(spent.mu_squared), delta - spent.delta), delta


def stage_shares(events: tuple[Event, ...]) -> list[StageShare]:
    """Divide mu^2 among the stages, in the order of the events; empty if it is not finite."""
    total = cost(events).mu_squared
    if not 0 < total < math.inf:
        return []
    shares = []
    for stage in dict.fromkeys(base_of(event.stage) for event in events):
        releases = [event for event in events if event.stage == stage]
        clips = [event for event in events if event.stage != stage and base_of(event.stage) == stage]
        shares.append(
            StageShare(
                stage=stage,
                releases=cost(releases).mu_squared / total,
                clip=cost(clips).mu_squared / total,
                count=sum(event.count for event in releases),
                multiplier=min((e.noise_multiplier for e in releases if e.noise_multiplier is not None), default=None),
            )
        )
    return shares


@dataclass(frozen=True)
class AllRuns:
    """What a ledger has recorded of all runs on a dataset.

    Only runs under the dataset's own name count: which other names share its documents is an exact fact about these
    (docs/privacy.md, section 9.5).
    """

    runs: int
    """The number of recorded runs."""
    guarantee: Guarantee
    """The guarantee for all of them together."""
    described: str
    """The guarantee in words."""
    unknown: int = 0
    """The number of runs on the page that the ledger has not recorded for this dataset."""
    grants: Mapping[str, Grant] = field(default_factory=dict)
    """The total in force, by the name of the dataset; of several names if `others` count."""
    ids: frozenset[str] = frozenset()
    """The ids of these runs."""
    records: tuple[Mapping[str, Any], ...] = ()
    """The runs as the ledger shares them (`RunRecord.to_json`), if its runs were given."""
    others: tuple[str, ...] = ()
    """Other names of the same documents whose runs count, too, because their owner tells that they are the same."""

    def with_others(self, grants: Mapping[str, Grant], guarantee: Guarantee, runs: Iterable[RunRecord]) -> AllRuns:
        """Return this record with the `runs` of other names, and the `guarantee` for all of them together.

        `grants` are those of the dataset and of all other names, by name.
        """
        listed = [run for run in runs if run.dataset in grants]
        return replace(
            self,
            runs=len(listed),
            ids=frozenset(run.id for run in listed),
            guarantee=guarantee,
            described=guarantee.in_words(*grants.values()),
            records=tuple(run.to_json() for run in listed) if self.records else (),
            grants=grants,
            others=tuple(name for name in grants if name not in self.grants),
        )

    def under(self, dataset: str) -> str:
        """Name what the runs are recorded under: ``the name a``, or ``the names a and b``."""
        *first, last = dataset, *self.others
        return shown(f"the names {', '.join(first)} and {last}" if first else f"the name {last}")


@dataclass(frozen=True)
class Unit:
    """A privacy unit in prose."""

    name: str
    """The name of its column, or ``document``."""
    one: str
    """The singular, such as ``customer``."""
    many: str
    """The plural, such as ``customers``."""
    defined: str = ""
    """What a unit is, such as ``all documents with the same value of “customer”``; empty for a document."""


@dataclass(frozen=True)
class Promise:
    """Bounds on what an attacker learns about one unit, as text; percentages are rounded upwards."""

    strength: str
    """How well membership is protected, in words."""
    success: str
    """How often a guess from even odds is right, in percent."""
    belief: str
    """How sure an attacker who starts from even odds can become, in percent, but for rare draws of the noise."""
    surer: str
    """The probability of those draws."""
    several: Mapping[int, str]
    """How often a guess about a group of units is right, in percent, by the size of the group."""
    epsilon: str
    delta: str

    @classmethod
    def of(cls, success: float, epsilon: float, delta: float, mu: float, failures: float) -> Promise:
        """Word the bound `success` on guesses and (`epsilon`, `delta`); `mu` and `failures` are as in `noise`."""
        belief = belief_at_most(0.5, epsilon, delta)
        return cls(
            strength=next(words for right, sure, words in _STRENGTHS if success <= right and belief <= sure),
            success=percent(success, upwards=True),
            belief=percent(belief, upwards=True),
            surer=at_least(surer_at_most(epsilon, mu, failures)),
            several=for_several(mu, failures),
            epsilon=at_least(epsilon),
            delta=f"{delta:g}",
        )


def for_several(mu: float, failures: float) -> dict[int, str]:
    """Bound guesses about groups of units, in percent by their size."""
    return {n: percent(success_for_several(n, mu, failures), upwards=True) for n in _SEVERAL}


def all_runs(
    records: Sequence[DatasetRecord], models: Sequence[TopicModel], runs: Iterable[RunRecord] = ()
) -> dict[str, AllRuns]:
    """Collect what a ledger's `records` of datasets say of all runs on each dataset, by the dataset's name.

    Only datasets count for which a run in `models` is recorded. `runs`, the ledger's runs, become `AllRuns.records`,
    which is empty without them.
    """
    shown_runs: dict[str, set[str]] = {}
    for model in models:
        shown_runs.setdefault(model.facts.dataset or "", set()).add(str(model.facts.run))
    return all_runs_with(records, shown_runs, runs)


def all_runs_with(
    records: Sequence[DatasetRecord], shown_runs: Mapping[str, set[str]], runs: Iterable[RunRecord] = ()
) -> dict[str, AllRuns]:
    """Collect what `all_runs` does; `shown_runs` are the runs on the page, by dataset."""
    shared: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        shared.setdefault(run.dataset, []).append(run.to_json())
    return {
        record.name: AllRuns(
            len(record.runs),
            record.guaranteed_alone,
            record.guaranteed_alone.in_words(record.grant),
            unknown=len(set(shown_runs[record.name]) - set(record.runs)),
            grants={record.name: record.grant},
            ids=frozenset(record.runs),
            records=tuple(shared.get(record.name, ())),
        )
        for record in records
        if shown_runs.get(record.name, set()) & set(record.runs)
    }


def unit_of(privacy: PrivacyStatement) -> Unit:
    """Put the unit of `privacy` into prose; quote names other than common nouns, as they may be in any language."""
    name = shown(privacy.unit)
    if name == "document":
        return Unit(name, "document", "documents")
    defined = f"all documents with the same value of “{name}”"
    noun = name.casefold()
    if noun in _IRREGULAR or _REGULAR.fullmatch(noun):
        return Unit(name, noun, _IRREGULAR.get(noun, f"{noun}s"), defined)
    return Unit(name, f"“{name}”", f"different values of “{name}”", defined)


def of_each(statements: Sequence[PrivacyStatement]) -> Promise:
    """Return the promise that each of these runs keeps by itself."""
    success = max(success_at_most(privacy) for privacy in statements)
    epsilon = max(privacy.epsilon for privacy in statements)
    delta = max(privacy.delta for privacy in statements)
    mus, failures = zip(*map(noise, statements), strict=True)
    return Promise.of(success, epsilon, delta, max(mus), max(failures))


def spent(statements: Sequence[PrivacyStatement]) -> dict[str, str] | None:
    """Return the total that several runs on the same data spent; None for a single run."""
    if len(statements) < 2:
        return None
    epsilon, delta = spent_together(statements)
    return {"epsilon": at_least(epsilon), "delta": f"{delta:g}"}


def of_all(together: AllRuns | None) -> Promise | None:
    """Return the promise of all runs together if several are recorded and a guarantee fixed beforehand holds."""
    return of_total(together) if together is not None and together.runs > 1 else None


def of_total(together: AllRuns | None) -> Promise | None:
    """Return the promise of all runs that a dataset's total allows, if it was fixed beforehand and is finite."""
    if together is None or together.unknown or not together.guarantee.holds:
        return None
    epsilon, delta = together.guarantee.largest_total
    if math.isinf(epsilon):
        return None
    return Promise.of(success_under_filter(epsilon, delta), epsilon, delta, *noise_under_filter(epsilon, delta))


def beliefs(privacy: PrivacyStatement, together: AllRuns | None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Tabulate beliefs, as columns and rows: after this run, and after all recorded runs if they are several."""
    bounds = [("this run", privacy.epsilon, privacy.delta)]
    if together is not None and of_all(together) is not None:
        bounds.append((f"all {together.runs} runs", *together.guarantee.largest_total))
    columns = ("believed before", *(f"can believe after {what}, at most" for what, _, _ in bounds))
    rows = []
    for prior in _PRIORS:
        after = (belief_at_most(prior, epsilon, delta) for _, epsilon, delta in bounds)
        rows.append((f"{prior:.0%}", *(percent(most, upwards=True) for most in after)))
    return columns, rows


def size(model: TopicModel) -> tuple[str, str]:
    """Say how many units a run is about, such as ``about 4,067 customers``, and why the number is inexact.

    Both are empty if the number is not known.
    """
    documents, unit = model.facts.documents, unit_of(model.privacy)
    if documents is None:
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


def units_of_topics(model: TopicModel | None, tables: Tables) -> str:
    """Say, after a space, from how many units the topics of `tables` were learned, if these are of the same path.

    Empty if it is not known. Where a plan made both, the tables count those of these units that have known words.
    """
    same = tables.same_documents or tables.has_grown
    if model is None or not same or tables.privacy.unit != model.privacy.unit:
        return ""
    found = size(model)[0]
    if not found:
        return ""
    if tables.of == tables.run:
        return f" In all there are {found}."
    if tables.has_grown:
        return f" The topics were learned from {found} of this path, which has grown since."
    return f" The topics were learned from {found}; if the files changed since, these are not the same."


def rarest(privacy: PrivacyStatement) -> str:
    """Say about how many units use a word that has an even chance to be on the page: ``260 customers``.

    If words were compared with a public list, this holds for words outside the list. Empty if not known.
    """
    needed = units_needed(privacy.events, privacy.adjacency)
    return "" if needed is None else f"{float(f'{needed:.2g}'):,.0f} {unit_of(privacy).many}"


def too_frequent(privacy: PrivacyStatement, recorded: RunFacts) -> bool:
    """Whether words outside the public list that stand out from the noise may be left out for being too frequent.

    Some may be kept, since the frequency of a word is estimated too low where a unit has many words.
    """
    needed = units_needed(privacy.events, privacy.adjacency)
    if needed is None or not recorded.frequent_words or recorded.words != LISTED or recorded.documents is None:
        return False
    return needed > (recorded.max_document_frequency or USUAL_LIMIT) * recorded.documents
