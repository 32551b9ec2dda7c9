"""The benchmark of a GPU's kernels runs, here on the emulated ones, and tells sums that do not agree."""

from __future__ import annotations

import json
import shutil

import pytest
from emulated import EmulatedGpu
from gpus import emulated

from benchmarks import gpu, gpu_check
from benchmarks.corpora import write_store

SMALL = {"topics": 3, "words": 50, "vocabulary": 40, "documents": 60, "part": 30, "repeats": 1}


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(gpu, "MATRIX", 8)
    monkeypatch.setattr(gpu, "COPIED", 64)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "store"
    write_store(path, 100, 50, 3)
    return path


@pytest.mark.full
@emulated
def test_every_kernel_is_measured(store, capsys):
    gpu.measure(store, **SMALL, gpu=EmulatedGpu())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[4:]] == [
        "first moment", "second moment times X", "core", "third moment", "third moment along u", "expected counts"
    ]  # fmt: skip


@pytest.mark.full
@emulated
def test_sums_that_are_not_the_cpus_end_it(store, monkeypatch):
    summed = gpu.summed
    monkeypatch.setattr(gpu, "summed", lambda *given: (summed(*given)[0] + 10**7, 0))
    with pytest.raises(SystemExit, match="not the CPU's"):
        gpu.measure(store, **SMALL, gpu=EmulatedGpu())


@pytest.mark.full
@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="is about a machine without a GPU")
def test_without_a_gpu_the_check_comes_to_its_end_and_says_what_it_skipped(tmp_path, capsys):
    gpu_check.measure(tmp_path / "found", 120, [0.002], [3], install=False)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["0.002 million documents, 3 topics, cpu"]["result"]["seconds"] > 0
    assert set(found["tests"]) == set(found["0.002 million documents, 3 topics, cuda"]) == {"skipped"}
    assert "Skipped: gpu (there is no nvidia-smi" in capsys.readouterr().out


def test_a_step_that_does_not_fit_in_the_time_is_skipped_and_larger_fits_are_expected_to_take_longer():
    check = gpu_check.Check(100)
    check.found["1 million documents, 20 topics, cpu"] = {"result": {"millions": 1}, "seconds": 20.0}
    assert gpu_check.expected(check, 8, 20, "cpu") == 160
    assert gpu_check.expected(check, 8, 20, "cuda") == 30
    check.found["1 million documents, 120 topics, cuda"] = {"result": {"millions": 1}, "seconds": 90.0}
    assert gpu_check.expected(check, 8, 20, "cuda") == 30
    check.step("long", lambda: pytest.fail("was run"), 160)
    assert check.found["long"]["skipped"].startswith("it would take about 160 s, and ")
