"""`dplda report`: an HTML page about runs, and papers about one run for those who must approve it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dplda.base.errors import InputError
from dplda.cli.console import print_json, say, write_file
from dplda.cli.options import find_ledger, json_option, ledger_option, model_folder, open_ledger, open_model
from dplda.model import TopicModel
from dplda.model.topic_model import refuse_existing

if TYPE_CHECKING:
    from dplda.audit.answers import Question
    from dplda.budget import Ledger, RunRecord
    from dplda.report import AllRuns, Wording
    from dplda.report.facts import RunWithoutTopics
    from dplda.runs.questions import Findings
    from dplda.runs.released_table import Tables

_LISTED = 3  # runs that read other paths
_PAGE = "report.html"
_FILE_NAME = re.compile(r"[a-z0-9_]+\.yaml")  # that the registry accepts


def _paper_option(paper: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    file = click.Path(path_type=Path, dir_okay=False)
    return click.option(f"--{paper}", type=file, help=f"Instead of the page, write {what} into this new file.")


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Path of the new page [report.html].",
)
@_paper_option("registry", "an entry of OpenDP's deployments registry (YAML)")
@_paper_option("checklist", "a checklist after NIST SP 800-226 (Markdown)")
@_paper_option("assessment", "an outline of a data protection impact assessment (Markdown)")
@click.option(
    "--answers",
    "answers_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A YAML or JSON file with what only you know, for a paper; open questions are listed.",
)
@click.option("--title", metavar="TEXT", help="Title of the page or paper, instead of the dataset's name.")
@click.option("names", "--name", metavar="NUMBER=TEXT", multiple=True, help="Name a topic; may be repeated.")
@click.option(
    "run_names",
    "--run-name",
    metavar="NUMBER=TEXT",
    multiple=True,
    help="Name a run of several with topics by its number on the page, from 1; may be repeated.",
)
@click.option(
    "--hide",
    metavar="WORD",
    multiple=True,
    help="Leave this word out of topics and tables of words, not out of your categories; may be repeated.",
)
@click.option(
    "--same-text",
    metavar="NAME",
    multiple=True,
    help="Also count the runs on this dataset, another name of the same documents, and say so; may be repeated. All "
    "RUNs are of these documents then.",
)
@json_option
@ledger_option
def report(
    runs: tuple[str, ...],
    output: Path | None,
    answers_path: Path | None,
    title: str | None,
    names: tuple[str, ...],
    run_names: tuple[str, ...],
    hide: tuple[str, ...],
    same_text: tuple[str, ...],
    as_json: bool,
    ledger_path: Path | None,
    **papers: Path | None,
) -> None:
    """Write one HTML page about the given RUNs, or a paper about one RUN, from released numbers only.

    The page needs no network. It shows the latest counts and words of the same dataset, or those of the runs of `count`
    and `words` among the RUNs. The page of one run of `dplda ask`, by its id, dataset or folder, is that of its
    questions and answers, and that of one run of `count` or `words` shows its numbers. A paper is for those who must
    approve a publication: an entry for a public registry, a checklist, or an impact assessment. It may also be about a
    run of `count` or `words`, and shows no topics.
    """
    from dplda.model.examples import load
    from dplda.report import Wording
    from dplda.report.answers_page import write_answers
    from dplda.runs.plan_parts import refuse_unanswered
    from dplda.runs.questions import load_findings
    from dplda.runs.tabulation import tables_of

    records = {run: _recorded(run, ledger_path) for run in runs}
    for record in filter(None, records.values()):
        refuse_unanswered(record)
    if wanted := {paper: file for paper, file in papers.items() if file is not None}:
        if len(runs) > 1 or names or run_names or hide or output:
            raise click.UsageError(
                f"--{next(iter(wanted))} is about one run and shows no topics: give one RUN, no --name, no --run-name, "
                "no --hide, no --output."
            )
        about = _about(runs[0], records[runs[0]], ledger_path)
        _write_papers(wanted, about, answers_path, _wording(title).title, same_text, as_json, ledger_path)
        return
    if answers_path is not None:
        raise click.UsageError("--answers is for a paper: add --registry FILE, --checklist FILE or --assessment FILE.")
    runs, counted = _apart(runs, records)
    output = output or Path(_PAGE)
    refuse_existing(output)
    answering = None if len(runs) > 1 or counted else _answering(runs[0], records[runs[0]], ledger_path)
    if answering is not None:
        model, examples = None, None
        if answering.model:
            model = open_model(runs[0], ledger_path)
            examples = load(model, model_folder(runs[0], ledger_path))
        findings = load_findings(answering, model)
        together = answers_guarantee(findings, ledger_path, same_text)
        write_answers(findings, output, together, wording=_wording(title, names, hide, run_names), examples=examples)
        _tell_written(output, [answering.id], as_json=as_json, private=findings.privacy.sound)
        ledger = open_ledger(ledger_path)
        if others := _of_other_paths(answering, ledger):
            say(
                f"This run read another path than {', '.join(others)} of {answering.dataset}, or read it with other "
                "options. The page does not say so; if it is of a part of the documents, give it a --title that does.",
                error=True,
            )
        made = [] if as_json else tables_of(ledger, answering.id)
        if later := [each.id for each in made if each.id != answering.id]:
            say(
                f"Later tables of its topics are not on this page: {', '.join(later)}. A page of the topics with these "
                f"tables, and with the latest counts and words of {answering.dataset}: dplda report {later[-1]} -o FILE"
            )
        return
    found = _models(runs, records, ledger_path)
    models, wording = list(found.values()), _wording(title, names, hide, run_names, len(found))
    write_page(list(found), models, output, ledger_path, wording=wording, same_text=same_text, counted=counted)
    named = list(dict.fromkeys([*(model.facts.run for model in models), *(run.id for run in counted)]))
    _tell_written(output, named, as_json=as_json, private=all(model.privacy.sound for model in models))
    if not as_json and wording == Wording():
        hint = "--title, --run-name and --hide give it a title, name its runs and leave words out"
        if len(models) == 1:
            hint = "--title, --name and --hide give it a title, name topics and leave words out"
        say(f"{hint}, for free.")


def write_page(
    runs: Sequence[str],
    models: Sequence[TopicModel],
    output: Path,
    ledger_path: Path | None,
    *,
    wording: Wording | None = None,
    same_text: Sequence[str] = (),
    counted: Sequence[RunRecord] = (),
) -> None:
    """Write the page about the `models` of `runs`, with all that the ledger, if it exists, knows of them.

    If any runs are `counted`, their counts and words are shown instead of the latest ones.
    """
    from dplda.model.examples import load
    from dplda.report import write_report

    write_report(
        models,
        output,
        guarantees=_guarantees(_shown_runs(models), ledger_path, same_text),
        wording=wording,
        batches=_batches(models, ledger_path),
        tables=_tables(models, ledger_path, counted),
        examples=[load(m, model_folder(run, ledger_path)) for run, m in zip(runs, models, strict=True)],
    )


def _tell_written(output: Path, runs: Sequence[str | None], *, as_json: bool, private: bool) -> None:
    """Say that the page `output` about `runs` is written."""
    if as_json:
        print_json({"runs": runs, "report": str(output), "private": private})
    else:
        about = "runs" if len(runs) > 1 else "run"
        say(f"Wrote {output}, about {about} {', '.join(map(str, runs))}. Open it in a browser; it needs no network.")


def _write_papers(
    papers: Mapping[str, Path],
    model: TopicModel | RunWithoutTopics,
    answers_path: Path | None,
    title: str,
    same_text: Sequence[str],
    as_json: bool,
    ledger_path: Path | None,
) -> None:
    """Write each of `papers` about the run of `model` into its file, and say which answers are missing."""
    from dplda.audit.answers import Answers
    from dplda.audit.compliance_forms import write_form

    for file in papers.values():
        refuse_existing(file)
    if len(set(papers.values())) < len(papers):
        raise click.UsageError("two papers are named the same FILE. Name a FILE for each.")
    answers = Answers() if answers_path is None else Answers.read(answers_path)
    together = _guarantees(_shown_runs([model]), ledger_path, same_text).get(model.facts.dataset or "")
    missing: dict[str, Question] = {}
    texts: dict[Path, str] = {}
    for paper, file in papers.items():
        texts[file], unanswered = write_form(paper, model, together, answers, title)
        missing |= {question.name: question for question in unanswered}
    for file, text in texts.items():
        write_file(file, text)
    if as_json:
        files = {paper: str(file) for paper, file in papers.items()}
        asks = {name: question.asks for name, question in missing.items()}
        print_json({"run": model.facts.run, "papers": files, "missing": asks})
        return
    for file in papers.values():
        say(f"Wrote {file}.")
    if missing:
        count = f"{len(missing)} answers are" if len(missing) > 1 else "1 answer is"
        say(f"A draft: {count} missing. Complete these lines in a YAML file, and give it with --answers:", error=True)
        for question in missing.values():
            say(question.line, error=True)
    if "registry" in papers and not _FILE_NAME.fullmatch(papers["registry"].name):
        say(
            "The registry wants a file name of lower-case letters, digits and underscores, such as topics.yaml.",
            error=True,
        )


def _wording(
    title: str | None,
    names: Sequence[str] = (),
    hidden: Sequence[str] = (),
    run_names: Sequence[str] = (),
    n_runs: int = 1,
) -> Wording:
    """Return the options on the words of a report. Raises `click.UsageError` for one that fits no run."""
    from dplda.report import Wording

    if names and n_runs > 1:
        raise click.UsageError("--name works for a report of one run. Report each run by itself to name its topics.")
    if run_names and n_runs == 1:
        raise click.UsageError(
            "--run-name names several runs with topics by their number on the page, and this page has one such run. "
            "Runs of counts and words go by their ids. A page has a title: --title TEXT"
        )
    if title is not None and not title.strip():
        raise click.UsageError("--title is empty.")
    return Wording(
        title=(title or "").strip(),
        names=_numbered(names, "--name", "topic"),
        hidden=hidden,
        runs=_numbered(run_names, "--run-name", "run"),
    )


def _numbered(options: Sequence[str], option: str, what: str) -> dict[int, str]:
    """Return the names in `options` (NUMBER=TEXT) of an option by their numbers, which are of a topic or a run."""
    named: dict[int, str] = {}
    for text in options:
        number, _, name = text.partition("=")
        if not (number.strip().isdecimal() and number.strip().isascii()) or not name.strip():
            raise click.UsageError(f"{option} {text!r} is not NUMBER=TEXT. Example: {option} 1=Heating")
        if int(number) in named:
            raise click.UsageError(f"{option} names {what} {int(number)} twice.")
        named[int(number)] = name.strip()
    return named


def _batches(models: Sequence[TopicModel], ledger_path: Path | None) -> dict[str, TopicModel]:
    """Load the models of a series, by batch, up to and including the only one of `models`.

    Earlier models that are not private, or that no longer exist, are left out. Empty for several models, for a model of
    no series, and without a ledger.
    """
    from dplda.runs.series import batches_before, load_run

    ledger, facts = find_ledger(ledger_path), models[0].facts
    if len(models) > 1 or ledger is None or facts.series is None:
        return {}
    found = {}
    for run in batches_before(ledger, facts.series, str(facts.batch)):
        if run.sound:
            with suppress(InputError):
                found[str(run.batch)] = load_run(run)
    return {**found, str(facts.batch): models[0]}


def _recorded(run: str, ledger_path: Path | None) -> RunRecord | None:
    """Return the record of `run`; None if it is a path, or if no ledger knows it."""
    from dplda.runs.series import is_path

    ledger = None if is_path(run) else find_ledger(ledger_path)
    if ledger is None:
        return None
    with suppress(InputError):
        return ledger.run(run)
    return None


def _answering(run: str, record: RunRecord | None, ledger_path: Path | None) -> RunRecord | None:
    """Return the `record` of `run`, or of the run that learned the topics in a folder, if its page is of its answers.

    That is a run of `dplda ask`, or one of counts or words. None for other runs, if some of the topics were merged, and
    if no ledger knows it.
    """
    from dplda.model.topic_model import load
    from dplda.runs.plan_parts import is_plan
    from dplda.runs.questions import indicators_of
    from dplda.runs.series import is_path

    if is_path(run):
        facts = load(run).facts
        if facts.run is None or facts.merged is not None:
            return None
        record = _recorded(facts.run, ledger_path)
    return record if record is not None and (is_plan(record) or indicators_of(record)) else None


def _of_other_paths(run: RunRecord, ledger: Ledger) -> list[str]:
    """Return the last runs on the dataset of `run` before it that released something, not known of its documents."""
    from dplda.budget.ledger_records import READ

    runs = ledger.runs()
    before = runs[: [each.id for each in runs].index(run.id)]
    same = [each for each in before if (each.dataset, each.batch) == (run.dataset, run.batch)]
    released = [each for each in same if each.model or each.result]
    others = [each.id for each in released if each.parameters.get(READ) != run.parameters.get(READ)]
    return others[-_LISTED:]


def _apart(runs: tuple[str, ...], records: Mapping[str, RunRecord | None]) -> tuple[tuple[str, ...], list[RunRecord]]:
    """Return those of `runs` that are about topics, and the `records` of the others, which made counts or words.

    A plan without topics is one of the others beside topics, and alone, like them, has a page of its own. Beside
    others, a plan with topics is among both. Raises `InputError` if of several none is about topics.
    """
    from dplda.budget.ledger_records import released_in_words
    from dplda.runs.plan_parts import is_plan
    from dplda.runs.questions import indicators_of

    if len(records) == 1:
        return runs, []
    counted = {
        run: each for run, each in records.items() if each is not None and not each.model and indicators_of(each)
    }
    if len(counted) == len(records):
        first = next(iter(counted.values()))
        raise InputError(
            f"run {first.id} released no topics ({released_in_words(first.parameters)}), and a page of several runs is "
            f"about topics. Name a fit of {first.dataset} first: dplda report FIT {first.id}. Or write a page of each: "
            f"dplda report {first.id}"
        )
    plans = [each for run, each in records.items() if each is not None and run not in counted and is_plan(each)]
    return tuple(run for run in runs if run not in counted), [*plans, *counted.values()] if counted else []


def _models(
    runs: Sequence[str], records: Mapping[str, RunRecord | None], ledger_path: Path | None
) -> dict[str, TopicModel]:
    """Return the models of `runs` by their names, each once: a run that made tables names the one of their topics."""
    found: dict[str, TopicModel] = {}
    for run in dict.fromkeys(_with_model(run, records[run]) for run in runs):
        model = open_model(run, ledger_path)
        if model.facts.run is None or all(
            (model.facts.run, model.facts.merged) != (other.facts.run, other.facts.merged) for other in found.values()
        ):
            found[run] = model
    return found


def _with_model(run: str, record: RunRecord | None) -> str:
    """Return the run whose topics are tabulated if `run` made tables, by its `record`, else `run`."""
    if record is None or record.result is None or record.model:
        return run
    return str(record.parameters.get("of") or run)


def _about(run: str, record: RunRecord | None, ledger_path: Path | None) -> TopicModel | RunWithoutTopics:
    """Return what a paper about `run` is about: the topics of it, or of what it tabulates, or its answers alone."""
    from dplda.report.facts import RunWithoutTopics
    from dplda.runs.plan_parts import is_plan
    from dplda.runs.questions import indicators_of

    if record is not None and not record.model and (is_plan(record) or indicators_of(record)):
        return RunWithoutTopics.of(record)
    return open_model(_with_model(run, record), ledger_path)


def _tables(models: Sequence[TopicModel], ledger_path: Path | None, counted: Sequence[RunRecord]) -> list[Tables]:
    """Return what the ledger, if it exists, has about the topics of `models`, and the counts and words of their texts.

    These are those of the `counted` runs, or the latest ones. Of several tables of the same groups, only the one with
    the least noise is included. Raises `InputError` for counts of other texts.
    """
    from dplda.runs.questions import beside_topics, indicators_of, latest_indicators
    from dplda.runs.tabulation import best_tables

    ledger = find_ledger(ledger_path)
    if ledger is None:
        return []
    names = [model.facts.run or "" for model in models]
    datasets = dict.fromkeys(model.facts.dataset for model in models if model.facts.dataset)
    for other in (run for run in counted if run.dataset not in datasets):
        raise InputError(f"run {other.id} is about {other.dataset}, and these topics are of {', '.join(datasets)}.")
    runs = ledger.runs()
    indicators = [answers for run in counted for answers in indicators_of(run)]
    indicators += [answers for dataset in datasets if not counted for answers in latest_indicators(ledger, dataset)]
    named = {answers.run for answers in indicators}
    left = [run.id for run in runs if run.dataset in datasets and run.id not in named and indicators_of(run)]
    if left:
        why = "of runs that are not named" if counted else "that later ones by the same columns replace"
        beside = f"dplda report {shlex.quote(names[0] or 'RUN')} {shlex.quote(left[-1])}"
        instead = "" if counted else f" To show them instead: {beside}"
        say(f"Counts and words {why} are not on the page: {', '.join(left)}.{instead}", error=True)
    return [
        *(tables for name in names for tables in best_tables(ledger, name)),
        *(beside_topics(answers, models, runs) for answers in indicators),
    ]


def _shown_runs(models: Sequence[TopicModel | RunWithoutTopics]) -> dict[str, set[str]]:
    """Return the runs of `models` by dataset."""
    found: dict[str, set[str]] = {}
    for model in models:
        found.setdefault(model.facts.dataset or "", set()).add(str(model.facts.run))
    return found


def answers_guarantee(findings: Findings, ledger_path: Path | None, same_text: Sequence[str] = ()) -> AllRuns | None:
    """Return what the ledger, if it exists, has recorded of all runs of the dataset of `findings`."""
    shown = {findings.dataset: {findings.run}}
    return _guarantees(shown, ledger_path, same_text).get(findings.dataset)


def _guarantees(
    shown_runs: Mapping[str, set[str]], ledger_path: Path | None, same_text: Sequence[str] = ()
) -> dict[str, AllRuns]:
    """Return what the ledger, if it exists, has recorded of all runs of each dataset with `shown_runs`.

    With `same_text`, all datasets of the page and those of `same_text` are names of the same documents, and their runs
    count together. Says on standard error where other names share the documents of a dataset, which no report may show
    unless they are among `same_text`. Raises `InputError` if no total can be stated for all these names.
    """
    from dplda.report.promise import all_runs_with

    ledger = find_ledger(ledger_path)
    if ledger is None:
        if same_text:
            raise InputError("--same-text counts runs in the ledger, and there is none. Name it with --ledger.")
        return {}
    records, runs = {record.name: record for record in ledger.datasets()}, ledger.runs()
    found = all_runs_with(list(records.values()), shown_runs, runs)
    if same_text and not found:
        raise InputError("--same-text is for a report of runs that the ledger knows. See: dplda runs")
    same_names = (*found, *same_text) if same_text else ()
    for name, together in found.items():
        record = records[name]
        counted = tuple(dict.fromkeys((name, *same_names)))
        if len(counted) > 1:
            guarantee = ledger.guaranteed_together(*counted)
            found[name] = together.with_others({each: records[each].grant for each in counted}, guarantee, runs)
            if guarantee.holds and guarantee.largest_total != record.guaranteed_alone.largest_total:
                say(
                    f"The total of these names together is {guarantee.total}: the largest that was fixed for one of "
                    f"them, and not that of {name} alone, since readers do not know that they are charged together.",
                    error=True,
                )
            elif not guarantee.holds and all(records[each].guaranteed.holds for each in counted):
                say(
                    f"Datasets {', '.join(counted)} (exact, not for publication): the page states no total of them, "
                    "since reports count in full the runs that were interrupted, refused or failed.",
                    error=True,
                    style="yellow",
                )
        left = [other for other in record.linked if other not in counted]
        if left:
            counts = sum(len(records[other].runs) for other in left)
            options = " ".join(f"--same-text {shlex.quote(other)}" for other in (*same_text, *left))
            in_batches = any(records[each].parallel for each in (*counted, *left))  # then no total can be stated
            say(
                f"Dataset {name} (exact, not for publication): it shares documents with {', '.join(left)}, whose "
                f"{counts} {'run is' if counts == 1 else 'runs are'} not counted here."
                + ("" if in_batches else f" If readers may know that, count them: dplda report RUN... {options}."),
                error=True,
                style="yellow",
            )
        if record.in_reports and len(counted) == 1:
            say(f"Dataset {name} (exact, not for publication): {record.in_reports}.", error=True, style="yellow")
    return found
