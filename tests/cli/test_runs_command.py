from __future__ import annotations

from pathlib import Path

from dplda.base.config import PrivacySettings
from dplda.budget import Ledger, Reservation
from dplda.budget.events import Event
from dplda.budget.sketches import Fingerprint

EVENT = Event(stage="a", noise_multiplier=6.0)


def test_an_empty_ledger_says_how_to_start(dplda) -> None:
    assert "dplda fit" in dplda("runs").out
    assert dplda("runs", "--json").json == {"runs": []}


def test_runs_are_listed(dplda, saved: str) -> None:
    answer = dplda("runs")
    assert answer.status == 0
    for expected in (saved, "reviews", "1.25", "done"):
        assert expected in answer.out
    (run,) = dplda("runs", "--json").json["runs"]
    assert run["id"] == saved
    assert 0 < run["spent"]["epsilon"] < 1.25


def test_the_status_of_a_plan_counts_the_answers_that_it_has(dplda) -> None:
    def status() -> str:
        return " ".join(dplda("runs").out.split())

    def reserved() -> Reservation:
        asked = {"unit": "document", "privacy": PrivacySettings(epsilon=1.0), "sound": True}
        parameters = {"kind": "plan", "questions": [{}, {}]}
        return Ledger().reserve(dataset="toys", events=[EVENT], parameters=parameters, **asked)

    running = reserved()
    assert "counted as wholly spent, asked for answers to 2 questions" in status()
    running.keep(model=None, result={"reasons": ["", "not reached"]})
    assert "counted as wholly spent, answers to 1 of 2 questions" in status()
    running.finish(model=None, seconds={}, result={"reasons": []})
    assert "done, answers to 2 questions" in status()
    reserved().abandon("cancelled", "interrupted")
    assert "cancelled: interrupted, asked for answers to 2 questions" in status()


def test_a_run_without_noise_has_spent_without_bound(dplda) -> None:
    ledger = Ledger()
    ledger.grant("toys", unbounded=True)
    asked = {"unit": "document", "privacy": PrivacySettings(epsilon=1.0, adjacency="replace"), "parameters": {}}
    event = Event(stage="words", mechanism="exact")
    reservation = ledger.reserve(dataset="toys", events=(event,), sound=False, **asked)
    reservation.bind(Fingerprint("fingerprint"))
    reservation.charge(event)
    reservation.finish(model=None, seconds={})
    for answer in (dplda("runs"), dplda("runs", "show", reservation.run)):
        assert "inf" in answer.out
        assert "NO" in answer.out
    assert dplda("runs", "show", reservation.run, "--json").json["spent"]["epsilon"] is None


def test_show_tells_what_was_spent_on_which_stage(dplda, saved: str) -> None:
    out = dplda("runs", "show", saved[:-1]).out
    for expected in (saved, "size", "multiplier 10", "M1 clip", "epsilon 0.1", "asked", "not for sharing", "read 1.2"):
        assert expected in out
    shares = [float(line.split()[-1].rstrip("%")) for line in out.splitlines() if line.endswith("%")]
    assert len(shares) == 2
    assert abs(sum(shares) - 100) < 0.2


def test_a_planned_event_that_equals_a_charged_one_has_no_share(dplda) -> None:
    ledger = Ledger()
    asked = {"unit": "document", "privacy": PrivacySettings(epsilon=1.0), "parameters": {}}
    event = Event(stage="votes", mechanism="gaussian", noise_multiplier=50.0)
    reservation = ledger.reserve(dataset="toys", events=(event, event), sound=True, **asked)
    reservation.bind(Fingerprint("fingerprint"))
    reservation.charge(event)
    running = dplda("runs", "show", reservation.run).out
    assert [line.split()[-1] for line in running.splitlines() if line.startswith("votes")] == ["50.0%", "50.0%"]
    reservation.finish(model=None, seconds={})
    shown = [line.split() for line in dplda("runs", "show", reservation.run).out.splitlines()]
    ends = [
        (line[-3], line[-1]) if line[-1].endswith("%") else (line[-2], "") for line in shown if line[:1] == ["votes"]
    ]
    assert ends == [("charged", "100.0%"), ("planned", "")]


def test_json_holds_no_time_of_day_and_no_seconds(dplda, saved: str) -> None:
    record = dplda("runs", "show", saved, "--json").json
    assert record == dplda("runs", "--json", "show", saved).json
    assert [event["stage"] for event in record["events"]] == ["size", "M1 clip"]
    assert not {"seconds", "created", "fingerprint"} & set(record)


def test_another_ledger_is_taken_before_or_after_show(dplda, saved: str, home: Path) -> None:
    (home / "ledger.db").rename(home / "other.db")
    (home / "ledger.db.key").rename(home / "other.db.key")
    assert dplda("runs", "show", saved).status == 2
    assert dplda("runs", "show", saved, "--ledger", home / "other.db").status == 0
    assert dplda("runs", "--ledger", home / "other.db", "show", saved).status == 0


def test_a_file_that_is_no_ledger_is_one_line(dplda, home: Path) -> None:
    (home / "bad.db").write_text("not a database, but long enough to be looked at" * 100)
    answer = dplda("runs", "--ledger", home / "bad.db")
    assert answer.status == 2
    assert answer.err.count("\n") == 1
