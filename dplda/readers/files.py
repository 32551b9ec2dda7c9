"""Read bytes and lines of files, and decode each document or field separately.

A record is cut out of the file before it is decoded, and its fields are decoded one by one. A broken character
therefore damages its own field, and no other field of its record or of another record.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

from dplda.errors import InputError
from dplda.readers.records import MAX_CHARACTERS, Defect

MAX_BYTES = 1 << 26  # maximum bytes of one document or its record, before decoding
BLANK, BOM = b" \t\r", codecs.BOM_UTF8
_MARKS = '"\t\n\r,'  # characters that delimit fields and records
_UTF_8_SIG = codecs.lookup("utf-8-sig")
_BUFFER = 1 << 17
_meter: ContextVar[Callable[[int], None]] = ContextVar("_meter", default=lambda n_bytes: None)
_UNPACKED = 1 << 30  # bytes to which a compressed file of any size may unpack
_EXPANSION = 256  # maximum ratio of unpacked to compressed size for files that unpack to more than `_UNPACKED` bytes
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
ARCHIVES = (".zip", ".tar", *(f".tar{ending}" for ending in COMPRESSIONS), ".tgz", ".tbz2", ".txz")
_PACKED_BYTES = 1 << 16
_XZ_MEMORY = 1 << 28  # bytes that the decoder of an .xz file may take; the largest preset of xz takes 65 MiB
_BOMS = (  # UTF-32 first, because its little-endian mark starts with that of UTF-16
    (BOM, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open `path`, which may be in an archive, and decompress it if its name ends in .gz, .bz2, .xz or .zst.

    Raises `InputError` if the file is damaged.
    """
    from dplda.readers.archives import open_member  # which reads archives with this function

    archive = archive_of(path)
    unpack = _UNPACKERS.get(path.suffix.lower())
    with (
        reading(path),
        _metered_file(path) if archive is None else open_member(archive, path) as packed,
        nullcontext(packed) if unpack is None else unpack(packed) as stream,
    ):
        yield stream


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
    """Report the bytes that this thread reads from files, compressed as they are."""
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
    """Whether `path` is a file whose name is that of an archive."""
    return path.name.lower().endswith(ARCHIVES) and os.path.isfile(path)


def file_size(path: Path) -> int:
    """The size of a file on disk, compressed or not; that of the whole archive for a file in an archive."""
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


def raw_lines(path: Path) -> Iterator[bytes | None]:
    """Lines of `path` without their ends, blank lines included; None for a line longer than `MAX_BYTES`."""
    with open_bytes(path) as stream:
        while line := stream.readline(MAX_BYTES + 2):
            if len(line) <= MAX_BYTES or line.endswith(b"\n"):
                yield line.rstrip(b"\r\n")
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_BYTES)
            yield None


def record_lines(path: Path) -> Iterator[bytes | Defect]:
    """Lines of `path` that are not blank; each is one record."""
    for line in raw_lines(path):
        line = line.removeprefix(BOM) if line else line
        if line is None:
            yield Defect.TOO_LONG
        elif line.strip(BLANK):
            yield line


def text_lines(path: Path) -> Iterator[tuple[int, str | Defect]]:
    """Lines of `path` that are not blank, each decoded separately, with their line numbers from 1."""
    for number, raw in enumerate(raw_lines(path), start=1):
        if raw is None:
            yield number, Defect.TOO_LONG
        elif raw.strip(BLANK):
            yield number, decode(raw, None)


def read_whole(file: Path) -> bytes | Defect:
    """The content of a file that is one document; of one that is too long, one byte more than is allowed."""
    try:
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError:
        return Defect.UNREADABLE


def decode(raw: bytes, encoding: str | None) -> str | Defect:
    """Text of one document in the declared `encoding`, else that of its byte order mark, UTF-8, cp1252 or Latin-1.

    Text with a NUL character is a defect, because the bytes are probably an image, or UTF-16 without a mark.
    """
    if len(raw) > MAX_BYTES:
        return Defect.TOO_LONG
    mark = next((name for bom, name in _BOMS if raw.startswith(bom)), None)
    for name in (encoding,) if encoding else (mark,) if mark else ("utf-8", "cp1252", "latin-1"):
        try:
            text = raw.decode(name)
        except (UnicodeError, ValueError):
            continue
        if "\0" in text:
            return Defect.UNDECODABLE
        return text if len(text) <= MAX_CHARACTERS else Defect.TOO_LONG
    return Defect.UNDECODABLE


def decode_field(raw: bytes, encoding: str | None) -> str | Defect:
    """One field of a record in the declared `encoding`, else UTF-8 (with lone surrogates), cp1252 or Latin-1."""
    if len(raw) > MAX_BYTES:
        return Defect.TOO_LONG
    try:
        return raw.decode(encoding or "utf-8")
    except (UnicodeError, ValueError):
        return Defect.UNDECODABLE if encoding else _decode_leniently(raw)


def _decode_leniently(raw: bytes) -> str:
    with suppress(UnicodeError):
        return raw.decode("utf-8", "surrogatepass")
    with suppress(UnicodeError):
        return raw.decode("cp1252")
    return raw.decode("latin-1")


def decode_line(raw: bytes, encoding: str | None) -> tuple[str, bool] | Defect:
    """Text of one record, and whether its fields must be `mended` because the record is not UTF-8."""
    try:
        return raw.decode(encoding or "utf-8"), False
    except (UnicodeError, ValueError):
        return Defect.UNDECODABLE if encoding else (raw.decode("utf-8", "surrogateescape"), True)


def mended(value: Any) -> Any:
    """`value`, a field of a record read with surrogate escapes because it is not UTF-8, decoded from its own bytes.

    Unchanged if it is not a string.
    """
    try:
        return decode_field(value.encode("utf-8", "surrogateescape"), None) if isinstance(value, str) else value
    except UnicodeEncodeError:  # half of a surrogate pair, written as an escape
        return value


def check_encoding(encoding: str | None, *, records: bool, marks: str = "") -> None:
    """Raise `InputError` for an unknown encoding and, with `records`, for one that hides where records end.

    Line breaks, quotation marks, commas and the other `marks` of the format must be encoded as in ASCII, and these
    bytes must not occur in any other character.
    """
    if encoding is None:
        return
    marks += _MARKS
    try:
        plain = all(mark.encode(encoding) == mark.encode() for mark in marks) or codecs.lookup(encoding) == _UTF_8_SIG
        others = "".join(chr(code) for code in range(1 << 16) if chr(code) not in marks)
        mixed = any(mark.encode() in others.encode(encoding, "ignore") for mark in marks) if records else False
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is unknown. Use a Python codec name such as utf-8 or cp1252."
        ) from None
    if records and (mixed or not plain):
        raise InputError(
            f"encoding {encoding!r} writes line breaks, quotation marks, commas or other marks of the format inside "
            "other characters. Convert the file to UTF-8 first."
        )
