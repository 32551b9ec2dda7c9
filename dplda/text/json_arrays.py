"""JSON arrays: the elements of one array of objects, one by one.

A scanner finds where each element ends, from quotation marks, brackets and commas, and each element is then parsed by
itself. JSON writers escape quotation marks, so no text moves the end of its element. A file whose brackets or elements
are not JSON is refused as a whole, because nobody could tell where its records begin (docs/privacy.md, rule 15). What
is JSON but no document, such as a number or an object that is too large, makes only its own record defective.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES
from dplda.text.files import BOM, open_bytes
from dplda.text.records import Defect

MARKS: Final = "[]{}:\\"  # characters of the format beside those of `check_encoding`
_CHUNK, _LARGEST_CHUNK = 1 << 20, 1 << 24  # bytes of one read: usual, and maximum for a long element
_SPACE = b" \t\r\n"
# What one step of the scanner passes: text between elements, inside an element, and inside a string. The repetition
# of the group is bounded, because the memory of a match grows with it.
_BETWEEN, _WITHIN = re.compile(rb'[^"\[\]{},]*'), re.compile(rb'[^"\[\]{}]*')
_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,1000}', re.DOTALL)


def is_array(path: Path) -> bool:
    """Whether the first character of the file that is not white space opens a JSON array."""
    with open_bytes(path) as stream:
        return _first(stream)[0] == b"["


def array_elements(path: Path) -> Iterator[bytes | Defect]:
    """The raw elements of the array in a file. Raises `InputError` if its brackets are not those of one JSON array."""
    with open_bytes(path) as stream:
        _, rest = _first(stream)
        elements = _Scanner(path, stream, rest[1:])
        yield from elements.scan()


def malformed(path: Path, number: int) -> InputError:
    """The error for a file whose element with the `number`, from 1, is not JSON."""
    return InputError(
        f"{path} is not well-formed JSON: element {number:,} of its array (exact, not private, not for publication) "
        "is not JSON, or the file ends before the array does. Export it again, as JSON, JSON lines or Parquet."
    )


def _first(stream: BinaryIO) -> tuple[bytes, bytes]:
    """The first byte that is not white space, and what was read from this byte on; empty at the end of the file."""
    read = stream.read(_CHUNK).removeprefix(BOM).lstrip(_SPACE)
    while not read and (more := stream.read(_CHUNK)):
        read = more.lstrip(_SPACE)
    return read[:1], read


class _Scanner:
    """Cuts the array that continues with `buffer` and then with `stream` into elements."""

    def __init__(self, path: Path, stream: BinaryIO, buffer: bytes) -> None:
        self._path, self._stream, self._buffer = path, stream, buffer
        self._begin = self._at = 0  # of the current element; of the next byte to look at
        self._depth, self._in_string, self._too_long = 0, False, False
        self._number = 1

    def scan(self) -> Iterator[bytes | Defect]:
        """The elements in order. Raises `InputError`."""
        while True:
            mark = self._next_mark()
            if not mark:
                raise malformed(self._path, self._number)
            if self._in_string:
                self._in_string = mark != b'"'
            elif mark == b'"':
                self._in_string = True
            elif self._depth == 0 and mark in b",]":
                element = self._element()
                if mark == b"]" and self._number == 1 and element == b"":
                    break
                if element == b"":
                    raise malformed(self._path, self._number)
                yield element
                self._number += 1
                if mark == b"]":
                    break
            elif mark in b"[{":
                self._depth += 1
            elif self._depth == 0:
                raise malformed(self._path, self._number)
            else:
                self._depth -= 1
        self._expect_end()

    def _next_mark(self) -> bytes:
        """Pass the next byte that has a meaning, and return it; nothing at the end of the file."""
        while True:
            pattern = _STRING if self._in_string else _WITHIN if self._depth else _BETWEEN
            match = pattern.match(self._buffer, self._at)
            at = self._at if match is None else match.end()
            mark = self._buffer[at : at + 1]
            self._at = at
            if mark == b"\\" and at + 1 < len(self._buffer):  # more escapes than one match passes
                continue
            if mark and mark != b"\\":
                self._at += 1
                return mark
            if not self._read():
                return b""

    def _read(self) -> bool:
        """Read on, keeping the current element; returns whether the file had more."""
        kept = self._buffer[self._begin :]
        if len(kept) > MAX_BYTES:
            self._too_long = True
        if self._too_long:
            kept = self._buffer[self._at :]
            self._begin = self._at
        more = self._stream.read(min(max(_CHUNK, len(kept)), _LARGEST_CHUNK))
        self._at -= self._begin
        self._begin, self._buffer = 0, kept + more
        return bool(more)

    def _element(self) -> bytes | Defect:
        """The element that ends before the last mark; the next one begins after it."""
        element = self._buffer[self._begin : self._at - 1].strip(_SPACE)
        too_long = self._too_long or len(element) > MAX_BYTES
        self._begin, self._too_long = self._at, False
        return Defect.TOO_LONG if too_long else element

    def _expect_end(self) -> None:
        rest = self._buffer[self._at :]
        while rest or (rest := self._stream.read(_CHUNK)):
            if rest.strip(_SPACE):
                raise malformed(self._path, self._number)
            rest = b""
