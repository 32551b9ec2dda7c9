"""The corpus store: counts of documents in a folder of memory-mapped shards, or in memory.

    meta.json          facts about the import and the number of shards; written last
    part-00000.arrow   the first shard: documents, and the words that they add to the dictionary
    fingerprint.json   the fingerprint of the documents under a ledger's key, if the import had one

The folder is private (mode 0700). A `Shard` is an Arrow file of record batches; each batch is read as a `Block`, whose
arrays are views of the file. A file may be forged or damaged: what is read from it is checked first, and a document
that is not sound becomes empty and changes no other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dplda.base.characters import is_name
from dplda.base.config import MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.text.reading_options import READING_FACTS
from dplda.text.records import DOCUMENT, TEXT_BYTES, Defect

FORMAT = "dplda corpus store"
VERSION = 2
META, FINGERPRINT = "meta.json", "fingerprint.json"
META_BYTES = 1 << 20
ORIGIN, INSIDE = "origin.json", "store"  # a file and a folder of a partial store, see `partial_folder`
SHARD_NAME = re.compile(r"part-\d{5,}\.arrow")
_CHECKPOINT = b"dplda"  # key of a shard's checkpoint in the metadata of its schema
_MAGIC = 8  # number of bytes before the messages of an Arrow file
_HEADER, _COMPRESSION = 2, 3  # indices of fields in `Message` and `RecordBatch`, tables of Arrow's flatbuffers

BLOCK_DOCUMENTS = 16384
SCHEMA = pa.schema(
    [
        pa.field("words", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("counts", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("unit", pa.binary(16), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("new_words", pa.list_(pa.field("item", pa.large_string(), nullable=False)), nullable=False),
        pa.field("text", pa.binary(TEXT_BYTES), nullable=False),  # `text_code`; zeros for documents that were counted
    ]
)
# A store with group columns holds a value for each of them beside every document; null if there is none.
_VALUES = pa.field("groups", pa.list_(pa.field("item", pa.large_string())), nullable=False)
SCHEMA_WITH_GROUPS = SCHEMA.append(_VALUES)


@dataclass(frozen=True)
class Block:
    """Consecutive documents. All arrays are read-only, and views of the store's file unless a document is damaged."""

    indptr: NDArray[np.int32] | NDArray[np.int64]  # (n_documents + 1,)
    words: NDArray[np.int32]  # (nnz,), distinct within a document and inside the dictionary
    counts: NDArray[np.int32]  # (nnz,), in [1, 2^31 - 1]
    units: NDArray[np.uint64]  # (n_documents, 2), the 128-bit key of each privacy unit
    ids: Any  # (n_documents,), an Arrow string array
    groups: Any = None
    """(n_documents,), an Arrow array of lists with a string or null for each group column; None without columns."""
    texts: NDArray[np.uint64] | None = None
    """(n_documents, 2), the `text_code` of each document, zeros where it is not known; None if all are not."""

    @property
    def n_documents(self) -> int:
        """Number of documents. Private."""
        return len(self.indptr) - 1

    def without(self, emptied: NDArray[np.bool_]) -> Block:
        """Return a copy in which the documents `emptied` (n_documents,) have no entries.

        In this block, but not in the copy, their ranges in `indptr` may be invalid.
        """
        lengths = np.where(emptied, 0, np.diff(self.indptr.astype(np.int64)))
        return self._with_lengths(lengths, np.ones(self.n_documents, np.bool_))

    def eligible(self) -> Block:
        """Keep the documents of at least `MINIMUM_LENGTH` tokens. Statistics, fingerprints and sketches see no others.

        A row that could not be read, has a bad count or lacks its unit has no tokens (docs/privacy.md, section 0).
        """
        kept = self.is_eligible()
        return self if kept.all() else self.only(kept)

    def is_eligible(self) -> NDArray[np.bool_]:
        """Return a mask (n_documents,) of the documents that `eligible` keeps."""
        return row_sums(self, self.counts.astype(np.uint64)) >= MINIMUM_LENGTH

    def only(self, kept: NDArray[np.bool_]) -> Block:
        """Return a copy with only the documents `kept`, a mask (n_documents,)."""
        return self._with_lengths(np.diff(self.indptr).astype(np.int64), kept)

    def values(self, columns: Sequence[str], column: str) -> tuple[list[str], NDArray[np.int64]]:
        """Return the distinct values in `column`, one of the group `columns`, and the index of each document's.

        The index is that of the end of the list for a document without a value. Private.
        """
        if self.groups is None or column not in columns:
            return [], np.zeros(self.n_documents, np.int64)
        starts = np.asarray(self.groups.offsets)
        damaged = np.diff(starts) != len(columns)  # lists of another length have no values
        places = pa.array(starts[:-1] + columns.index(column), pa.int64(), mask=damaged)
        found = self.groups.values.take(places).dictionary_encode()
        indices = found.indices.fill_null(len(found.dictionary)).to_numpy(zero_copy_only=False)
        return found.dictionary.to_pylist(), indices.astype(np.int64)

    def _with_lengths(self, lengths: NDArray[np.int64], kept: NDArray[np.bool_]) -> Block:
        """Return the documents `kept`, each with its first entries of these `lengths`, both (n_documents,)."""
        starts, lengths, chosen = self.indptr[:-1].astype(np.int64)[kept], lengths[kept], pa.array(kept)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        copy = Block(
            indptr=indptr,
            words=self.words[entries],
            counts=self.counts[entries],
            units=self.units[kept],
            ids=self.ids.filter(chosen),
            groups=None if self.groups is None else self.groups.filter(chosen),
            texts=None if self.texts is None else self.texts[kept],
        )
        freeze((copy.indptr, copy.words, copy.counts, copy.units))
        return copy


def row_sums(block: Block, entries: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sum the `entries` (nnz,) of each document modulo 2^64, (n_documents,)."""
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return np.asarray(running[block.indptr[1:]] - running[block.indptr[:-1]])


def read_block(batch: Any, n_words: int) -> Block:
    """Return the block in an Arrow record batch of `SCHEMA`. Arrays are copied only if a document is damaged."""
    words, counts = batch.column(0), batch.column(1)
    indptr, of_counts = _view(words.offsets, np.int32), _view(counts.offsets, np.int32)
    block = Block(
        indptr=indptr,
        words=_view(words.values, np.int32),
        counts=_view(counts.values, np.int32),
        units=_view(batch.column(2), np.uint64, 2).reshape(-1, 2),
        ids=batch.column(3),
        groups=batch.column("groups") if "groups" in batch.schema.names else None,
        texts=_view(batch.column(5), np.uint64, 2).reshape(-1, 2),
    )
    # A document's range of entries is sound if it is the same for words and counts, lies within both, and begins where
    # all earlier ranges have ended.
    first, last = indptr[:-1], indptr[1:]
    same = (first == of_counts[:-1]) & (last == of_counts[1:])
    inside = (first >= 0) & (first <= last) & (last <= min(len(block.words), len(block.counts)))
    after_others = first >= np.maximum.accumulate(np.concatenate([[0], last[:-1]]))
    ranges = same & inside & after_others
    if not ranges.all() or indptr[0] != 0 or indptr[-1] != len(block.words):
        block = block.without(~ranges)
    sound = sound_documents(block, n_words)
    return block if sound.all() else block.without(~sound)


def sound_documents(block: Block, n_words: int) -> NDArray[np.bool_]:
    """Mark the documents, (n_documents,), whose words are distinct, in the dictionary and counted at least once."""
    bad = (block.words < 0) | (block.words >= n_words) | (block.counts < 1)
    rising = np.ones(len(block.words), dtype=np.bool_)
    rising[1:] = np.diff(block.words) > 0
    starts = block.indptr[:-1]
    rising[starts[starts < len(rising)]] = True
    sound = np.ones(block.n_documents, dtype=np.bool_)
    if bad.any() or not rising.all():
        rows = np.repeat(np.arange(block.n_documents), np.diff(block.indptr))  # of each entry
        sound[rows[bad]] = False
        order = np.lexsort((block.words, rows))  # words may be unsorted but not repeated
        repeated = (np.diff(block.words[order]) == 0) & (np.diff(rows[order]) == 0)
        sound[rows[order][1:][repeated]] = False
    return sound


def freeze(arrays: Sequence[NDArray[Any]]) -> None:
    """Make `arrays` read-only."""
    for array in arrays:
        array.flags.writeable = False


def _view(array: Any, dtype: type[np.int32] | type[np.uint64], width: int = 1) -> NDArray[Any]:
    """Return the values of a validated Arrow array, `width` numbers each."""
    n = width * (array.offset + len(array))  # a forged buffer may be longer, and its size no multiple of the dtype's
    return np.frombuffer(array.buffers()[1] or b"", dtype, count=n)[width * array.offset :]


@dataclass(frozen=True)
class Checkpoint:
    """The state of an import at the end of a shard: documents read (including defective ones) and documents kept."""

    n_read: int
    n_documents: int
    defects: dict[str, int]


class Shard:
    """A memory-mapped Arrow file of documents, in uncompressed record batches.

    Raises `pa.ArrowException` or `OSError` for any other file. Arrow decompresses a batch as soon as it reads it, and a
    few kilobytes may become gigabytes. Therefore the headers of all messages are checked before any batch is read.
    """

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            content = source.read_buffer()  # stays mapped while referenced; the descriptor is closed
        file = pa.ipc.open_file(content)
        messages = list(pa.ipc.MessageReader.open_stream(content.slice(_MAGIC)))[1:]  # the messages after the schema
        schema = next((known for known in (SCHEMA, SCHEMA_WITH_GROUPS) if file.schema.equals(known)), None)
        if schema is None or len(messages) != file.num_record_batches:
            raise pa.ArrowInvalid("another schema, or other batches than the footer says")
        if not all(_is_plain(message) for message in messages):
            raise pa.ArrowInvalid("a compressed batch")
        self._schema, self._messages, self._metadata = schema, messages, file.schema.metadata or {}
        self.n_bytes = content.size

    def __len__(self) -> int:
        return len(self._messages)

    def batch(self, index: int) -> Any:
        """Return a record batch. Its offsets are validated, so a forged file cannot make readers leave its buffers."""
        batch = self._read(index)
        for name in set(batch.schema.names) & {"id", "groups"}:  # `read_block` checks the other columns
            batch.column(name).validate(full=True)
        return batch

    def new_words(self) -> Any:
        """Read the words that the shard adds to the dictionary, an Arrow string array, from its first document."""
        if not self._messages:
            return pa.array([], pa.large_string())
        column = self._read(0).column("new_words")
        column.validate(full=True)
        words = column.flatten()
        if words.null_count:
            raise pa.ArrowInvalid("a word that is null")
        return words

    def checkpoint(self) -> Checkpoint:
        """Read where an import can resume. Raises `ValueError`, `KeyError` or `TypeError` if the shard does not say."""
        return Checkpoint(**json.loads(self._metadata[_CHECKPOINT]))

    def _read(self, index: int) -> Any:
        batch = pa.ipc.read_record_batch(self._messages[index], self._schema)
        batch.validate()
        return batch


def shard_name(number: int) -> str:
    """Return the file name of the shard `number` of a store."""
    return f"part-{number:05}.arrow"


def write_shard(path: Path, batches: Sequence[Any], reached: Checkpoint) -> None:
    """Write `batches` of `SCHEMA` and the checkpoint as a shard, forced to disk."""
    grouped = bool(batches) and "groups" in batches[0].schema.names
    schema = SCHEMA_WITH_GROUPS if grouped else SCHEMA
    schema = schema.with_metadata({_CHECKPOINT: json.dumps(asdict(reached)).encode()})

    def write(file: BinaryIO) -> None:
        with pa.ipc.new_file(file, schema) as arrow:
            for batch in batches:
                arrow.write_batch(batch)

    write_atomically(path, write)


def intact_shards(folder: Path) -> list[Shard]:
    """Return the shards in `folder` before the first that is missing or damaged."""
    shards: list[Shard] = []
    with suppress(OSError, pa.ArrowException, ValueError, KeyError, TypeError, RecursionError):
        while True:
            shard = Shard(folder / shard_name(len(shards)))
            shard.new_words()
            shard.checkpoint()
            for index in range(len(shard)):
                shard.batch(index)
            shards.append(shard)
    return shards


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a temporary file that only its owner can read, force it to disk, and rename it to `path`."""
    unfinished = path.with_name(f".{path.name}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(unfinished, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the directory entries of `folder` to disk."""
    with suppress(OSError):  # some file systems cannot, and some folders are writable but not readable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_plain(message: Any) -> bool:
    """Whether a message is a record batch with uncompressed buffers.

    Arrow has checked that the metadata is a well-formed flatbuffer. Messages of earlier format versions are refused,
    because they can request compression in a second field.
    """
    if message.type != "record batch" or message.metadata_version != pa.MetadataVersion.V5:
        return False
    metadata = message.metadata.to_pybytes()
    try:
        header = _field(metadata, _offset(metadata, 0), _HEADER)
        return not _field(metadata, header + _offset(metadata, header), _COMPRESSION)
    except struct.error:
        return False


def _field(flatbuffer: bytes, table: int, index: int) -> int:
    """Position of the field `index` of the table at `table`; 0 if the table omits it."""
    vtable = table - struct.unpack_from("<i", flatbuffer, table)[0]
    slot = 4 + 2 * index
    (size,) = struct.unpack_from("<H", flatbuffer, vtable)
    (offset,) = struct.unpack_from("<H", flatbuffer, vtable + slot) if slot < size else (0,)
    return int(table + offset if offset else 0)


def _offset(flatbuffer: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", flatbuffer, place)[0])


class CountStore:
    """Counts of documents over a dictionary of words. Private, except for the attributes that are called public here.

    Made by `open` from a folder that `StoreWriter` wrote, or by `from_blocks`.
    """

    def __init__(
        self,
        *,
        words: Callable[[], Any],
        blocks: Callable[[int, range], Iterator[Block]],
        n_blocks: int,
        n_bytes: int,
        unit: str,
        n_documents: int,
        defects: dict[str, int],
        name: str | None = None,
        reading: dict[str, Any] | None = None,
        group_columns: tuple[str, ...] = (),
        id_field: str | None = None,
        places: tuple[str, ...] = (),
        categories: dict[str, Any] | None = None,
        path: Path | None = None,
        identity: str = "",
    ) -> None:
        self._words, self._blocks = words, blocks
        self.n_blocks = n_blocks
        self.n_bytes = n_bytes  # approximate size of the blocks
        self.unit = unit  # public: "document", or the column that names the privacy unit
        self.n_documents = n_documents
        self.defects = defects  # how many documents contribute nothing, by the name of their `Defect`
        self.name = name  # public: that of the corpus
        self.reading = reading or {}  # public: how text became words (language, lemmas); empty for counts
        self.group_columns = group_columns  # public: the columns whose values `Block.groups` keeps for tables
        self.id_field = id_field  # public: if each document is a unit, the column of the ids in `Block.units`
        self.places = places  # public: the real paths of the files or the folder that it was read from
        self.categories = categories or {}  # public: the facts of `Categories`, if documents were asked
        self.path = path  # of the folder; None in memory
        self.identity = identity  # differs between stores that have one path on two machines or at two times
        self._columns: tuple[tuple[str, ...], NDArray[np.int64]] | None = None

    @classmethod
    def open(cls, path: str | Path) -> CountStore:
        """Map the store at `path`. Raises `InputError` if it is damaged or of another version."""
        folder = Path(path)
        meta = _read_meta(folder)
        with _intact(folder):
            shards = [Shard(folder / shard_name(number)) for number in range(meta["shards"])]
            if os.path.exists(folder / shard_name(len(shards))):
                raise pa.ArrowInvalid("a shard too many")
            identity = store_identity(folder, meta)
        places = [(shard, index) for shard in shards for index in range(len(shard))]

        def words() -> Any:
            with _intact(folder):
                return pa.chunked_array([shard.new_words() for shard in shards], pa.large_string()).combine_chunks()

        def blocks(n_words: int, chosen: range) -> Iterator[Block]:
            for shard, index in (places[place] for place in chosen):
                with _intact(folder):
                    batch = shard.batch(index)
                yield read_block(batch, n_words)

        return cls(
            words=words,
            blocks=blocks,
            n_blocks=len(places),
            n_bytes=sum(shard.n_bytes for shard in shards),
            unit=meta["unit"],
            n_documents=meta["documents"],
            defects=meta["defects"],
            name=meta["name"],
            reading=meta.get("reading", {}),
            group_columns=tuple(meta.get("groups", ())),
            id_field=meta.get("id_field"),
            places=tuple(meta.get("places", ())),
            categories=meta.get("categories", {}),
            path=folder,
            identity=identity,
        )

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Block],
        dictionary: Sequence[str],
        *,
        unit: str = DOCUMENT,
        defects: dict[str, int] | None = None,
        group_columns: Sequence[str] = (),
    ) -> CountStore:
        """Return a store in memory. A document with a word or count out of range, or a repeated word, becomes empty."""
        kept = []
        for block in blocks:
            sound = sound_documents(block, len(dictionary))
            block = block if sound.all() else block.without(~sound)
            freeze((block.indptr, block.words, block.counts, block.units))
            kept.append(block)
        words = pa.array(dictionary, pa.string())
        return cls(
            words=lambda: words,
            blocks=lambda _, chosen: (kept[index] for index in chosen),
            n_blocks=len(kept),
            n_bytes=sum(block.words.nbytes + block.counts.nbytes for block in kept),
            unit=unit,
            n_documents=sum(block.n_documents for block in kept),
            defects=dict(defects or {}),
            group_columns=tuple(group_columns),
        )

    @cached_property
    def words(self) -> Any:
        """The dictionary as an Arrow string array, (n_words,)."""
        return self._words()

    @cached_property
    def dictionary(self) -> list[str]:
        """The words that the indices in `Block.words` refer to, (n_words,)."""
        return list(self.words.to_pylist())

    def columns(self, words: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the index of each of `words` in the dictionary; the dictionary's length for a word that it lacks.

        The last result is cached.
        """
        if self._columns is None or self._columns[0] is not words:
            position = {word: index for index, word in enumerate(self.dictionary)}
            self._columns = words, np.array([position.get(word, len(position)) for word in words], np.int64)
        return self._columns[1]

    def blocks(self, chosen: range | None = None) -> Iterator[Block]:
        """Return all blocks, or those with the indices `chosen`, in order."""
        return self._blocks(len(self.words), range(self.n_blocks) if chosen is None else chosen)


def is_store(path: Path) -> bool:
    """Whether `path` is a folder with the file names of a corpus store.

    The names alone decide, so no document is opened, and the content of a document cannot turn its folder into a store.
    Raises `InputError` for a store that contains other files or lacks some of its own.
    """
    try:
        names = {name for name in os.listdir(path) if not name.startswith(".")}
    except OSError:
        return False
    shards = {name for name in names if SHARD_NAME.fullmatch(name)}
    if META not in names or not shards:
        return False
    if names - {FINGERPRINT} != {META, *map(shard_name, range(len(shards)))}:
        raise InputError(
            f"{path} looks like a corpus store, but holds other files too or lacks some of its own. Move the others "
            "elsewhere, or import the corpus again; --format folder reads each file as one document."
        )
    return True


def partial_folder(destination: Path) -> Path:
    """Return the folder in which the store `destination` is written; the leading dot hides it from listings."""
    return destination.parent / f".{destination.name}.partial"


def is_partial(path: Path) -> bool:
    """Whether `path` is a partial store, or the destination of one."""
    places = (path, path.parent) if os.path.exists(path) else (partial_folder(path),)
    partial = (place for place in places if place.name.startswith(".") and place.name.endswith(".partial"))
    return any(os.path.isfile(place / ORIGIN) for place in partial)


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        with open(folder / META, "rb") as file:
            meta = json.loads(file.read(META_BYTES))
        version, defects = meta["version"], meta["defects"].items()
        reading, groups = meta.get("reading", {}), meta.get("groups", [])
        fine = (
            meta["format"] == FORMAT
            and isinstance(meta["unit"], str)
            and isinstance(meta["documents"], int)
            and all(name in Defect.__members__ and isinstance(count, int) for name, count in defects)
            and isinstance(meta["name"], str | None)
            and isinstance(reading, dict)
            and reading.keys() <= set(READING_FACTS)
            and isinstance(groups, list)
            and all(isinstance(name, str) for name in groups)
            and isinstance(meta.get("id_field"), str | None)
            and isinstance(meta.get("places", []), list)
            and all(isinstance(place, str) for place in meta.get("places", []))
            and _are_categories(meta.get("categories", {}))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        if is_partial(folder):
            raise InputError(
                f"{folder} is incomplete: its import was stopped, or is still running. To resume it, give the same "
                "`dplda corpus import` command again."
            ) from None
        raise InputError(f"{folder} is not a corpus store. Write one with `dplda corpus import`.") from None
    if version != VERSION or not fine or not isinstance(meta.get("shards"), int):
        raise InputError(
            f"{folder} was written by another version of dplda. Import its corpus again, into another folder: "
            "dplda corpus import CORPUS STORE."
        )
    return dict(meta)


def _are_categories(facts: Any) -> bool:
    """Whether `facts` are the facts of `dplda.text.categories.Categories`, or empty."""
    names = facts["names"] if facts else []
    return isinstance(facts, dict) and isinstance(names, list) and all(is_name(name) for name in names)


def store_identity(folder: Path, meta: dict[str, Any]) -> str:
    """Return a digest of `meta`, which contains a random id, and of the names and sizes of all shards."""
    sizes = {name: (folder / name).stat().st_size for name in map(shard_name, range(meta["shards"]))}
    return hashlib.sha256(json.dumps([meta, sizes], sort_keys=True).encode()).hexdigest()


@contextmanager
def _intact(folder: Path) -> Iterator[None]:
    """Turn the errors of a damaged shard into a one-line `InputError`."""
    try:
        yield
    except (OSError, pa.ArrowException):
        raise InputError(f"{folder} is a damaged corpus store. Import the corpus again.") from None
