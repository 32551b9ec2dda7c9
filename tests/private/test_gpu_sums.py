"""What only the GPU's kernels can get wrong: widths, long documents, how work is laid out on blocks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import EmulatedGpu
from gpus import CUDA, GPUS, WHY_NOT, emulated
from tiny_units import Units, lattice_sum, make_units, norms, squared_length, summing_on

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.gpu_sums import GpuSums, _source, arrange, upload

D = 200


def random_units(n: int, longest: int, documents: int = 1) -> Units:
    random = np.random.default_rng(n + longest)

    def one_document():
        words = np.sort(random.permutation(D)[: random.integers(1, longest + 1)])
        return [(int(w), int(random.integers(1, 6))) for w in words]

    return make_units([[one_document() for _ in range(documents)] for _ in range(n)])


def asked(kind: str, k: int) -> statistics.Contribution:
    random = np.random.default_rng(k)
    scale, X, U = random.uniform(0.2, 3, D), random.standard_normal((D, k)), np.linalg.qr(random.random((k, k)))[0]
    return {
        "first": lambda: statistics.first_moment(scale),
        "dense": lambda: statistics.second_moment(scale),
        "second": lambda: statistics.second_moment_times(scale, X),
        "core": lambda: statistics.core(scale, X),
        "third": lambda: statistics.third_moment(X),
        "projected": lambda: statistics.projected_third_moment(scale, X),
        "along": lambda: statistics.third_moment_along(X, U[:, :3]),
        "expected": lambda: statistics.expected_counts(np.abs(X) / np.abs(X).sum(axis=0), 0.1),
    }[kind]()


CASES = [
    *((kind, 7) for kind in ("first", "dense")),
    *((kind, k) for kind in ("second", "expected") for k in (1, 33, 300)),
    *((kind, k) for kind in ("core", "along") for k in (1, 4, 61, 130)),
    *((kind, k) for kind in ("third", "projected") for k in (1, 4, 5, 29)),
]


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(("kind", "k"), CASES)
def test_sums_and_norms_are_the_cpus_but_for_the_last_bits_of_float32(gpu, kind, k):
    f, units = asked(kind, k), random_units(6, 150)
    measured = norms(f, units)
    clip = float(np.median(measured))
    total, mass = lattice_sum(f, units, clip)
    with summing_on(gpu):
        np.testing.assert_allclose(norms(f, units), measured, rtol=1e-5)
        on_gpu, own_mass = lattice_sum(f, units, clip)
    relative = 2e-5 if kind == "expected" else 3e-6  # its steps end by a comparison, after more arithmetic
    atol = units.n_units + relative * BOUND * units.n_units
    np.testing.assert_allclose(on_gpu, total, rtol=0, atol=atol)
    assert np.abs(on_gpu - total).mean() <= 1
    assert own_mass == pytest.approx(mass, abs=units.n_units)


@emulated
@pytest.mark.parametrize(("kind", "k"), [(kind, 7) for kind in dict(CASES)])
def test_sums_do_not_depend_on_the_room_blocks_or_the_order_of_threads(kind, k):
    f, units = asked(kind, k), random_units(20, 12, documents=2)
    plenty, scarce, backwards = EmulatedGpu(), EmulatedGpu(memory=1), EmulatedGpu(backwards=True)
    found = []
    for gpu in (plenty, scarce, backwards):
        with summing_on(gpu):
            found += [(*lattice_sum(f, units, 0.3), norms(f, units))]
    assert plenty.launched[-1][1] > 1
    assert scarce.launched[-1][1] == 1
    for total, mass, measured in found[1:]:
        np.testing.assert_array_equal(total, found[0][0])
        np.testing.assert_array_equal(measured, found[0][2])
        assert mass == found[0][1]


@emulated
def test_one_hundred_topics_use_all_threads_of_a_block():
    f, units, gpu = asked("third", 100), random_units(1, 20), EmulatedGpu()
    with summing_on(gpu):
        total, _ = lattice_sum(f, units, 1.0)
    np.testing.assert_allclose(total, lattice_sum(f, units, 1.0)[0], rtol=0, atol=5)
    assert gpu.launched == [("add_third_moment", 1, 256)]


@emulated
@pytest.mark.parametrize(("kind", "k"), [(kind, 7) for kind in dict(CASES)])
def test_rounding_cannot_carry_a_unit_beyond_the_bound(kind, k, monkeypatch):
    """On a lattice so coarse that rounding would."""
    monkeypatch.setattr("dplda.private.statistics.gpu_sums.BOUND", 8)
    monkeypatch.setattr("dplda.private.statistics.gpu_sums.MARGIN", 0)
    coarse = _source.__wrapped__()
    monkeypatch.setattr("dplda.private.statistics.gpu_sums._source", lambda: coarse)
    f = asked(kind, k)
    with summing_on(EmulatedGpu()):
        for seed in range(8):
            total, mass = lattice_sum(f, random_units(1, 20 + seed), 1e-9)
            assert squared_length(total, mass, f.weights) <= 64


@emulated
def test_portions_add_up():
    f, units, gpu = asked("second", 5), random_units(10, 20), EmulatedGpu()
    with summing_on(gpu):
        whole = lattice_sum(f, units, 0.1)
        parts = [lattice_sum(f, units, 0.1, a, a + 5) for a in (0, 5)]
    sums = GpuSums(gpu, f, 0.1)
    on_gpu = upload(gpu, arrange(units.indptr, units.words, units.counts, units.unit_ptr, D))
    sums.add(on_gpu)
    sums.add(on_gpu)
    np.testing.assert_array_equal(sums.result()[0], 2 * whole[0])
    np.testing.assert_array_equal(sum(total for total, _ in parts), whole[0])


@emulated
def test_what_does_not_fit_one_units_places_is_refused(monkeypatch):
    monkeypatch.setattr("dplda.private.statistics.gpu_sums._MAX_PLACES", 10)
    with summing_on(EmulatedGpu()), pytest.raises(MemoryError, match="too many words"):
        lattice_sum(asked("dense", 1), random_units(2, 30), 1.0)


def test_the_kernels_take_their_constants_from_the_cpus():
    text = _source()
    assert "#define BOUND 1048576.0\n" in text
    assert "#define MINIMUM_LENGTH 3\n" in text


@pytest.mark.skipif(CUDA is None, reason=f"kernels are untested on hardware: {WHY_NOT}")
def test_hardware_compiles_and_runs_every_kernel():
    for kind, k in dict.fromkeys((kind, 7) for kind, _ in CASES):
        with summing_on(CUDA):
            assert lattice_sum(asked(kind, k), random_units(3, 20), 0.1)[1] > 0
