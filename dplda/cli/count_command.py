"""`dplda count`: how many documents match each category, by groups and periods."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.console import say, table
from dplda.cli.options import (
    GroupedCommand,
    category_options,
    find_categories,
    json_option,
    ledger_option,
    question_settings,
    quiet_option,
    reading_options,
)
from dplda.cli.table_commands import (
    Asked,
    carry_out,
    grouping_options,
    in_percent,
    output,
    read_asked,
    sampling_option,
    show_answer,
    show_changes,
    tell_private_groups,
    wanted_tables,
    write_tables,
)
from dplda.learning.estimates import whole_number

if TYPE_CHECKING:
    from dplda.runs.indicator_tables import Counts, CountTable

_SHOWN_ROWS = 60


@click.command(cls=GroupedCommand)
@click.argument("corpus", nargs=-1, required=True)
@category_options
@click.option(
    "--at-most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Categories of a document that count in full; with more, all of them count less. Fewer mean less noise [3, or "
    "1 for --question].",
)
@click.option(
    "--persons",
    is_flag=True,
    help="Count the persons (--unit-field) with at least one document in each category, instead of documents of which "
    "a person's share the weight of one.",
)
@click.option(
    "--documents-per-person",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Count documents also where persons are protected (--unit-field): those of a person with at most N in full, "
    "of others less. The noise grows with N.",
)
@grouping_options
@sampling_option
@reading_options
@json_option
@quiet_option
@ledger_option
def count(corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> None:
    """Count the documents of CORPUS in each category, for example by product or by month.

    A category is a list of words and phrases, a regular expression, or values of a column (--categories), or an answer
    that a language model on this machine gives to a question about each document (--question). A prepared store holds
    the answers if it was imported with these options.

    Documents of fewer than three words are not counted; stop words are no words. Numbers and shares have 95 %
    intervals. They are charged to the budget of CORPUS. Before anything is charged, the command inspects the first
    records, for you alone, and asks whether to go on if most of them would be in no group.
    """
    from dplda.runs.counting import plan_counts

    out, wanted, categories = output(options), wanted_tables(options), find_categories(options)
    settings = question_settings(options)  # refused before anything is read
    source = read_asked(corpus, options, wanted, categories, {})
    settings |= {name: options[name] for name in ("zone", "date_format", "sampling")}
    settings |= {name: options[name] for name in ("persons", "documents_per_person")}
    planned = plan_counts(source, wanted, at_most=_at_most(options), **settings)
    asked = Asked(source, corpus, wanted, options, ledger_path)
    carry_out(planned, None, asked, partial(show_counts, out=out, as_json=as_json), as_json=as_json, quiet=quiet)


def _at_most(options: dict[str, Any]) -> int | None:
    """Return how many answers of a document or person count in full; a question has one answer for each document."""
    given: int | None = options["at_most"]
    if options["question"] is None or options["persons"]:
        return given
    if given not in (None, 1):
        raise InputError("--at-most has no effect on --question, which has one answer for each document: leave it out.")
    return 1


def show_counts(counts: Counts, out: Path | None, *, as_json: bool) -> None:
    """Print `counts` and their guarantee, and write them to `out`."""
    if out is not None:
        write_tables(counts, out)
    show_answer(counts, "counts", "", out, lambda: show_count_tables(counts), as_json=as_json)


def show_count_tables(counts: Counts) -> None:
    """Print the tables of `counts`."""
    for one in counts.tables:
        say("")
        _show_table(one, counts.privacy.unit)
    say("Shorter documents are not counted; stop words do not make them longer.")


def _show_table(one: CountTable, unit: str) -> None:
    """Print the number and share of each category in each group, and the differences that are certain."""
    from dplda.private.attributes import in_words
    from dplda.runs.counting import (
        count_less,
        counted_in,
        size_heading,
        what_counts,
        what_else_counts,
        what_intervals_hold,
        who_counts_less,
    )

    found = one.matches()
    order = sorted(range(one.n_topics), key=lambda category: -found.value[:, category].sum())
    summed = bool(one.by) and not one.persons
    parts = [(one.whole(), [("all", *[""] * (len(one.by) - 1))])] if summed else []  # first, so that it is seen
    rows: list[tuple[str, ...]] = []
    for part, groups in (*parts, (one, one.rows)):
        found, shares, units, tells = part.matches(), part.shares(), part.units(), part.tells
        for index, group in enumerate(groups):
            names = (*group, whole_number(units, index)) if one.by else ()
            for category in order:
                place = index, category
                share = in_percent(shares, place) if tells[index] or not part.by else "too small to tell"
                rows.append((*names, one.titles[category], whole_number(found, place), share))
                names = ("",) * len(names)
    heads = (*map(in_words, one.by), f"{size_heading(one, unit)} (95 %)") if one.by else ()
    number = "number as counted (95 %)" if count_less(one, unit) else "number (95 %)"
    table((*heads, "category", number, "share in % (95 %)"), rows[:_SHOWN_ROWS], wide="category")
    if len(rows) > _SHOWN_ROWS:
        say(f"... and {len(rows) - _SHOWN_ROWS:,} more rows.")
    if outside := one.outside_periods.strip():
        say(outside)
    tell_private_groups(one, unit)
    if summed and min(one.totals.min(), one.counts.min()) < 0:
        say("Negative numbers are shown as 0, so that groups may add up to more than `all`.")
    if less := who_counts_less(one, unit):
        say(f"{less} (--at-most).")
    say(f"Counted are {counted_in(one, unit)}.{what_counts(one, unit)}{what_intervals_hold(one, unit)}")
    if others := what_else_counts(one, unit):
        say(others)
    show_changes(one, list(one.titles))
    differing = {change.topic for change in one.changes()}
    alike = [title for category, title in enumerate(one.titles) if category not in differing]
    if alike and differing:
        say(f"No certain difference: {', '.join(alike)}.")
