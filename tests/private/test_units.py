"""Grouping by privacy unit and projection on a vocabulary."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.config import MINIMUM_LENGTH
from dplda.private.store.count_store import Block, CountStore
from dplda.private.store.units import UnitCounts, all_words, project

DICTIONARY = ["ant", "bee", "cat", "dog", "elk"]
Row = tuple[int, dict[str, int]]  # a person's number and the words of one of her documents

rows = st.tuples(st.integers(0, 3), st.dictionaries(st.sampled_from(DICTIONARY), st.integers(1, 9)))
corpora = st.lists(st.lists(rows, max_size=5), max_size=4)  # documents in several blocks
vocabularies = st.lists(st.sampled_from([*DICTIONARY, "fox", "gnu"]), unique=True)


def make_block(documents: list[Row]) -> Block:
    entries = [(DICTIONARY.index(w), c) for _, words in documents for w, c in words.items()]
    return Block(
        indptr=np.cumsum([0, *(len(words) for _, words in documents)]),
        words=np.array([w for w, _ in entries], np.int32),
        counts=np.array([c for _, c in entries], np.int32),
        units=np.array([(person % 2, person // 2) for person, _ in documents], np.uint64).reshape(-1, 2),
        ids=pa.array([""] * len(documents), pa.string()),
    )


def make_store(blocks: list[list[Row]], unit: str = "person") -> CountStore:
    return CountStore.from_blocks([make_block(block) for block in blocks], DICTIONARY, unit=unit)


def listed(counts: UnitCounts, vocabulary: list[str]) -> list[list[dict[str, int]]]:
    """The documents of every unit, as words and counts."""

    def document(n: int) -> dict[str, int]:
        part = slice(counts.indptr[n], counts.indptr[n + 1])
        names = [vocabulary[w] for w in counts.words[part]]
        assert len(set(names)) == len(names)
        return dict(zip(names, counts.counts[part].tolist(), strict=True))

    bounds = counts.unit_ptr.tolist()
    return [[document(n) for n in range(a, b)] for a, b in pairwise(bounds)]


def kept(words: dict[str, int], vocabulary: list[str]) -> dict[str, int]:
    return {word: count for word, count in words.items() if word in vocabulary}


def eligible(words: dict[str, int]) -> bool:
    return sum(words.values()) >= MINIMUM_LENGTH


def canonical(units: list[list[dict[str, int]]]) -> list[str]:
    return sorted(repr([sorted(d.items()) for d in unit]) for unit in units)


@settings(deadline=None)
@given(corpora, vocabularies)
def test_a_persons_documents_meet_wherever_they_lie(blocks, vocabulary):
    counts = project(make_store(blocks), vocabulary)
    expected = defaultdict(list)
    for person, words in (row for block in blocks for row in block if eligible(row[1])):
        expected[person].append(kept(words, vocabulary))
    assert canonical(listed(counts, vocabulary)) == canonical(list(expected.values()))
    assert counts.n_units == len(expected)
    assert counts.n_words == len(vocabulary)


@settings(deadline=None)
@given(corpora, vocabularies)
def test_every_document_is_its_own_unit_when_documents_are_protected(blocks, vocabulary):
    counts = project(make_store(blocks, unit="document"), vocabulary)
    documents = [[kept(words, vocabulary)] for block in blocks for _, words in block if eligible(words)]
    assert listed(counts, vocabulary) == documents


@settings(deadline=None)
@given(corpora)
def test_the_whole_dictionary_keeps_every_word(blocks):
    store = make_store(blocks)
    assert canonical(listed(all_words(store), DICTIONARY)) == canonical(listed(project(store, DICTIONARY), DICTIONARY))


@settings(deadline=None)
@given(corpora, vocabularies, st.integers(0, 3))
def test_removing_a_person_leaves_everyone_elses_rows_as_they_were(blocks, vocabulary, person):
    others = [[row for row in block if row[0] != person] for block in blocks]
    hers = [[row for row in block if row[0] == person] for block in blocks]
    everyone, rest, alone = (listed(project(make_store(b), vocabulary), vocabulary) for b in (blocks, others, hers))
    as_stored = [[list(d.items()) for d in unit] for unit in everyone]
    for unit in [*rest, *alone]:
        as_stored.remove([list(d.items()) for d in unit])
    assert not as_stored


@settings(deadline=None)
@given(corpora, vocabularies)
def test_rows_are_in_the_order_of_the_vocabulary_whatever_the_dictionary(blocks, vocabulary):
    counts = project(make_store(blocks), vocabulary)
    for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        assert (np.diff(counts.words[a:b]) > 0).all()


def test_entries_before_a_unit_are_cumulative():
    store = make_store([[(0, {"ant": 3}), (1, {"bee": 2, "cat": 1})], [(0, {"dog": 3})]])
    before = project(store, DICTIONARY).entries_before_unit()
    assert before[0] == 0
    assert before[-1] == 4
    assert (np.diff(before) == 2).all()


@pytest.mark.parametrize("unit", ["document", "person"])
def test_a_store_without_documents_has_no_units(unit):
    counts = project(make_store([], unit), DICTIONARY)
    assert counts.n_units == 0
    assert counts.entries_before_unit().tolist() == [0]


def test_a_traceback_that_shows_the_counts_object_shows_none_of_its_numbers():
    counts = project(make_store([[(0, {"ant": 7654321})]]), DICTIONARY)
    assert "7654321" not in repr(counts)
