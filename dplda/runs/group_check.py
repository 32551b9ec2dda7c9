"""The look at the first documents before a table is charged, for their owner: exact and not private."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from dplda.base.errors import InputError
from dplda.private.attributes import BETWEEN, BOOLEAN, Attribute, in_words
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.tabulation import EXAMPLE_RANGES, Grouping, stored_columns
from dplda.text.dates import date_formats, have_offset, say_formats

_MOST = 0.5  # share of misfits above which a table may be a mistake
_ENOUGH = 20  # records that show whether values differ from one to the next
_FEW = 0.1  # share up to which they do not show that the dates have another format
_ORDERED = 0.9  # rank correlation of dates with their places from which on they are in order
_SLIP = 0.8  # similarity (difflib) from which a value may be what a listed group without documents should be
_ISO = "ISO 8601, such as 2024-03-31"


@dataclass(frozen=True)
class Misfits:
    """The shares, by reason, of those of `n` documents that are in no group of the attribute `name`; exact."""

    name: str
    n: int
    shares: dict[str, float]
    formats: tuple[str, ...] = ()
    """Other formats that read the dates, if the one that was named does not."""
    absent: tuple[str, ...] = ()
    """Those of two groups, which are compared, or of all listed groups, that none of the documents is in."""
    doubtful: bool = False
    """Whether a table would probably say little, or dates may be read wrongly."""
    hint: str = ""
    """What else the values show, in words."""
    whole: bool = False
    """Whether these are all documents, and not only the first ones."""

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, given_by: str = "date_format=") -> str:
        """Tell the misfits; `given_by` is what is written before a format of dates, as in `say_formats`."""
        listed = [f"{_in_percent(share)} {reason}" for reason, share in self.shares.items()]
        listed += [f"none is in {group}" for group in self.absent]
        readable = f" Their dates can be read with {say_formats(self.formats, given_by)}." if self.formats else ""
        found = ", ".join(listed) or "all can be grouped"
        looked_at = "all" if self.whole else "the first"
        return f"Of {looked_at} {self.n:,} records, by {in_words(self.name)}: {found}.{readable}{self.hint}"


def _in_percent(share: float) -> str:
    """Format a share above 0; only all are 100 %."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def misfits(grouping: Grouping, values: Sequence[str | None], *, whole: bool = False) -> Misfits:
    """Return the misfits among the `values` (n_documents,) of the column of `grouping`; None stands for no value.

    They are those of the first documents, or for `whole` of all. Listed values without documents are told, too.

    Where groups are found privately, any value may be in one. A table would say little if most documents are misfits,
    or if a listed value that none has is almost one that some have. So it would where hardly two documents have the
    same value, as times have: a period of dates is the hint then. For two groups, which may be few of the documents, it
    would if one has none; for two ranges of dates in documents that are in the order of their dates, if both have none.
    Where few dates beside those in ISO 8601 cannot be read, their format is told without doubting the table.
    """
    attribute, groups = grouping.attribute, grouping.groups
    compares = attribute.period == BETWEEN
    missing = "a reserved name"
    if attribute.has_dates:
        missing = f"no date in {f'the format {attribute.date_format}' if attribute.date_format else _ISO}"
    elif attribute.period == BOOLEAN:
        missing = "no truth value"
    reasons, found = Counter[str](), set[str]()
    alone = _alone(values) if groups is None and not attribute.has_dates else set()
    folded, n_alike = {name.casefold() for name in groups or ()}, 0
    for value in values:
        group = None if value is None else attribute.group(value)
        if value is None:
            reasons["have no value"] += 1
        elif group is None:
            reasons[f"hold {missing}"] += 1
        elif groups is not None and group not in groups:
            reasons["are in neither group" if compares else "are in none of the listed groups"] += 1
            n_alike += group.casefold() in folded
        elif value in alone:
            reasons["have a value of their own"] += 1
        else:
            found.add(group)
    shares = {reason: n / len(values) for reason, n in reasons.most_common()}
    listed = compares or whole or not attribute.period
    absent = tuple(group for group in groups or () if group not in found) if listed else ()
    no_ranges = compares and not attribute.has_dates and len(absent) == 2
    doubted = attribute.has_dates or alone or no_ranges
    formats = date_formats([each for each in values if each is not None]) if doubted else None
    hint = f" They are dates: group by month({attribute.name})." if alone and formats is not None else ""
    if no_ranges and formats is not None:
        hint += f" They are dates: compare ranges of them, {EXAMPLE_RANGES}."
    if n_alike:
        hint += f" {n_alike:,} of these values differ from a listed group in capital letters alone."
    if attribute.has_dates and attribute.zone != "UTC" and not have_offset(values, attribute.date_format):
        hint += " No date has a UTC offset, so the time zone changes nothing."
    unread = attribute.has_dates and formats is not None and not {attribute.date_format, ""} & {*formats}
    others = formats if unread and formats is not None else ()  # ISO 8601 is always read
    enough = 2 if attribute.ranges and _in_order(attribute, values) else 1
    unlisted = {each for each in values if each is not None and each not in found} if absent and not compares else set()
    slips = not attribute.has_dates and any(get_close_matches(group, unlisted, n=1, cutoff=_SLIP) for group in absent)
    little = len(absent) >= enough if compares else sum(shares.values()) > _MOST
    wrong = bool(others) and sum(shares.values()) > _FEW
    return Misfits(attribute.name, len(values), shares, others, absent, little or wrong or slips, hint, whole)


def _in_order(attribute: Attribute, values: Sequence[str | None]) -> bool:
    """Whether the dates among `values` rise or fall, but for slips, so that the first are from one end of the time."""
    from scipy.stats import spearmanr  # slow to load, and seldom needed

    read = [days[0].toordinal() for value in values if value is not None and (days := attribute.days(value))]
    return len(set(read)) < 2 or bool(abs(spearmanr(np.arange(len(read)), read).statistic) > _ORDERED)


def _alone(values: Sequence[str | None]) -> set[str]:
    """Return the values that only one of the documents has, if most documents have such values; else nothing."""
    single = {value for value, n in Counter(values).items() if n == 1 and value is not None}
    return single if len(values) >= _ENOUGH and len(single) > _MOST * len(values) else set()


def misfits_of(
    tables: Sequence[Sequence[Grouping]], values: Sequence[Mapping[str, str | None]], *, whole: bool = False
) -> list[Misfits]:
    """Return the `misfits` of each attribute of `tables` among documents with these `values` in their columns."""
    columns = stored_columns(tables)
    attributes = dict.fromkeys(each for table in tables for each in table if each.attribute.column in columns)
    columns_of = [(each, [row.get(each.attribute.column) for row in values]) for each in attributes if values]
    found = (misfits(each, column, whole=whole) for each, column in columns_of)
    return [each for each in found if each.shares or each.absent or each.hint]


def look_at_groups(tables: Sequence[Sequence[Grouping]], corpus: Corpus) -> list[Misfits]:
    """Return the misfits of `tables` among the first documents of `corpus`, or among all files of a folder.

    A folder is read one subfolder after another, so that its first documents are in the first ones.
    """
    if names := corpus.subfolders():
        return misfits_of(tables, names, whole=True)
    return misfits_of(tables, corpus.first_groups())


def refuse_misfits(tables: Sequence[Sequence[Grouping]], corpus: Corpus) -> None:
    """Raise `InputError` if the first documents of `corpus`, where they can be read again, hardly fit `tables`."""
    check_corpus(corpus)
    if set(stored_columns(tables)) <= set(corpus.group_columns):
        for each in look_at_groups(tables, corpus):
            if each.doubtful:
                raise InputError(
                    f"{each} (Exact, not for publication.) That may be a mistake, so nothing was charged. Name another "
                    "column or list, or pass check_groups=False if it is meant."
                )
