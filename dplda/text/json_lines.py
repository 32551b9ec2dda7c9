"""Readers of JSON lines, of JSON arrays of objects, and of plain lines of text.

An array is cut into elements by a scanner of quotation marks, brackets and commas, and each element is then parsed by
itself. JSON writers escape quotation marks, so no text moves the end of its element. A file whose brackets or elements
are not JSON is refused as a whole, because nobody could tell where its records begin (docs/privacy.md, rule 15). What
is JSON but no document, such as a number or an object that is too large, makes only its own record defective.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES, file_size
from dplda.text.files import (
    BOM,
    check_encoding,
    decode_field,
    decode_line,
    every_line,
    mend,
    open_bytes,
    record_lines,
)
from dplda.text.records import (
    TEXT_NAMES,
    Columns,
    Defect,
    ReadOptions,
    Row,
    TextSource,
    check_columns,
    no_text_column,
    refuse_columns,
    rows_after,
    text_source,
)

_MARKS = "[]{}:\\"  # characters of JSON beside those of `check_encoding`
_SAMPLED_RECORDS = 100  # number of first records in which column names are looked up; column names are public
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the JSON escape of half a surrogate pair
_CHUNK, _LARGEST_CHUNK = 1 << 20, 1 << 24  # bytes of one read: usual, and maximum for a long element
_SPACE = b" \t\r\n"
# What one step of the scanner passes: text between elements, inside an element, and inside a string. The repetition
# of the group is bounded, because the memory of a match grows with it.
_BETWEEN, _WITHIN = re.compile(rb'[^"\[\]{},]*'), re.compile(rb'[^"\[\]{}]*')
_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,1000}', re.DOTALL)


def json_source(files: Sequence[Path], options: ReadOptions, *, arrays: bool) -> TextSource:
    """Return a source of the documents in `files`, in order: JSON lines or, only with `arrays`, a JSON array.

    The first character of a file tells which; the JSON writer put it there, whatever the records hold. Raises
    `InputError` if the first objects lack a column.
    """
    in_array = _array_files(files, options, arrays)
    columns = _json_columns(files, options, in_array)
    parts = [partial(_rows, file, file in in_array, columns, options.encoding) for file in files]
    return text_source(files, options, parts)


def json_records(
    files: Sequence[Path], options: ReadOptions, *, arrays: bool
) -> Iterator[tuple[dict[str, Any], int] | Defect]:
    """Yield the objects in `files` with all their keys, and the number of bytes of each; see `json_source`."""
    in_array = _array_files(files, options, arrays)
    for raw in _raw_objects(files, in_array):
        fields = _parse(raw, options.encoding)
        yield (fields, len(raw) + 1) if isinstance(fields, dict) else fields or Defect.MALFORMED


def lines_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """Return a source of the lines of `files`, in order; each line is one document, even if it is blank.

    Raises `InputError` for column options and for empty files.
    """
    refuse_columns(files[0], "a file of lines", options)
    check_encoding(options.encoding, records=True)
    if all(next(record_lines(file), None) is None for file in files):
        raise InputError(f"{files[0]} is empty.")

    def rows(file: Path, skip: int) -> Generator[Row | Defect, None, int]:
        return rows_after(skip, every_line(file), lambda line: (decode_field(line, options.encoding), None, None, ()))

    return text_source(files, options, [partial(rows, file) for file in files])


def _array_files(files: Sequence[Path], options: ReadOptions, arrays: bool) -> frozenset[Path]:
    """Those of `files` that hold an array, if `arrays` are allowed. Raises `InputError` for an unsuitable encoding."""
    found = set()
    for file in files if arrays else ():
        with open_bytes(file) as stream:
            if _begin(stream).startswith(b"["):
                found.add(file)
    check_encoding(options.encoding, records=True, marks=_MARKS if found else "")
    return frozenset(found)


def _begin(stream: BinaryIO) -> bytes:
    """Return what was read of `stream` from the first byte that is not white space; empty at the end of the file."""
    read = stream.read(_CHUNK).removeprefix(BOM).lstrip(_SPACE)
    while not read and (more := stream.read(_CHUNK)):
        read = more.lstrip(_SPACE)
    return read


def _json_columns(files: Sequence[Path], options: ReadOptions, in_array: frozenset[Path]) -> Columns:
    """Return the columns to read; raises `InputError` if the first objects lack a column that the options name.

    A column that the options leave out is chosen for each document from its own keys, so that no document changes how
    another is read. Messages show only keys that occur in every sampled object, because other keys may be content
    rather than column names.
    """
    parsed = islice((_parse(raw, options.encoding) for raw in _raw_objects(files, in_array)), _SAMPLED_RECORDS)
    keys = [tuple(fields) for fields in parsed if isinstance(fields, dict)]
    first = files[0]
    if not keys and all(file_size(file) == 0 for file in files):
        raise InputError(f"{first} is empty.")
    if not keys:
        kind = "an array of JSON objects" if first in in_array else "JSON lines (one object a line)"
        raise InputError(
            f"{first} does not begin with {kind}. Check --format: json reads an array of objects or JSON lines, jsonl "
            "JSON lines alone."
        )
    names = set().union(*keys)
    everywhere = names.intersection(*keys)
    common = [key for key in keys[0] if key in everywhere]
    check_columns(first, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(first, common)
    return Columns(options.text_fields, options.id_field or "id", options.unit_field, tuple(options.group_fields))


def _raw_objects(files: Sequence[Path], in_array: frozenset[Path]) -> Iterator[bytes]:
    """Yield the raw lines or elements of `files` that are not defects."""
    for file in files:
        raw = _array_elements(file) if file in in_array else record_lines(file)
        yield from (record for record in raw if not isinstance(record, Defect))


def _rows(
    path: Path, in_array: bool, columns: Columns, encoding: str | None, skip: int
) -> Generator[Row | Defect, None, int]:
    """Return the rows after the first `skip`; see `RowReader`."""

    def numbered() -> Iterator[tuple[int, bytes] | Defect]:
        for number, raw in enumerate(_array_elements(path) if in_array else record_lines(path), start=1):
            yield raw if isinstance(raw, Defect) else (number, raw)

    def row(record: tuple[int, bytes]) -> Row | Defect:
        number, raw = record
        fields = _parse(raw, encoding)
        if fields is None and in_array:
            raise _malformed(path, number)
        return columns.row_of(fields) if isinstance(fields, dict) else fields or Defect.MALFORMED

    return rows_after(skip, numbered(), row)


def _parse(raw: bytes, encoding: str | None) -> dict[str, Any] | Defect | None:
    """Return the JSON object in `raw`; the defect of what is other JSON; None for what is not JSON."""
    line = decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    if torn and _SURROGATE.search(text):  # `mend` cannot tell escaped surrogates from bytes that are not UTF-8
        return Defect.UNDECODABLE
    try:
        fields = json.loads(text)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):  # a number of too many digits, or too many brackets
        return Defect.MALFORMED
    if not isinstance(fields, dict):
        return Defect.MALFORMED
    return {mend(name): mend(value) for name, value in fields.items()} if torn else fields


def _malformed(path: Path, number: int) -> InputError:
    """Return the error for a file whose element with the `number`, from 1, is not JSON."""
    return InputError(
        f"{path} is not well-formed JSON: element {number:,} of its array (exact, not private, not for publication) "
        "is not JSON, or the file ends before the array does. Export it again, as JSON, JSON lines or Parquet."
    )


def _array_elements(path: Path) -> Iterator[bytes | Defect]:
    """The raw elements of the array in a file. Raises `InputError` if its brackets are not those of one JSON array."""
    with open_bytes(path) as stream:
        yield from _Scanner(path, stream, _begin(stream)[1:]).elements()


class _Scanner:
    """Cuts the array that continues with `buffer` and then with `stream` into elements."""

    def __init__(self, path: Path, stream: BinaryIO, buffer: bytes) -> None:
        self._path, self._stream, self._buffer = path, stream, buffer
        self._begin = self._at = 0  # of the current element; of the next byte to look at
        self._depth, self._in_string, self._too_long = 0, False, False

    def elements(self) -> Iterator[bytes | Defect]:
        """Yield the elements in order. Raises `InputError`."""
        number = 1
        while True:
            mark = self._next_mark()
            if not mark:
                raise _malformed(self._path, number)
            if self._in_string:
                self._in_string = mark != b'"'
            elif mark == b'"':
                self._in_string = True
            elif self._depth == 0 and mark in b",]":
                element = self._buffer[self._begin : self._at - 1].strip(_SPACE)
                too_long = self._too_long or len(element) > MAX_BYTES
                self._begin, self._too_long = self._at, False
                if mark == b"]" and number == 1 and not element and not too_long:
                    break
                if not element and not too_long:
                    raise _malformed(self._path, number)
                yield Defect.TOO_LONG if too_long else element
                number += 1
                if mark == b"]":
                    break
            elif mark in b"[{":
                self._depth += 1
            elif self._depth == 0:
                raise _malformed(self._path, number)
            else:
                self._depth -= 1

        rest = self._buffer[self._at :]
        while rest or (rest := self._stream.read(_CHUNK)):
            if rest.strip(_SPACE):
                raise _malformed(self._path, number)
            rest = b""

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
