from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from broken import noise_halved

from dplda.audit import placements
from dplda.audit.mechanisms import mechanisms
from dplda.cli import audit
from dplda.settings import FitSettings

QUICK = ("audit", "--placement", "config2", "--simulate", "--runs", 400)


def test_every_mechanism_and_placement_is_audited(dplda) -> None:
    record = dplda("audit", "--simulate", "--runs", 40, "--json").json
    names = [game.name for game in mechanisms(FitSettings())] + [f"placement {name}" for name in placements.SOUND]
    assert [finding["name"] for finding in record["findings"]] == names
    assert {"default", "config1", "config2", "config3", "config4", "tensor-power"} == set(placements.SOUND)
    assert (record["refuted"], record["exact_noise"], record["confidence"]) == (False, False, 0.95)
    for finding in record["findings"]:
        assert finding["claimed"]["epsilon"] == pytest.approx(8.0, rel=1e-2)
        assert set(finding["shown"]) == {"epsilon", "mu", "gaussian"}


def test_people_read_claims_and_what_is_shown_beside_them(dplda) -> None:
    answer = dplda(*QUICK)
    assert answer.status == 0
    line = next(line for line in answer.out.splitlines() if line.startswith("placement config2"))
    assert "2 x 40" in line
    assert "not refuted" in line
    assert "prove nothing" in answer.out


def test_a_refuted_claim_ends_with_its_own_status_and_names_it(dplda) -> None:
    with noise_halved():
        answer = dplda(*QUICK, "--runs", 4000)
        assert answer.status == audit.REFUTED == 5
        assert "REFUTED" in answer.out
        assert answer.err.splitlines()[-1] == "dplda: refuted: placement config2. More was shown than is claimed."
        record = dplda(*QUICK, "--runs", 4000, "--json")
        assert (record.status, record.json["refuted"]) == (5, True)


def test_the_exact_noise_is_audited_unless_it_is_simulated(dplda) -> None:
    first, second = (dplda("audit", "--placement", "config4", "--runs", 400, "--json").json for _ in range(2))
    assert first["exact_noise"]
    assert not first["refuted"] | second["refuted"]
    assert dplda(*QUICK, "--json").out == dplda(*QUICK, "--json", "--seed", 0).out
    assert dplda(*QUICK, "--json").out != dplda(*QUICK, "--json", "--seed", 1).out


def test_nothing_is_read_charged_or_written(dplda, home: Path) -> None:
    assert dplda(*QUICK).status == 0
    assert list(home.iterdir()) == []
    parameters = {parameter.name for parameter in audit.audit.params}
    assert not parameters & {"corpus", "ledger_path", "dataset", "vocabulary"}
    assert "ledger" not in inspect.getsource(audit)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--placement", "none"], "placement must be one of default, config1, config2, config3, config4, tensor-power"),
        (["--runs", 10], "runs must be a whole number in [40, 1e+09] (runs on each of two corpora), got 10."),
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
