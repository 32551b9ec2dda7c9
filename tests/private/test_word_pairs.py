"""Pairs of first words that documents hold, against pairs counted by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import contribution_of, make_units

from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.unit_sums import UnitSums
from dplda.private.statistics.word_pairs import FIRST, PAIRS, WORD_WEIGHT, norm_limits, pair_totals, word_pairs

D = 24
FIRST_WORDS = [list(range(FIRST)), [3, 12, 5, 20, 21, 22, 23, 0, 9, 15]]
LISTED = sorted({word for words in FIRST_WORDS for word in words})
documents = st.dictionaries(st.integers(0, D - 1), st.integers(1, 5), min_size=1, max_size=D).map(
    lambda counts: sorted(counts.items())
)


def by_hand(document):
    """The pairs that a document holds, and the words."""
    held = {word for word, _ in document}
    pairs = [float(a in held and b in held) for words in FIRST_WORDS for a, b in combinations(words, 2)]
    return np.array(pairs), np.array([float(word in held) for word in LISTED])


@given(documents)
@settings(deadline=None)
def test_a_document_holds_the_pairs_whose_words_it_holds(document):
    document = [*document, (D - 1, 3)] if document[-1][0] != D - 1 else document
    document = [(word, count + 2) for word, count in document]
    pairs, words = by_hand(document)
    np.testing.assert_allclose(contribution_of(word_pairs(FIRST_WORDS, D), document)[0], pairs)
    totals = contribution_of(pair_totals(FIRST_WORDS, D), document)[0]
    np.testing.assert_allclose(totals[:2], pairs.reshape(2, PAIRS).sum(axis=1))
    np.testing.assert_allclose(totals[2:], WORD_WEIGHT * words)


def test_norms_of_documents_are_within_their_public_limits():
    of_pairs, of_totals = norm_limits(2)
    everything = [(word, 1) for word in range(D)]
    one_word, one_pair = [(11, 3), (12, 2)], [(11, 1), (12, 1), (20, 1)]
    for make, least, (low, high) in (
        (word_pairs, one_pair, of_pairs),
        (pair_totals, one_word, of_totals),
    ):
        norms = [np.linalg.norm(contribution_of(make(FIRST_WORDS, D), document)) for document in (least, everything)]
        assert norms[0] >= low
        assert norms[1] <= high


@given(st.lists(st.lists(documents, min_size=1, max_size=3), min_size=1, max_size=4))
@settings(deadline=None)
def test_taking_a_unit_away_takes_at_most_the_bound(units):
    for make in (word_pairs, pair_totals):
        sums = UnitSums(make(FIRST_WORDS, D))
        whole, mass = sums.total(make_units(units), np.arange(len(units)), 2.0)
        rest, less = sums.total(make_units(units[:-1]), np.arange(len(units) - 1), 2.0)
        assert ((whole - rest).astype(float) ** 2).sum() + (mass - less) ** 2 <= BOUND**2
        assert (whole >= rest).all()
