from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from placement_lists import PRIVATE

from benchmarks.audit.broken import noise_halved
from dplda.audit import catalogue
from dplda.audit import games as dplda_run
from dplda.audit import replay as recorded
from dplda.audit.bounds import Claim, LowerBounds
from dplda.audit.catalogue import mechanism_games
from dplda.audit.games import Finding
from dplda.audit.replay import Check, Replay, Violation
from dplda.base.config import PrivacySettings
from dplda.cli import audit_command as audit

QUICK = ("audit", "--placement", "config4", "--simulate", "--runs", 100)
LONGER = ("audit", "--placement", "config2", "--simulate", "--runs", 1500)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of calls of `play`, which plays nothing."""
    noted: list[dict[str, Any]] = []

    def play(games, noise, progress, confidence):
        noted.append({"games": games, "noise": noise, "confidence": confidence})
        return [Finding(game.name, runs, Claim(8.0, 1e-6, 1.5), LowerBounds(0.0, 0.0, 0.0)) for game, runs in games]

    monkeypatch.setattr(dplda_run, "play", play)
    monkeypatch.setattr(recorded, "replay", lambda game, seed: Replay(game.name, 7, 0.5, ()))
    return noted


def test_every_mechanism_and_placement_is_audited(dplda, calls, monkeypatch) -> None:
    assert set(PRIVATE) < set(catalogue.PLACEMENT_RUNS)
    monkeypatch.setattr(catalogue, "PLACEMENT_RUNS", ("config4", "config2"))  # the others take seconds to plan
    record = dplda("audit", "--json").json
    names = [game.name for game in mechanism_games(PrivacySettings())]
    placed = [f"placement {name}" for name in catalogue.PLACEMENT_RUNS]
    assert [finding["name"] for finding in record["findings"]] == names + placed
    assert [runs for _, runs in calls[0]["games"]] == [1000] * len(names) + [100] * len(placed)
    assert (record["refuted"], record["exact_noise"], record["confidence"]) == (False, True, 0.95)
    replayed = [one["name"] for one in record["replays"]]
    assert replayed[: len(names + placed)] == names + placed
    assert {name.partition(", ")[0] for name in replayed[len(names + placed) :]} == set(placed)
    assert (record["violated"], record["replays"][0]["queries"], record["replays"][0]["violations"]) == (False, 7, [])
    assert set(record["findings"][0]) == {"name", "runs", "claimed", "shown", "refuted"}
    assert set(record["findings"][0]["shown"]) == {"epsilon", "mu", "gaussian"}


def test_what_is_asked_for_is_what_is_audited(dplda, calls) -> None:
    answer = dplda(
        "audit",
        "--placement",
        "config4",
        "--placement",
        "config2",
        "--epsilon",
        2,
        "--delta",
        1e-5,
        "--adjacency",
        "replace",
        "--confidence",
        0.9,
    )
    assert answer.status == 0
    (one,) = calls
    assert one["confidence"] == 0.9
    assert [game.name for game, _ in one["games"]] == ["placement config4", "placement config2"]
    for game, _ in one["games"]:
        claim = game.claim
        assert claim.epsilon == pytest.approx(2.0, rel=1e-2)
        assert (claim.delta, game.neighbours.adjacency) == (1e-5, "replace")


def test_the_exact_noise_is_audited_unless_it_is_simulated(dplda, calls) -> None:
    for given in ([], ["--simulate"], ["--simulate", "--seed", 0], ["--simulate", "--seed", 1]):
        assert dplda("audit", "--placement", "config4", *given).status == 0
    exact, *simulated = (one["noise"] for one in calls)
    assert exact.private
    drawn = [tuple(noise.gaussian(1e6, 4)) for noise in simulated]
    assert drawn[0] == drawn[1] != drawn[2]


def test_people_read_claims_and_what_is_shown_beside_them(dplda) -> None:
    answer = dplda(*QUICK)
    assert answer.status == 0
    line = next(line for line in answer.out.splitlines() if line.startswith("placement config4"))
    assert "2 x 10" in line
    assert line.split()[-1] == "no"
    assert "prove nothing" in answer.out
    replayed = next(line for line in answer.out.splitlines() if line.startswith("placement config4, every word"))
    assert replayed.split()[-1] == "none"


def test_json_tells_of_a_refuted_claim_as_well(dplda, monkeypatch) -> None:
    monkeypatch.setattr(catalogue, "PLACEMENT_RUNS", ("config4",))
    finding = Finding("size", 9, Claim(1.0, 1e-6, 0.3), LowerBounds(1.5, 0.2, 0.6))
    monkeypatch.setattr(dplda_run, "play", lambda *_: [finding])
    answer = dplda("audit", "--json")
    assert (answer.status, answer.json["refuted"]) == (5, True)
    assert answer.json["findings"] == [finding.to_json()]


def test_a_violation_in_a_replay_is_named_and_ends_with_the_same_status(dplda, calls, monkeypatch) -> None:
    violation = Violation(Check.LOSS, "release", "2 times the charged GDP parameter")
    monkeypatch.setattr(recorded, "replay", lambda game, seed: Replay(game.name, 9, 2.0, (violation,)))
    answer = dplda("audit", "--placement", "config4")
    assert answer.status == 5
    assert "placement config4: release: privacy loss: 2 times the charged GDP parameter" in answer.out
    assert answer.err.splitlines()[-1].startswith("dplda: violated: placement config4, placement config4, every word")
    record = dplda("audit", "--placement", "config4", "--json").json
    assert record["violated"]
    assert not record["refuted"]
    assert record["replays"][0]["violations"] == [
        {"check": "privacy loss", "query": "release", "detail": "2 times the charged GDP parameter"}
    ]


@pytest.mark.full
def test_a_refuted_claim_ends_with_its_own_status_and_names_it(dplda) -> None:
    with noise_halved():
        answer = dplda(*LONGER)
        assert answer.status == audit._REFUTED == 5
        assert "REFUTED" in answer.out
        assert "refuted: placement config2." in answer.err


def test_nothing_is_read_charged_or_written(dplda, home: Path) -> None:
    assert dplda(*QUICK).status == 0
    assert list(home.iterdir()) == []
    parameters = {parameter.name for parameter in audit.audit.params}
    assert not parameters & {"corpus", "ledger_path", "dataset", "vocabulary"}
    assert "ledger" not in inspect.getsource(audit)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--placement", "none"], f"placement must be one of {', '.join(PRIVATE)}"),
        (["--runs", 10], "runs must be a whole number in [100, 1e+09] (runs on each of two corpora), got 10."),
        (["--confidence", 1], "confidence must be a number in [0.5, 1) (probability), got 1"),
        (["--epsilon", 0], "epsilon must be a number in [0.001, 100]"),
        (["--seed", 3], "--seed is for simulated noise"),
        (["--simulate", "--seed", -3], "seed must be at least 0, got -3."),
    ],
)
def test_bad_options_are_refused_in_one_line(dplda, given: list[object], message: str) -> None:
    answer = dplda("audit", *given)
    assert answer.status == 2
    assert message in answer.err
    assert (answer.out, answer.err.count("\n")) == ("", 1)
