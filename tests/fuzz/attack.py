"""Give targets malformed input and count the outcomes."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console
from rich.table import Table

from dplda.base.errors import DpldaError
from fuzz.targets import TARGETS, Target

SHOWN = 300  # characters of an input that made an exception escape


@dataclass
class Tally:
    """What came of the inputs of one target; `escaped` has one input for each kind and place of an exception."""

    outcomes: Counter[str] = field(default_factory=Counter)
    escaped: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def attack(target: Target, inputs: int, start: int) -> Tally:
    """Try `inputs` inputs of `target`, drawn from the seed `start`."""
    tally, began = Tally(), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        prepared = target.prepare(Path(name))

        @seed(start)
        @settings(
            max_examples=inputs,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(target.inputs)
        def each(given: Any) -> None:
            tally.outcomes[_outcome(target, given, prepared, tally)] += 1

        each()
    tally.seconds = time.perf_counter() - began
    return tally


def _outcome(target: Target, given: Any, prepared: Any, tally: Tally) -> str:
    try:
        return target.attempt(given, prepared)
    except DpldaError as error:
        return "refused" if len(str(error).splitlines()) == 1 else _escape("several lines", error, given, tally)
    except Exception as error:
        return _escape(type(error).__name__, error, given, tally)


def _escape(kind: str, error: Exception, given: Any, tally: Tally) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "dplda" in Path(f.filename).parts]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    tally.escaped.setdefault(kind + place, f"{str(error)[:SHOWN]} <- {given!r:.{SHOWN}}")
    return "ESCAPED"


def show(tallies: dict[str, Tally]) -> None:
    """Print the tally and every kind of exception that escaped."""
    grid = Table("target", "inputs", "accepted", "refused", "escaped", "seconds", box=None)
    for name, tally in tallies.items():
        grid.add_row(name, *_row([tally]))
    grid.add_row("all", *_row(list(tallies.values())), style="bold")
    console = Console(width=100)
    console.print(grid)
    for name, tally in tallies.items():
        for kind, example in tally.escaped.items():
            console.print(f"{name}: {kind}: {example}", markup=False)


def _row(tallies: list[Tally]) -> list[str]:
    total = sum((tally.outcomes for tally in tallies), Counter[str]())
    columns = (total.total(), total["accepted"], total["refused"], total["ESCAPED"])
    return [*(f"{column:,}" for column in columns), f"{sum(tally.seconds for tally in tallies):.0f}"]


@click.command()
@click.option("--inputs", default=12_000, show_default=True, help="How many in all.")
@click.option("--seed", "start", default=0, show_default=True, help="Another seed gives other inputs.")
@click.option("--only", type=click.Choice(sorted(TARGETS)), help="One target, with all the inputs.")
def main(inputs: int, start: int, only: str | None) -> None:
    """Give dplda malformed input of every kind and count the outcomes. Takes about a minute for 1,000 inputs.

    Accepted outcomes are a result, or one line: a `DpldaError` from Python, and from the command line an exit status
    other than 1. Any other exception escapes; the command prints it with its input and ends with status 1.
    """
    chosen = {only: TARGETS[only]} if only else TARGETS
    share = -(-inputs // sum(target.weight for target in chosen.values()))
    with tempfile.TemporaryDirectory() as home:
        for name in ("DPLDA_LEDGER", "DPLDA_CACHE", "HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            os.environ[name] = str(Path(home) / name.lower())
        tallies = {name: attack(target, share * target.weight, start) for name, target in chosen.items()}
    show(tallies)
    sys.exit(any(tally.escaped for tally in tallies.values()))
