"""Record and replay: run on one corpus, then on its neighbour with the noisy values of the first run.

Only noise hides which of two neighbouring corpora was used. A run is recorded on one of them and replayed on the other:
wherever the curator adds noise to exact values, the replayed run gets the noisy values of the recorded run. Everything
else in the two runs must then be equal: the queries, the amount of noise, the charges, and the releases. The exact
values of both runs show the privacy loss of each query, which must not exceed its charge. One pair of runs finds such
defects with certainty, where a statistical attack needs thousands. The method finds only defects that these two corpora
reveal, and it assumes that the noise has the stated distribution. The method is from Cebere et al. (2026).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from dplda.audit.games import Game, one_core
from dplda.base.errors import UnsupportedByData
from dplda.budget.events import Event
from dplda.private.curator import Curator

_ROUNDING = 1e-5  # relative slack: a standard deviation is rounded to lattice steps, of which it has at least 10^4
_SAME = 1e-9  # public numbers of the two runs are the same up to this relative difference
_UNUSED = 0.02  # share of the claimed epsilon that a plan may leave unused
_TAIL = 12.0  # standard deviations beyond which a normal law is not integrated
_Integers = TypeVar("_Integers", int, np.ndarray)


class Check(StrEnum):
    """A property that the two runs must share, or that a charge must satisfy."""

    FLOW = "control flow"  # the same queries with the same arguments
    CHARGE = "charge"  # every query is charged, in both runs alike, with events of the plan
    NOISE = "noise"  # the same amounts of integer noise, and as many random numbers as released ones
    LOSS = "privacy loss"  # the exact values differ by no more than the charge covers
    SELECTION = "selection"  # what only one corpus holds is released with at most the charged failure probability
    OUTPUT = "output"  # the same noisy values give the same output
    PLAN = "plan"  # by the definition, the plan has the epsilon that it claims


@dataclass(frozen=True)
class Violation:
    """A check that failed."""

    check: Check
    query: str  # its name
    detail: str  # the reason

    def __str__(self) -> str:
        return f"{self.query}: {self.check}: {self.detail}"


@dataclass
class _Added:
    """Exact values, and the noise that was added to them."""

    values: np.ndarray
    noise: np.ndarray


@dataclass
class _Selected:
    """Exact values by key, the scale of their noise, the threshold, and the noisy values that reached it."""

    values: Mapping[int, int]
    scale: float
    threshold: int
    kept: dict[int, int]


@dataclass
class _Query:
    """Everything that one query of a run charged, drew, computed and released."""

    name: str
    arguments: Any = ()
    charged: list[Event] = field(default_factory=list)
    drawn: list[tuple[float, int]] = field(default_factory=list)  # scale and size
    added: list[_Added] = field(default_factory=list)
    selected: list[_Selected] = field(default_factory=list)
    answer: Any = None


class _Diverged(Exception):
    """Raised when the replayed run makes other queries than the recorded one, so that it cannot continue."""


class _Recorder:
    """A noise source that records every query of a run."""

    private = False

    def __init__(self, seed: int) -> None:
        self.queries = [_Query("before the first query")]
        self._noise, self._coins = (np.random.default_rng((seed, stream)) for stream in range(2))

    @property
    def _now(self) -> _Query:
        return self.queries[-1]

    def ask(self, name: str, answer: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the curator's answer to the query `name`, and record both."""
        self.queries.append(_Query(name, (arguments, named)))
        self._now.answer = answer(*arguments, **named)
        return self._now.answer

    def charge(self, event: Event) -> None:
        """Record a charge."""
        self._now.charged.append(event)

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """See `Noise`."""
        self._now.drawn.append((scale, size))
        return np.rint(scale * self._noise.standard_normal(size)).astype(np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """See `Noise`."""
        noisy = {key: value + round(scale * self._noise.standard_normal()) for key, value in values.items()}
        kept = {key: value for key, value in noisy.items() if value >= threshold}
        self._now.selected.append(_Selected(dict(values), scale, threshold, kept))
        return kept

    def coins(self, share: float, size: int) -> np.ndarray:
        """See `Noise`; the units that both corpora hold get the same coins."""
        return np.random.default_rng(self._coins.integers(2**63)).random(size) < share

    def add(self, values: _Integers, noise: _Integers) -> _Integers:
        """Add noise to exact values, and record both."""
        self._now.added.append(_Added(np.asarray(values), np.asarray(noise)))
        noisy: _Integers = values + noise
        return noisy


class _Replayer(_Recorder):
    """A noise source that returns the noisy values of a recorded run, and compares the two runs.

    Where the curator draws noise, it gets the standard deviation of that noise, so that the noise added to a value
    tells the scale.
    """

    def __init__(self, recorded: Sequence[_Query], seed: int) -> None:
        super().__init__(seed)
        self._recorded = recorded
        self.violations: list[Violation] = []
        self.share = 0.0  # the largest GDP parameter of a query, over what is charged for it

    @property
    def _then(self) -> _Query:
        return self._recorded[len(self.queries) - 1]

    def report(self, check: Check, detail: str) -> None:
        """Add a violation in this query."""
        self.violations.append(Violation(check, self._now.name, detail))

    def ask(self, name: str, answer: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the recorded answer, after comparing the query and what the curator answers."""
        if len(self.queries) == len(self._recorded):
            raise _Diverged(f"only one of the runs goes on, with {name}")
        expected = self._recorded[len(self.queries)]
        if name != expected.name:
            raise _Diverged(f"one run asks for {expected.name}, the other for {name}")
        mine = super().ask(name, answer, *arguments, **named)
        if not _same((arguments, named), expected.arguments):
            self.report(Check.FLOW, "the arguments differ")
        self.compare()
        if not _same(mine, expected.answer):
            self.report(Check.OUTPUT, "the answers differ, although all noisy values are the same")
        return expected.answer

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """Return one standard deviation."""
        self._now.drawn.append((scale, size))
        return np.full(size, round(scale), np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """Return what was released in the recorded run."""
        super().above_threshold(values, scale, threshold)
        position = len(self._now.selected) - 1
        if position >= len(self._then.selected):
            raise _Diverged("only one of the runs selects keys")
        return dict(self._then.selected[position].kept)

    def add(self, values: _Integers, noise: _Integers) -> _Integers:
        """Return the noisy values of the recorded run."""
        super().add(values, noise)
        position = len(self._now.added) - 1
        then = self._then.added[position] if position < len(self._then.added) else None
        if then is None or then.values.shape != np.shape(values):
            raise _Diverged("the runs release different numbers of values")
        noisy: _Integers = (then.values + then.noise)[()] if np.ndim(values) == 0 else then.values + then.noise
        return noisy

    def compare(self) -> None:
        """Compare this query with the recorded one."""
        now, then = self._now, self._then
        if now.charged != then.charged:
            self.report(Check.CHARGE, "the charges differ")
        if (now.added or now.selected) and not now.charged:
            self.report(Check.CHARGE, "nothing is charged")

        amounts = [(query.drawn, [(one.scale, one.threshold) for one in query.selected]) for query in (now, then)]
        if not _same(*amounts):
            self.report(Check.NOISE, "the scales of the noise, or a threshold, differ")
        if sum(size for _, size in then.drawn) < sum(one.values.size for one in then.added):
            self.report(Check.NOISE, "more numbers are released than random numbers drawn")
        if not all(np.isdtype(array.dtype, "integral") for one in then.added for array in (one.values, one.noise)):
            self.report(Check.NOISE, "values or noise are not integers")

        # Squared GDP parameters of Gaussian noise add up, both those that are charged and those of the exact values.
        covered = math.fsum(1 / (event.noise_multiplier or 0.0) ** 2 for event in now.charged)
        loss = math.fsum(map(_loss, now.added, then.added)) + math.fsum(map(_shared_loss, now.selected, then.selected))
        if loss > covered * (1 + _ROUNDING):
            excess = math.sqrt(loss / covered) if covered else math.inf
            self.report(Check.LOSS, f"{excess:.3g} times the charged GDP parameter")
        self.share = max(self.share, math.sqrt(loss / covered) if covered else 0.0)

        failing = min(math.fsum(map(_leak, now.selected, then.selected)), 1.0)
        allowed = math.fsum(event.delta for event in now.charged)
        if failing > allowed * (1 + _ROUNDING):
            self.report(
                Check.SELECTION,
                f"keys of one corpus alone are released with probability {failing:.2g}, not {allowed:.2g}",
            )


def _loss(now: _Added, then: _Added) -> float:
    """Return the squared GDP parameter of releasing these values; `now.noise` holds the standard deviations."""
    change = np.abs((now.values - then.values).astype(float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.square(np.where(change > 0, change / np.abs(now.noise), 0.0)).sum())


def _shared_loss(now: _Selected, then: _Selected) -> float:
    """Return the squared GDP parameter of releasing the values of the keys that both corpora contain."""
    return math.fsum(((now.values[key] - then.values[key]) / now.scale) ** 2 for key in now.values.keys() & then.values)


def _leak(now: _Selected, then: _Selected) -> float:
    """Bound the probability that a key is released which only one of the corpora holds."""
    alone = [(one, key) for one, other in ((now, then), (then, now)) for key in one.values.keys() - other.values]
    return math.fsum(ndtr((one.values[key] + 1 - one.threshold) / one.scale) for one, key in alone)


def _same(one: Any, other: Any) -> bool:
    """Whether two public objects are equal; numbers may differ by a relative `_SAME`."""
    if one is other:
        return True
    if isinstance(one, float | np.ndarray | np.number) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return False
        if not all(np.isdtype(array.dtype, ("integral", "real floating")) for array in (one, other)):
            return bool((one == other).all())
        return np.allclose(one, other, rtol=_SAME, atol=_SAME * float(np.abs(other).max(initial=0.0)), equal_nan=True)
    if is_dataclass(one) and type(one) is type(other):
        return all(_same(getattr(one, item.name), getattr(other, item.name)) for item in fields(one))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


class _RecordedCurator(Curator):
    """A curator that reports the exact values and the noise wherever it adds noise."""

    recorder: _Recorder

    def _add_noise(self, values: _Integers, noise: _Integers) -> _Integers:
        return self.recorder.add(values, noise)


class _RecordedGate:
    """A gate that forwards every query to a curator and reports it to a recorder."""

    def __init__(self, curator: _RecordedCurator) -> None:
        self._curator = curator

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._curator.recorder.ask, name, getattr(self._curator, name))


@dataclass(frozen=True)
class Replay:
    """The result of replaying a game."""

    name: str
    queries: int
    share: float
    """The largest ratio, over all queries, of the GDP parameter that a query showed to the one that it charged."""
    violations: tuple[Violation, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)


def replay(game: Game, seed: int = 0) -> Replay:
    """Record `game` on one of its corpora with simulated noise from `seed`, and replay it on the other."""
    recorder = _Recorder(seed)
    with one_core():
        released = _play(game, 0, recorder)
        replayer = _Replayer(recorder.queries, seed)
        try:
            again = _play(game, 1, replayer)
        except _Diverged as diverged:
            replayer.report(Check.FLOW, str(diverged))
        else:
            if isinstance(released, Exception) and not isinstance(released, UnsupportedByData):
                replayer.report(Check.FLOW, f"the run fails with {type(released).__name__}: {released}")
            elif isinstance(again, Exception) or isinstance(released, Exception):
                if (type(released), str(released)) != (type(again), str(again)):
                    replayer.report(Check.FLOW, "only one of the runs fails")
            elif len(replayer.queries) != len(recorder.queries):
                replayer.report(Check.FLOW, "only one of the runs goes on")
            elif not _same(released, again):
                replayer.report(Check.OUTPUT, "the results differ, although all answers are the same")
    plan = _plan_violations(game, [event for query in recorder.queries for event in query.charged])
    return Replay(game.name, len(recorder.queries) - 1, replayer.share, (*replayer.violations, *plan))


def _play(game: Game, index: int, recorder: _Recorder) -> Any:
    """Return the releases of a run on corpus `index`, or the error that ended it."""
    curator = game.curator(index, recorder, kind=_RecordedCurator, charge=recorder.charge)
    assert isinstance(curator, _RecordedCurator)
    curator.recorder = recorder
    gate = _RecordedGate(curator)
    try:
        game.begin(gate)
        return game.play(gate)
    except _Diverged:
        raise
    except Exception as error:  # compared below, whatever broken code raises
        return error


def _plan_violations(game: Game, charged: Sequence[Event]) -> list[Violation]:
    """List what is wrong with the plan of `game`, or with what was `charged` for a run."""
    found = []
    unplanned = Counter(charged) - Counter(game.events)
    if unplanned:
        found.append(Violation(Check.CHARGE, "the run", f"charges {unplanned.total()} events that are not planned"))
    spent = _delta(game.events, game.epsilon)
    if spent > game.delta * (1 + _ROUNDING):
        found.append(Violation(Check.PLAN, "the plan", f"has delta {spent:.3g} at its epsilon, not {game.delta:.3g}"))
    if _delta(game.events, (1 - _UNUSED) * game.epsilon) < game.delta:
        found.append(Violation(Check.PLAN, "the plan", "claims a larger epsilon than it has"))
    return found


def _delta(events: Sequence[Event], epsilon: float) -> float:
    """Return the delta of composed Gaussian `events` at `epsilon`, by numerical integration over the privacy loss.

    It follows the definition and shares no code with `dplda.budget`.
    """
    mu = math.sqrt(math.fsum(event.count / (event.noise_multiplier or 0.0) ** 2 for event in events))
    failure = math.fsum(event.count * event.delta for event in events)
    first = epsilon / mu + mu / 2  # where the loss is epsilon; below, the excess is negative and does not count

    def excess(x: float) -> float:
        return math.exp(-((x - mu) ** 2) / 2) - math.exp(epsilon - x**2 / 2)

    area, _ = quad(excess, first, max(first, mu) + _TAIL, epsabs=0, limit=200)
    return float(failure + area / math.sqrt(2 * math.pi))
