"""Byte streams, lines and their decoding: rules that look at one document only."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from dplda.errors import InputError
from dplda.text.records import MAX_CHARACTERS, Defect

MAX_BYTES = 4 * MAX_CHARACTERS  # no text of at most MAX_CHARACTERS takes more in UTF-8
_BLANK = b" \t\r"
UNPACKED, EXPANSION = 1 << 30, 256  # bytes that any file may unpack to, and times its size that larger ones may
_BOMS = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the file as a whole into one `InputError` line."""
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
    """Open `path`, through gzip if its name ends in .gz. Raises `InputError` when the file is damaged."""
    with reading(path):
        opener = gzip.open if path.suffix.lower() == ".gz" else open
        with opener(path, "rb") as stream:
            yield cast(BinaryIO, stream)


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Raise `InputError` if no file of counts or table would unpack from its size to `n_bytes`: a bomb."""
    if n_bytes > max(UNPACKED, EXPANSION * path.stat().st_size):
        raise InputError(
            f"{path} unpacks to more than {EXPANSION} times its size. Store it uncompressed if that is right."
        )


def raw_lines(path: Path) -> Iterator[bytes | None]:
    """Lines of `path` without their ends, blank ones included; None for a line too long to hold a document."""
    with open_bytes(path) as stream:
        while line := stream.readline(MAX_BYTES + 2):
            if len(line) <= MAX_BYTES or line.endswith(b"\n"):
                yield line.rstrip(b"\r\n")
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_BYTES)
            yield None


def decode(raw: bytes, encoding: str | None) -> str | Defect:
    """Text of one document: `encoding` if declared, else its byte order mark, UTF-8, cp1252, Latin-1.

    Bytes with a NUL after decoding are no text (an image, UTF-16 without a mark).
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


def text_lines(path: Path, encoding: str | None, skip: int = 0) -> Iterator[tuple[int, str | Defect]]:
    """Non-blank lines of `path` behind the first `skip` of them, each decoded alone.

    Numbers count from 1 and count blank lines.
    """
    lines = ((number, raw) for number, raw in enumerate(raw_lines(path), start=1) if raw is None or raw.strip(_BLANK))
    for number, raw in islice(lines, skip, None):
        yield number, Defect.TOO_LONG if raw is None else decode(raw, encoding)


def check_encoding(encoding: str | None, *, line_file: bool) -> None:
    """Raise `InputError` for an unknown encoding, or one in which lines cannot be told apart by bytes."""
    if encoding is None:
        return
    try:
        newline = codecs.lookup(encoding) and "\n".encode(encoding)
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is unknown. Use a Python codec name such as utf-8 or cp1252."
        ) from None
    if line_file and newline != b"\n":
        raise InputError(f"encoding {encoding!r} does not work line by line. Convert the file to UTF-8 first.")
