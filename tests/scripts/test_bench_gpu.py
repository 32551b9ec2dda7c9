"""The benchmark of a GPU's kernels runs, here on the emulated ones, and tells sums that do not agree."""

from __future__ import annotations

import bench_gpu
import pytest
from emulated import EmulatedGpu
from gpus import emulated
from planted_stores import write

SMALL = ["--words", "50", "--vocabulary", "40", "--documents", "60", "--part", "30", "--repeats", "1"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "store"
    write(path, 100, 50, 3)
    return path


@emulated
def test_every_kernel_is_measured(store, capsys):
    bench_gpu.main([str(store), "--topics", "3", *SMALL, "--matrix", "8", "--copied", "64"], EmulatedGpu())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[4:]] == [
        "first moment", "second moment times X", "core", "third moment", "third moment along u", "expected counts"
    ]  # fmt: skip


@emulated
def test_sums_that_are_not_the_cpus_end_it(store, monkeypatch):
    summed = bench_gpu.summed
    monkeypatch.setattr(bench_gpu, "summed", lambda *given: (summed(*given)[0] + 10**7, 0))
    with pytest.raises(SystemExit, match="not the CPU's"):
        bench_gpu.main([str(store), "--topics", "3", *SMALL, "--matrix", "8", "--copied", "64"], EmulatedGpu())


def test_the_best_of_several_runs_leaves_the_first_out(monkeypatch):
    ticks = iter([0.0, 5.0, 10.0, 12.0])
    monkeypatch.setattr(bench_gpu.time, "perf_counter", lambda: next(ticks))
    calls = []
    assert bench_gpu.best(lambda: calls.append(1), 2) == 2.0
    assert len(calls) == 3
