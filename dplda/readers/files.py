"""Read bytes and lines of files, and decode each document or field separately.

A record is cut out of the file before it is decoded, and its fields are decoded one by one. A broken character
therefore damages its own field, and no other field of its record or of another record.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
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
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is not a whole gzip file. Download it again, or drop the .gz ending.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or 'input/output error'}.") from None


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open `path`, with gzip if its name ends in .gz. Raises `InputError` if the file is damaged."""
    with reading(path), ExitStack() as files:
        stream: Any = files.enter_context(io.BufferedReader(_Metered(path), _BUFFER))
        if without_gz(path) != path:
            stream = files.enter_context(gzip.GzipFile(fileobj=stream))
        yield cast(BinaryIO, stream)


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


def without_gz(path: Path) -> Path:
    """`path` without a final .gz."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Raise `InputError` if `path` unpacks to so many bytes that it may be a decompression bomb."""
    if n_bytes > max(_UNPACKED, _EXPANSION * path.stat().st_size):
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
    """`value`, a field of a record that is not UTF-8, with its original bytes decoded by themselves.

    Unchanged if it is not a string.
    """
    try:
        return decode_field(value.encode("utf-8", "surrogateescape"), None) if isinstance(value, str) else value
    except UnicodeEncodeError:  # half of a surrogate pair, written as an escape
        return value


def check_encoding(encoding: str | None, *, records: bool) -> None:
    """Raise `InputError` for an unknown encoding and, for a format of `records`, for one in which they cannot be cut.

    Line breaks, quotation marks and commas must be encoded as in ASCII, and these bytes must not occur in any other
    character.
    """
    if encoding is None:
        return
    try:
        plain = all(mark.encode(encoding) == mark.encode() for mark in _MARKS) or codecs.lookup(encoding) == _UTF_8_SIG
        others = "".join(chr(code) for code in range(1 << 16) if chr(code) not in _MARKS)
        mixed = any(mark.encode() in others.encode(encoding, "ignore") for mark in _MARKS) if records else False
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is unknown. Use a Python codec name such as utf-8 or cp1252."
        ) from None
    if records and (mixed or not plain):
        raise InputError(
            f"encoding {encoding!r} writes line breaks, quotation marks or commas inside other characters. Convert the "
            "file to UTF-8 first."
        )
