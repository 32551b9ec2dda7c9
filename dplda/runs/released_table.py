"""A released table: its estimates and their intervals, which follow from released numbers and cost nothing.

Intervals of shares and numbers are exact for the noise, or wider. Let T_gt be the noisy sum of topic t's proportions in
group g, and C_g the noisy count of units. They have independent Gaussian noise of standard deviations s and s / b,
where b is `COUNT_SHARE`. With k topics,

    N_g = (sum_t T_gt / k + b^2 C_g) / (1 / k + b^2),   variance s^2 / (1 / k + b^2),

is the best linear estimate of the number of units, since proportions sum to 1. Let T be the sum of T_gt over m of the
topics: m = 1, or more if topics were merged by hand. For their share p, let

    D(p) = T - (m / k) sum_u T_gu + (m / k - p) N_g.

Its mean is 0 if p is the true share, and its variance is s^2 m (1 - m / k) + (m / k - p)^2 var N_g. The interval
contains all p in [0, 1] for which |D(p)| is at most z times its standard deviation, where z is the normal quantile of
the level (Fieller 1954). It is exact however small a group is. The interval of a difference combines the intervals of
two shares, which is an approximation (Zou and Donner 2008). It says nothing if either of the two is unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from dplda.base.config import MINIMUM_LENGTH, plain_number
from dplda.base.errors import InputError
from dplda.base.frames import frame_of
from dplda.base.lazy import load_name
from dplda.budget.events import PrivacyStatement, Stage
from dplda.learning.estimates import Estimates
from dplda.model.topic_model import TopicModel
from dplda.private.attributes import BETWEEN, PERIODS
from dplda.private.statistics.expected_counts import COUNT_SHARE
from dplda.text.records import DOCUMENT

_UNCLEAR = 0.15  # a group is too small to tell if its shares are uncertain by more than this
_LEVEL = 0.95
_SURE = 0.9999  # of two numbers of units, that one is larger
_MOST_POINTS = 99.95  # rounds to 100.0


@dataclass(frozen=True)
class Change:
    """A significant difference of a topic's share, with its interval: from the group `since` to the group `group`.

    Significant means that the interval excludes 0. If `since` is None, it is the difference from all other groups of
    the table together, which `others` names.
    """

    topic: int
    since: tuple[str, ...] | None
    group: tuple[str, ...]
    value: float
    low: float
    high: float
    over_time: bool = True
    """Whether `group` is the period after `since`."""
    others: str = "elsewhere"
    noun: str = "topic"
    """What the shares are of: a topic, or a category."""

    def describe(self, topic: str) -> str:
        """Put the change of `topic` into words, such as ``topic 4 rose from March to April by 2.1 to 3.4 points``."""
        low, high = sorted((abs(100 * self.low), abs(100 * self.high)))
        group = ", ".join(self.group)
        # No two shares differ by more than 100 points: an interval that ends there has no upper end of its own.
        places = next((n for n in (1, 2, 3) if round(low, n)), 1)  # a change that is told is not "0.0 points"
        least = f"{low:.{places}f}"
        points = f"{least} to {high:.{places}f} points" if high < _MOST_POINTS else f"at least {least} points"
        if not round(low, places):
            points = f"less than {max(high, 0.1):.1f} points"
        if self.since is not None and self.over_time:
            verb = "rose" if self.value > 0 else "fell"
            return f"{self.noun} {topic} {verb} from {', '.join(self.since)} to {group} by {points}"
        than = self.others if self.since is None else f"in {', '.join(self.since)}"
        return f"{self.noun} {topic} is {points} {'more' if self.value > 0 else 'less'} in {group} than {than}"


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """Noisy sums by group, from one event. A row is a combination of groups, the last attribute varying fastest."""

    by: tuple[str, ...]
    """The names of the attributes."""
    groups: tuple[tuple[str, ...], ...]
    """The groups of each attribute; the last one is of the documents in no other (`OTHER`)."""
    private: tuple[bool, ...]
    """For each attribute, whether its groups were found privately."""
    totals: np.ndarray
    """Sums of topic proportions, (n_rows, k)."""
    counts: np.ndarray
    """Numbers of units, (n_rows,)."""
    std: float
    """The standard deviation of the noise of each topic's sums; for `counts` it is `std` / `COUNT_SHARE`."""
    sampling: bool = False
    """Whether intervals also cover the sampling error, if the units are a sample of a larger population.

    p (1 - p) / N is the upper bound of the variance of a share p among N units.
    """
    noun: ClassVar[str] = "topics"
    one: ClassVar[str] = "topic"
    """What a table is about, in the plural."""
    titles: tuple[str, ...] = ()
    """What stands for each topic (`TopicModel.titles`); empty if the topics are not known."""
    parts: tuple[int, ...] = ()
    """How many topics of the run each topic contains, m; empty if none were merged."""
    warning_label: str = ""
    """What marks it if it has no proven guarantee (`PrivacyStatement.warning_label`); `Tables` sets it."""

    def __post_init__(self) -> None:
        rows = len(self.rows)
        fits = self.totals.ndim == 2 and self.totals.shape[0] == rows and self.counts.shape == (rows,)
        fits = fits and (rows == 3 or not self.compares_two)
        fits = fits and len(set(self.rows)) == rows and len(self.titles) in (0, self.n_topics)
        if not fits or not np.isfinite(self.totals).all() or not np.isfinite(self.counts).all() or not self.std > 0:
            raise InputError("this is no table of dplda.")

    def __repr__(self) -> str:
        n_groups = len(self.rows) - sum(self.rest)
        by = f"by {self.name}: {n_groups} groups, " if self.by else ""
        label = f"{self.warning_label}: " if self.warning_label else ""
        return f"{type(self).__name__}({label}{by}{self.n_topics} {self.noun})"

    def _repr_html_(self) -> str | None:
        """Show the estimates in a notebook, as pandas does; without it, the notebook shows the table in short."""
        try:
            shown: str = self.to_frame()._repr_html_()
        except InputError:
            return None
        return shown

    @property
    def name(self) -> str:
        """The name of the table: its attributes, separated by commas."""
        return ",".join(self.by)

    @property
    def n_topics(self) -> int:
        """The number of topics: k, or fewer if some were merged."""
        return int(self.totals.shape[1])

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        """The groups of each row, one for every attribute."""
        return list(product(*self.groups))

    @property
    def rest(self) -> list[bool]:
        """Whether each row has documents that are in no listed group of one of the attributes."""
        return [any(name == names[-1] for name, names in zip(row, self.groups, strict=True)) for row in self.rows]

    @property
    def period_axis(self) -> int | None:
        """The index of the attribute that is a period; None if there is none."""
        return next(
            (axis for axis, name in enumerate(self.by) if name.partition("(")[0] in PERIODS and name[-1] == ")"), None
        )

    @property
    def since(self) -> str:
        """Between what `changes` are, in words."""
        if self.compares_two:
            return "between the two groups"
        return "between a group and all others" if self.period_axis is None else "from one period to the next"

    @property
    def no_changes(self) -> str:
        """What is so if `changes` are none, in words."""
        slow = "" if self.period_axis is None else " A slow rise or fall is not looked for here: compare two ranges."
        alone = " A comparison that is asked for alone can show a smaller one." * (not self.compares_two)
        return (
            f"No difference {self.since} holds, if all are to hold together with 95 % probability; that does not show "
            f"that there is none.{alone}{slow}"
        )

    @property
    def _summed(self) -> np.ndarray:
        """m, the number of the run's topics in each topic, (n_topics,)."""
        return np.array(self.parts or [1] * self.n_topics, float)

    @property
    def _offset(self) -> np.ndarray:
        """m / k, the share of each topic if all topics of the run had the same, (n_topics,)."""
        return np.asarray(self._summed / self._summed.sum())

    @property
    def _around_offset(self) -> np.ndarray:
        """`totals` less `_offset` of the sum of their row, (n_rows, n_topics)."""
        return np.asarray(self.totals - self._offset * self.totals.sum(axis=1, keepdims=True))

    @property
    def compares_two(self) -> bool:
        """Whether the table is of two groups, and compares the second with the first."""
        return len(self.by) == 1 and self.by[0].startswith(f"{BETWEEN}(")

    @property
    def others(self) -> str:
        """Where all others are that a group is compared with, in words."""
        return "elsewhere"

    @property
    def against_rest(self) -> bool:
        """Whether each row is compared with all others together."""
        return self.period_axis is None and not self.compares_two

    @property
    def _count_share(self) -> float:
        """The standard deviation of the noise of `totals`, divided by that of `counts`."""
        return COUNT_SHARE

    @cached_property
    def _sizes(self) -> np.ndarray:
        """N, the best linear estimate of the number of units, (n_rows,)."""
        weight = 1 / self._summed.sum()
        both = self.totals.sum(axis=1) * weight + self._count_share**2 * self.counts
        return np.asarray(both / (weight + self._count_share**2))

    @property
    def _size_std(self) -> float:
        return float(self.std / np.sqrt(1 / self._summed.sum() + self._count_share**2))

    def units(self, level: float = _LEVEL) -> Estimates[np.ndarray]:
        """Return the number of units in each row, (n_rows,).

        A unit whose documents are in several rows counts with a fraction in each.
        """
        half = quantile(level) * self._size_std
        low, high = self._sizes - half, self._sizes + half
        high = np.where(high >= 1, high, np.maximum(half, 1))  # below 1, it would claim that there is certainly none
        return Estimates(np.maximum(self._sizes, 0), np.maximum(low, 0), high)

    def shares(self, level: float = _LEVEL) -> Estimates[np.ndarray]:
        """Estimate the share of each topic in each row, (n_rows, k), in [0, 1]; nan for a row without units."""
        value, low, high = self._limits(quantile(level))
        short = np.clip(high, 0, 1) <= np.clip(low, 0, 1)  # the whole interval is outside [0, 1]
        half = (high - low) / 2
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        low, high = np.where(short & (low == 1), 1 - half, low), np.where(short & (high == 0), half, high)
        return Estimates(np.clip(value, 0, 1), np.clip(low, 0, 1), np.clip(high, 0, 1))

    @property
    def tells(self) -> np.ndarray:
        """Whether each row has enough units for its shares to be known to within `_UNCLEAR` (0.15), (n_rows,)."""
        noise = self.std * float(np.sqrt(self._summed * (1 - self._offset)).max())
        return np.asarray(self._sizes >= max(least_size(noise), self.std / _UNCLEAR))

    def _limits(self, z: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Estimates of shares, and the ends of their Fieller intervals.

        The ends are 0 and 1 if an interval is unbounded, otherwise as computed, which may be outside [0, 1].
        """
        mean, n, a = self._offset, self._sizes[:, None], self._around_offset
        own = (z * self.std) ** 2 * self._summed * (1 - mean)
        spread = z**2 * np.maximum(n, 0) * self.sampling * self._design_effect
        square = n**2 - (z * self._size_std) ** 2 + spread
        middle = a * n + spread * (1 - 2 * mean) / 2
        rest = a**2 - own - spread * mean * (1 - mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(n > 0, a / n + mean, np.nan)
            root = np.sqrt(np.maximum(middle**2 - square * rest, 0))
            low, high = (middle - root) / square + mean, (middle + root) / square + mean
        bounded = self._bounded(z)[:, None]
        return value, np.where(bounded, low, 0.0), np.where(bounded, high, 1.0)

    @property
    def _design_effect(self) -> float:
        """How many times as large the variance of the sampling error is as that of units drawn one by one."""
        return 1.0

    def _bounded(self, z: float) -> np.ndarray:
        """Return whether the Fieller intervals of each row are bounded, (n_rows,).

        They are bounded if N exceeds `z` times its standard deviation, so that the row surely has units.
        """
        return np.asarray(self._sizes > z * self._size_std)

    def changes(self, level: float = _LEVEL) -> list[Change]:
        """Return the significant differences of shares: those whose simultaneous intervals, at `level`, exclude 0.

        Rows with too few units (`tells`) are left out. With periods, each row is compared with the row of the previous
        period, within every combination of the other groups. The second of two groups (`compares_two`) is compared
        with the first. Otherwise each row is compared with all the others together.
        """
        pairs, found = self.differences(level)
        large = self.tells
        return [
            Change(
                topic,
                None if self.against_rest else self.rows[before],
                self.rows[after],
                value=float(found.value[place, topic]),
                low=float(found.low[place, topic]),
                high=float(found.high[place, topic]),
                over_time=self.period_axis is not None,
                others=self.others,
                noun=self.one,
            )
            for place, (before, after) in enumerate(pairs)
            if large[before] and large[after]
            for topic in np.flatnonzero((found.low[place] > 0) | (found.high[place] < 0)).tolist()
        ]

    def differences(
        self, level: float = _LEVEL, *, together: bool = True
    ) -> tuple[list[tuple[int, int]], Estimates[np.ndarray]]:
        """Return the pairs of rows that `changes` compares, and the differences of their shares, (n_pairs, k).

        A pair is the row before and the row after, or a row twice if it is compared with all others. All intervals hold
        together with probability `level` (Bonferroni); without `together`, each one holds with this probability.
        """
        pairs = list(self._pairs())
        if not pairs:
            none = np.zeros((0, self.n_topics))
            return [], Estimates(none, none, none)
        before, after = np.array(pairs, int).reshape(-1, 2).T
        n_intervals = max(len(pairs) * self.n_topics, 1) if together else 1
        z = quantile(level, n_intervals)
        rest = self
        if self.against_rest:  # the sums of all other rows, whose noise is independent of the row's own
            rest = replace(
                self,
                totals=self.totals.sum(axis=0) - self.totals,
                counts=self.counts.sum() - self.counts,
                std=float(self.std * np.sqrt(len(self.rows) - 1)),
            )
        (own, low, high), (others, lowest, highest) = self._limits(z), rest._limits(z)
        # Shares are at least 0 and at most 1, whatever the noise says, so that no difference contradicts them.
        value = np.nan_to_num(np.clip(own[after], 0, 1) - np.clip(others[before], 0, 1))
        known = (self._bounded(z)[after] & rest._bounded(z)[before])[:, None]
        down = np.where(known, np.hypot(own[after] - low[after], highest[before] - others[before]), np.inf)
        up = np.where(known, np.hypot(high[after] - own[after], others[before] - lowest[before]), np.inf)
        return pairs, Estimates(value, np.maximum(value - down, -1.0), np.minimum(value + up, 1.0))

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of rows that are compared: a row and the previous one in time, or a row twice."""
        if self.compares_two:
            yield 0, 1
            return
        axis = self.period_axis
        if axis is None:
            yield from ((row, row) for row in range(len(self.rows)) if len(self.rows) > 1)
            return
        place = {row: index for index, row in enumerate(self.rows)}
        listed = self.groups[axis][:-1]
        following = dict(pairwise(listed))
        for row, index in place.items():
            if row[axis] in following:
                yield index, place[*row[:axis], following[row[axis]], *row[axis + 1 :]]

    def over(self, axis: int) -> Self:
        """Return the table by the attribute `axis` alone: the sums over all groups of the others."""
        shape = tuple(map(len, self.groups))
        others = tuple(i for i in range(len(shape)) if i != axis)
        totals = self.totals.reshape(*shape, -1).sum(axis=others)
        counts = self.counts.reshape(shape).sum(axis=others)
        std = self.std * np.sqrt(len(self.rows) / shape[axis])
        return replace(
            self,
            by=(self.by[axis],),
            groups=(self.groups[axis],),
            private=(self.private[axis],),
            totals=totals,
            counts=counts,
            std=float(std),
        )

    @property
    def outside_periods(self) -> str:
        """How many units, after a space, are in none of the periods, in words; empty without periods."""
        time = self.period_axis
        if time is None:
            return ""
        found = self.over(time).units()
        value, low, high = found.value[-1], found.low[-1], found.high[-1]
        return (
            " In none of the periods, or with a date that could not be read: "
            f"{value:,.0f} ({low:,.0f} to {high:,.0f}, with 95 %)."
        )

    def whole(self) -> Self:
        """Return the table of all units in one row, without groups."""
        std = self.std * np.sqrt(len(self.rows))
        totals, counts = self.totals.sum(axis=0, keepdims=True), self.counts.sum(keepdims=True)
        return replace(self, by=(), groups=(), private=(), totals=totals, counts=counts, std=float(std))

    def merged(self, merged: Sequence[Sequence[int]]) -> Self:
        """Return the table of topics that were merged by hand, each the sum of its topics (`RunFacts.merged`)."""
        totals = np.stack([self.totals[:, list(topics)].sum(axis=1) for topics in merged], axis=1)
        return replace(self, totals=totals, titles=(), parts=tuple(map(len, merged)))

    def to_arrow(self, level: float = _LEVEL) -> Any:
        """Return an Arrow table with a row for each group and topic, which has its number and title."""
        units, shares, k = self.units(level), self.shares(level), self.n_topics
        columns: dict[str, Any] = {
            name: pa.array([row[axis] for row in self.rows for _ in range(k)]) for axis, name in enumerate(self.by)
        }
        for name, of_row in (("units", units.value), ("units_low", units.low), ("units_high", units.high)):
            columns[name] = pa.array(np.repeat(of_row, k))
        columns["topic"] = pa.array(np.tile(np.arange(k), len(self.rows)))
        if self.titles:
            columns["topic_name"] = pa.array(list(self.titles) * len(self.rows))
        for name, of_cell in (("share", shares.value), ("share_low", shares.low), ("share_high", shares.high)):
            columns[name] = pa.array(of_cell.ravel(), from_pandas=True)
        columns["too_small_to_tell"] = pa.array(np.repeat(~self.tells, k))
        return pa.table(columns)

    def to_frame(self, level: float = _LEVEL) -> Any:
        """Return a pandas data frame of `to_arrow`, marked if it is not private (`warning_label`).

        Raises `InputError` without pandas.
        """
        return frame_of(self.to_arrow(level), self.warning_label, "to_arrow gives an Arrow table.")

    def plot(self) -> Any:
        """Draw the table as the report does: topics over time, or a heat map of groups; a bar each without groups.

        The result is a matplotlib figure, which notebooks show. Raises `InputError` for a table by several attributes,
        other than a period and a few groups: sum it to one of them with `over`.
        """
        return load_name("dplda.report.figures", "draw_table")(self)

    def to_json(self, level: float = _LEVEL) -> dict[str, Any]:
        """Return the estimates as plain JSON; a share that cannot be told is null."""
        units, shares = self.units(level), self.shares(level)
        return {
            "by": list(self.by),
            "groups": [
                {
                    "group": row[0] if len(row) == 1 else list(row),
                    "units": interval(units, index),
                    "too_small_to_tell": not tells,
                    "topics": [
                        {"topic": topic, **interval(shares, (index, topic), "share")} for topic in range(self.n_topics)
                    ],
                }
                for index, (row, tells) in enumerate(zip(self.rows, self.tells.tolist(), strict=True))
            ],
            "changes": [
                {
                    "topic": change.topic,
                    "from": None if change.since is None else list(change.since),
                    "to": list(change.group),
                    "value": change.value,
                    "low": change.low,
                    "high": change.high,
                }
                for change in self.changes(level)
            ],
        }

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON; `of_released` makes the table from it again."""
        return {
            "by": list(self.by),
            "groups": [list(names) for names in self.groups],
            "private": list(self.private),
            "totals": self.totals.tolist(),
            "counts": self.counts.tolist(),
            "std": self.std,
        }

    @classmethod
    def of_released(cls, record: Mapping[str, Any], *, sampling: bool = False) -> ReleasedTable:
        """Make a table again from what `released` returned."""
        return cls(
            tuple(record["by"]),
            tuple(map(tuple, record["groups"])),
            tuple(record["private"]),
            np.array(record["totals"], float),
            np.array(record["counts"], float),
            float(record["std"]),
            sampling,
        )


def check_level(level: object) -> None:
    """Raise `InputError` for what is no probability at which intervals hold."""
    number = plain_number(level)
    if not isinstance(number, int | float) or not 0 < number < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95, got {level!r}.")


def quantile(level: float, n_intervals: int = 1) -> float:
    """Return how many standard deviations `n_intervals` extend to each side, so that all hold together at `level`.

    Raises `InputError` for a level that is no probability.
    """
    check_level(level)
    return float(-ndtri((1 - float(level)) / 2 / n_intervals))


def least_size(std: float) -> float:
    """Return the size from which a row is not too small to tell, if the noise of its sums has deviation `std`."""
    return quantile(_LEVEL) * std / _UNCLEAR


def interval(estimates: Estimates[np.ndarray], place: Any, name: str = "value") -> dict[str, float | None]:
    """Return one of `estimates` as plain JSON, the value under this `name`."""
    value = float(estimates.value[place])
    return {
        name: value if np.isfinite(value) else None,
        "low": float(estimates.low[place]),
        "high": float(estimates.high[place]),
    }


def counted(unit: str) -> str:
    """Name what tables count, such as ``documents with at least three known words``."""
    what = "documents with" if unit == DOCUMENT else f"{unit}s (in parts, if in several groups) with a document of"
    return f"{what} at least {MINIMUM_LENGTH} known words"


def tables_about(all_tables: Sequence[Tables], model: TopicModel) -> list[Tables]:
    """Return those of `all_tables` that are about the topics of `model`, or of the run whose topics it has merged."""
    merged = model.facts.merged
    of_run = [each for each in all_tables if each.of == model.facts.run and each[0].n_topics == model.topics_of_run]
    found = of_run if merged is None else [each.merged(merged) for each in of_run]
    return [judged_by_size(each, model) for each in found]


def judged_by_size(tables: Tables, model: TopicModel) -> Tables:
    """Return `tables`, of other documents if they certainly count more units than `model` was learned from.

    Files may have grown since. Only released numbers may tell so: whether they did is private.
    """
    sizes = [event for event in model.privacy.events if event.stage == Stage.SIZE]
    if model.facts.documents is None or not sizes or tables.privacy.unit != model.privacy.unit:
        return tables
    most = model.facts.documents + quantile(_SURE) * (sizes[0].noise_multiplier or 0.0)
    grown = any(table.whole().units(_SURE).low[0] > most for table in tables)
    return replace(tables, same_documents=False) if grown else tables


def least_noisy_shares(all_tables: Sequence[Tables], model: TopicModel) -> Estimates[np.ndarray] | None:
    """Return the shares of the topics of `model` in all units, (n_topics,), from the table with the least noise.

    None without a table of these topics that is about the documents from which they were learned.
    """
    tables = [table for each in tables_about(all_tables, model) if each.same_documents for table in each]
    return shares_in_all(tables) if tables else None


def shares_in_all(tables: Sequence[ReleasedTable]) -> Estimates[np.ndarray]:
    """Return the shares of topics in all units, (k,), from that of `tables` of the same topics with the least noise."""
    found = min(tables, key=lambda table: table.std * math.sqrt(len(table.rows))).whole().shares()
    return Estimates(found.value[0], found.low[0], found.high[0])


@dataclass(frozen=True, repr=False)
class Tables(Sequence[ReleasedTable]):
    """The tables of one run, their guarantee, and the run `of` whose topics they are about."""

    run: str
    of: str
    tables: tuple[ReleasedTable, ...]
    privacy: PrivacyStatement
    dataset: str = ""
    """The dataset of the documents that are in the tables."""
    same_documents: bool = False
    """Whether the topics are known to be learned from these documents: one plan asked both, or both runs were on the
    same dataset and read the same files, or the same `Corpus` in memory, in the same way (`Corpus.identity`). What the
    files hold decides nothing, but released numbers of units may tell that they grew (`judged_by_size`). Of counts and
    words, the topics are those that a page shows beside them: of all its models."""
    same_as: tuple[str, ...] = ()
    """The runs among these that read these documents, or the same path before it grew."""
    kind: ClassVar[type[ReleasedTable]] = ReleasedTable

    def __post_init__(self) -> None:
        own = self.kind is ReleasedTable and self.of == self.run  # one plan asked for topics and tables of these
        object.__setattr__(self, "same_documents", self.same_documents or own)
        label = self.privacy.warning_label
        object.__setattr__(self, "tables", tuple(replace(table, warning_label=label) for table in self.tables))

    @property
    def has_grown(self) -> bool:
        """Whether the path of these documents has certainly grown since the topics were learned (`judged_by_size`)."""
        return not self.same_documents and self.of in self.same_as

    def __repr__(self) -> str:
        promise = self.privacy.warning_label or f"epsilon={self.privacy.epsilon:g}"
        return f"{type(self).__name__}({self.run}, {promise}: {', '.join(map(repr, self.tables))})"

    def _repr_html_(self) -> str | None:
        """Show all tables and the guarantee in a notebook; without pandas, the notebook shows them in short."""
        shown: str | None = load_name("dplda.report.notebook", "tables_html")(self)
        return shown

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, index: Any) -> Any:
        return self.tables[index]

    def to_frame(self) -> Any:
        """Return the only table as a pandas data frame. Raises `InputError` if there are several: index one of them."""
        if len(self.tables) != 1:
            raise InputError(f"this result holds {len(self.tables)} tables: take one, as result[0].to_frame() does.")
        return self.tables[0].to_frame()

    def plot(self) -> Any:
        """Draw the only table (`ReleasedTable.plot`). Raises `InputError` if there are several: index one of them."""
        if len(self.tables) != 1:
            raise InputError(f"this result holds {len(self.tables)} tables: take one, as result[0].plot() does.")
        return self.tables[0].plot()

    def merged(self, merged: Sequence[Sequence[int]]) -> Tables:
        """Return the tables with the sums of topics that were merged by hand (`ReleasedTable.merged`)."""
        return replace(self, tables=tuple(table.merged(merged) for table in self.tables))

    def titled(self, titles: Sequence[str]) -> Tables:
        """Return the tables with the `titles` of their topics, (k,). Raises `InputError` for another number of them."""
        if len(titles) != self.tables[0].n_topics:
            raise InputError(f"titles must be {self.tables[0].n_topics}, one for each topic, got {len(titles)}.")
        return replace(self, tables=tuple(replace(table, titles=tuple(titles)) for table in self.tables))

    def to_json(self) -> dict[str, Any]:
        """Return all estimates and the guarantee, as plain JSON."""
        first, *others = [table.to_json() for table in self.tables]
        return {
            "run": self.of,
            "table": self.run,
            **first,
            "others": others,
            "privacy": self.privacy.to_json(),
        }

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON; `of_released` makes the tables from it again."""
        return {"tables": [table.released() for table in self.tables], "privacy": self.privacy.to_json()}

    @classmethod
    def of_released(
        cls, record: Mapping[str, Any], *, run: str, of: str, dataset: str = "", sampling: bool = False
    ) -> Self:
        """Make the tables again from what `released` returned. Raises `InputError` for anything else."""
        try:
            tables = tuple(cls.kind.of_released(each, sampling=sampling) for each in record["tables"])
            return cls(run, of, tables, PrivacyStatement.from_json(dict(record["privacy"])), dataset)
        except (KeyError, TypeError, ValueError):
            raise InputError(f"run {run} holds no tables that this version of dplda can read.") from None
