"""In how many batches documents are, as sketches show it, beside exact counts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import sample

from dplda.ledger.series_overlap import OVERLAP_SHARE, batches_of_most, most_batches
from dplda.store.sketches import Sketch

Documents = dict[str, list[set[int]]]  # for each batch everything that was read under its name

_corpora = st.sets(st.integers(0, 60), max_size=40)
_batches = st.dictionaries(st.sampled_from("abcd"), st.lists(_corpora, min_size=1, max_size=2), min_size=1)


def sketches(batches: Documents) -> dict[str, list[Sketch]]:
    return {batch: [sample(corpus) for corpus in corpora] for batch, corpora in batches.items()}


def exact(batches: Documents, declared: int) -> tuple[int, int]:
    """By the definitions of docs/privacy.md, section 9.10, over all documents."""
    held = Counter(document for corpora in batches.values() for document in set().union(*corpora))
    most, half = declared, 1
    for corpus in (corpus for corpora in batches.values() for corpus in corpora if corpus):
        counts = [held[document] for document in corpus]

        def share(level: int, counts: list[int] = counts) -> float:
            return sum(count >= level for count in counts) / len(counts)

        def many(level: int, least: float, counts: list[int] = counts) -> bool:
            return sum(count >= level for count in counts) >= 10 and share(level) > least

        if many(declared + 1, OVERLAP_SHARE):
            most = max(most, *(level for level in range(declared + 1, 5) if many(level, 0.01)))
        half = max(half, *(level for level in range(1, 5) if share(level) > 0.5))
    return most, half


@given(_batches, st.integers(1, 3))
def test_small_batches_are_counted_exactly(batches: Documents, declared: int) -> None:
    found = sketches(batches)
    assert (most_batches(found, declared), batches_of_most(found)) == exact(batches, declared)


@given(_batches, _batches)
def test_more_documents_or_batches_never_lower_what_was_seen(batches: Documents, more: Documents) -> None:
    both = {batch: [*batches.get(batch, []), *more.get(batch, [])] for batch in {*batches, *more}}
    assert most_batches(sketches(both), 1) >= most_batches(sketches(batches), 1)
    assert batches_of_most(sketches(both)) >= batches_of_most(sketches(batches))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.4])
def test_large_batches_are_compared_in_samples(share: float) -> None:
    size = 30_000
    overlap = round(share * size)
    weeks = {str(week): [sample(range(week * (size - overlap), week * (size - overlap) + size))] for week in range(3)}
    assert most_batches(weeks, 1) == (2 if share > OVERLAP_SHARE / 2 else 1)


def test_a_small_batch_of_parts_of_much_larger_ones_is_seen_in_their_smaller_samples() -> None:
    """A third each of documents of three batches, of which a sketch contains one in fifteen."""
    large = {str(number): [sample(range(number * 60_000, (number + 1) * 60_000))] for number in range(3)}
    parts = sample([number * 60_000 + document for number in range(3) for document in range(600)])
    assert most_batches(large, 1) == 1
    assert most_batches(large | {"parts": [parts]}, 1) == 2
    assert batches_of_most(large | {"parts": [parts]}) == 2


def test_what_a_batch_read_earlier_counts_although_a_larger_reading_hides_it() -> None:
    first, again = sample(range(1000)), sample(range(500_000, 560_000))
    weeks = {"1": [first, again], "2": [sample([*range(200), *range(900_000, 900_800)])]}
    assert most_batches(weeks, 1) == 2


def test_few_texts_in_all_batches_are_taken_for_chance() -> None:
    """The limit that rests on the deployer's word: .2 % of 100,000 documents, in each of several batches."""
    weeks = {
        str(week): [sample([*range(200), *range(week * 100_000, week * 100_000 + 99_800)])] for week in range(1, 6)
    }
    assert (most_batches(weeks, 1), batches_of_most(weeks)) == (1, 1)
    assert most_batches({"1": [sample(range(9))], "2": [sample(range(9))]}, 1) == 1
    assert batches_of_most({"1": [sample(range(9))], "2": [sample(range(9))]}) == 2


def test_batches_without_documents_show_nothing() -> None:
    assert most_batches({"1": [Sketch()], "2": [Sketch()]}, 1) == batches_of_most({"1": [Sketch()]}) == 1
    assert most_batches({}, 2) == 2
