"""Tables of what documents have: answers (`dplda.count`) or words (`dplda.distinctive_words`), by group.

Words are compared between groups by shares and lifts whose intervals all hold together (docs/privacy.md, T17). The
noise of each group's sums, and of those of all other groups, is within q standard deviations with probability 1 - alpha
for all D of these coordinates together, where q is the normal quantile of (1 + (1 - alpha)^(1/D)) / 2 (Sidak 1967). An
interval of a quotient is the range of its values over this box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from scipy.special import ndtri, rel_entr

from dplda.learning.estimates import Estimates
from dplda.runs.released_table import ReleasedTable, Tables, check_level, interval, quantile
from dplda.text.records import DOCUMENT

_LEVEL = 0.95
_CAUTION = 3.0  # standard deviations; without it, noise makes rare words key (docs/design-log.md)


@dataclass(frozen=True, eq=False, repr=False)
class IndicatorTable(ReleasedTable):
    """Noisy sums of what documents have, by group: each of several `titles` or not; shares need not sum to 1.

    The noise of `totals` (n_rows, n_titles) and of `counts` (n_rows,) is independent. Intervals of shares are exact for
    the noise (Fieller 1954).
    """

    size_precision: float = 1.0
    """The standard deviation of the noise of `totals`, divided by that of `counts`."""
    exclusive: bool = False
    """Whether each document has exactly one title, so that shares sum to 1 and `totals` tell the sizes of rows, too."""

    @property
    def _count_share(self) -> float:
        return self.size_precision

    @property
    def _offset(self) -> np.ndarray:
        return super()._offset if self.exclusive else np.zeros(self.n_topics)

    @property
    def _sizes(self) -> np.ndarray:
        return super()._sizes if self.exclusive else self.counts

    @property
    def _size_std(self) -> float:
        return super()._size_std if self.exclusive else self.std / self.size_precision

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON; `of_released` makes the table from it again."""
        facts = {name: getattr(self, name) for name in ("size_precision", "exclusive")}
        return super().released() | {"titles": list(self.titles), **facts}

    @classmethod
    def of_released(cls, record: Mapping[str, Any], *, sampling: bool = False) -> Self:
        """Make a table again from what `released` returned."""
        plain = ReleasedTable.of_released(record, sampling=sampling)
        names = [each.name for each in fields(ReleasedTable) if each.name != "titles"]
        return cls(
            **{name: getattr(plain, name) for name in names},
            titles=tuple(record["titles"]),
            size_precision=float(record["size_precision"]),
            exclusive=bool(record.get("exclusive")),
        )


MORE_CERTAIN = "fewer words, larger groups, more documents or a larger part of the budget would show more"
WEIGHED = (
    "A document with d of the words weighs 1/√(1+d), so that one document moves the numbers little: shares, and how "
    "many times as frequent, are of documents with these weights, and not of documents counted one by one."
)
OWN_WORDS = "Words that the category itself lists mark it by definition; the others are news."


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(IndicatorTable):
    """Noisy numbers of documents that match each category, by group; `titles` are the categories.

    In `totals`, a document with more than `at_most` answers counts less than 1. The documents of a person share the
    weight of one, unless `persons` or `documents_per_person` says otherwise.
    """

    noun, one = "categories", "category"
    at_most: int = 1
    persons: bool = False
    """Whether a person counts like one document that has the answers of all of theirs: 1 in each category of at least
    one of them, in each group that these are in. Groups do not add up then."""
    documents_per_person: int | None = None
    """If not None, each document counts 1, except that those of a person with more than so many documents count less
    together."""
    rules: tuple[str, ...] = ()
    """What puts a document into each category, in words; empty where a function or a language model decides."""

    def counted(self, unit: str) -> str:
        """Name what each 1 in `counts` is, if `unit` is protected: a document of it with `documents_per_person`."""
        return DOCUMENT if self.documents_per_person else unit

    def weighs_texts(self, unit: str) -> bool:
        """Whether all documents of a person share the weight of one."""
        return unit != DOCUMENT and not self.persons and not self.documents_per_person

    def shared(self, unit: str) -> str:
        """Name what shares are of: documents, persons, or persons' texts, those of each person with the same weight."""
        return f"{unit}s' texts" if self.weighs_texts(unit) else f"{self.counted(unit)}s"

    @property
    def others(self) -> str:
        """Where all others are that a group is compared with: of persons, who may be in several, the other groups."""
        return "in the other groups together" if self.persons else super().others

    @property
    def outside_periods(self) -> str:
        """As of any table; empty if persons, who may be in several groups, would be added up."""
        return "" if self.persons and len(self.by) > 1 else super().outside_periods

    @property
    def _design_effect(self) -> float:
        return self.documents_per_person or 1.0  # persons are drawn, whose documents may be alike

    @property
    def _facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("at_most", "persons", "documents_per_person")}

    def matches(self, level: float = 0.95) -> Estimates[np.ndarray]:
        """Return the number of documents of each row that match each category, (n_rows, n_categories)."""
        half = quantile(level) * self.std
        low, high = self.totals - half, self.totals + half
        high = np.where(high >= 1, high, max(half, 1))  # below 1, it would claim that there is certainly none
        return Estimates(np.maximum(self.totals, 0), np.maximum(low, 0), high)

    def to_arrow(self, level: float = 0.95) -> Any:
        """Return an Arrow table with a row for each group and category.

        The columns ``units`` are called ``documents`` with `documents_per_person`, since they count these.
        """
        whole = super().to_arrow(level).drop_columns(["topic"]).rename_columns({"topic_name": "category"})
        found = self.matches(level)
        place = whole.column_names.index("category") + 1
        for name, numbers in (("count", found.value), ("count_low", found.low), ("count_high", found.high)):
            whole = whole.add_column(place, name, pa.array(numbers.ravel()))
            place += 1
        if self.documents_per_person:
            whole = whole.rename_columns({f"units{end}": f"{DOCUMENT}s{end}" for end in ("", "_low", "_high")})
        return whole

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Return the estimates as plain JSON, also of `all` groups together unless persons are in several of them.

        A share that cannot be told is null.
        """
        plain, found = super().to_json(level), self.matches(level)
        for index, group in enumerate(plain["groups"]):
            topics = group.pop("topics")
            group["categories"] = [
                {"category": self.titles[number], **interval(found, (index, number), "count")}
                | {"share": each["share"], "share_low": each["low"], "share_high": each["high"]}
                for number, each in enumerate(topics)
            ]
        for change in plain["changes"]:
            change["category"] = self.titles[change.pop("topic")]
        if self.by and not self.persons:
            (whole,) = self.whole().to_json(level)["groups"]
            plain["all"] = {name: value for name, value in whole.items() if name != "group"}
        return plain | self._facts

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON; `of_released` makes the table from it again."""
        return super().released() | self._facts | {"rules": list(self.rules)}

    @classmethod
    def of_released(cls, record: Mapping[str, Any], *, sampling: bool = False) -> Self:
        """Make a table again from what `released` returned."""
        plain = super().of_released(record, sampling=sampling)
        return replace(
            plain,
            at_most=int(record["at_most"]),
            persons=bool(record.get("persons")),
            documents_per_person=None if (number := record.get("documents_per_person")) is None else int(number),
            rules=tuple(record.get("rules", ())),
        )


def times(lift: float) -> str:
    """Format a lower bound on a `lift`, which exceeds 1, rounded down to as many decimal places as show that."""
    for places in (1, 2, 3):
        text = f"{math.floor(lift * 10**places + 1e-9) / 10**places:.{places}f}"
        if text.rstrip("0") != "1.":
            return text
    return "just over 1"


@dataclass(frozen=True)
class WordContrast:
    """A word that seems more frequent in a group than elsewhere; its shares in both, and its lift, their quotient.

    Where the interval of the share elsewhere reaches 0, the quotient is noise: the value of the lift is nan then, and
    only its lower end is known.
    """

    word: str
    share: Estimates[float]
    elsewhere: Estimates[float]
    lift: Estimates[float]

    @property
    def certain(self) -> bool:
        """Whether it is more frequent in the group: its lift exceeds 1, as far as all intervals hold together."""
        return self.lift.low > 1

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; an unbounded end, and a lift that is not known, are null."""
        found: dict[str, Any] = {"word": self.word}
        for name in ("share", "elsewhere", "lift"):
            numbers = getattr(self, name).to_json().items()
            found[name] = {end: value if np.isfinite(value) else None for end, value in numbers}
        return found


def certain_of(contrasts: Sequence[WordContrast] | None) -> list[WordContrast]:
    """Return those of `contrasts` that are certain, by the lower end of their lift, largest first."""
    return sorted((each for each in contrasts or () if each.certain), key=lambda each: -each.lift.low)


@dataclass(frozen=True, eq=False, repr=False)
class WordTable(IndicatorTable):
    """Noisy document frequencies of words, by group; `titles` are the words.

    A document with d of the words weighs 1 / sqrt(1 + d) in `totals` (n_rows, n_words) and in `counts` (n_rows,).
    """

    noun, one = "words", "word"

    @property
    def others(self) -> str:
        """What a group is compared with, in words."""
        return "in the other group" if self.compares_two else super().others

    @property
    def _others(self) -> np.ndarray:
        """Which rows each row is compared with, (n_rows, n_rows): all others, or the other one of two groups."""
        n_rows = len(self.rows)
        others = 1.0 - np.eye(n_rows)
        if self.compares_two:
            others[:] = 0.0
            others[0, 1] = others[1, 0] = 1.0
        return others

    def distinctive(self, most: int = 10, level: float = _LEVEL) -> list[list[WordContrast] | None]:
        """Return, for each row, at most `most` words that are more frequent in it than in all others, the first first.

        They are ordered by keyness, Dunning's (1993) log-likelihood ratio of the noisy counts, where the noise of the
        others is taken to have made their count too small. All intervals hold together with probability `level`. A row
        that is too small to tell has None; so has the row of all others where two groups are compared.
        """
        check_level(level)
        n_rows, n_words = self.totals.shape
        if n_rows < 2:
            return [None] * n_rows
        q = float(ndtri((1 + float(level) ** (1 / (2 * n_rows * (n_words + 1)))) / 2))
        own = _quotients(self.totals, self.counts, np.full(n_rows, q * self.std))
        others = self._others
        rest, rest_size, rest_std = others @ self.totals, others @ self.counts, self.std * np.sqrt(others.sum(axis=1))
        elsewhere = _quotients(rest, rest_size, q * rest_std)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(elsewhere.low > 0, own.value / elsewhere.value, np.nan)
            lift = Estimates(value, own.low / elsewhere.high, own.high / elsewhere.low)
        keyness = _keyness(self.totals, self.counts, np.maximum(rest, 0) + _CAUTION * rest_std[:, None], rest_size)
        found: list[list[WordContrast] | None] = []
        for row in range(n_rows):
            if not others[row].any() or not self.tells[row] or not self.counts[row] > q * self.std:
                found.append(None)
                continue
            order = np.argsort(-keyness[row], kind="stable")[:most]
            words = [int(word) for word in order if keyness[row, word] > 0]
            shown = ((word, (_at(each, (row, word)) for each in (own, elsewhere, lift))) for word in words)
            found.append([WordContrast(self.titles[word], *estimates) for word, estimates in shown])
        return found

    def to_arrow(self, level: float = _LEVEL) -> Any:
        """Return an Arrow table with a row for each group and each of its words in `distinctive`.

        Not all of these words are certainly more frequent in the group: the column ``certain`` tells which are
        (`WordContrast.certain`). A ``lift`` that is not known is null.
        """
        rows = [
            (group, contrast)
            for group, contrasts in zip(self.rows, self.distinctive(level=level), strict=True)
            for contrast in contrasts or ()
        ]
        columns: dict[str, Any] = {name: [group[axis] for group, _ in rows] for axis, name in enumerate(self.by)}
        columns["word"] = [contrast.word for _, contrast in rows]
        columns["certain"] = [contrast.certain for _, contrast in rows]
        for name in ("share", "elsewhere", "lift"):
            for suffix, end in (("", "value"), ("_low", "low"), ("_high", "high")):
                numbers = [float(getattr(getattr(each, name), end)) for _, each in rows]
                columns[name + suffix] = pa.array(numbers, pa.float64(), from_pandas=True)  # which makes nan null
        return pa.table(columns)

    def to_json(self, level: float = _LEVEL) -> dict[str, Any]:
        """Return the distinctive words of each group as plain JSON; null for a group that is too small."""
        return {
            "by": list(self.by),
            "n_words": len(self.titles),
            "groups": [
                {
                    "group": row[0] if len(row) == 1 else list(row),
                    "too_small_to_tell": contrasts is None,
                    "words": None if contrasts is None else [contrast.to_json() for contrast in contrasts],
                }
                for row, contrasts in zip(self.rows, self.distinctive(level=level), strict=True)
            ],
        }


def _quotients(totals: np.ndarray, sizes: np.ndarray, half: np.ndarray) -> Estimates[np.ndarray]:
    """Return totals / sizes, and the range over the box of +- `half` (n_rows,) around both, within [0, 1]."""
    size, half = sizes[:, None], half[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.clip(totals / size, 0, 1)
        low = np.maximum(totals - half, 0) / np.maximum(size + half, 1e-9)
        most = np.where(totals > -half, totals + half, half)  # a box wholly below 0 would claim that there is none
        high = np.where(size > half, most / (size - half), 1.0)
    return Estimates(value, np.clip(low, 0, 1), np.clip(high, 0, 1))


def _keyness(y: np.ndarray, n: np.ndarray, rest: np.ndarray, rest_n: np.ndarray) -> np.ndarray:
    """Return the log-likelihood ratio of each word, (n_rows, n_words), negative for one that is rarer in the row.

    `y` and `rest` (n_rows, n_words) count a word in the row and elsewhere, among `n` and `rest_n` (n_rows,) documents.
    """
    y = np.maximum(y, 0)
    n, rest_n = np.maximum(n, 1)[:, None], np.maximum(rest_n, 1)[:, None]
    mean = (y + rest) / (n + rest_n)
    ratio = 2 * (rel_entr(y, n * mean) + rel_entr(rest, rest_n * mean))
    return np.asarray(np.where(y * rest_n > rest * n, ratio, -ratio))


def _at(estimates: Estimates[np.ndarray], place: tuple[int, int]) -> Estimates[float]:
    return Estimates(*(float(numbers[place]) for numbers in (estimates.value, estimates.low, estimates.high)))


class _OfDocuments(Tables):
    """Tables of documents whose columns are no topics."""

    called: ClassVar[str]
    """What JSON calls the id of their run."""

    def to_json(self) -> dict[str, Any]:
        """Return all estimates and the guarantee, as plain JSON."""
        plain = super().to_json()
        del plain["run"]  # that of topics
        return {self.called: plain.pop("table"), **plain}


class Counts(_OfDocuments):
    """The tables of categories of one run, and their guarantee."""

    tables: tuple[CountTable, ...]
    kind, called = CountTable, "count"


class Words(_OfDocuments):
    """The tables of words of one run, and their guarantee."""

    tables: tuple[WordTable, ...]
    kind, called = WordTable, "words"
