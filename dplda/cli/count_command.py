"""`dplda count`: how many documents match each category, by groups and periods."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.budget_command import tell_spent, tell_weakness
from dplda.cli.check_command import look, show_dry_run
from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import (
    GroupedCommand,
    category_options,
    find_categories,
    json_option,
    ledger_option,
    open_ledger,
    question_settings,
    quiet_option,
    read_like,
    reading_options,
)
from dplda.cli.table_commands import (
    add_misfits,
    ask_about_misfits,
    grouping_options,
    output,
    show_changes,
    tell_private_groups,
    wanted_tables,
    write_tables,
)

if TYPE_CHECKING:
    from dplda.runs.indicator_tables import Counts, CountTable

_SHOWN_ROWS = 60
_NUMBER, _SHARE = "number (95 %)", "share in % (95 %)"


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
@grouping_options
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
    from dplda.runs.tabulation import stored_columns

    out, wanted, categories = output(options), wanted_tables(options), find_categories(options)
    settings = question_settings(options)  # refused before anything is read
    columns = list(dict.fromkeys([*stored_columns(wanted), *(() if categories is None else categories.columns)]))
    source = read_like(corpus, {**options, "group_fields": columns}, {})
    if categories is not None:
        source = source.asking(categories)
    settings |= {name: options[name] for name in ("zone", "date_format", "sampling")}
    planned = plan_counts(source, wanted, at_most=_at_most(options), **settings)
    if options["dry_run"]:
        report = look(corpus, {**options, "language": source.reading.get("language")})
        add_misfits(report, source, wanted, options)
        show_dry_run(report, planned, None, ledger_path, as_json=as_json)
        return
    ask_about_misfits(corpus, source, wanted, options)
    ledger = open_ledger(ledger_path)
    with following(quiet=as_json or quiet) as progress:
        counts = planned.execute(ledger, progress=progress)
    private_notes(source.notes)
    show_counts(counts, out, as_json=as_json)
    if not as_json:
        tell_spent(ledger, planned.dataset, counts.privacy)


def _at_most(options: dict[str, Any]) -> int | None:
    """Return how many answers of a document count in full; a question has one answer."""
    given: int | None = options["at_most"]
    if options["question"] is None:
        return given
    if given not in (None, 1):
        raise InputError("--at-most has no effect on --question, which has one answer for each document: leave it out.")
    return 1


def show_counts(counts: Counts, out: Path | None, *, as_json: bool) -> None:
    """Print `counts` and their guarantee, and write them to `out`."""
    if out is not None:
        write_tables(counts, out)
    if as_json:
        print_json(counts.to_json())
        return
    statement = counts.privacy
    if statement.sound:
        say(f"These counts are {statement.in_words}.", style="green")
        tell_weakness(statement)
    else:
        say(statement.reason, style="bold red")
    show_count_tables(counts)
    say("")
    if out is not None:
        say(f"Wrote {out}.")
    else:
        say(f"All numbers with their intervals: dplda tables {shlex.quote(counts.run)} --csv FILE")


def show_count_tables(counts: Counts) -> None:
    """Print the tables of `counts`."""
    for one in counts.tables:
        say("")
        _show_table(one, counts.privacy.unit)
    say("Shorter ones are not counted, and stop words are no words.")


def _show_table(one: CountTable, unit: str) -> None:
    """Print the number and share of each category in each group, and the differences that are certain."""
    from dplda.runs.counting import counted_units

    found, shares, units, tells = one.matches(), one.shares(), one.units(), one.tells
    order = sorted(range(one.n_topics), key=lambda category: -found.value[:, category].sum())
    rows: list[tuple[str, ...]] = []
    for index, group in enumerate(one.rows):
        names = (*group, f"{units.value[index]:,.0f}") if one.by else ()
        if one.by and not tells[index]:
            rows.append((*names, "too small to tell", "", ""))
            continue
        for category in order:
            number = [numbers[index, category] for numbers in (found.value, found.low, found.high)]
            share = [100 * numbers[index, category] for numbers in (shares.value, shares.low, shares.high)]
            counted, percent = (
                "{:,.0f} ({:,.0f} to {:,.0f})".format(*number),
                "{:.1f} ({:.1f} to {:.1f})".format(*share),
            )
            rows.append((*names, one.titles[category], counted, percent))
            names = ("",) * len(names)
    heads = (*one.by, f"{unit}s") if one.by else ()
    table((*heads, "category", _NUMBER, _SHARE), rows[:_SHOWN_ROWS], wide="category")
    if len(rows) > _SHOWN_ROWS:
        say(f"... and {len(rows) - _SHOWN_ROWS:,} more rows.")
    tell_private_groups(one)
    if one.at_most < one.n_topics - 1:
        say(f"A document in more than {one.at_most} categories counts less in each of them (--at-most).")
    all_units = one.whole().units()
    size, low, high = (float(numbers[0]) for numbers in (all_units.value, all_units.low, all_units.high))
    say(f"Counted are {counted_units(unit)}: {size:,.0f} ({low:,.0f} to {high:,.0f}) in all.")
    show_changes(one, list(one.titles), noun="category")
