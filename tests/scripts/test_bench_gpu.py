"""The benchmark of a GPU's kernels runs, here on the emulated ones, and tells sums that do not agree."""

from __future__ import annotations

import pytest
from emulated import EmulatedGpu
from gpus import emulated

from benchmarks import gpu
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
