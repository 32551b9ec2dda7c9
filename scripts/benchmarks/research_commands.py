"""Commands that measure the papers' methods, placements of the noise, and attacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.options import (
    AUDITED,
    POISON_QUESTIONS,
    POISONED,
    TESTED,
    choices,
    cli,
    draw_option,
    epsilon_option,
    file_option,
    list_option,
    listed,
    option,
    repeats_option,
    results_option,
    topics_option,
)
from dplda.learning.placements.registry import PRIVATE


@cli.command()
@option("--documents", 50_000, "Documents of the random counts.")
@option("--words", 2000, "Words.")
@option("--length", 60, "Distinct words of a document.")
@list_option("--columns", "1,10,25", int, "Columns of the iterate, or starts.")
@option("--block", 5000, "Documents of a block.")
@option("--rounds", 4, "Rounds of a method.")
@option("--repeats", 5, "Runs of each method; tables show medians.")
def power(**options: Any) -> None:
    """Speed of streaming power methods, beside bare products.

    The sparse products are those that a method cannot do without. Takes about a minute.
    """
    from benchmarks.power import measure

    measure(**options)


@cli.command()
@option("--dimension", 100, "Dimension d of the tensor.")
@option("--rank", 10, "Components k.")
@option("--noise", 0.002, "Standard deviation of the noise.")
@repeats_option
def tensor(**options: Any) -> None:
    """Seconds and error of tensor power methods, beside TensorLy's.

    All decompose the same planted tensor with noise. Takes about a minute.
    """
    from benchmarks.tensor import measure

    measure(**options)


@cli.command()
@option("--documents", 100_000, "Documents of the synthetic corpus.")
@option("--words", 2000, "Words, which count as public.")
@topics_option
@epsilon_option
@choices("--placement", "placements", PRIVATE, "Placements to measure.")
def placements(**options: Any) -> None:
    """Seconds and memory of a fit with each placement.

    Every fit is a `dplda fit` in a process of its own. Noise is exact. A placement that tests its data may end without
    topics, and says so in the last column. Takes about 10 minutes.
    """
    from benchmarks.placements import times

    times(**options)


@cli.command()
@click.option(
    "--synthetic", "synthetic_sizes", required=True, metavar="N,D,K[,LENGTH]", callback=listed(int),
    help="Documents, words, topics and mean length of the planted corpus.",
)  # fmt: skip
@choices("--placement", "placements", PRIVATE, "Placements to measure, of those with several edges.")
@list_option("--epsilons", "1,4", float, "Budgets.")
@option("--repeats", 5, "Runs of each cell; the table shows means.")
def splits(**options: Any) -> None:
    """Topic error for each split of a placement's budget.

    The budget (mu^2) is split between the tensor and the second moment. Prints the placement's own part and the part
    with the least bound by the paper as well. The paper splits epsilon, so that its noise goes with 1 / part: a part of
    mu^2 with the same noise is its square. Noise is simulated. Takes about 5 minutes for 50000,200,5.
    """
    from benchmarks.placements import splits as measure

    measure(**options)


@cli.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@file_option("--draw", "Draw a figure for each corpus into this folder.", metavar="FOLDER")
def compared(results: tuple[Path, ...], draw: Path | None) -> None:
    """Tables and figures of what `dplda compare` measured.

    RESULTS are files with the output of `dplda compare --json`. Takes seconds.
    """
    from benchmarks.compared import show

    show(results, draw)


@cli.command()
@results_option
@choices("--part", "parts", TESTED, "Testers to run.")
@click.option(
    "--peers", multiple=True, metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Look for the testers' packages here too. Repeatable.",
)  # fmt: skip
def testers(results: Path, parts: tuple[str, ...], peers: tuple[Path, ...]) -> None:
    """Testers that others published, fed with dplda.

    Runs what is missing and appends it to the results, so it can be interrupted, then prints the table of
    docs/audit.md. A tester that is not installed is left out, with a line that says how to install it. Takes about
    an hour.
    """
    from benchmarks.testers.measure import measure

    measure(results, parts, peers)


@cli.command()
@results_option
@click.option("--part", type=click.Choice(AUDITED), help="Only this part.")
@option("--scale", 1.0, "Multiplies the number of runs.")
@draw_option
def audit(results: Path, part: str | None, scale: float, draw: Path | None) -> None:
    """Lower bounds on epsilon, by attacks on the mechanisms.

    Attacks the product, the product broken on purpose, and the published calibration. Plays what is missing and appends
    it to the results, so it can be interrupted. Takes about an hour.
    """
    from benchmarks.audit import bounds, report

    if draw is not None:
        report.audit(bounds.records(results), draw)
    else:
        bounds.measure(results, part, scale)


@cli.command()
@results_option
@choices("--system", "systems", POISONED, "Systems to attack.")
@choices("--question", "questions", POISON_QUESTIONS, "What the attacker wants to know.")
@option("--models", 100, "Models of each system, poison and world.")
def poisoning(results: Path, systems: tuple[str, ...], questions: tuple[str, ...], models: int) -> None:
    """What an attacker learns who adds documents of their own.

    Fits the models that are missing, appends what their topics show to the results, and prints how often the attacker
    guesses right, with intervals and the limit. Noise is simulated. Takes about an hour.
    """
    from benchmarks.audit import poisoning as module
    from benchmarks.results import read

    module.measure(results, systems, questions, models)
    print(module.table(read(results)))
