"""`dplda ask`: answers all questions of a plan file in one charged run."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError, UnsupportedByData
from dplda.cli.budget_command import tell_spent, tell_weakness
from dplda.cli.check_command import look, number_of_units, show_dry_run
from dplda.cli.confirmations import tell_before_charging
from dplda.cli.console import following, print_json, private_notes, say, write_file
from dplda.cli.expectations import tell_expected
from dplda.cli.options import (
    MODELS,
    READING_NAMES,
    GroupedCommand,
    chosen_categories,
    dry_run_option,
    json_option,
    ledger_option,
    open_ledger,
    quiet_option,
    read,
    remote_option,
    simulate_options,
    simulate_seed,
)
from dplda.cli.table_commands import (
    add_misfits,
    ask_about_misfits,
    show_topic_tables,
    tell_sampling,
    write_tables,
    write_topic_tables,
)

if TYPE_CHECKING:
    from dplda.runs.questions import Findings


def _refuse(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(f"the questions share what the plan has: write {option.name}: {value} into it.", context)


@click.command(cls=GroupedCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("corpus", nargs=-1)
@click.option("--batch", metavar="NAME", help="The name of this batch, if the plan names a series, such as its week.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Also write the answers on this new page."
)
@click.option(
    "--models", type=click.Path(path_type=Path), default=MODELS, help="Folder of the model of a fit [models]."
)
@click.option("--epsilon", hidden=True, help="In the plan.", expose_value=False, callback=_refuse)
@click.option("--delta", hidden=True, help="In the plan.", expose_value=False, callback=_refuse)
@remote_option
@click.option("--yes", is_flag=True, help="Do not ask before a charge that may be a mistake.")
@dry_run_option
@simulate_options
@json_option
@quiet_option
@ledger_option
def ask(
    plan: Path,
    corpus: tuple[str, ...],
    batch: str | None,
    output: Path | None,
    models: Path,
    remote: bool,
    as_json: bool,
    quiet: bool,
    ledger_path: Path | None,
    **options: Any,
) -> None:
    """Answer all questions of the file PLAN about CORPUS, in one run with one guarantee.

    PLAN is a YAML file that names the documents, the budget of all answers together, and the questions, each in your
    own words: what the documents are about (fit), how that differs (tabulate), how many are in a category (count), and
    which words tell groups apart (words). CORPUS stands in for the documents that PLAN names. All questions are priced
    together before anything is read.

    With `series: NAME` in PLAN, each run is on a new batch of documents, and topics continue those of the last batch.
    """
    from dplda.cli.report_command import answers_guarantee
    from dplda.model.topic_model import refuse_existing
    from dplda.report.answers_page import write_answers
    from dplda.runs.plan_files import read_plan
    from dplda.runs.questions import fit_of, plan_questions

    if output is not None:
        refuse_existing(output)
    seed, file = simulate_seed(options), read_plan(plan)
    places = corpus or file.corpus
    if not places:
        raise InputError(f"{plan} names no corpus. Add `corpus: PATH`, or give CORPUS.")
    source = read(places, dict(file.reading))
    categories = chosen_categories(language=source.reading.get("language"), remote=remote, **file.asked)
    if categories is not None:
        source = source.asking(categories)
    wanted = [table for question in file.questions for table in question.tables]
    ledger = open_ledger(ledger_path)
    asked = replace(file.options, batch=batch or file.options.batch, simulate_seed=seed)
    planned = plan_questions(file.questions, source, ledger, asked)
    inspected = {**dict.fromkeys(READING_NAMES), **file.reading, "yes": options["yes"], "date_format": file.date_format}
    inspected["before_date_format"] = "date_format: "
    if options["dry_run"]:
        if categories is not None:
            categories.try_out()
        report = look(places, inspected)
        add_misfits(report, source, wanted, inspected)
        fit, settings = fit_of(file.questions, asked), planned.fit
        if fit is not None and settings is not None and not settings.continues_series and report.sample is not None:
            report.unit = file.reading.get("unit_field")
            report.n_units = number_of_units(report, report.unit)
            needing = [question.text for question in file.questions if question.kind == "fit" or question.about_topics]
            without = needing if len(needing) < len(file.questions) else ()
            tell_expected(report, settings, partial(_in_plan, share=fit[1], delta=asked.delta), without=without)
        show_dry_run(report, planned, None, ledger_path, as_json=as_json)
        return
    ask_about_misfits(places, source, wanted, inspected)
    tell_before_charging(planned, ledger, places, inspected, sure=options["yes"])
    with following(quiet=as_json or quiet) as progress:
        findings = planned.execute(ledger, folder=models / planned.id, progress=progress)
    private_notes(source.notes)
    if output is not None:
        write_answers(findings, output, answers_guarantee(findings, ledger_path))
    if as_json:
        print_json(findings.to_json())
    else:
        show_findings(findings)
        if output is not None:
            say(f"Wrote {output}. Open it in a browser; it needs no network.")
        tell_spent(ledger, planned.dataset, findings.privacy)
    if missing := sum(map(bool, findings.reasons)):
        raise UnsupportedByData(
            f"{missing} of {len(findings.questions)} questions have no answer. The other answers were kept: to ask "
            "again, write a plan without them."
        )


def _in_plan(topics: int | None, epsilon: float | None, share: float, delta: float) -> str:
    """Say how a plan asks for a fit with these settings, but for those that are None.

    The fit has this `share` of the plan's mu^2.
    """
    from dplda.budget.accountant import capacity, gaussian_epsilon

    changes = [] if topics is None else [f"`topics: {topics}`"]
    if epsilon is not None:
        whole = gaussian_epsilon(math.sqrt(capacity(epsilon, delta).mu_squared / share), delta)
        changes.append(f"an epsilon of the plan of about {whole:.2g}")
    return " and ".join(changes)


def write_findings(findings: Findings, out: Path) -> list[str]:
    """Write each answer but topics into a file, `out` with the number of its question; return what was written where.

    All answers are in one file if it is JSON. Raises `InputError` if a file exists, or there would be none.
    """
    from dplda.model.topic_model import refuse_existing
    from dplda.runs.indicator_tables import Counts, Words

    if out.suffix == ".json":
        write_file(out, json.dumps(findings.to_json(), ensure_ascii=False))
        return [f"Wrote {out}."]
    files = {
        number: out.with_name(f"{out.stem}-{number}{out.suffix}")
        for number, (_, answer, _) in enumerate(findings.answers, start=1)
        if answer is not None
    }
    if not files:
        raise InputError(f"run {findings.run} has no answers but topics: dplda export {findings.run} writes these.")
    for file in files.values():
        refuse_existing(file)
    told = []
    for number, (question, answer, reason) in enumerate(findings.answers, start=1):
        if isinstance(answer, Counts | Words):
            write_tables(answer, files[number])
        elif answer is not None:
            write_topic_tables(answer, findings.model, files[number])
        topics = f"its topics: dplda export {shlex.quote(findings.run)} --to csv --out FILE"
        where = f"wrote {files[number]}" if answer is not None else "no answer" if reason else topics
        told.append(f"Question {number}, {question!r}: {where}")
    return told


def show_findings(findings: Findings) -> None:
    """Print each question with its answer, and the guarantee of all answers together."""
    from dplda.cli.count_command import show_count_tables
    from dplda.cli.topics_command import show_topics
    from dplda.cli.words_command import show_word_tables
    from dplda.learning.estimates import records
    from dplda.runs.indicator_tables import Counts, Words
    from dplda.runs.released_table import least_noisy_shares

    statement = findings.privacy
    if statement.sound:
        say(f"All answers together are {statement.in_words}.", style="green")
        tell_weakness(statement)
    else:
        say(statement.reason, style="bold red")
    for question, answer, reason in findings.answers:
        say("")
        say(question, style="bold")
        if reason:
            say(f"No answer: {reason}", style="yellow")
        elif isinstance(answer, Counts):
            show_count_tables(answer)
        elif isinstance(answer, Words):
            show_word_tables(answer)
        elif answer is not None:
            show_topic_tables(answer, findings.model)
        elif findings.model is not None:
            shares = least_noisy_shares(findings.topic_tables, findings.model)
            show_topics(findings.model, shares=None if shares is None else records(shares))
    say("")
    tell_sampling(table for answer in findings.tables for table in answer or ())
    say(
        "All numbers with their intervals, and all certain differences, free of charge: "
        f"dplda tables {shlex.quote(findings.run)} --json"
    )
