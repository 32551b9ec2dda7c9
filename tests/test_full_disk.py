"""A fit whose disk is full at some moment ends in one line; what was answered is in the ledger, which is intact."""

from __future__ import annotations

from pathlib import Path

import killing
import pytest

import dplda

SCRIPT = Path(__file__).parent / "helpers" / "full_disks.py"

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return folder, killing.killed(SCRIPT, folder)


def test_a_full_disk_ends_a_fit_in_one_line_with_every_answer_in_the_ledger(full):
    folder, lines = full
    for line in lines:
        ledger = dplda.Ledger(folder / str(line["limit"]) / "ledger.db")
        assert ledger.verify().ok
        assert "\n" not in line["message"]
        asked = sum(planned.charged for run in ledger.runs() for planned in run.plan)
        assert asked >= line["answered"]
        assert [run.status for run in ledger.runs()] in ([], ["reserved"], ["cancelled"], ["done"])
        if line["message"]:
            assert "disk is full" in line["message"] or "cannot be" in line["message"]


def test_disks_were_full_before_among_and_after_the_answers(full):
    _, lines = full
    ended = [line for line in lines if not line["message"]]
    answered = [line["answered"] for line in lines if line["message"]]
    assert ended == lines[-len(ended) :]
    assert 0 in answered
    assert any(0 < count < ended[0]["answered"] for count in answered)
