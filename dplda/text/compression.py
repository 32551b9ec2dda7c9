"""Compressed files: open them within limits on memory and size, and report the bytes that are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

from dplda.base.errors import InputError

MAX_BYTES = 1 << 26  # maximum bytes of one document or its record, before decoding
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
ARCHIVES = (".zip", ".tar", *(f".tar{ending}" for ending in COMPRESSIONS), ".tgz", ".tbz2", ".txz")
_meter: ContextVar[Callable[[int], None]] = ContextVar("_meter", default=lambda n_bytes: None)
_BUFFER = 1 << 17
_UNPACKED = 1 << 30  # bytes to which a compressed file of any size may unpack
_EXPANSION = 256  # maximum ratio of unpacked to compressed size for files that unpack to more than `_UNPACKED` bytes
_PACKED_BYTES = 1 << 16
_XZ_MEMORY = 1 << 28  # bytes that the decoder of an .xz file may take; the largest preset of xz takes 65 MiB


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors that make a file as a whole unreadable into `InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Check the path.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError):
        raise _damaged(path) from None
    except OSError as error:
        if error.errno is None and path.suffix.lower() in _UNPACKERS:  # of bz2, and of Arrow for zstd
            raise _damaged(path) from None
        raise InputError(f"Cannot read {path}: {error.strerror or 'input/output error'}.") from None


def _damaged(path: Path) -> InputError:
    ending = path.suffix.lower()
    return InputError(
        f"{path} is not a whole {COMPRESSIONS.get(ending, 'compressed')} file, or needs more memory than a reader "
        f"should give it. Download it again, or drop the {ending} ending if it is not compressed."
    )


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file on disk, and decompress it as `decompressed` does. Raises `InputError` if it is damaged."""
    with reading(path), _metered_file(path) as packed, decompressed(path, packed) as stream:
        yield stream


def decompressed(path: Path, packed: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """The content of `packed`, decompressed if the name of `path` ends in .gz, .bz2, .xz or .zst."""
    unpack = _UNPACKERS.get(path.suffix.lower())
    return nullcontext(packed) if unpack is None else unpack(packed)


def _metered_file(path: Path) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Metered(path), _BUFFER))


class _Metered(io.FileIO):
    """A file that reports how many bytes were read from it."""

    def readinto(self, buffer: Any, /) -> int | None:
        n_bytes = super().readinto(buffer)
        _meter.get()(n_bytes or 0)
        return n_bytes


@contextmanager
def metered(report: Callable[[int], None]) -> Iterator[None]:
    """Report the number of bytes that this thread reads from files, before decompression."""
    token = _meter.set(report)
    try:
        yield
    finally:
        _meter.reset(token)


def archive_of(path: Path) -> Path | None:
    """The archive that the file `path` is in; None if it is a file on disk."""
    if not any(ending in os.fspath(path).lower() for ending in ARCHIVES):
        return None
    return next((parent for parent in path.parents if is_archive(parent)), None)


def is_archive(path: Path) -> bool:
    """Whether `path` is a file with the name of an archive."""
    return path.name.lower().endswith(ARCHIVES) and os.path.isfile(path)


def file_size(path: Path) -> int:
    """The size of a file on disk, compressed or not; for a file in an archive, the size of the whole archive."""
    return (archive_of(path) or path).stat().st_size


def without_compression(path: Path) -> Path:
    """`path` without a final .gz, .bz2, .xz or .zst."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


class _XzFile(io.RawIOBase):
    """The content of an .xz file. `lzma.open` would let the file say how much memory it takes, up to 4 GiB."""

    def __init__(self, packed: BinaryIO) -> None:
        self._file = packed
        self._decoder = self._new_decoder()
        self._packed = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to ``len(buffer)`` bytes. Raises `EOFError` for a cut file and `LZMAError` for a damaged one."""
        while True:
            if self._decoder.eof:
                self._packed = self._decoder.unused_data.lstrip(b"\0") or self._packed_after_padding()
                if not self._packed:
                    return 0
                self._decoder = self._new_decoder()  # streams may follow each other
            if self._decoder.needs_input and not self._packed:
                self._packed = self._file.read(_PACKED_BYTES)
                if not self._packed:
                    raise EOFError
            content = self._decoder.decompress(self._packed, len(buffer))
            self._packed = b""
            if content:
                buffer[: len(content)] = content
                return len(content)

    def _packed_after_padding(self) -> bytes:
        while packed := self._file.read(_PACKED_BYTES):
            if packed := packed.lstrip(b"\0"):
                return packed
        return b""

    @staticmethod
    def _new_decoder() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _unpack_gz(packed: BinaryIO) -> BinaryIO:
    return io.BufferedReader(gzip.GzipFile(fileobj=packed, mode="rb"), _PACKED_BYTES)  # finds lines faster


def _unpack_bz2(packed: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, bz2.BZ2File(packed))


def _unpack_xz(packed: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_XzFile(packed), _PACKED_BYTES)


def _unpack_zst(packed: BinaryIO) -> BinaryIO:
    """A reader of Arrow's decoder, which takes at most 128 MiB of memory."""
    import pyarrow as pa

    return io.BufferedReader(pa.CompressedInputStream(packed, "zstd"), _PACKED_BYTES)


_UNPACKERS = {".gz": _unpack_gz, ".bz2": _unpack_bz2, ".xz": _unpack_xz, ".zst": _unpack_zst}
_UNPACKERS |= {".tgz": _unpack_gz, ".tbz2": _unpack_bz2, ".txz": _unpack_xz}


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Raise `InputError` if `path` unpacks to so many bytes that it may be a decompression bomb."""
    if n_bytes > max(_UNPACKED, _EXPANSION * file_size(path)):
        raise InputError(
            f"{path} unpacks to more than {_EXPANSION} times its size. If the file is what you expect, store it "
            "uncompressed."
        )
