"""The answers of a plan of questions (`dplda.runs.questions`) as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dplda.budget import RunRecord
from dplda.budget.ledger_records import READ

PLAN = "plan"  # the kind of such a run, in its parameters
_RECORDED = {"tabulate": "table", "count": "count", "words": "words"}  # kinds of runs of their own


def is_plan(run: RunRecord) -> bool:
    """Whether `run` is a run of a plan that has an answer, also if it did not come to its end."""
    return run.parameters.get("kind") == PLAN and run.result is not None


def parts_of(run: RunRecord) -> list[RunRecord]:
    """Return the answers of a run of a plan as runs of their own kinds; a list of any other run alone."""
    if not is_plan(run) or run.result is None:
        return [run]
    asked = zip(run.parameters["questions"], run.result["answers"], strict=True)
    common = {"of": run.id, READ: run.parameters.get(READ)}
    return [
        replace(run, result=answer, parameters={**about, "kind": _RECORDED[about["kind"]], **common})
        for about, answer in asked
        if answer is not None
    ]


def with_parts(runs: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """Yield each of `runs`, or the answers of a plan in its place."""
    for run in runs:
        yield from parts_of(run)
