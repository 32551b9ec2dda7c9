import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_helpers import SHARD, documents_of, written

from dplda.budget.sketches import NO_DOCUMENTS, Fingerprint, Sketch
from dplda.private.store.fingerprint import (
    _SMALL_COUNTS,
    _count_hashes,
    _document_hashes,
    _mix,
    _word_hashes,
    fingerprint,
)
from dplda.private.store.preparation import store_from_matrix
from dplda.runs.corpus import Corpus, CountStore

KEY = b"k" * 32
COUNTS = np.array([[1, 2, 0], [0, 0, 3], [1, 1, 1], [0, 0, 0]])
WORDS = ["a", "b", "c"]


def of(counts: np.ndarray, words: list[str] = WORDS, key: bytes = KEY) -> str:
    return fingerprint(store_from_matrix(counts, words, None), key).code


def sketch(counts: np.ndarray, words: list[str] = WORDS, key: bytes = KEY) -> Sketch:
    return fingerprint(store_from_matrix(counts, words, None), key).sketch


@given(st.permutations(range(4)), st.permutations(range(3)))
def test_neither_order_of_documents_nor_numbers_of_words_matter(rows: list[int], columns: list[int]) -> None:
    assert of(COUNTS[rows][:, columns], [WORDS[column] for column in columns]) == of(COUNTS)


def test_stores_and_block_sizes_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 2)
    documents = documents_of(store_from_matrix(COUNTS, WORDS, None))
    found = fingerprint(written(tmp_path / "s", documents), KEY)
    assert found.code == of(COUNTS)
    assert np.array_equal(found.sketch.hashes, sketch(COUNTS).hashes)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (2, 1), (1, 2)])
def test_one_occurrence_more_changes_it(row: int, column: int) -> None:
    other = COUNTS.copy()
    other[row, column] += 1
    assert of(other) != of(COUNTS)


def test_other_words_documents_or_keys_change_it() -> None:
    assert of(COUNTS, ["a", "b", "d"]) != of(COUNTS)
    assert of(np.vstack([COUNTS, COUNTS[:1]])) != of(COUNTS)
    assert of(COUNTS[:2]) != of(COUNTS)
    assert of(COUNTS, key=b"other") != of(COUNTS)


def test_moving_a_word_between_documents_changes_it() -> None:
    assert of(np.array([[3, 1, 0], [0, 0, 3]])) != of(np.array([[3, 0, 0], [0, 1, 3]]))


def test_words_no_document_uses_do_not_matter() -> None:
    assert of(np.hstack([COUNTS, np.zeros((4, 1), int)]), [*WORDS, "unused"]) == of(COUNTS)


def test_the_code_is_that_of_earlier_versions() -> None:
    """Ledgers hold it: another code would forget which datasets hold the same documents."""
    assert of(COUNTS) == "8e25896481bc7e84626d6afd34da2ef3c378c7a839f1d23d00b7edb31ea135ba"


@pytest.mark.parametrize("units", [None, [0, 0, 1, 1, 2, 3]])
def test_ineligible_documents_change_neither_code_nor_sketch_nor_grouping(units: list[int] | None) -> None:
    rows = np.vstack([COUNTS, 2 * np.eye(2, 3)])
    eligible = np.flatnonzero(rows.sum(axis=1) >= 3)
    part = None if units is None else [units[row] for row in eligible]
    whole, kept = (
        fingerprint(store_from_matrix(matrix, WORDS, named), KEY)
        for matrix, named in ((rows, units), (rows[eligible], part))
    )
    assert whole == kept
    assert np.array_equal(whole.sketch.hashes, kept.sketch.hashes)
    assert np.array_equal(whole.sketch.members, kept.sketch.members)


def test_a_sketch_holds_each_distinct_document_of_three_words_once() -> None:
    assert len(sketch(COUNTS).hashes) == 3
    assert np.array_equal(sketch(np.vstack([COUNTS, 2 * np.eye(3, dtype=int)])).hashes, sketch(COUNTS).hashes)
    assert np.array_equal(sketch(np.vstack([COUNTS, COUNTS])).hashes, sketch(COUNTS).hashes)
    assert len(sketch(COUNTS[3:]).hashes) == 0


@given(st.permutations(range(4)), st.permutations(range(3)))
def test_sketches_depend_neither_on_order_nor_on_numbers_of_words(rows: list[int], columns: list[int]) -> None:
    found = sketch(COUNTS[rows][:, columns], [WORDS[column] for column in columns])
    assert np.array_equal(found.hashes, sketch(COUNTS).hashes)


def test_documents_in_common_are_found_whatever_else_the_corpora_hold() -> None:
    part = np.hstack([np.zeros((2, 1), int), COUNTS[:2]])
    assert sketch(part, ["other", *WORDS]).shared(sketch(COUNTS)) == (2, 2)
    edited = COUNTS.copy()
    edited[0, 0] += 1
    assert sketch(edited).shared(sketch(COUNTS)) == (2, 3)
    assert sketch(COUNTS, ["x", "y", "z"]).shared(sketch(COUNTS)) == (0, 3)
    assert sketch(COUNTS, key=b"other").shared(sketch(COUNTS)) == (0, 3)


def test_the_hashes_of_a_sketch_are_no_sums_that_could_be_solved_for() -> None:
    """Of one-word documents the inner hashes differ by what counts add; the outer ones must not."""
    (block,) = store_from_matrix(COUNTS, WORDS, None).blocks()
    inner = _document_hashes(block, _word_hashes(WORDS, KEY, 0), _count_hashes(block.counts))
    assert not set(inner.tolist()) & set(sketch(COUNTS).hashes.tolist())


DOCUMENTS = np.random.default_rng(0).poisson(1.0, (60, 8)) + np.eye(60, 8, dtype=int) * 3
NAMES = [f"w{word}" for word in range(8)]
PEOPLE = np.arange(60) // 5


def grouped(units: np.ndarray | None, rows: np.ndarray | slice = slice(None)) -> Fingerprint:
    names = None if units is None else units[rows].tolist()
    return fingerprint(store_from_matrix(DOCUMENTS[rows], NAMES, names), KEY)


def test_documents_that_stand_alone_have_no_grouping() -> None:
    alone = grouped(None)
    assert alone.grouping is None
    assert not len(alone.sketch.members)


@given(st.permutations(range(60)), st.permutations(range(12)))
def test_a_grouping_depends_neither_on_order_nor_on_what_units_are_called(rows: list[int], called: list[int]) -> None:
    assert grouped(np.array(called)[PEOPLE], np.array(rows)) == grouped(PEOPLE)


def test_a_grouping_does_not_depend_on_blocks_or_on_when_units_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 7)
    monkeypatch.setattr("dplda.private.store.fingerprint._BUFFERED_DOCUMENTS", 10)
    corpus = Corpus.from_counts(DOCUMENTS, NAMES, units=PEOPLE % 3)
    assert fingerprint(corpus.write(tmp_path / "store"), KEY) == grouped(PEOPLE % 3)


@pytest.mark.parametrize("other", [np.arange(60), np.zeros(60), np.arange(60) % 12, np.append(PEOPLE[:-1], 0)])
def test_another_grouping_of_the_same_documents_has_another_code(other: np.ndarray) -> None:
    assert grouped(other).code == grouped(PEOPLE).code
    assert grouped(other).grouping != grouped(PEOPLE).grouping


def test_a_sketch_tells_which_documents_belong_to_one_unit() -> None:
    whole, part = grouped(PEOPLE), grouped(PEOPLE, slice(0, 5))
    shared = whole.sketch.members[np.isin(whole.sketch.members[:, 0], part.sketch.hashes)]
    assert len(np.unique(part.sketch.members[:, 1])) == len(np.unique(shared[:, 1])) == 1
    assert len(np.unique(whole.sketch.members[:, 1])) == 12


def test_documents_that_contribute_nothing_may_belong_to_anybody() -> None:
    short = np.vstack([DOCUMENTS, np.tile([2, 0, 0, 0, 0, 0, 0, 0], (5, 1))])
    one, other = (
        fingerprint(store_from_matrix(short, NAMES, [*PEOPLE, *units]), KEY) for units in ([0] * 5, [1, 2, 3, 4, 99])
    )
    assert one == other


@pytest.mark.parametrize("units", [None, [0, 1, 1]])
def test_a_corpus_of_ineligible_documents_is_the_empty_corpus(units: list[int] | None) -> None:
    rows = np.array([[2, 0, 0], [0, 1, 1], [0, 0, 0]])
    for matrix, named in ((rows, units), (rows[:0], None if units is None else [])):
        found = fingerprint(store_from_matrix(matrix, WORDS, named), KEY)
        assert (found.code, found.grouping, len(found.sketch.hashes)) == (NO_DOCUMENTS, None, 0)


# Fingerprints that were taken while a store was written.


def same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether they are equal in every part."""
    sketches = one.sketch, other.sketch
    return one == other and all(
        np.array_equal(*(getattr(sketch, name) for sketch in sketches)) for name in ("hashes", "members")
    )


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Filled with an entry for each pass over the blocks of a store."""
    seen: list[str] = []
    blocks = CountStore.blocks
    monkeypatch.setattr(CountStore, "blocks", lambda self, *chosen: seen.append("pass") or blocks(self, *chosen))
    return seen


@pytest.mark.parametrize("units", [None, PEOPLE])
def test_a_store_keeps_the_fingerprint_that_a_pass_over_it_would_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: list[str], units: np.ndarray | None
) -> None:
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 7)
    store = Corpus.from_counts(DOCUMENTS, NAMES, units=units).write(tmp_path / "store", key=KEY)
    passes.clear()
    kept = fingerprint(store, KEY)
    assert not passes
    assert same(kept, grouped(units))


def test_under_another_key_or_none_the_pass_is_made_and_the_store_stays_as_it_is(
    tmp_path: Path, passes: list[str]
) -> None:
    corpus = Corpus.from_counts(DOCUMENTS, NAMES, units=PEOPLE)
    for name, key in (("none", None), ("other", b"other"), ("cut", KEY[:-1])):
        store = corpus.write(tmp_path / name, key=key)
        files = {path.name: path.read_bytes() for path in store.path.iterdir()}
        passes.clear()
        assert same(fingerprint(store, KEY), grouped(PEOPLE))
        assert len(passes) == 2  # of the store, and of the one in memory
        assert files == {path.name: path.read_bytes() for path in store.path.iterdir()}


def test_a_fingerprint_that_was_not_sealed_for_this_store_is_not_believed(tmp_path: Path) -> None:
    """Of no change to it, to the store, or between stores of one ledger."""
    corpus = Corpus.from_counts(DOCUMENTS, NAMES, units=PEOPLE)
    other = Corpus.from_counts(DOCUMENTS[:30], NAMES, units=PEOPLE[:30]).write(tmp_path / "other", key=KEY)
    assert other.path is not None
    theirs = json.loads((other.path / "fingerprint.json").read_text())
    ours = json.loads((corpus.write(tmp_path / "ours", key=KEY).path / "fingerprint.json").read_text())
    forged: list[object] = [{**ours, name: theirs[name]} for name in ours] + [theirs, [], "", {}, {**ours, "seal": "é"}]
    forged += [{**ours, "seal": None}, {**ours, "grouping": None}, {**ours, "more": 1}]
    for number, entry in enumerate(forged):
        store = corpus.write(tmp_path / str(number), key=KEY)
        (tmp_path / str(number) / "fingerprint.json").write_text(json.dumps(entry))
        assert same(fingerprint(store, KEY), grouped(PEOPLE)), entry
    for number, content in enumerate([b"", b"[" * 200_000, b"\xff"]):
        (tmp_path / str(number) / "fingerprint.json").write_bytes(content)
        assert same(fingerprint(CountStore.open(tmp_path / str(number)), KEY), grouped(PEOPLE))


def test_a_shard_put_into_a_store_ends_its_fingerprint(tmp_path: Path) -> None:
    written(tmp_path / "one", [{"a": 3, "b": 1}, {"a": 1, "b": 3}])
    store = Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "two", key=KEY)
    shutil.copy(tmp_path / "one" / SHARD, tmp_path / "two" / SHARD)
    found = CountStore.open(tmp_path / "two")
    assert found.identity != store.identity
    assert fingerprint(found, KEY).code == fingerprint(CountStore.open(tmp_path / "one"), KEY).code


@pytest.mark.parametrize("largest", [1, _SMALL_COUNTS - 1, _SMALL_COUNTS, 2**31 - 1])
def test_counts_have_the_same_hashes_by_table_and_without(largest: int) -> None:
    counts = np.array([1, 2, largest], np.int32)
    assert np.array_equal(_count_hashes(counts), _mix(counts.astype(np.uint64)))
