"""The answers of a plan of questions (`dplda.runs.questions`) as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dplda.base.errors import InputError
from dplda.budget import RunRecord
from dplda.budget.ledger_records import READ

PLAN = "plan"  # the kind of such a run, in its parameters
_RECORDED = {"tabulate": "table", "count": "count", "words": "words"}  # kinds of runs of their own


def is_plan(run: RunRecord) -> bool:
    """Whether `run` is a run of a plan that has an answer, also if it did not come to its end."""
    return run.parameters.get("kind") == PLAN and run.result is not None


def reasons_of(run: RunRecord) -> list[str]:
    """Return why each question of a run of a plan has no answer; empty for one that has. Without any, all have one."""
    return [] if run.result is None else list(run.result.get("reasons", ()))


def refuse_unanswered(run: RunRecord) -> None:
    """Raise `InputError` if `run` is of a plan and has come to no answer."""
    if run.parameters.get("kind") == PLAN and run.result is None:
        n = len(run.parameters["questions"])
        none = "no answer to its question" if n == 1 else f"no answer to any of its {n} questions"
        raise InputError(f"run {run.id} came to {none} ({run.status_in_words}).")


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
