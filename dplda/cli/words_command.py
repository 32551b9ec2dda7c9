"""`dplda words`: the words that tell groups or periods of documents apart."""

from __future__ import annotations

import os
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
    open_model,
    public_topics_option,
    public_words,
    question_settings,
    quiet_option,
    reading_options,
)
from dplda.cli.table_commands import (
    Asked,
    carry_out,
    grouping_options,
    output,
    read_asked,
    show_answer,
    tell_private_groups,
    wanted_tables,
    write_tables,
)

if TYPE_CHECKING:
    from dplda.runs.indicator_tables import Words, WordTable


@click.command(cls=GroupedCommand)
@click.argument("named", metavar="[RUN] CORPUS...", nargs=-1, required=True)
@click.option(
    "--vocabulary",
    metavar="FILE|LANGUAGE:COUNT",
    help="Compare these public words: a file with one on each line, or the most frequent words of a language, such as "
    "english:2000. Without it, the words are those that RUN released.",
)
@category_options
@public_topics_option
@grouping_options
@reading_options
@json_option
@quiet_option
@ledger_option
def words(named: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> None:
    """Show the words that are more frequent in each group or period of CORPUS than in all others.

    The words are those that RUN released, or those of a public list (--vocabulary; then give CORPUS alone). Shares and
    lifts have intervals that all hold together with 95 % probability; a document with many of the words weighs less.
    With --categories or --question, documents may also be grouped by a category, such as --by "category(angry)". The
    answer is charged to the budget of CORPUS.
    """
    from dplda.runs.group_words import plan_words

    if not options["by"] and options["between"] is None:
        raise click.UsageError("name the groups whose words are compared, such as --by product or --by 'month(date)'.")
    out, wanted, categories = output(options), wanted_tables(options), find_categories(options)
    settings = question_settings(options)  # refused before anything is read
    settings |= {name: options[name] for name in ("zone", "date_format")}
    corpus, model = list(named), None
    if options["vocabulary"] is None:
        run, *corpus = named
        if not corpus:
            raise click.UsageError("give RUN and CORPUS, or CORPUS and --vocabulary.")
        model = open_model(run, ledger_path)
        source = read_asked(corpus, options, wanted, categories, model.facts.reading)
        planned = plan_words(model, source, wanted, **settings)
    else:
        if len(corpus) > 1 and not os.path.exists(corpus[0]):
            raise InputError(f"there is no file {corpus[0]}. With --vocabulary, give CORPUS alone.")
        source = read_asked(corpus, options, wanted, categories, {})
        del settings["public_topics"]
        planned = plan_words(public_words(options["vocabulary"], source) or (), source, wanted, **settings)
    asked = Asked(source, corpus, wanted, options, ledger_path)
    carry_out(planned, model, asked, partial(show_words, out=out, as_json=as_json), as_json=as_json, quiet=quiet)


def show_words(found: Words, out: Path | None, *, as_json: bool) -> None:
    """Print the words of each group and their guarantee, and write them to `out`."""
    if out is not None:
        write_tables(found, out)
    besides = f", besides what the words of run {found.of} cost" if found.of else ""
    show_answer(found, "words", besides, out, lambda: show_word_tables(found), as_json=as_json)


def show_word_tables(found: Words) -> None:
    """Print the words of each group of `found`."""
    for one in found.tables:
        say("")
        _show_table(one, found.privacy.unit)


def _show_table(one: WordTable, unit: str) -> None:
    """Print the words of each group that are certain, with their lifts."""
    from dplda.private.attributes import in_words
    from dplda.runs.indicator_tables import MORE_CERTAIN, OWN_WORDS, WEIGHED, certain_of, times

    rows: list[tuple[str, ...]] = []
    distinctive = one.distinctive()
    for row, contrasts, rest in zip(one.rows, distinctive, one.rest, strict=True):
        if rest and (one.compares_two or (contrasts is None and one.name.startswith("category("))):
            continue  # of all others, which are compared with nothing, or of a category, which has none
        certain = [f"{each.word} {times(each.lift.low)}" for each in certain_of(contrasts)]
        rows.append((*row, "too small to tell" if contrasts is None else ", ".join(certain) or "none that is certain"))
    head = "words that are more frequent here, and at least how many times"
    table((*map(in_words, one.by), head), rows, wide=head)
    tell_private_groups(one, unit)
    compared = "the other of the two groups" if one.compares_two else "all other groups together"
    found = any(map(certain_of, distinctive))
    sure = " All words of all groups are more frequent with 95 % probability." if found else ""
    say(f"Compared were {len(one.titles):,} words with {compared}.{sure} {WEIGHED}")
    if not found:
        say(f"Nothing is certain: {MORE_CERTAIN}.", style="yellow")
    if any(name.startswith("category(") for name in one.by):
        say(OWN_WORDS)
