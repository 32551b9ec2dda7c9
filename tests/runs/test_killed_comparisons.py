"""kill -9 at every step of a comparison: what has ended is kept, what was interrupted stays charged and is redone."""

from __future__ import annotations

from pathlib import Path

import killing
import pytest
from grids import private_grid

import dplda
from dplda.budget import Ledger
from dplda.budget.accountant import cost

BEGINNING = ("ComparisonLog.begin", "Ledger.reserve", "Reservation.bind")
SCRIPT = Path(__file__).parents[1] / "helpers" / "killed_comparisons.py"

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    return folder, killing.killed(SCRIPT, folder)


def continued(folder, line):
    ledger = Ledger(folder / str(line["number"]) / "ledger.db")
    return ledger, ledger.comparison(private_grid().key(ledger))


def test_every_step_of_the_second_cell_was_killed_once(killed):
    steps = [line["step"] for line in killed[1]]
    assert steps == [f"{side} {name}" for name in BEGINNING for side in ("before", "after")] + [
        *("before TopicModel.save", "after TopicModel.save", "before Reservation.finish", "after Reservation.finish"),
        *("before ComparisonLog.end", "after ComparisonLog.end", "end"),
    ]
    assert [line["survived"] for line in killed[1]] == [False] * 12 + [True]


def test_the_continued_comparison_is_whole_and_its_models_can_be_loaded(killed):
    folder, lines = killed
    for line in lines:
        ledger, log = continued(folder, line)
        assert ledger.verify().ok
        assert set(log.outcomes()) == set(private_grid().cells), line
        assert log.interrupted() == []
        for outcome in log.outcomes().values():
            assert ledger.run(outcome.run).status == "done"
            assert dplda.load(outcome.model).facts.run == outcome.run


def test_what_had_ended_is_not_run_again_and_what_was_interrupted_stays_charged(killed):
    folder, lines = killed
    for line in lines:
        ledger, _ = continued(folder, line)
        both_ended = line["step"] in ("after ComparisonLog.end", "end")
        before_reserved = "ComparisonLog.begin" in line["step"] or line["step"] == "before Ledger.reserve"
        assert line["ended"] == 1 + both_ended, line
        assert len(ledger.runs()) == 2 + (not both_ended and not before_reserved), line
        spent = sum(cost(run.events).mu_squared for run in ledger.runs())
        assert ledger.dataset("notes").spent.mu_squared == pytest.approx(spent)
