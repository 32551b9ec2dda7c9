"""Fits on a GPU: the curator's passes there, ranges that stay or stream, and what happens without one."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from emulated import EmulatedGpu, Library, on_device
from full_helpers import full_after
from gpus import GPUS, emulated
from placement_lists import DENSE, EVERY
from small_store import COUNTS, WORDS, D

import dplda
from dplda.base.arrays import find_gpu
from dplda.base.config import ExecutionSettings
from dplda.base.errors import DeviceError, InputError
from dplda.private import statistics
from dplda.private.passes import engines, gpu_passes
from dplda.private.passes.engines import running_engine
from dplda.private.passes.gpu_passes import GpuPasses
from dplda.private.passes.local_passes import LocalPasses, in_threads
from dplda.private.statistics.clipping import BOUND

ASKED = statistics.second_moment_times(np.ones(D), np.eye(D)[:, :4])
PLACEMENTS = [pytest.param(name, marks=pytest.mark.slow if name in DENSE else ()) for name in EVERY]


def answers(passes):
    """Votes, units, eligible units, and the sum, largest norm and histogram of norms of a contribution."""
    votes, full = passes.count_votes()
    passes.use_words(WORDS[::-1])
    total, mass = passes.clipped_sum(ASKED, 0.05)
    histogram = passes.clip_histogram(ASKED, np.arange(0, passes.n_units(), 2))
    return [votes, full, passes.n_units(), passes.count_units(), total, mass, passes.largest_norm(ASKED), histogram]


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("read", full_after(2, [None, 900]))
def test_a_curators_passes_are_those_of_the_cpu(store, gpu, read, monkeypatch):
    if read:
        monkeypatch.setattr("dplda.private.passes.local_passes._IN_MEMORY_BYTES", 0)
        monkeypatch.setattr("dplda.private.passes.local_passes.RANGE_BYTES", read)
    passes = GpuPasses(store, gpu)
    found = answers(passes)
    local = answers(LocalPasses(store, passes.n_ranges))
    assert (passes.n_ranges > 3) == bool(read)
    for index in range(4):
        np.testing.assert_array_equal(found[index], local[index])
    np.testing.assert_allclose(found[4], local[4], rtol=0, atol=2 * COUNTS.shape[0])
    assert found[5] == pytest.approx(local[5], abs=COUNTS.shape[0])
    assert found[6] == pytest.approx(local[6], rel=1e-5)
    assert np.abs(found[7] - local[7]).sum() <= 4 * BOUND  # a norm within rounding of the end of a bin
    assert found[7].sum() == local[7].sum()


@pytest.mark.parametrize("gpu", [pytest.param(EmulatedGpu(), id="emulated"), *GPUS[1:]])
@pytest.mark.parametrize("read", full_after(1, [900, None]))
def test_products_on_a_gpu_are_those_of_the_cpu_to_the_last_bit(store, gpu, read, monkeypatch):
    if read:
        monkeypatch.setattr("dplda.private.passes.local_passes._IN_MEMORY_BYTES", 0)
        monkeypatch.setattr("dplda.private.passes.local_passes.RANGE_BYTES", read)
    wide = statistics.third_moment(np.random.default_rng(0).standard_normal((D, 40)))
    found = []
    for passes in (GpuPasses(store, gpu), LocalPasses(store)):
        passes.use_words(WORDS)
        some = np.arange(0, passes.n_units(), 2)
        norm, histogram = passes.largest_norm(wide), passes.clip_histogram(wide, some)
        found.append((norm, *passes.clipped_sum(wide, norm / 3), *histogram))
    assert found[0][1].any()
    for on_gpu, local in zip(*found, strict=True):
        np.testing.assert_array_equal(on_gpu, local)


def test_a_gpu_whose_products_round_is_found_out(monkeypatch):
    class Single(Library):
        def asarray(self, array):
            return on_device(np.asarray(array).astype(np.float32) if np.asarray(array).dtype == float else array)

    class Rounding(EmulatedGpu):
        xp = Single()

    monkeypatch.setattr(engines, "find_gpu", Rounding)
    with (
        pytest.raises(InputError, match="wrong sums on a small example"),
        running_engine(ExecutionSettings(device="cuda")),
    ):
        pass


@emulated
@pytest.mark.parametrize(("memory", "held"), [(2**30, "all"), (20_000, "some"), (0, "none")])
def test_ranges_stay_on_the_gpu_as_far_as_there_is_room(store, memory, held, monkeypatch):
    monkeypatch.setattr("dplda.private.passes.local_passes._IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("dplda.private.passes.local_passes.RANGE_BYTES", store.n_bytes // 8)
    read, projected = [], LocalPasses.range_counts
    monkeypatch.setattr(LocalPasses, "range_counts", lambda self, index: read.append(index) or projected(self, index))
    gpu = EmulatedGpu(memory)
    passes = GpuPasses(store, gpu)
    passes.use_words(WORDS)
    first = passes.clipped_sum(ASKED, 0.05)
    n = len(read)
    second = passes.clipped_sum(ASKED, 0.05)
    np.testing.assert_array_equal(first[0], second[0])
    again = len(read) - n
    assert {"all": again == 0, "some": 0 < again < n, "none": again == n}[held]
    assert gpu.turns == [*range(n), *range(n)]
    passes.use_words(WORDS[:5])
    assert passes._room == gpu_passes._HELD_SHARE * memory
    short = statistics.first_moment(np.ones(5))
    np.testing.assert_allclose(
        passes.clipped_sum(short, 0.5)[0], words_used(store, short), rtol=0, atol=2 * COUNTS.shape[0]
    )


def words_used(store, contribution):
    local = LocalPasses(store)
    local.use_words(WORDS[:5])
    return local.clipped_sum(contribution, 0.5)[0]


def test_no_more_is_read_ahead_than_there_are_threads(monkeypatch):
    monkeypatch.setattr("dplda.private.passes.local_passes.thread_count", lambda: 3)
    begun = []
    results = iter(in_threads(lambda index: begun.append(index) or index, 20))
    for expected in range(20):
        assert next(results) == expected
        assert len(begun) <= expected + 4


@pytest.mark.full
@emulated
@pytest.mark.parametrize("store", ["people"], indirect=True)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_fit_on_a_gpu_learns_what_it_learns_on_the_cpu(store, placement, monkeypatch):
    gpu = EmulatedGpu()
    monkeypatch.setattr(engines, "find_gpu", lambda: gpu)
    monkeypatch.setattr(
        engines, "computing_with", lambda xp: nullcontext()
    )  # its arrays are NumPy's to array_api_compat

    def fit(device):
        return dplda.fit(
            dplda.read_corpus(store.path), n_topics=2, vocabulary=WORDS, epsilon=60, placement=placement, device=device,
            ledger=False, simulate_seed=1,
        )  # fmt: skip

    def outcome(device):
        try:
            return fit(device).topics
        except dplda.base.errors.UnsupportedByData:
            return np.zeros((2, D))

    on_cpu = outcome("cpu")
    assert not gpu.launched
    np.testing.assert_allclose(outcome("cuda"), on_cpu, atol=0.02)
    assert {name for name, _, _ in gpu.launched} >= {"add_first_moment"}
    launched = len(gpu.launched)
    outcome("auto")
    assert len(gpu.launched) > launched


@emulated
def test_a_gpu_that_fails_ends_the_run_and_tells_no_numbers(store, any_size, tmp_path, monkeypatch):
    released = [getattr(statistics, name) for name in statistics.__all__]
    kernels = {item.cuda.kernel for item in released if isinstance(item, statistics.Statistic) and item.cuda}

    class Broken(EmulatedGpu):
        def kernel(self, source, name):
            def fail(*arguments, shared_mem):
                raise MemoryError("12345678 bytes for 400 documents")

            tried = kernels <= {name for name, _, _ in self.launched}  # before anything is spent
            broken = name == "add_second_moment" and tried
            return fail if broken else super().kernel(source, name)

    monkeypatch.setattr(engines, "find_gpu", Broken)
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    with pytest.raises(DeviceError, match=r"The GPU failed \(MemoryError\).* stays spent\.$") as caught:
        dplda.fit(
            dplda.read_corpus(store.path), n_topics=2, vocabulary=WORDS, device="cuda", ledger=ledger, dataset="things"
        )
    assert caught.value.exit_code == 6
    assert caught.value.__suppress_context__
    assert ledger.dataset("things").spent_so_far != ""
    assert [run.status for run in ledger.runs()] == ["cancelled"]


@pytest.fixture
def without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def without_a_gpu(monkeypatch):
    cupy = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "cupy", cupy)


def test_cuda_without_cupy_says_how_to_get_it(without_cupy):
    with pytest.raises(InputError, match=r"^device cuda needs CuPy: pip install 'dplda\[cuda\]'\.$"):
        find_gpu()


def test_cuda_without_a_gpu_is_refused_and_nothing_is_spent(without_a_gpu, store, tmp_path):
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    with pytest.raises(InputError, match="needs an NVIDIA GPU and its driver, and CuPy finds none"):
        dplda.fit(dplda.read_corpus(store.path), n_topics=2, vocabulary=WORDS, device="cuda", ledger=ledger)
    assert ledger.runs() == []


def test_a_gpu_is_tried_before_anything_is_spent(store, tmp_path, monkeypatch):
    class Uncompiled(EmulatedGpu):
        def kernel(self, source, name):
            raise RuntimeError("nvrtc: error at a place")

    monkeypatch.setattr(engines, "find_gpu", Uncompiled)
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    with pytest.raises(InputError, match=r"^device cuda fails on a small example \(RuntimeError\)"):
        dplda.fit(dplda.read_corpus(store.path), n_topics=2, vocabulary=WORDS, device="cuda", ledger=ledger)
    assert ledger.runs() == []


def test_a_gpu_whose_kernels_do_nothing_is_found_out(monkeypatch):
    class Idle(EmulatedGpu):
        def kernel(self, source, name):
            return lambda *arguments, shared_mem: None

    monkeypatch.setattr(engines, "find_gpu", Idle)
    with (
        pytest.raises(InputError, match="wrong sums on a small example"),
        running_engine(ExecutionSettings(device="cuda")),
    ):
        pass


def test_a_gpu_that_is_taken_is_told_in_one_line(monkeypatch, caplog):
    def taken(*_):
        raise RuntimeError("cudaErrorDevicesUnavailable")

    runtime = SimpleNamespace(getDeviceProperties=taken)
    cuda = SimpleNamespace(is_available=lambda: True, runtime=runtime, Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    with pytest.raises(InputError, match=r"^device cuda cannot use the GPU \(RuntimeError\)"):
        find_gpu()
    with caplog.at_level(logging.WARNING), running_engine(ExecutionSettings(device="auto")) as engine:
        assert engine is LocalPasses
    assert len(caplog.messages) == 1


def test_auto_without_a_gpu_computes_on_the_cpu_and_says_so_in_one_line(without_a_gpu, caplog):
    with caplog.at_level(logging.WARNING), running_engine(ExecutionSettings(device="auto")) as engine:
        assert engine is LocalPasses
    (line,) = caplog.messages
    assert line.startswith("device auto computes on the CPU: device cuda needs an NVIDIA GPU")


def test_the_cpu_asks_for_no_gpu(monkeypatch, caplog):
    monkeypatch.setattr(engines, "find_gpu", lambda: pytest.fail("asked"))
    with running_engine(ExecutionSettings(device="cpu")) as engine:
        assert engine is LocalPasses
    assert not caplog.messages


def test_a_cluster_takes_no_gpu():
    with pytest.raises(InputError, match="device cuda needs --engine local"):
        ExecutionSettings(engine="dask", scheduler="tcp://x:1", device="cuda")
