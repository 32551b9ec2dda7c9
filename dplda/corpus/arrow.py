"""Arrow files that are written in steps, and continued by a later process."""

from __future__ import annotations

from io import RawIOBase
from pathlib import Path
from typing import Any

import pyarrow as pa

_MAGIC = 8  # bytes of an Arrow file before what is also an Arrow stream


class ArrowFile:
    """An Arrow file, as the bytes that each step appends to it."""

    def __init__(self, schema: Any) -> None:
        self._sink = _Sink()
        self._writer = pa.ipc.new_file(self._sink, schema)

    def add(self, batch: Any) -> bytes:
        """The bytes of one batch, and before the first those of the schema."""
        self._writer.write_batch(batch)
        return self._sink.drained()

    def again(self, path: Path, n: int) -> list[Any] | None:
        """The first `n` batches in `path`, from then on as if they had been added here.

        None if other bytes would have been added here, as by another version of Arrow.
        """
        with pa.memory_map(str(path)) as source:
            there = source.read_buffer()
        stream, batches, end = pa.ipc.open_stream(there.slice(_MAGIC)), [], 0
        for _ in range(n):
            batches.append(stream.read_next_batch())
            added = pa.py_buffer(self.add(batches[-1]))
            if not added.equals(there.slice(end, added.size)):
                return None
            end += added.size
        return batches

    def close(self) -> bytes:
        """The bytes that end the file."""
        self._writer.close()
        return self._sink.drained()


class _Sink(RawIOBase):
    """A buffer that keeps written bytes until they are taken."""

    def __init__(self) -> None:
        self._size = 0
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def drained(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
