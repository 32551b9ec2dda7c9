"""Votes: local to the unit, at most m words, at most B in norm."""

from __future__ import annotations

import numpy as np
import pytest
from gate_helpers import WORDS, counts_of, store_of
from hypothesis import given
from hypothesis import strategies as st

from dplda.private.statistics import word_votes
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.word_votes import MOST_WORDS, count_votes, word_hashes
from dplda.private.store.units import UnitCounts, all_words, project

documents = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4), max_size=8)
corpora = st.lists(st.tuples(st.sampled_from("abcde"), documents), max_size=8)
HASHES = word_hashes(WORDS)


def votes_of(corpus, most=3):
    return count_votes(counts_of(corpus), 2, HASHES, most)


@given(corpus=corpora)
def test_a_units_votes_do_not_depend_on_any_other_unit(corpus):
    votes, weight = votes_of(corpus)
    alone = [votes_of([entry for entry in corpus if entry[0] == name]) for name in {name for name, _ in corpus}]
    assert np.array_equal(votes, sum((v for v, _ in alone), np.zeros(len(WORDS), np.int64)))
    assert weight == sum(w for _, w in alone)


@given(unit=st.lists(documents, min_size=1, max_size=4), most=st.integers(1, 8))
def test_a_unit_votes_for_at_most_m_words_with_norm_at_most_b(unit, most):
    votes, weight = votes_of([("a", counts) for counts in unit], most)
    assert np.count_nonzero(votes) <= most
    assert sum(int(vote) ** 2 for vote in votes) <= BOUND**2
    assert (votes >= 0).all()
    assert votes.max() <= weight <= BOUND


@pytest.mark.parametrize("size", range(1, MOST_WORDS + 1, 7))
def test_a_document_of_few_words_votes_with_the_largest_equal_weights_that_the_norm_allows(size):
    words = [f"v{i}" for i in range(size)]
    votes, weight = count_votes(counts_of([("a", dict.fromkeys(words, 3))], words), 1, word_hashes(words))
    assert len(set(votes)) == 1
    assert size * int(votes[0]) ** 2 <= BOUND**2 < size * (int(votes[0]) + 2) ** 2
    assert weight == votes[0]


def test_a_unit_votes_for_a_word_with_the_share_of_its_documents_that_hold_it():
    unit = [("a", {"w0": 3}), ("a", {"w0": 2, "w1": 1}), ("a", {"w0": 9}), ("a", {"w2": 2})]
    votes, weight = votes_of(unit)
    assert votes[1] / votes[0] == pytest.approx(1 / 3, rel=1e-5)
    assert votes[2] == 0  # its only document is too short
    assert weight == votes[0]
    repeated, _ = votes_of([("a", {"w0": 3})] * 5)
    assert np.array_equal(repeated, votes_of([("a", {"w0": 3})])[0])


@given(corpus=corpora, order=st.permutations(WORDS))
def test_votes_do_not_depend_on_the_order_of_the_dictionary(corpus, order):
    votes, _ = votes_of(corpus)
    other, _ = count_votes(all_words(store_of(corpus, order)), 1, word_hashes(order), 3)
    assert dict(zip(WORDS, votes, strict=True)) == dict(zip(order, other, strict=True))


def test_documents_of_fewer_than_three_tokens_do_not_vote():
    votes, weight = votes_of([("a", {"w0": 2}), ("b", {"w1": 1, "w2": 1})])
    assert not votes.any()
    assert weight == 0
    mixed, _ = votes_of([("a", {"w0": 2}), ("a", {"w1": 3})])
    assert np.flatnonzero(mixed).tolist() == [1]


def test_a_document_of_a_hundred_thousand_words_moves_at_most_m_words():
    n = 100_000
    whole = UnitCounts(np.array([0, n]), np.arange(n, dtype=np.int32), np.ones(n, np.int32), np.array([0, 1]), n)
    votes, _ = count_votes(whole, 2, word_hashes([str(i) for i in range(n)]))
    assert np.count_nonzero(votes) == MOST_WORDS
    assert sum(int(vote) ** 2 for vote in votes[votes > 0]) <= BOUND**2


def test_compiled_votes_are_those_of_the_code_as_written():
    unit = [
        ("a", {word: 1 + i for i, word in enumerate(WORDS)}),
        ("a", {"w1": 4}),
        ("b", {"w0": 2}),
        ("c", {"w5": 3}),
    ]
    counts, votes = counts_of(unit), np.zeros(len(WORDS), np.int64)
    with np.errstate(over="ignore"):  # hashes are meant to wrap
        written = word_votes._votes.py_func(
            counts.indptr, counts.words, counts.counts, counts.unit_ptr, 0, counts.n_units, HASHES, 3, votes
        )
        assert word_votes._mix.py_func(np.uint64(12345)) == word_votes._mix(np.uint64(12345))
        chosen = word_votes._pick.py_func(np.arange(8, dtype=np.int32), 8, np.uint64(7), HASHES, 3)
    compiled, weight = votes_of(unit)
    assert np.array_equal(votes, compiled)
    assert written == weight
    assert np.array_equal(chosen, word_votes._pick(np.arange(8, dtype=np.int32), 8, np.uint64(7), HASHES, 3))


def test_words_whose_priorities_tie_are_left_out_rather_than_exceeding_m():
    counts = counts_of([("a", dict.fromkeys(WORDS, 1))])
    votes, weight = count_votes(counts, 1, np.zeros(len(WORDS), np.uint64), 3)
    assert not votes.any()
    assert weight == 0


def test_units_with_the_same_words_draw_different_coins():
    corpus = [(f"u{i}", {word: 1 + (i * j) % 97 for j, word in enumerate(WORDS, 1)}) for i in range(200)]
    votes, _ = votes_of(corpus)
    times = votes / (BOUND // np.sqrt(3))
    assert times.sum() == pytest.approx(600, abs=1)
    assert times.min() > 40  # 75 expected, standard deviation 7


@pytest.mark.parametrize("most", [1, 3, 8])
def test_a_repeated_entry_is_one_word(most):
    once = UnitCounts(np.array([0, 2]), np.array([0, 1], np.int32), np.array([4, 2], np.int32), np.array([0, 1]), 8)
    split = UnitCounts(
        np.array([0, 3]), np.array([0, 0, 1], np.int32), np.array([2, 2, 2], np.int32), np.array([0, 1]), 8
    )
    for counts in (once, split):
        votes, _ = count_votes(counts, 1, HASHES, most)
        assert np.count_nonzero(votes) == min(most, 2)


def test_large_counts_do_not_wrap_around():
    huge = project(store_of([("a", {"w0": 2**31 - 1, "w1": 2**31 - 1})]), WORDS)
    votes, _ = count_votes(huge, 1, HASHES)
    assert np.flatnonzero(votes).tolist() == [0, 1]


def test_hashes_of_other_words_are_refused_before_compiled_code_sees_them():
    with pytest.raises(ValueError, match="other words"):
        count_votes(counts_of([("ann", {"w7": 3})]), 2, HASHES[:3])


def test_hashes_are_public_and_fixed_and_take_any_text():
    assert word_hashes(["topic", "\ud800"]).shape == (2,)
    assert word_hashes([]).shape == (0,)
    assert word_hashes(["topic"])[0] == word_hashes(["x", "topic"])[1]
