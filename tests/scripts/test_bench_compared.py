"""Tables and figures of comparisons hold what was measured, and count what ended without topics."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest
from placement_lists import EVERY

from benchmarks import compared
from dplda.budget import Status

PARAMETERS = {"topics": 3, "delta": 1e-6, "adjacency": "add-remove"}


def outcome(placement, epsilon, repeat, error=None, calibration="sound"):
    key = {"placement": placement, "calibration": calibration, "epsilon": epsilon, "repeat": repeat}
    status = Status.DONE if error is not None else Status.UNSUPPORTED
    sound = calibration == "sound" and placement != "none"
    measured = {"error": error, "coherence": None, "diversity": None, "bound": None}
    return key | measured | {"status": status, "message": "", "run": "r", "sound": sound, "seconds": {}, "model": None}


def test_every_placement_has_a_look_of_its_own():
    assert set(compared.LOOKS) == set(EVERY)
    assert len(set(compared.LOOKS.values())) == len(EVERY)


OUTCOMES = [
    *(outcome("default", 1.0, repeat, error) for repeat, error in enumerate((0.1, 0.2, 0.3))),
    *(outcome("default", 4.0, repeat, 0.05) for repeat in range(3)),
    *(outcome("config3", 1.0, repeat, error) for repeat, error in enumerate((0.4, None, None))),
    *(outcome("config4", 1.0, repeat) for repeat in range(3)),
    *(outcome("config2", 1.0, repeat, 1.0, "published") for repeat in range(3)),
]


def written(path, outcomes=OUTCOMES, corpus="toy", **parameters):
    told = {"comparison": f"{corpus}-x", "corpus": corpus, "kind": "planted", "charged": None, "report": None}
    path.write_text(json.dumps(told | {"parameters": PARAMETERS | parameters, "outcomes": outcomes}))
    return path


def test_tables_hold_mean_spread_and_runs_without_topics(tmp_path, capsys):
    compared.show([written(tmp_path / "a.json")], None)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        "**toy: 3 topics, delta 1e-06, add-remove**",
        "| mean matched l1 error | proven private | ε = 1 | ε = 4 | runs |",
        "| --- | --- | --- | --- | --- |",
        "| default | yes | 0.200 ± 0.100 | 0.050 ± 0.000 | 3 |",
        "| config3 | yes | 0.400 (2 of 3: no topics) |  | 3 |",
        "| config4 | yes | no topics |  | 3 |",
        "| config2, published | no | 1.000 ± 0.000 |  | 3 |",
    ]


def test_files_about_one_corpus_share_a_table(tmp_path, capsys):
    one = written(tmp_path / "a.json")
    other = written(tmp_path / "b.json", [outcome("none", 0.5, repeat, 0.01) for repeat in range(2)])
    third = written(tmp_path / "c.json", corpus="other")
    compared.show([one, third, other], None)
    told = capsys.readouterr().out
    assert told.count("**toy") == told.count("**other") == 1
    assert "| no noise (not private) | no |  |  | 0.010 ± 0.000 | 2 |" in told


def test_planted_corpora_of_several_seeds_share_a_cell(tmp_path, capsys):
    files = [
        written(tmp_path / f"{seed}.json", [outcome("default", 1.0, 0, error)], seed=seed)
        for seed, error in enumerate((0.1, 0.3))
    ]
    compared.show(files, None)
    assert "| default | yes | 0.200 ± 0.141 | 2 |" in capsys.readouterr().out


@pytest.mark.parametrize(("outcomes", "delta", "told"), [(OUTCOMES, 1e-6, "Name each file"), ([], 0.1, "differ")])
def test_what_cannot_share_a_table_is_refused(outcomes, delta, told, tmp_path):
    files = [written(tmp_path / "a.json"), written(tmp_path / "b.json", outcomes, delta=delta)]
    with pytest.raises(SystemExit, match=told):
        compared.show(files, None)


@pytest.mark.full
def test_the_figure_names_every_placement_and_is_the_same_for_the_same_results(tmp_path):
    results = written(tmp_path / "a.json")
    drawn = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        compared.show([results], folder)
        drawn.append((folder / "compare-toy.svg").read_bytes())
    assert drawn[0] == drawn[1]
    ElementTree.fromstring(drawn[0])
    for label in ("default", "config3", "config2, published", "no topics at any epsilon: config4"):
        assert f"<!-- {label} -->" in drawn[0].decode()
