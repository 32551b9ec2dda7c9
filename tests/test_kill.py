"""kill -9 at every step of a run: nothing is released without its event on disk, nothing spent is forgotten."""

from __future__ import annotations

from pathlib import Path

import killing
import pytest

import dplda
from dplda.base.errors import InputError
from dplda.budget.accountant import cost

pytestmark = pytest.mark.full  # a process for each step

SCRIPT = Path(__file__).parent / "helpers" / "killed_runs.py"


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    return folder, killing.killed(SCRIPT, folder)


def test_every_step_was_killed_once_and_the_last_run_survived(killed):
    folder, lines = killed
    steps = [line["step"] for line in lines]
    assert [line["survived"] for line in lines] == [False] * (len(steps) - 1) + [True]
    questions = len(dplda.Ledger(folder / "warm" / "ledger.db").runs()[0].events)
    for name in ("Ledger.reserve", "Corpus.open", "Reservation.bind", "TopicModel.save", "Reservation.finish"):
        assert steps.count(f"before {name}") == steps.count(f"after {name}") == 1
    assert steps.count("before Reservation.charge") == steps.count("after Reservation.charge") == questions


def test_a_killed_run_is_wholly_spent_once_it_was_reserved_and_the_record_is_intact(killed):
    folder, lines = killed
    for line in lines[:-1]:
        ledger = dplda.Ledger(folder / str(line["number"]) / "ledger.db")
        assert ledger.verify().ok, line
        runs = ledger.runs()
        if line["step"] == "before Ledger.reserve":
            assert not runs
            continue
        expected = "done" if line["step"] == "after Reservation.finish" else "reserved"
        assert [run.status for run in runs] == [expected], line
        assert runs[0].cost == cost(runs[0].events)


def test_no_question_is_answered_before_it_is_on_disk(killed):
    folder, lines = killed
    charged = 0
    for line in lines[:-1]:
        if not line["step"].endswith(" Reservation.charge"):
            continue
        charged += line["step"] == "after Reservation.charge"
        run = dplda.Ledger(folder / str(line["number"]) / "ledger.db").runs()[0]
        assert sum(planned.charged for planned in run.plan) == charged, line
    assert charged == len(run.events)


def test_a_killed_run_leaves_no_half_model(killed):
    folder, lines = killed
    for line in lines:
        whole = line["step"] in (
            "after TopicModel.save",
            "before Reservation.finish",
            "after Reservation.finish",
            "end",
        )
        found = list((folder / str(line["number"]) / "models").glob("*"))
        models = [place for place in found if not place.name.startswith(".")]
        if whole:
            assert len(dplda.load(models[0]).topics) == 2
        for place in [] if whole else models:
            with pytest.raises(InputError):
                dplda.load(place)
