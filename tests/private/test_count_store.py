import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st
from store_helpers import SHARD, documents_of, written

from dplda.base.errors import InputError
from dplda.private.store.count_store import META_BYTES, SCHEMA, Block, CountStore, is_store
from dplda.runs.corpus import read_corpus

DOCUMENTS = [{"a": 1, "b": 2}, {}, {"c": 3, "a": 4}]


def damaged(folder: Path, words: list[int], counts: list[int], starts: list[int], others: list[int]) -> CountStore:
    """A store of three words whose only batch holds just these arrays."""
    written(folder, DOCUMENTS)
    n = len(starts) - 1
    kinds = [SCHEMA.field(name).type for name in ("words", "counts")]
    values = [pa.array(words, pa.int32()), pa.array(counts, pa.int32())]
    lists = [
        pa.ListArray.from_buffers(kind, n, [None, pa.py_buffer(np.array(offsets, np.int32))], children=[child])
        for kind, offsets, child in zip(kinds, (starts, others), values, strict=True)
    ]
    columns = [*lists, pa.array([bytes(16)] * n, pa.binary(16)), pa.array(["d"] * n, pa.string())]
    columns.append(pa.array([["a", "b", "c"], *[[]] * (n - 1)], SCHEMA.field(4).type))
    columns.append(pa.array([bytes(16)] * n, pa.binary(16)))
    with pa.ipc.new_file(str(folder / SHARD), SCHEMA) as file:
        file.write_batch(pa.record_batch(columns, schema=SCHEMA))
    return CountStore.open(folder)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store = written(tmp_path / "s", DOCUMENTS[:1], DOCUMENTS[1:])
    assert documents_of(store) == DOCUMENTS
    assert documents_of(store) == DOCUMENTS  # and once more
    assert (store.n_documents, store.unit, store.dictionary) == (3, "document", ["a", "b", "c"])
    assert [name for block in store.blocks() for name in block.ids.to_pylist()] == ["d0", "d1", "d2"]


def test_blocks_are_read_only_views_of_the_file(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    store = CountStore.open(tmp_path / "s")
    assert len(store.words) == 3
    before = pa.total_allocated_bytes()
    first, again = next(store.blocks()), next(store.blocks())
    assert pa.total_allocated_bytes() == before
    for name in ("indptr", "words", "counts", "units"):
        assert np.shares_memory(getattr(first, name), getattr(again, name))
        assert not getattr(first, name).flags.writeable
        assert not getattr(first, name).flags.owndata


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ([0, 1, 0, 0, 2], [1, 1, 1, 1, 1]),  # a word twice
        ([0, 1, 0, 3, 2], [1, 1, 1, 1, 1]),  # outside the dictionary
        ([0, 1, -1, 0, 2], [1, 1, 1, 1, 1]),
        ([0, 1, 0, 1, 2], [1, 1, 0, 1, 1]),  # no occurrence
        ([0, 1, 0, 1, 2], [1, 1, 1, -5, 1]),
    ],
)
def test_a_damaged_document_is_empty_and_the_others_are_whole(
    tmp_path: Path, words: list[int], counts: list[int]
) -> None:
    store = damaged(tmp_path / "s", words, counts, [0, 2, 4, 5], [0, 2, 4, 5])
    assert documents_of(store) == [{"a": 1, "b": 1}, {}, {"c": 1}]


@pytest.mark.parametrize(
    ("starts", "others"),
    [
        ([0, 2, 4, 5], [0, 2, 3, 5]),  # the lists disagree
        ([0, 2, 9, 5], [0, 2, 9, 5]),  # beyond the end, and back
        ([0, 2, 1, 5], [0, 2, 1, 5]),  # backwards
        ([0, 2, -7, 5], [0, 2, -7, 5]),
    ],
)
def test_damaged_ranges_never_raise_nor_touch_documents_before(
    tmp_path: Path, starts: list[int], others: list[int]
) -> None:
    store = damaged(tmp_path / "s", [0, 1, 0, 1, 2], [1] * 5, starts, others)
    found = documents_of(store)
    assert found[0] == {"a": 1, "b": 1}
    assert found[1] == {}


def test_unsorted_words_are_sound(tmp_path: Path) -> None:
    store = damaged(tmp_path / "s", [2, 0, 1, 1, 0], [1, 2, 3, 4, 5], [0, 3, 3, 5], [0, 3, 3, 5])
    assert documents_of(store) == [{"c": 1, "a": 2, "b": 3}, {}, {"b": 4, "a": 5}]


@given(st.lists(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), max_size=4), max_size=5))
def test_in_memory_too_a_document_is_whole_or_empty(rows: list[list[tuple[int, int]]]) -> None:
    entries = np.array([entry for row in rows for entry in row], dtype=np.int32).reshape(-1, 2)
    block = Block(
        indptr=np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        words=entries[:, 0].copy(),
        counts=entries[:, 1].copy(),
        units=np.zeros((len(rows), 2), dtype=np.uint64),
        ids=pa.array([""] * len(rows), pa.string()),
    )
    for row, found in zip(rows, documents_of(CountStore.from_blocks([block], ["a", "b", "c"])), strict=True):
        distinct = len({word for word, _ in row}) == len(row)
        sound = distinct and all(0 <= word < 3 and count >= 1 for word, count in row)
        assert found == ({"abc"[word]: count for word, count in row} if sound else {})


def test_the_names_of_a_folders_files_say_whether_it_is_a_store(tmp_path: Path) -> None:
    assert not is_store(tmp_path)
    (tmp_path / "meta.json").write_text('{"format": "dplda corpus store", "version": 3}')
    assert not is_store(tmp_path)  # one document among others, whatever it claims
    written(tmp_path / "s", DOCUMENTS)
    assert is_store(tmp_path / "s")
    (tmp_path / "s" / ".DS_Store").write_text("")
    assert is_store(tmp_path / "s")
    with pytest.raises(InputError, match="not a corpus store"):
        CountStore.open(tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "part-00003.arrow", "part-1.arrow", "documents.arrow", SHARD])
def test_a_store_with_a_file_too_many_or_too_few_is_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path / "s", DOCUMENTS)
    (tmp_path / "s" / "part-00001.arrow").write_bytes(b"")
    file = tmp_path / "s" / name
    file.unlink() if file.exists() else file.write_text("one more")
    with pytest.raises(InputError, match="--format folder"):
        is_store(tmp_path / "s")
    with pytest.raises(InputError, match="--format folder"):
        read_corpus(tmp_path / "s")


def test_a_store_with_other_shards_than_it_says_is_damaged(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    shutil.copy(tmp_path / "s" / SHARD, tmp_path / "s" / "part-00001.arrow")
    assert is_store(tmp_path / "s")
    with pytest.raises(InputError, match="damaged corpus store"):
        CountStore.open(tmp_path / "s")
    for name in ("part-00001.arrow", SHARD):
        (tmp_path / "s" / name).unlink()
    with pytest.raises(InputError, match="damaged corpus store"):
        CountStore.open(tmp_path / "s")


@pytest.mark.parametrize(
    "meta",
    ["", "[]", "{}", "[" * 200_000, '{"format": "dplda corpus store"}', " " * (META_BYTES + 1) + "{}"],
    ids=["empty", "list", "object", "deep", "format alone", "long"],
)
def test_a_store_described_by_a_stranger_is_one_clear_line(tmp_path: Path, meta: str) -> None:
    written(tmp_path / "s", DOCUMENTS)
    (tmp_path / "s" / "meta.json").write_text(meta)
    with pytest.raises(InputError, match=r"not a corpus store|another version"):
        CountStore.open(tmp_path / "s")


EDITS = [{"unit": 3}, {"documents": "3"}, {"defects": {"SURPRISE": 1}}, {"name": []}, {"reading": "en"}]
FORGED = {"reading": {"epsilon": 0.1, "vocabulary": "private"}}  # as a run on the store would record its settings


@pytest.mark.parametrize("edit", [*EDITS, FORGED])
def test_what_a_store_says_of_itself_has_its_types(tmp_path: Path, edit: dict[str, object]) -> None:
    written(tmp_path / "s", DOCUMENTS)
    meta = tmp_path / "s" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | edit))
    with pytest.raises(InputError, match="another version"):
        CountStore.open(tmp_path / "s")


def test_arrays_that_do_not_lie_where_they_say_are_never_read(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    starts = pa.py_buffer(np.array([0, 10**9, 1], np.int32))
    ids = pa.Array.from_buffers(pa.string(), 2, [None, starts, pa.py_buffer(b"d")])
    columns = [pa.array([[0], [1]], SCHEMA.field(0).type), pa.array([[1], [1]], SCHEMA.field(1).type)]
    codes = pa.array([bytes(16)] * 2, pa.binary(16))
    columns += [codes, ids, pa.array([["a", "b"], []], SCHEMA.field(4).type), codes]
    with pa.ipc.new_file(str(tmp_path / "s" / SHARD), SCHEMA) as file:
        file.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
    with pytest.raises(InputError, match="damaged corpus store"):
        list(CountStore.open(tmp_path / "s").blocks())


def test_a_store_of_other_columns_is_one_clear_line(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    with pa.ipc.new_file(str(tmp_path / "s" / SHARD), pa.schema([("x", pa.int64())])) as file:
        file.write_batch(pa.record_batch({"x": [1, 2, 3]}))
    with pytest.raises(InputError, match="damaged corpus store"):
        list(CountStore.open(tmp_path / "s").blocks())


def test_a_store_of_another_version_asks_for_a_new_import(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    meta = tmp_path / "s" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"version": 0}))
    for opening in (CountStore.open, read_corpus):
        with pytest.raises(InputError, match=r"another version.*dplda corpus import CORPUS STORE"):
            opening(tmp_path / "s")


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_shard_is_refused(tmp_path: Path, codec: str) -> None:
    written(tmp_path / "s", DOCUMENTS)
    file = tmp_path / "s" / SHARD
    there = pa.ipc.open_file(file.read_bytes())
    with pa.ipc.new_file(str(file), there.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as arrow:
        arrow.write_batch(there.get_batch(0))
    with pytest.raises(InputError, match="damaged corpus store"):
        CountStore.open(tmp_path / "s")


def test_batches_that_the_footer_counts_otherwise_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    file = tmp_path / "s" / SHARD
    there = file.read_bytes()
    batch = pa.ipc.open_file(there).get_batch(0)
    for batches in ([batch, batch], []):
        with pa.ipc.new_file(str(file), SCHEMA) as arrow:
            for each in batches:
                arrow.write_batch(each)
        more = file.read_bytes()
        length = int.from_bytes(more[-10:-6], "little")
        ours = int.from_bytes(there[-10:-6], "little")
        file.write_bytes(there[: -10 - ours] + more[-10 - length :])
        with pytest.raises(InputError, match="damaged corpus store"):
            CountStore.open(tmp_path / "s")


def test_an_open_store_holds_no_descriptors(tmp_path: Path) -> None:
    """A large store has more shards than a process may have files open."""
    written(tmp_path / "s", DOCUMENTS)
    before = len(os.listdir("/proc/self/fd"))
    store = CountStore.open(tmp_path / "s")
    assert documents_of(store) == DOCUMENTS
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_truncated_store_is_one_clear_line(tmp_path: Path) -> None:
    written(tmp_path / "s", DOCUMENTS)
    file = tmp_path / "s" / SHARD
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(InputError, match="damaged corpus store"):
        CountStore.open(tmp_path / "s")


@pytest.mark.parametrize("change", full_after(1, [1, 0x80, 0xFF]))
def test_a_shard_with_any_byte_changed_is_read_or_is_one_clear_line(tmp_path: Path, change: int) -> None:
    written(tmp_path / "s", DOCUMENTS)
    there = (tmp_path / "s" / SHARD).read_bytes()
    refused = 0
    for place, byte in enumerate(there):
        (tmp_path / "s" / SHARD).write_bytes(there[:place] + bytes([byte ^ change]) + there[place + 1 :])
        try:
            documents_of(CountStore.open(tmp_path / "s"))
        except InputError:
            refused += 1
    assert 0 < refused < len(there)
