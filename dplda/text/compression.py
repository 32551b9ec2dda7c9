"""Compressed files and archives, opened within limits on memory and size; report the bytes that are read.

The files in .zip and .tar archives are read in place, as if the archive were a folder, and never unpacked under their
names. A file in an archive has a path below the path of the archive, such as ``texts.zip/2024/a.txt``. Such a path is
only a name: members are found by comparing it with the names in the archive.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from dplda.base.errors import InputError

MAX_BYTES = 1 << 26  # maximum bytes of one document or its record, before decoding
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
ARCHIVES = (".zip", ".tar", *(f".tar{ending}" for ending in COMPRESSIONS), ".tgz", ".tbz2", ".txz")
_meter: ContextVar[Callable[[int], None]] = ContextVar("_meter", default=lambda n_bytes: None)
_BUFFER = 1 << 17
_UNPACKED = 1 << 30  # a compressed file of any size may unpack to this many bytes
_EXPANSION = 256  # maximum ratio of unpacked to compressed size for files that unpack to more than `_UNPACKED` bytes
_PACKED_BYTES = 1 << 16
_XZ_MEMORY = 1 << 28  # bytes that the decoder of an .xz file may take; the largest preset of xz takes 65 MiB
_MEMBERS = 1_000_000  # maximum number of files in an archive
_HEADER_BYTES = 1 << 20  # maximum size of an extended header of a .tar, which is read into memory
_REREAD_PARTS = 20  # maximum number of tables in a compressed .tar, which is read from its start for each
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_FORKS = "__MACOSX"  # the folder of resource forks in archives of macOS
_LITTER = ("thumbs.db", "desktop.ini")  # written by Windows


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors that make a whole file unreadable into `InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Check the path.") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        ending = path.suffix.lower()
        number = getattr(error, "errno", None)  # none in errors of bz2, and of Arrow for zstd
        damaged = isinstance(error, gzip.BadGzipFile) or not isinstance(error, OSError)
        if damaged or (number is None and ending in _UNPACKERS):
            raise InputError(
                f"{path} is not a whole {COMPRESSIONS.get(ending, 'compressed')} file, or needs more memory than a "
                f"reader should give it. Download it again, or drop the {ending} ending if it is not compressed."
            ) from None
        raise InputError(f"Cannot read {path}: {getattr(error, 'strerror', '') or 'input/output error'}.") from None


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file on disk, and decompress it as `decompress` does. Raises `InputError` if it is damaged."""
    with (
        reading(path),
        io.BufferedReader(_Metered(path), _BUFFER) as packed,
        decompress(path, cast(BinaryIO, packed)) as stream,
    ):
        yield stream


def decompress(path: Path, packed: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Decompress `packed` if the name of `path` ends in .gz, .bz2, .xz or .zst; return its content."""
    unpack = _UNPACKERS.get(path.suffix.lower())
    return nullcontext(packed) if unpack is None else unpack(packed)


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
    """Return the archive that the file `path` is in; None if it is a file on disk."""
    if not any(ending in os.fspath(path).lower() for ending in ARCHIVES):
        return None
    return next((parent for parent in path.parents if is_archive(parent)), None)


def is_archive(path: Path) -> bool:
    """Whether `path` is a file with the name of an archive."""
    return path.name.lower().endswith(ARCHIVES) and os.path.isfile(path)


def file_size(path: Path) -> int:
    """Return the size of a file on disk, compressed or not; for a file in an archive, the size of the whole archive."""
    return (archive_of(path) or path).stat().st_size


def without_compression(path: Path) -> Path:
    """Return `path` without a final .gz, .bz2, .xz or .zst."""
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
                self._packed = self._decoder.unused_data.lstrip(b"\0")
                while not self._packed:  # padding
                    more = self._file.read(_PACKED_BYTES)
                    if not more:
                        return 0
                    self._packed = more.lstrip(b"\0")
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

    @staticmethod
    def _new_decoder() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _unpack_zst(packed: BinaryIO) -> BinaryIO:
    """Return a reader of Arrow's decoder, which takes at most 128 MiB of memory."""
    import pyarrow as pa

    return io.BufferedReader(pa.CompressedInputStream(packed, "zstd"), _PACKED_BYTES)


_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {  # buffers find lines faster
    ".gz": lambda packed: io.BufferedReader(gzip.GzipFile(fileobj=packed, mode="rb"), _PACKED_BYTES),
    ".bz2": bz2.BZ2File,
    ".xz": lambda packed: io.BufferedReader(_XzFile(packed), _PACKED_BYTES),
    ".zst": _unpack_zst,
}
_UNPACKERS |= {".tgz": _UNPACKERS[".gz"], ".tbz2": _UNPACKERS[".bz2"], ".txz": _UNPACKERS[".xz"]}


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Raise `InputError` if `path` unpacks to so many bytes that it may be a decompression bomb."""
    if n_bytes > max(_UNPACKED, _EXPANSION * file_size(path)):
        raise InputError(
            f"{path} unpacks to more than {_EXPANSION} times its size. If the file is what you expect, store it "
            "uncompressed."
        )


def list_members(archive: Path) -> list[Path]:
    """Return the regular files in an archive that are not hidden, sorted. Raises `InputError` for an unsafe archive."""
    found, n_bytes = [], 0
    with reading_archive(archive):
        for number, (name, size) in enumerate(_listed(archive)):
            n_bytes += size
            check_unpacked(archive, n_bytes)
            if number >= _MEMBERS:
                raise InputError(f"{archive} holds more than {_MEMBERS:,} files. Unpack it and name its folder.")
            found.append(_path(archive, name))
    files = [file for file in found if file is not None]
    if len(set(files)) < len(files):
        raise InputError(f"{archive} holds several files of one name. Pack it again.")
    nested = next((file for file in files if file.name.lower().endswith(ARCHIVES)), None)
    if nested is not None:
        raise InputError(f"{nested} is an archive in an archive. Unpack the outer one first.")
    return sorted(files, key=os.fspath)


def check_parts(archive: Path, n_parts: int) -> None:
    """Raise `InputError` if reading `n_parts` tables from this archive would take very long."""
    if n_parts > _REREAD_PARTS and not archive.name.lower().endswith((".zip", ".tar")):
        raise InputError(
            f"{archive} holds {n_parts} tables, and a compressed .tar would be unpacked once for each. Unpack it and "
            "name its folder, or pack it as .zip."
        )


@contextmanager
def open_member(archive: Path, file: Path) -> Iterator[BinaryIO]:
    """Open one file of an archive, and decompress it as `open_file` does. Raises `InputError` if it is not there."""
    with reading(file), reading_archive(archive):
        members = open_members(archive, frozenset([file]))
        try:
            found = next(members, None)
            if found is None:
                raise InputError(f"{file} does not exist. Check the path.")
            with decompress(file, found[1]) as stream:
                yield stream
        finally:
            members.close()


def is_litter(name: str) -> bool:
    """Whether a file of this name contains no document: a hidden file, or what Windows or Office leave in a folder."""
    return name.startswith((".", "~$")) or name.lower() in _LITTER


@contextmanager
def reading_archive(archive: Path) -> Iterator[None]:
    """Turn errors of archives, also those that reading a member raises, into `InputError`."""
    with reading(archive):
        try:
            yield
        except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, EOFError, zlib.error):
            raise InputError(f"{archive} is not a whole archive. Download it again, or pack it again.") from None


def _listed(archive: Path) -> Iterator[tuple[str, int]]:
    """Yield the names of the regular files, and their unpacked sizes."""
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                if _is_regular(member):
                    if member.flag_bits & 1:
                        raise InputError(f"{archive} is encrypted. Unpack it with its password and name the folder.")
                    if member.compress_type not in _METHODS:
                        raise InputError(
                            f"{archive} is compressed by a method that dplda does not read. Pack it again as usual."
                        )
                    yield member.filename, member.file_size
    else:
        with _tar(archive) as tar:
            for entry in tar:
                if entry.isreg():
                    yield entry.name, entry.size
                tar.members.clear()  # type: ignore[attr-defined]  # it would keep every header


def open_members(archive: Path, wanted: Collection[Path]) -> Generator[tuple[Path, BinaryIO], None, None]:
    """Yield the `wanted` files, each with its stream, which must be read before the next one is requested."""
    with reading_archive(archive):
        if _is_zip(archive):
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    if _is_regular(member) and (file := _path(archive, member.filename)) in wanted:
                        with packed.open(member) as stream:
                            yield cast(Path, file), cast(BinaryIO, stream)
            return
        with _tar(archive) as tar:
            for entry in tar:
                if entry.isreg() and (file := _path(archive, entry.name)) in wanted:
                    yield cast(Path, file), cast(BinaryIO, tar.extractfile(entry))
                tar.members.clear()  # type: ignore[attr-defined]


def _path(archive: Path, name: str) -> Path | None:
    """Return the path of a member in the archive; None if it is hidden. Raises `InputError` for an unsafe name."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith(("/", "\\")) or "\0" in name:
        raise InputError(f"{archive} holds a file whose name leads out of the archive. Pack it again.")
    if not parts or any(map(is_litter, parts)) or parts[0] == _FORKS:
        return None  # ``./`` has no parts
    return archive.joinpath(*parts)


def _is_zip(archive: Path) -> bool:
    return archive.suffix.lower() == ".zip"


def _is_regular(member: zipfile.ZipInfo) -> bool:
    file_type = stat.S_IFMT(member.external_attr >> 16)
    return not member.is_dir() and file_type in (0, stat.S_IFREG)


class _SmallHeaders(tarfile.TarInfo):
    """A member of a .tar whose extended headers take little memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _SmallHeaders:
        """Parse a header. Raises `ReadError` for one that announces a very large extended header."""
        member = super().frombuf(buf, encoding, errors)
        special = not (member.isreg() or member.isdir() or member.issym() or member.islnk() or member.isdev())
        if special and member.size > _HEADER_BYTES:
            raise tarfile.ReadError("large header")
        return member


@contextmanager
def _tar(archive: Path) -> Iterator[tarfile.TarFile]:
    """A .tar as a stream, decompressed as `open_file` does it."""
    with (
        open_file(archive) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_SmallHeaders) as tar,
    ):
        yield tar
