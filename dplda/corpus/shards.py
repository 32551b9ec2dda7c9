"""Shards of a corpus store: immutable Arrow files, written whole or not at all, and mapped without being unpacked."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dplda.corpus.blocks import SCHEMA

SHARD_NAME = re.compile(r"part-\d{5,}\.arrow")
_CHECKPOINT = b"dplda"  # key of a shard's checkpoint in the metadata of its schema
_MAGIC = 8  # bytes before the messages of an Arrow file
_HEADER, _COMPRESSION = 2, 3  # fields of the tables `Message` and `RecordBatch` in Arrow's flatbuffers


@dataclass(frozen=True)
class Checkpoint:
    """The state of an import at the end of a shard: documents read, defective ones too, and documents kept."""

    n_read: int
    n_documents: int
    defects: dict[str, int]


class Shard:
    """Documents in an Arrow file, which is mapped: their record batches stay where they are, and none is compressed.

    Raises `pa.ArrowException` or `OSError` for any other file. Arrow unpacks a compressed batch as soon as it reads it,
    and a few kilobytes may become gigabytes. So the messages are looked at first, and only these are read.
    """

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            content = source.read_buffer()  # stays mapped while it is referred to; the descriptor is closed
        file = pa.ipc.open_file(content)
        messages = list(pa.ipc.MessageReader.open_stream(content.slice(_MAGIC)))[1:]  # behind the schema
        if not file.schema.equals(SCHEMA) or len(messages) != file.num_record_batches:
            raise pa.ArrowInvalid("another schema, or other batches than the footer says")
        if not all(_is_plain(message) for message in messages):
            raise pa.ArrowInvalid("a compressed batch")
        self._messages, self._metadata = messages, file.schema.metadata or {}
        self.n_bytes = content.size

    def __len__(self) -> int:
        return len(self._messages)

    def batch(self, index: int) -> Any:
        """A batch whose arrays lie where they say, whoever wrote the file."""
        batch = self._read(index)
        batch.column("id").validate(full=True)
        return batch

    def new_words(self) -> Any:
        """The words that it adds to the dictionary, an Arrow string array: its first document brings them."""
        if not self._messages:
            return pa.array([], pa.large_string())
        column = self._read(0).column("new_words")
        column.validate(full=True)
        words = column.flatten()
        if words.null_count:
            raise pa.ArrowInvalid("a word that is null")
        return words

    def checkpoint(self) -> Checkpoint:
        """Where an import can resume. Raises `ValueError`, `KeyError` or `TypeError` if it does not say."""
        return Checkpoint(**json.loads(self._metadata[_CHECKPOINT]))

    def _read(self, index: int) -> Any:
        batch = pa.ipc.read_record_batch(self._messages[index], SCHEMA)
        batch.validate()
        return batch


def shard_name(number: int) -> str:
    """The file name of a store's shard."""
    return f"part-{number:05}.arrow"


def write_shard(path: Path, batches: Sequence[Any], reached: Checkpoint) -> None:
    """Write `batches` of `SCHEMA`, forced to disk."""
    schema = SCHEMA.with_metadata({_CHECKPOINT: json.dumps(asdict(reached)).encode()})

    def write(file: BinaryIO) -> None:
        with pa.ipc.new_file(file, schema) as arrow:
            for batch in batches:
                arrow.write_batch(batch)

    write_whole(path, write)


def whole_shards(folder: Path) -> list[Shard]:
    """The shards in `folder` up to the first that is missing or damaged."""
    found: list[Shard] = []
    with suppress(OSError, pa.ArrowException, ValueError, KeyError, TypeError, RecursionError):
        while True:
            shard = Shard(folder / shard_name(len(found)))
            shard.new_words(), shard.checkpoint(), [shard.batch(index) for index in range(len(shard))]
            found.append(shard)
    return found


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Have `write` fill a new file that only its owner may read, force it to disk, and only then give it its name."""
    unfinished = path.with_name(f".{path.name}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(unfinished, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the names in `folder` to disk."""
    with suppress(OSError):  # some file systems cannot, and some folders may be written and not read
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _is_plain(message: Any) -> bool:
    """Whether a message is a record batch whose buffers are not compressed.

    Arrow has checked that the metadata is a well-formed flatbuffer. Messages of earlier format versions are refused:
    they may ask for compression in a second place.
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
    """Where the `index`-th field of the table at `table` lies; 0 if the table leaves it out."""
    vtable = table - struct.unpack_from("<i", flatbuffer, table)[0]
    slot = 4 + 2 * index
    (size,) = struct.unpack_from("<H", flatbuffer, vtable)
    (offset,) = struct.unpack_from("<H", flatbuffer, vtable + slot) if slot < size else (0,)
    return int(table + offset if offset else 0)


def _offset(flatbuffer: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", flatbuffer, place)[0])
