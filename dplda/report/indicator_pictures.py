"""Pictures of what documents have: bars, heat maps and lines of categories, and dots for the words of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dplda.base.config import MINIMUM_LENGTH
from dplda.learning.estimates import whole_number
from dplda.report.pictures import (
    BLUE,
    INK,
    Bar,
    Bars,
    Chart,
    Heat,
    Picture,
    Table,
    log_axis,
    percent,
    shortened,
    shown,
    with_interval,
)
from dplda.report.table_pictures import (
    category_of,
    certain_differences,
    drawing,
    further_differences,
    guarantee_in_words,
    how_lines_read,
    in_words,
    is_drawn_whole,
    largest_share,
    of_groups,
    told_private,
)
from dplda.report.wording import intervals_cover, is_hidden
from dplda.runs.counting import count_less, counted_in, size_heading, what_counts, what_intervals_hold, who_counts_less
from dplda.runs.indicator_tables import (
    MORE_CERTAIN,
    OWN_WORDS,
    WEIGHED,
    Counts,
    CountTable,
    WordContrast,
    Words,
    WordTable,
    certain_of,
    times,
)
from dplda.runs.released_table import Tables
from dplda.runs.tabulation import subject
from dplda.text.categories import NO_ANSWER, NONE
from dplda.text.records import DOCUMENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REST = (NONE, NO_ANSWER)  # not drawn: most documents may be among them, and would make all others tiny
_ROW, _MOST_ROWS = 21, 90  # height in CSS pixels of a word of the dot plot; words and groups in one
_LONGEST = 20  # characters of a word or group beside its dots
_LONGEST_RULE = 90  # characters of what puts a document into a category, where it is told in short
_TINY = 0.9  # where the axis of lifts begins


def pictures(
    all_answers: Sequence[Tables], prefix: str, hidden: Sequence[str] = (), *, of_page: Sequence[Tables] = ()
) -> list[Picture]:
    """Draw the counts and words among `all_answers`, without `hidden` words; `prefix` begins the pictures' names.

    `of_page` are all answers of the page about the same documents, if these are not all.
    Headings name the run of documents that are not known to be those of the topics on the page.

    Counts have a picture for each table. Of a table with too many groups, they have the numbers of its combinations,
    and a picture for each attribute that no other table is by alone. Words have a picture for each table.
    """
    drawn: list[Picture] = []
    alone = {(*_documents(answers), *subject(each)) for answers in all_answers for each in answers if len(each.by) == 1}
    several = len({answers.run for answers in all_answers}) > 1
    largest = _largest_sums(of_page or all_answers)
    for run, answers in enumerate(all_answers):
        of_run = list[Picture]()
        whose = f" (run {shown(answers.run)})" if several else ""
        if not answers.same_documents:
            of = answers.same_as or (answers.run,)
            whose = f", in the documents of run{'s' * (len(of) > 1)} {shown(', '.join(of))}"
        for place, table in enumerate(answers):
            name = f"{prefix}-answer-{run}-{place}"
            if isinstance(table, WordTable):
                of_run.append(_words(table, answers, name, hidden))
            elif isinstance(table, CountTable):
                total = _sum(table) >= largest.get(_counted(table, answers), 0.0)
                if not table.by or is_drawn_whole(table):
                    of_run.append(_counts(table, answers, f"{name}-0", total=total))
                    continue
                of_run.append(_combinations(table, answers, name))
                parts = map(table.over, range(len(table.by)))
                of_run += [
                    _counts(part, answers, f"{name}-{number}", of=in_words(table, answers), total=total)
                    for number, part in enumerate(parts)
                    if (*_documents(answers), *subject(part)) not in alone
                ]
        drawn += [
            replace(each, title=f"{each.title}{whose}", note=f"{each.note}{'' if place else _rules_in_short(answers)}")
            for place, each in enumerate(of_run)
        ]
    return drawn


def _largest_sums(all_answers: Sequence[Tables]) -> dict[object, float]:
    """Return the largest of the sums of all groups (`_sum`) of the tables with the same categories, by `_counted`.

    Where documents may count less, each table counts another part of them. All sums are at most the true ones then, so
    that a page tells the largest only.
    """
    largest: dict[object, float] = {}
    for answers in all_answers:
        for table in answers:
            if isinstance(table, CountTable) and table.by and not table.persons and not table.compares_two:
                key = _counted(table, answers)
                largest[key] = max(_sum(table), largest.get(key, 0.0))
    return largest


def _counted(table: CountTable, answers: Tables) -> object:
    """Tell apart what tables count: categories, in documents."""
    return table.titles, _documents(answers)


def _sum(table: CountTable) -> float:
    """Sum the lower ends of the numbers of all categories, in all groups."""
    listed = [place for place, name in enumerate(table.titles) if name not in _REST]
    return float(table.whole().matches().low[0, listed].sum())


def _documents(answers: Tables) -> tuple[str, str]:
    """Tell the documents of `answers` apart from others: those of the topics on the page, or of their own run."""
    return answers.dataset, "" if answers.same_documents else answers.run


def words_of(all_answers: Sequence[Tables]) -> list[str]:
    """Return the words that `pictures` draws."""
    tables = [table for answers in all_answers for table in answers if isinstance(table, WordTable)]
    return [each.word for table in tables for found in certain_words(table).values() for each in found]


def are_indicators(answers: Tables) -> bool:
    """Whether `answers` are counts or words."""
    return isinstance(answers, Counts | Words)


def _combinations(table: CountTable, counts: Tables, name: str) -> Picture:
    """Tell the numbers of all combinations of groups of `table`, and what differs for certain."""
    unit, by = counts.privacy.unit, in_words(table, counts)
    order = sorted(range(table.n_topics), key=lambda category: -table.totals[:, category].sum())
    every = {category: table.titles[category] for category in order}
    names = {category: title for category, title in every.items() if title not in _REST}
    told = int(table.tells.sum())
    return Picture(
        name=name,
        title=f"Each category by {by}",
        alt=f"The numbers of each of {len(names)} categories by {by}.",
        note=f"{certain_differences(table, every)} Of {told:,} of {len(table.rows):,} combinations, the "
        "share can be told, too.",
        drawing=Bars([]),
        further=further_differences(table, every),
        table=_count_numbers(table, order, by, unit),
        definition=f"{_told_rules(table, unit)}{told_private(table, unit)}{told_counted(table, unit)}",
    )


def _counts(table: CountTable, counts: Tables, name: str, of: str = "", *, total: bool) -> Picture:
    """Draw the categories of `table`: bars without groups, otherwise their shares over time or by group.

    `of` names the table that it is summed from, if there is one. `total` says whether to tell the sums of all groups
    that may be too small.
    """
    unit = counts.privacy.unit
    order = sorted(range(table.n_topics), key=lambda category: -table.totals[:, category].sum())
    every = {category: table.titles[category] for category in order}
    names = {category: title for category, title in every.items() if title not in _REST}
    by = in_words(table, counts)
    picture: Bars | Chart | Heat
    if not table.by:
        picture = _bars(table, names)
        found = table.matches()
        others = [(name.strip("()"), table.titles.index(name)) for name in _REST if name in table.titles]
        rest = [f"{name}: {whole_number(found, (0, category))}" for name, category in others]
        number = "number as counted here" if count_less(table, unit) else "true number"
        note = f"The thin line across the end of a bar contains the {number} with 95 %. "
        note += f"Not drawn are {' and '.join(rest)}."
    else:
        picture = drawing(table, names)
        all_of_them = table.whole().matches()
        # Tables count different parts of the documents: numbers as counted would be read as the true ones, and differ.
        less = count_less(table, unit)
        told = "; ".join(
            f"{shown(name)} at least {all_of_them.low[0, each]:,.0f}"
            if less
            else f"{shown(name)} {whole_number(all_of_them, (0, each))}"
            for each, name in names.items()
            if not less or all_of_them.low[0, each] >= 1
        )
        sure = ", with 95 %" if less else ""
        untold = table.persons or table.compares_two or (less and not total)
        note = "" if untold or not told else f"In all groups together{sure}: {told}. "
        note += f"{certain_differences(table, every)}{_told_alike(table, every)} {_how_to_read(table, names, unit)}"
    return Picture(
        name=name,
        title=_title(table, shown(unit), by) + (f", summed from the table by {of}" if of else ""),
        alt=f"The share of each of {len(names)} categories in each of {len(table.rows)} groups by {by}.",
        note=f"{note} {told_counted(table, unit)}",
        drawing=picture,
        further=further_differences(table, every),
        table=_count_numbers(table, order, by, unit),
        definition=f"{_told_rules(table, unit)}{told_private(table, unit)}Of one {shown(unit)}, these counts and "
        f"others of their run together reveal at most what {guarantee_in_words(counts)} allows. "
        f"{intervals_cover([table])}",
    )


def _title(table: CountTable, unit: str, by: str) -> str:
    """Say what the drawing of `table` shows; `by` names its attributes, if it has any."""
    groups = of_groups(table, by)
    if unit == DOCUMENT:
        return f"The share of each category {groups}" if by else "How many are in each category"
    if by:
        whose = f"{unit}s with at least one document" if table.persons else table.shared(unit)
        return f"The share of {whose} in each category, {groups}"
    if table.persons:
        return f"How many {unit}s have at least one document in each category"
    how = f"How many {DOCUMENT}s are" if table.documents_per_person else f"How much of {table.shared(unit)} is"
    return f"{how} in each category"


def _how_to_read(table: CountTable, names: dict[int, str], unit: str) -> str:
    if table.period_axis is None:
        return (
            f"From none (pale) to {percent(largest_share(table, names))} (strong). Groups too small to tell have a ?; "
            "the row of all others is among the numbers."
        )
    small = f"A small picture for each category: the share of {shown(table.shared(unit))} in it, in percent"
    return how_lines_read(small, table, "share as counted here" if count_less(table, unit) else "true share")


def _bars(table: CountTable, names: dict[int, str]) -> Bars:
    found = table.matches()
    return Bars(
        [
            Bar(
                shown(name),
                (float(found.value[0, category]),),
                whole_number(found, (0, category)),
                (float(found.low[0, category]), float(found.high[0, category])),
            )
            for category, name in names.items()
        ]
    )


def told_counted(table: CountTable, unit: str) -> str:
    """Say what is counted, as the terminal does."""
    less = who_counts_less(table, unit)
    told = f"Counted are {counted_in(table, unit)}.{what_counts(table, unit)}{what_intervals_hold(table, unit)}"
    return shown(f"{less}. {told}" if less else told)


def _told_alike(table: CountTable, names: dict[int, str]) -> str:
    """Say which categories have no certain difference, if others have some."""
    differing = {change.topic for change in table.changes() if change.topic in names}
    alike = [shown(name) for category, name in names.items() if category not in differing]
    return f" No certain difference {table.since}: {', '.join(alike)}." if alike and differing else ""


def _told_rules(table: CountTable, unit: str) -> str:
    """Say which documents, or persons, are in each category."""
    persons = (
        f"A {shown(unit)} counts once in each category of at least one of their documents. " if table.persons else ""
    )
    if not table.rules:
        return persons
    return f"{persons}In a category is a document with one of its words: {shown('; '.join(table.rules))}. "


def _rules_in_short(answers: Tables) -> str:
    """Say in short, after a space, which documents are in each category; what is cut is with the numbers."""
    rules = next((table.rules for table in answers if isinstance(table, CountTable)), ())
    if not rules:
        return ""
    short = [shortened(rule, _LONGEST_RULE) for rule in rules]
    cut = " (in full with the numbers)" if any(a != shown(b) for a, b in zip(short, rules, strict=True)) else ""
    return f" In a category is a document with one of its words{cut}: {'; '.join(short)}."


def _count_numbers(table: CountTable, order: Sequence[int], by: str, unit: str) -> Table:
    found, shares, units, tells = table.matches(), table.shares(), table.units(), table.tells
    numbers = ("number as counted (95 %)" if count_less(table, unit) else "number (95 %)", "share (95 %)")
    if not table.by:
        rows = [(shown(table.titles[each]), whole_number(found, (0, each)), _share(shares, 0, each)) for each in order]
        return Table(("category", *numbers), rows)
    listed = [
        (
            shown(", ".join(group)),
            whole_number(units, row),
            shown(table.titles[each]),
            whole_number(found, (row, each)),
            _share(shares, row, each) if tells[row] else "too small to tell",
        )
        for row, group in enumerate(table.rows)
        for each in order
    ]
    return Table((by, f"{shown(size_heading(table, unit))} (95 %)", "category", *numbers), listed)


def _share(shares: object, row: int, category: int) -> str:
    value, low, high = (float(getattr(shares, end)[row, category]) for end in ("value", "low", "high"))
    return with_interval(value, low, high)


def _words(table: WordTable, words: Tables, name: str, hidden: Sequence[str]) -> Picture:
    """Draw the certain words of each group of `table` with their lifts, except those `hidden`."""
    by, contrasts = in_words(table, words), table.distinctive()
    groups, drawn = [_group(table, row) for row in table.rows], certain_words(table, hidden)
    unknown = [g for g, found, rest in zip(groups, contrasts, table.rest, strict=True) if found is None and not rest]
    without = [g for g, found in zip(groups, contrasts, strict=True) if found is not None and g not in drawn]
    elsewhere = "in the other of the two groups" if table.compares_two else "in all other groups together"
    notes = [
        f"A dot says how many times as frequent a word is in a group as {elsewhere}; the line contains the true "
        "number, which an arrow says may be off the picture. Shown are words that are certainly more frequent: all of "
        "these hold together with 95 % probability. A line without a dot: the word cannot be told from one that is "
        "unused there, so that only the left end of the line is known."
        if drawn
        else f"No word is certainly more frequent in a group than {elsewhere}: {MORE_CERTAIN}."
    ]
    notes += [f"No certain word: {', '.join(without)}."] if without and drawn else []
    notes += [f"Too small to tell: {', '.join(unknown)}."] if unknown else []
    notes += [OWN_WORDS] if any(map(category_of, table.by)) and drawn else []
    return Picture(
        name=name,
        title=f"Words that are more frequent in one group than {table.others}, {of_groups(table, by)}",
        alt=f"Words that are more frequent in each of {len(drawn)} groups by {by}, with how many times.",
        note=" ".join(notes),
        drawing=dots(drawn, table.others) if drawn else Bars([]),
        table=_word_numbers(drawn, by, table.others) if drawn else None,
        definition=f"{told_private(table, words.privacy.unit)}Compared were {len(table.titles):,} words, by the share "
        f"of documents that have them, among those with at least {MINIMUM_LENGTH} words of any kind. {WEIGHED} Of one "
        f"{shown(words.privacy.unit)}, these words and others of their run together reveal at most what "
        f"{guarantee_in_words(words)} allows.",
    )


def certain_words(table: WordTable, hidden: Sequence[str] = ()) -> dict[str, list[WordContrast]]:
    """Return `certain_of` the words of each group, except those `hidden`, where there are some."""
    kept = {
        _group(table, row): [each for each in certain_of(found) if not is_hidden(each.word, hidden)]
        for row, found in zip(table.rows, table.distinctive(), strict=True)
    }
    return {group: found for group, found in kept.items() if found}


def _group(table: WordTable, row: Sequence[str]) -> str:
    """Name the groups of a row: ``refund: yes`` if it is of a category."""
    named = [(category_of(attribute), group) for attribute, group in zip(table.by, row, strict=True)]
    return shown(", ".join(f"{category}: {group}" if category else group for category, group in named))


def dots(groups: dict[str, list[WordContrast]], others: str) -> Chart:
    """Draw a heading for each group, and below it a dot with an interval for each word, beside that of the `others`."""
    most = max((_MOST_ROWS - len(groups)) // len(groups), 1)
    kept = {group: found[:most] for group, found in groups.items()}
    found = [each for words in kept.values() for each in words]
    ends = [each.lift.low for each in found] + [v for each in found if not math.isnan(v := each.lift.value)]
    limit = 2 * max(ends)
    n_rows = len(kept) + len(found)

    def draw(axes: Sequence[Axes]) -> None:
        (panel,) = axes
        labels, headings, row = list[str](), list[int](), 0
        for group, words in kept.items():
            headings.append(row)
            labels.append(shortened(group, _LONGEST))
            row += 1
            for each in words:
                labels.append(shortened(each.word, _LONGEST))
                value, low, high = each.lift.value, each.lift.low, min(each.lift.high, limit)
                panel.plot([low, high], [row, row], color=BLUE, linewidth=1.6)
                if not math.isnan(value):
                    panel.plot([value], [row], marker="o", color=BLUE, markersize=6, linestyle="")
                if each.lift.high > limit:
                    panel.plot([limit], [row], marker=">", color=BLUE, markersize=6, linestyle="", clip_on=False)
                row += 1
        log_axis(panel, "x")
        panel.set_xlim(_TINY, limit)
        panel.set_ylim(row - 0.4, -0.6)
        panel.set_yticks(range(row), labels=labels)
        for place in headings:
            panel.get_yticklabels()[place].set_fontweight("bold")
        panel.tick_params(axis="y", length=0)
        panel.grid(visible=False, axis="y")
        panel.axvline(1, color=INK, linewidth=1)
        panel.set_xlabel(f"times as frequent as {others}")

    height = 60 + _ROW * n_rows
    return Chart(draw, height=height, narrow_height=height)


def _word_numbers(groups: dict[str, list[WordContrast]], by: str, others: str) -> Table:
    rows = [
        (
            group,
            shown(each.word),
            _lift(each),
            with_interval(each.share.value, each.share.low, each.share.high),
            with_interval(each.elsewhere.value, each.elsewhere.low, each.elsewhere.high),
        )
        for group, words in groups.items()
        for each in words
    ]
    return Table((by, "word", "times as frequent", "weighted share here", f"weighted share {others}"), rows)


def _lift(contrast: WordContrast) -> str:
    value, low, high = contrast.lift.value, contrast.lift.low, contrast.lift.high
    return f"at least {times(low)}" if math.isnan(value) else f"{value:.1f} ({times(low)} to {high:.1f})"
