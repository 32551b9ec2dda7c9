"""What is said of groups that are found privately: how large they must be, and how to list them instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dplda.base.config import ADJACENCIES
from dplda.budget.events import Event, Stage
from dplda.private.attributes import OTHER, PERIODS
from dplda.private.statistics import NONNEGATIVE
from dplda.runs.enough import votes_needed
from dplda.runs.released_table import ReleasedTable
from dplda.text.records import DOCUMENT

_DEVIATIONS, _LIKELY = 2.0, "98 %"  # of the noise, above an even chance; the chance of a group that is so large


def would_be_found(names: Sequence[str], events: Sequence[Event], adjacency: str, unit: str, most: int) -> list[str]:
    """Say how large groups by the attributes `names` must be to be found by `events`; nothing without such an event.

    A unit votes for at most `most` groups. Several attributes have events with equal noise.
    """
    event = next((each for each in events if each.stage == Stage.GROUPS), None)
    if event is None or event.noise_multiplier is None:
        return []
    even = votes_needed(event.noise_multiplier, event.delta, adjacency, most)
    noise = event.noise_multiplier * (1.0 if adjacency == ADJACENCIES[0] else NONNEGATIVE)
    parts = ""
    if unit != DOCUMENT:
        parts = f" A {unit} in several groups counts in each by the share of their documents that is there."
    return [
        f"Groups by {' and '.join(names)} would be found privately: one of about {even:,.0f} {unit}s with an even "
        f"chance, one of about {even + _DEVIATIONS * noise:,.0f} with one of {_LIKELY}.{parts} Others would be in "
        f"{OTHER!r}: to have all groups, list them: {_lists(names)}."
    ]


def were_found(table: ReleasedTable, unit: str) -> str:
    """Say which groups of `table` were found privately, and which were not; empty if none were."""
    names = _found(table)
    if not names:
        return ""
    parts = "" if unit == DOCUMENT else " (in parts, if in several groups)"
    return (
        f"The groups by {' and '.join(names)} were found privately: those of too few {unit}s{parts} are in {OTHER!r}."
    )


def how_to_find_all(table: ReleasedTable) -> str:
    """Say, after a space, how to list the groups of `table` that were found privately; empty if none were."""
    names = _found(table)
    return f" If a group may be missing, list all of them: {_lists(names)}." if names else ""


def _found(table: ReleasedTable) -> list[str]:
    return [name for name, found in zip(table.by, table.private, strict=True) if found]


def _lists(names: Iterable[str]) -> str:
    """Name the options that make the groups by these attributes public."""
    dated = {name.partition("(")[0] in PERIODS and name.endswith(")") for name in names}
    files = ["--groups FILE (in a plan, groups)"] if False in dated else []
    return " and ".join([*files, *(["--from and --to (in a plan, from and to)"] if True in dated else [])])
