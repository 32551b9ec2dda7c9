"""Dry runs: what a command would charge, and whether CORPUS can be read. They reserve, charge and write nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dplda.cli.check_report import Report, show
from dplda.cli.options import find_ledger, open_ledger

if TYPE_CHECKING:
    from dplda.budget import Ledger
    from dplda.runs.recording import Planned


@contextmanager
def consulted_ledger(path: Path | None) -> Iterator[Ledger]:
    """The ledger at `path`, or the default one. If there is none yet, an empty one that is removed afterwards."""
    with TemporaryDirectory() as empty:
        yield find_ledger(path) or open_ledger(Path(empty, "ledger.db"))


def show_dry_run(report: Report, plan: Planned, ledger_path: Path | None, *, as_json: bool) -> None:
    """Print `report` with the price of the run of this `plan`. Raises `BudgetRefused`."""
    if not report.problems:
        with consulted_ledger(ledger_path) as ledger:
            add_price(report, plan, ledger)
    show(report, as_json=as_json)


def add_price(report: Report, plan: Planned, ledger: Ledger) -> None:
    """Add to `report` what the run of this `plan` would take of its dataset's budget. Raises `BudgetRefused`."""
    from dplda.runs.quotes import quote

    quoted = quote(plan, ledger)
    report.granted = quoted.dataset.grant.created is not None or bool(quoted.dataset.runs)
    if quoted.more is None:
        report.price = f"Dataset {plan.dataset} may spend without limit."
        return
    more = f"room for about {quoted.more - 1:,} more like it" if quoted.more > 1 else "no room for another like it"
    if plan.batch is not None and quoted.dataset.parallel:
        more += " on this batch"
    report.price = (
        f"This run would take {quoted.share:.1%} of the budget of dataset {plan.dataset} "
        f"({quoted.dataset.grant}), which leaves {more}."
    )
