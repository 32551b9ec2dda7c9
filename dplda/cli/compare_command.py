"""`dplda compare`: a grid of noise placements on one corpus, and one report."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.console import confirm, following, following_grid, print_json, private_notes, say, table
from dplda.cli.options import (
    MODELS,
    READING_NAMES,
    GroupedCommand,
    fit_option,
    fit_options,
    json_option,
    ledger_option,
    open_ledger,
    public_words,
    quiet_option,
    read,
    reading_options,
)
from dplda.learning.placements.registry import PRIVATE, SOUND
from dplda.learning.settings import DEFAULTS
from dplda.model import load
from dplda.model.topic_model import refuse_existing
from dplda.text.files import STANDARD_INPUT

if TYPE_CHECKING:
    from dplda.budget import Ledger, Quote
    from dplda.budget.comparisons import Comparison, Outcome
    from dplda.runs.grid import Grid

_NOISY = ",".join(PRIVATE)
_PLANTED_LENGTH = "100"
# Parameters that all cells share; a cell is a combination of placement, calibration, epsilon and repeat.
_SHARED = ("delta", "adjacency", "max_vocabulary", "max_document_frequency", "alpha0")
_MEASURES = ("error", "coherence", "diversity", "bound")


def _list_of(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Return a parser of comma-separated values, each converted by `kind`."""

    def parse(value: str) -> list[Any]:
        try:
            return [kind(part.strip()) for part in value.split(",")]
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a list of numbers with commas between them.") from None

    return parse


def _sizes(value: str) -> tuple[int, int, int, float]:
    """Parse the numbers of documents, words and topics, and the mean length if there is one."""
    try:
        documents, words, topics, *length = value.split(",")
        (mean,) = length or [_PLANTED_LENGTH]
        return int(documents), int(words), int(topics), float(mean)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not N,D,K or N,D,K,MEAN_LENGTH.") from None


@click.command(cls=GroupedCommand)
@click.argument("corpus", required=False)
@click.option(
    "--synthetic",
    type=_sizes,
    metavar="N,D,K[,LENGTH]",
    help="Use a synthetic corpus instead of CORPUS: N documents from K planted topics over D words. Measures the error "
    "of the topics; costs no budget.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Declare CORPUS public: no budget is charged and coherence is measured. Never use this for private text.",
)
@click.option("--placements", type=_list_of(str), default=_NOISY, metavar="A,B", help="Where noise is added.")
@click.option("--calibrations", type=_list_of(str), default=SOUND, metavar="A,B", help="How the noise is scaled.")
@click.option(
    "--epsilons",
    type=_list_of(float),
    default="0.5,1,2,4,8",
    metavar="E,E",
    help="Privacy budgets to compare, each for one run (nats).",
)
@click.option("--repeats", default=1, help="Runs of each combination of placement, calibration and epsilon.")
@fit_option("n_topics", metavar="K", help="Number of topics [20, or K of --synthetic].")
@fit_options("delta", "adjacency", "dataset", "vocabulary", "max_vocabulary", "max_document_frequency", "alpha0")
@click.option(
    "--seed", type=int, help="Seed of the synthetic documents and simulated noise; not allowed for private text [0]."
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to this new HTML file."
)
@click.option("--models", type=click.Path(path_type=Path), default=MODELS, help="Folder in which the models are saved.")
@click.option("--fresh", is_flag=True, help="Start over instead of continuing the same comparison.")
@click.option("--yes", is_flag=True, help="Do not ask before a private dataset is charged.")
@reading_options
@json_option
@quiet_option
@ledger_option
def compare(corpus: str | None, as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> None:
    """Compare placements (where noise is added) at several budgets on CORPUS.

    Synthetic and public corpora cost nothing, because their noise is simulated; the quality of their topics is
    measured. A corpus with a bounded budget in the ledger cannot be declared public. On a private corpus every run is
    charged, and only what the runs release is shown. After an interruption the same command continues; with more
    placements, budgets or repeats it runs only the new combinations.
    """
    _check_usage(corpus, options)
    grid = _grid(corpus, options, ledger_path, quiet=as_json or quiet)
    ledger = open_ledger(ledger_path)
    with ledger.lock(grid.key(ledger)):
        comparison, quote = _continue(grid, ledger, options, quiet=as_json or quiet)
    if options["output"] is not None:
        _report(comparison, options["output"])
    if as_json:
        print_json(_record(comparison, quote, options["output"]))
    else:
        _show(comparison, options["output"])


def _check_usage(corpus: str | None, options: dict[str, Any]) -> None:
    planted = options["synthetic"] is not None
    if planted == (corpus is not None):
        raise click.UsageError("give either CORPUS or --synthetic N,D,K.")
    if planted and (options["public"] or options["vocabulary"] is not None):
        raise click.UsageError("--public and --vocabulary go with CORPUS: synthetic documents and words are public.")
    if options["seed"] is not None and not (planted or options["public"]):
        raise click.UsageError("--seed requires --synthetic or --public: noise from a known seed gives no privacy.")
    if options["output"] is not None:
        refuse_existing(options["output"])
        if not os.path.isdir(options["output"].absolute().parent):
            raise InputError(f"the folder of {options['output']} does not exist. Create it, or choose another file.")


def _grid(path: str | None, options: dict[str, Any], ledger_path: Path | None, *, quiet: bool) -> Grid:
    from dplda.runs.grid import Documents, Grid, Judge, planted
    from dplda.runs.series import UNNAMED

    seed = options["seed"] or 0
    n_topics = options["n_topics"]
    words: list[str] | None = None
    judge: Judge | None = None
    facts, source = {}, ""
    if path is None:
        documents, n_words, themes, length = options["synthetic"]
        corpus, judge = planted(documents, n_words, themes, length, options["alpha0"], seed)
        words = list(corpus.public_vocabulary or ())
        n_topics = themes if n_topics is None else n_topics
        facts = {"documents": documents, "words": n_words, "planted_topics": themes, "mean_length": length}
    else:
        if path == STANDARD_INPUT:
            raise click.UsageError("A comparison reads CORPUS again when it resumes: name a file, not standard input.")
        corpus = read(path, options)
        words = public_words(options["vocabulary"], corpus)
        if words is None and corpus.public_vocabulary is not None:
            words = list(corpus.public_vocabulary)
        if options["public"]:
            with following(quiet=quiet) as progress:
                judge = Documents(corpus, progress, open_ledger(ledger_path).key)
        else:
            columns = {name: options[name] for name in READING_NAMES if name in options}
            source = json.dumps([os.path.realpath(path), columns], sort_keys=True, default=str)
    return Grid(
        corpus=corpus,
        dataset=options["dataset"] or corpus.name or UNNAMED,
        common={
            "n_topics": DEFAULTS.model.topics if n_topics is None else n_topics,
            **{name: options[name] for name in _SHARED},
        },
        words=None if words is None else tuple(words),
        seed=seed,
        **{name: options[name] for name in ("placements", "calibrations", "epsilons", "repeats")},
        source=source,
        facts=facts,
        judge=judge,
    )


def _continue(grid: Grid, ledger: Ledger, options: dict[str, Any], *, quiet: bool) -> tuple[Comparison, Quote | None]:
    """Begin or continue the comparison; return its outcomes, and the quote of what was charged."""
    log, cells = None if options["fresh"] else ledger.comparison(grid.key(ledger)), grid.cells
    done = {} if log is None else log.outcomes()
    left = [cell for cell in cells if cell not in done]
    quote = grid.quote(ledger, left)
    if log is not None:
        say(f"Comparison {log.name}: {len(cells) - len(left)} of {len(cells)} cells were done already.", error=True)
        again = [cell for cell in log.interrupted() if cell in left]
        if again and grid.kind.charged:
            say(
                f"{len(again)} cell(s) were interrupted: what was charged stays charged, and they are run again.",
                error=True,
                style="yellow",
            )
    if left:
        _tell_cost(grid, quote, len(left))
        if quote is not None and not options["yes"]:
            confirm("Spend it?", otherwise="add --yes to spend this. Nothing was spent.")
    log = log or grid.begin(ledger)
    try:
        with following_grid(quiet=quiet) as watcher:
            grid.run(ledger, log, options["models"], watcher)
    except BaseException:
        done = log.outcomes()
        finished = sum(cell in done for cell in cells)
        say(f"{finished} of {len(cells)} cells are done; the same command continues with the next.", error=True)
        raise
    finally:
        if grid.kind.charged:
            private_notes(grid.corpus.notes)
    return grid.comparison(log), quote


def _tell_cost(grid: Grid, quote: Quote | None, runs: int) -> None:
    """Say what `runs` runs cost; they are free if `quote` is None."""
    if quote is None:
        say(
            f"Nothing is charged for this corpus: {grid.kind.why_free}. Noise is simulated from seed {grid.seed}.",
            error=True,
        )
        return
    dataset = quote.dataset
    say(f"Every run on dataset {dataset.name} draws exact noise and is charged to its budget.", error=True)
    if dataset.grant.unbounded:
        say(f"{runs} runs; the grant is unbounded.", error=True)
    else:
        say(
            f"{runs} runs cost {quote.share:.1%} of the budget ({dataset.grant}, or less where linked datasets have "
            f"less); {quote.left:.1%} of it is left.",
            error=True,
        )


def _report(comparison: Comparison, path: Path) -> None:
    """Write the report, with one model per placement and calibration, the first repeat at its largest epsilon."""
    from dplda.report import write_report

    chosen: dict[tuple[str, str], Outcome] = {}
    for outcome in sorted(comparison.outcomes, key=lambda o: (-o.cell.epsilon, o.cell.repeat)):
        if outcome.model is not None and os.path.isdir(outcome.model):
            chosen.setdefault((outcome.cell.placement, outcome.cell.calibration), outcome)
    shown = [load(str(outcome.model)) for outcome in chosen.values()]
    write_report(shown, path, comparison=comparison, guarantees={})


def _record(comparison: Comparison, quote: Quote | None, report: Path | None) -> dict[str, Any]:
    """Return the JSON output; `charged` is null if nothing was charged."""
    outcomes = [asdict(outcome.cell) | outcome.to_json() for outcome in comparison.outcomes]
    for outcome in outcomes:
        outcome["seconds"] = {stage: round(value, 1) for stage, value in outcome["seconds"].items()}
    return {
        "comparison": comparison.name,
        "corpus": comparison.corpus,
        "kind": comparison.kind,
        "parameters": dict(comparison.parameters),
        "charged": None if quote is None else quote.to_json(),
        "outcomes": outcomes,
        "seconds_are_local": True,
        "report": None if report is None else str(report),
    }


def _show(comparison: Comparison, report: Path | None) -> None:
    """Print the means over the repeats as readable text."""
    from dplda.budget import Status

    by_method: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in comparison.outcomes:
        cell = outcome.cell
        by_method.setdefault((cell.placement, cell.calibration, f"{cell.epsilon:g}"), []).append(outcome)
    measures = [name for name in _MEASURES if any(getattr(o, name) is not None for o in comparison.outcomes)]
    rows = []
    for key, outcomes in by_method.items():
        ended = [outcome for outcome in outcomes if outcome.status == Status.DONE]
        means = []
        for name in measures:
            known = [value for outcome in ended if (value := getattr(outcome, name)) is not None]
            means.append(f"{math.fsum(known) / len(known):.3f}" if known else "")
        rows.append((*key, "yes" if outcomes[0].sound else "NO", f"{len(ended)} of {len(outcomes)}", *means))
    table(("placement", "calibration", "epsilon", "placement proven", "done", *measures), rows)
    for message in dict.fromkeys(f"{o.cell}: {o.message}" for o in comparison.outcomes if o.message):
        say(f"  {message}", style="yellow")
    if comparison.simulated:
        say("The noise was simulated: none of these models is private.", style="bold red")
    say(f"Comparison {comparison.name}" + (f"; the report is in {report}" if report is not None else ""))
