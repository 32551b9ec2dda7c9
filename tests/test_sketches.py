"""Sketches: what they estimate, and how surely shared documents are seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dplda.overlap import LEAST_SHARE, SKETCH_SIZE, Fingerprint, Sketch

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=40)


def random_sketches(seed: int, shared: int, one: int, other: int) -> tuple[Sketch, Sketch]:
    """Sketches of corpora with `shared` documents in common and `one` and `other` of their own."""
    hashes = np.random.default_rng(seed).integers(0, 2**64, shared + one + other, dtype=np.uint64)
    return Sketch(hashes[: shared + one]), Sketch(np.concatenate([hashes[:shared], hashes[shared + one :]]))


@given(HASHES, HASHES)
def test_of_few_documents_the_shared_part_is_exact(one, other):
    fewer = min(len(set(one)), len(set(other)))
    expected = len({*one} & {*other}) / fewer if fewer else 0.0
    assert Sketch(one).shared(Sketch(other)) == Sketch(other).shared(Sketch(one)) == expected


@given(st.lists(HASHES, max_size=5))
def test_a_sketch_does_not_depend_on_blocks_order_or_repetition(blocks):
    growing = Sketch()
    for block in blocks:
        growing = growing.with_documents(np.array(block, np.uint64))
    everything = [number for block in blocks for number in block]
    assert np.array_equal(growing.hashes, Sketch(everything[::-1] * 2).hashes)


@given(HASHES)
def test_a_sketch_survives_the_ledger(hashes):
    assert np.array_equal(Sketch.from_text(Sketch(hashes).to_text()).hashes, Sketch(hashes).hashes)


def test_a_sketch_keeps_the_smallest_hashes_of_many_documents():
    numbers = np.random.default_rng(1).permutation(np.arange(0, 10 * SKETCH_SIZE, dtype=np.uint64))
    sketch = Sketch()
    for block in np.array_split(numbers, 7):
        sketch = sketch.with_documents(block)
    assert sketch.hashes.tolist() == list(range(SKETCH_SIZE))
    assert sketch.bound == SKETCH_SIZE - 1
    assert Sketch(numbers[: SKETCH_SIZE - 1]).bound == 2**64 - 1


@pytest.mark.parametrize(("shared", "one", "other"), [(20_000, 20_000, 60_000), (9_000, 1_000, 90_000), (30_000, 0, 0)])
def test_the_shared_part_of_large_corpora_is_estimated_without_bias(shared, one, other):
    """Within six standard deviations of the share of the smaller, over many draws of the hashes."""
    size = shared + min(one, other)
    share, sampled = shared / size, SKETCH_SIZE * min(1.0, size / (shared + max(one, other)))
    found = [a.shared(b) for a, b in (random_sketches(seed, shared, one, other) for seed in range(10))]
    assert np.mean(found) == pytest.approx(share, abs=6 * np.sqrt(share * (1 - share) / sampled / 10) + 1e-12)


@pytest.mark.parametrize(("shared", "own"), [(1_000, 9_000), (5_000, 5_000), (200, 1_800)])
def test_a_tenth_and_more_of_the_documents_is_seen_and_a_fortieth_is_not(shared, own):
    assert all(a.overlaps(b) for a, b in (random_sketches(seed, shared, own, own) for seed in range(20)))
    few = (shared + own) // 40
    rest = shared + own - few
    assert not any(a.overlaps(b) for a, b in (random_sketches(seed, few, rest, rest) for seed in range(20)))


def test_the_chances_of_missing_what_is_shared_are_those_documented():
    """docs/ledger.md: corpora of equal size, and a part whose whole is 200 or 1000 times as large."""
    needed = int(np.ceil(LEAST_SHARE * SKETCH_SIZE))
    assert binom.cdf(needed - 1, SKETCH_SIZE, 0.1) < 1e-30
    assert binom.cdf(needed - 1, SKETCH_SIZE, 0.025) > 1 - 1e-15
    assert (1 - 1 / 200) ** SKETCH_SIZE < 2e-9
    assert (1 - 1 / 1000) ** SKETCH_SIZE < 0.02


def test_a_part_of_a_two_hundredth_is_found():
    """The sample holds about twenty documents of the part, which are all shared."""
    assert all(a.overlaps(b) for a, b in (random_sketches(seed, 500, 0, 99_500) for seed in range(20)))


def test_corpora_without_documents_share_nothing():
    assert Sketch().shared(Sketch()) == Sketch().shared(Sketch([1, 2])) == 0.0
    assert not Sketch().overlaps(Sketch())


def test_fingerprints_are_told_apart_by_their_code():
    assert Fingerprint("a") == Fingerprint("a", Sketch([1]))
    assert Fingerprint("a") != Fingerprint("b")
