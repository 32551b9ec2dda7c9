import resource
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from store_helpers import chunk_of, documents_of, written

from dplda.base.errors import InputError
from dplda.private.store.count_store import CountStore, intact_shards
from dplda.private.store.writer import StoreWriter, as_chunks, merge
from dplda.text.records import MAX_COUNT


def test_only_the_owner_can_read_a_store(tmp_path: Path) -> None:
    written(tmp_path / "s", [{"a": 1}])
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "s").iterdir()} == {0o600}


def test_shards_hold_whole_chunks_in_blocks_of_at_least_the_set_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 4)
    monkeypatch.setattr("dplda.private.store.writer._SHARD_BLOCKS", 2)
    documents = [{"w": number + 1, f"x{number}": 1} for number in range(14)]
    store = written(tmp_path / "s", documents[:3], documents[3:10], documents[10:13], documents[13:])
    assert [block.n_documents for block in store.blocks()] == [5, 5, 4]
    assert documents_of(store) == documents
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert names == ["meta.json", "part-00000.arrow", "part-00001.arrow"]
    words = [shard.new_words().to_pylist() for shard in intact_shards(tmp_path / "s")]
    assert [len(some) for some in words] == [11, 4]
    assert [*words[0], *words[1]] == store.dictionary


def test_a_failed_import_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with StoreWriter(tmp_path / "s") as writer:
            writer.append(chunk_of([{"a": 1}]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(InputError, match=r"/s: File too large"), StoreWriter(tmp_path / "s") as writer:
            writer.append(chunk_of([{f"w{number}": 1 for number in range(5000)}]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_an_existing_store_is_never_written_over(tmp_path: Path) -> None:
    written(tmp_path / "s", [{"a": 1}])
    with pytest.raises(InputError, match="exists already"):
        written(tmp_path / "s", [{"b": 1}])
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_store_can_be_written_again_and_no_chunk_brings_a_word_twice_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 2)
    documents = [{"a": 1, "b": 2}, {}, {"c": 1, "d": 1}, {"d": 2}, {}, {"b": 1, "e": 3}]
    store = CountStore.from_blocks(
        written(tmp_path / "s", *([document] for document in documents)).blocks(), ["a", "b", "c", "d", "e", "unused"]
    )
    with StoreWriter(tmp_path / "t") as writer:
        brought = [chunk.words for chunk in as_chunks(store) if writer.append(chunk) is None]
    again = CountStore.open(tmp_path / "t")
    assert documents_of(again) == documents
    assert again.dictionary == store.dictionary
    assert brought == [["a", "b"], ["c", "d"], ["b", "e", "unused"]]
    for one, other in zip(again.blocks(), store.blocks(), strict=True):
        assert np.array_equal(one.units, other.units)


def test_an_empty_corpus_makes_an_empty_store(tmp_path: Path) -> None:
    store = written(tmp_path / "s")
    assert (documents_of(store), store.n_documents, store.dictionary) == ([], 0, [])


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=6), max_size=5))
def test_repeated_words_are_added_up(rows: list[list[tuple[int, int]]]) -> None:
    entries = np.array([entry for row in rows for entry in row], dtype=np.int64).reshape(-1, 2)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    (starts, words, counts), over = merge(indptr, entries[:, 0], entries[:, 1], 4)
    expected = np.zeros((len(rows), 4), dtype=np.int64)
    for number, row in enumerate(rows):
        for word, count in row:
            expected[number, word] += count
    merged = scipy.sparse.csr_array((counts, words, starts), shape=expected.shape)
    assert np.array_equal(merged.toarray(), expected)
    assert merged.nnz == np.count_nonzero(expected)
    assert over == 0


def test_a_sum_too_large_empties_its_document_only() -> None:
    indptr = np.array([0, 2, 4])
    words, counts = np.array([0, 0, 0, 1]), np.array([MAX_COUNT, 1, MAX_COUNT, 1])
    (starts, kept, values), over = merge(indptr, words, counts, 2)
    assert (starts.tolist(), kept.tolist(), values.tolist(), over) == ([0, 0, 2], [0, 1], [MAX_COUNT, 1], 1)
