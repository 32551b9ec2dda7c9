"""`dplda software`, and the other commands that show by which code a run was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade import with_facts

from dplda.base.config import PrivacySettings
from dplda.base.software import code_digest, installed_software
from dplda.budget import Ledger
from dplda.budget.events import Event
from dplda.model import TopicModel


def reserve(parameters: dict[str, object]) -> str:
    given = {"unit": "document", "privacy": PrivacySettings(epsilon=1.0), "sound": True}
    events = (Event(stage="size", noise_multiplier=10.0),)
    return Ledger().reserve(dataset="reviews", events=events, parameters=parameters, **given).run


@pytest.fixture
def other_code() -> dict[str, object]:
    return installed_software("noise") | {"code": "0" * 64}


def test_the_present_installation_is_shown(dplda) -> None:
    shown = dplda("software")
    assert code_digest() in shown.out.replace("\n", "")
    assert dplda("software", "--json").json["code"] == code_digest()
    assert dplda("software", "--json").json["libraries"]["numpy"]["digest"] is not None


def test_a_run_of_the_present_code_is_called_so(dplda, home: Path) -> None:
    present = dplda("software", "--json").json
    run = reserve({"software": present})
    found = dplda("software", run, "--json").json
    assert found == {"run": run, "software": present, "same_code": True, "differences": []}
    (home / "reviews").mkdir()  # a folder of the same name is no model
    assert "was made by" in dplda("software", "reviews").out


def test_a_run_of_other_code_is_called_so_with_what_differs(dplda, home: Path, other_code) -> None:
    run = reserve({"software": other_code})
    found = dplda("software", run, "--json").json
    assert found["same_code"] is False
    assert {"name": "code", "run": "0" * 16, "installed": code_digest()[:16]} in found["differences"]
    assert "NOT the code" in dplda("software", run).out


def test_a_run_without_recorded_software_says_so(dplda, saved: str) -> None:
    assert "does not record" in dplda("software", saved).out
    assert dplda("software", saved, "--json").json["same_code"] is None
    assert "not recorded" in dplda("runs", "show", saved).out


def test_a_model_folder_is_compared_without_a_ledger(dplda, home: Path, model: TopicModel, other_code) -> None:
    with_facts(model, software=other_code).save(home / "theirs")
    assert dplda("software", home / "theirs", "--json").json["same_code"] is False
    assert not (home / "ledger.db").exists()
    assert f"code {'0' * 16}" in dplda("topics", home / "theirs").out


def test_runs_and_history_name_version_and_code(dplda, home: Path, other_code) -> None:
    run = reserve({"software": other_code})
    for answer in (dplda("runs", "show", run), dplda("budget", "history", "--json")):
        assert f"dplda {other_code['dplda']}, code {'0' * 16}" in answer.out


def test_an_unknown_run_is_one_line(dplda, home: Path) -> None:
    Ledger()
    answer = dplda("software", "nowhere")
    assert answer.status == 2
    assert answer.err.count("\n") == 1
