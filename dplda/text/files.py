"""Read bytes and lines of files, and decode each document or field separately.

A record is cut out of the file before it is decoded, and its fields are decoded one by one. A broken character
therefore damages its own field, and no other field of its record or of another record.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from dplda.base.errors import InputError
from dplda.text.archives import open_member
from dplda.text.compression import MAX_BYTES, archive_of, open_file
from dplda.text.records import MAX_CHARACTERS, Defect

BLANK, BOM = b" \t\r", codecs.BOM_UTF8
_MARKS = '"\t\n\r,'  # characters that delimit fields and records
_UTF_8_SIG = codecs.lookup("utf-8-sig")
_BOMS = (  # UTF-32 first, because its little-endian mark starts with that of UTF-16
    (BOM, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open `path`, which may be in an archive, and decompress it if its name ends in .gz, .bz2, .xz or .zst.

    Raises `InputError` if the file is damaged.
    """
    archive = archive_of(path)
    with open_file(path) if archive is None else open_member(archive, path) as stream:
        yield stream


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
    """The content of a file that is one document, up to one byte more than `MAX_BYTES`.

    By this byte, `decode` recognises a document that is too long.
    """
    try:
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError:
        return Defect.UNREADABLE


def decode(raw: bytes, encoding: str | None) -> str | Defect:
    """Text of one document in the declared `encoding`, else by its byte order mark, else in UTF-8, cp1252 or Latin-1.

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
    """`value` decoded from its own bytes; it is a field of a record that was read with surrogate escapes.

    A record is read in this way if it is not UTF-8. A `value` that is not a string is returned unchanged.
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
