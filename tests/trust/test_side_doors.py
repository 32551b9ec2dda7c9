"""What leaves the program besides its answers: nothing private, whatever goes wrong, nothing that others can read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from canaries import COMMON, MARK, documents, holds_canary
from full_helpers import full_after

from dplda.cli.main import main
from dplda.private.curator import Curator
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.runs.words import find_words

SCRIPT = Path(__file__).with_name("leaky_runs.py")
OUTCOMES = {
    "everything": 0,
    "json": 0,
    "folder": 4,
    "late": 2,
    "late lines": 0,
    "headless": 2,
    "no such column": 2,
    "no words": 4,
    "too many topics": 2,
    "no budget": 3,
    "import": 0,
    "worker fails": 1,
}
STATUS = {"interrupted": {130}, "full": {1, 2, 4}, "killed": {-9}, "disk full": {2}}
ASKED_FOR = {"p.csv", "store"}  # what a user asks to be written, exact and private, and is for the owner only


@pytest.fixture(
    scope="module",
    params=[pytest.param("some", marks=pytest.mark.full), pytest.param("everywhere", marks=pytest.mark.slow)],
)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("leaky")
    paths = os.pathsep.join([str(SCRIPT.parents[1] / "helpers"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(SCRIPT), str(folder), request.param]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, [json.loads(line) for line in done.stdout.splitlines()]


def written(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.is_file())


def owner_only(path: Path, top: Path) -> bool:
    """Whether `path`, or a folder between it and `top`, is closed to everybody else."""
    chain = [path, *path.parents]
    return any(place.stat().st_mode & 0o077 == 0 for place in chain[: chain.index(top)])


def test_every_case_ended_as_it_should(ran) -> None:
    _, lines = ran
    assert len(lines) > 20
    for line in lines:
        kind = next((kind for kind in STATUS if line["case"].startswith(kind)), None)
        expected = {OUTCOMES[line["case"]]} if line["case"] in OUTCOMES else STATUS.get(kind or "", {0, 1, 4})
        assert line["status"] in expected, line


def test_no_canary_is_in_anything_but_stores_that_only_the_owner_can_read(ran) -> None:
    folder, lines = ran
    stored = set()
    for line in lines:
        top = folder / line["folder"]
        for path in written(top):
            if not holds_canary(path.read_bytes()):
                continue
            place = path.relative_to(top)
            assert place.parts[1] in ASKED_FOR or "stores" in place.parts, (line["case"], place)
            assert owner_only(path, top), (line["case"], place)
            stored.add(line["case"])
    assert {"everything", "import"} <= stored, "the search finds what is there"
    assert any(case == "killed at to_json" for case in stored)


def test_no_name_of_a_file_is_a_canary(ran) -> None:
    folder, lines = ran
    assert not [path for line in lines for path in (folder / line["folder"]).rglob("*") if MARK in path.name]


def test_ledgers_caches_and_what_else_lies_at_home_are_for_their_owner_only(ran) -> None:
    folder, lines = ran
    for line in lines:
        top = folder / line["folder"]
        for path in written(top / "home"):
            fonts = path.parent.name == "matplotlib" and path.name.startswith("fontlist")  # those of the machine
            assert fonts or owner_only(path, top), (line["case"], path.relative_to(top))


def test_temporary_folders_are_left_empty_unless_the_run_was_killed(ran) -> None:
    folder, lines = ran
    for line in lines:
        left = [path for path in written(folder / line["folder"] / "tmp") if "joblib" not in path.parts]
        assert line["status"] == -9 or not left, (line["case"], left)


def test_partial_stores_are_left_by_killed_runs_and_behind_whole_shards_only(ran) -> None:
    folder, lines = ran
    for line in lines:
        partial = list((folder / line["folder"]).rglob(".*.partial"))
        assert line["status"] == -9 or not partial or line["case"].endswith("at to_json"), line["case"]


def test_failures_are_told_in_one_line_without_a_traceback(ran) -> None:
    folder, lines = ran
    for line in lines:
        told = (folder / line["folder"] / "stderr").read_text()
        assert "Traceback" not in told, line["case"]
        assert 'File "' not in told, line["case"]
        ends = [text for text in told.splitlines() if text.startswith("dplda: ")]
        assert len(ends) == (line["status"] > 0), (line["case"], told)


# What is shown depends on nothing but the answers of the gate.

QUESTIONS = ("choose_words", "word_frequencies", "size", "clip", "release_jointly")


def taping(tape: list[Any], *, play: bool) -> type[Curator]:
    """A curator that records its answers on `tape`, or gives those on it instead of its own."""

    def taped(question: str) -> Callable[..., Any]:
        def answer(self: Curator, *args: Any) -> Any:
            mine = getattr(Curator, question)(self, *args)
            if play:
                return tape.pop(0)
            tape.append(mine)
            return mine

        return answer

    return type("Taped", (Curator,), {question: taped(question) for question in QUESTIONS})


def shown(folder: Path, corpus: bytes, tape: list[Any], capsys: Any, epsilon: str, *, play: bool) -> Any:
    """Exit status, standard output and files of a run on `corpus` and of all that shows it; run ids and seconds out."""
    folder.mkdir()
    (folder / "c.jsonl").write_bytes(corpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("DPLDA_LEDGER", str(folder / "ledger.db"))
        patch.setenv("DPLDA_CACHE", str(folder / "cache"))
        patch.setattr("dplda.runs.run.Curator", taping(tape, play=play))
        patch.setattr(ExactNoise, "gaussian", SimulatedNoise(0).gaussian)
        generator = np.random.default_rng
        patch.setattr(np.random, "default_rng", lambda seed=None: generator(seed or 0))  # public starting points
        fit = [
            "fit",
            "c.jsonl",
            "--topics",
            "2",
            "--max-document-frequency",
            "1",
            "--out",
            "m/model",
            "--epsilon",
            epsilon,
        ]
        status = [main([*fit, "--json"])]
        if status == [0]:
            status += [main(["report", "m/model", "--output", "m/report.html"]), main(["topics", "m/model"])]
            status += [main(["export", "m/model", "--to", kind, "--out", f"m/{kind}"]) for kind in ("csv", "json")]
            status += [main(["runs", "--json"]), main(["runs", "show", "c", "--json"])]
    out = capsys.readouterr().out
    assert not play or not tape
    files = {str(path.relative_to(folder)): path.read_bytes() for path in written(folder / "m")}
    text = {name: _without_chance(content.decode("latin-1"), folder) for name, content in files.items()}
    return status, _without_chance(out, folder), text


def _without_chance(text: str, folder: Path) -> str:
    """`text` without the run's random id, what local seconds are allowed to be, and its folder."""
    text = re.sub(r"c-[a-z2-7]{8}", "RUN", text.replace(str(folder), "FOLDER"))
    return re.sub(r'"seconds": {[^}]*}', "SECONDS", text)


def people(seed: int, number: int) -> bytes:
    random = np.random.default_rng(seed)
    texts = (" ".join(random.choice(COMMON[seed % 3 :], 10)) for _ in range(number))
    return documents(number // 3, seed) + "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


@pytest.mark.parametrize(("epsilon", "status", "few"), full_after(2, [("2", 0, 1e3), ("0.01", 4, 1e3), ("2", 0, 0.0)]))
def test_all_that_is_shown_is_a_function_of_the_answers(tmp_path, capsys, monkeypatch, epsilon, status, few) -> None:
    monkeypatch.setattr("dplda.learning.placements.default._FEW", few)  # topics are learned from pairs, or from moments
    tape: list[Any] = []
    first = shown(tmp_path / "one", people(0, 900), tape, capsys, epsilon, play=False)
    assert first[0][0] == status
    assert shown(tmp_path / "another", people(7, 137), tape, capsys, epsilon, play=True) == first


def test_an_exact_number_among_the_parameters_would_be_seen(tmp_path, capsys, monkeypatch) -> None:
    def leaking(gate: Any, settings: Any, events: Any, corpus: Any, **more: Any) -> Any:
        found = find_words(gate, settings, events, corpus, **more)
        return replace(found, facts={**found.facts, "max_vocabulary": corpus._store.n_documents})

    monkeypatch.setattr("dplda.runs.fitting.find_words", leaking)
    tape: list[Any] = []
    first = shown(tmp_path / "one", people(0, 900), tape, capsys, "2", play=False)
    assert shown(tmp_path / "another", people(7, 137), tape, capsys, "2", play=True) != first
