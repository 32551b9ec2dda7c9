"""CSV and TSV by RFC 4180: a quoted field may contain line breaks, delimiters and doubled quotation marks.

Libraries repair a malformed file by guesses that move text from one record into another. Here every record matches the
grammar, or the whole file is refused (docs/privacy.md, rule 15). With `one_line` each line is one record, even
inside quotation marks.

Records end as the header does, with CR LF or with LF, because some writers quote a field only if it contains their own
line end. In a file whose header ends with LF, a CR at the end of an unquoted field belongs to the field, as in files
that pandas writes.

The `csv` module cannot do this: it keeps a record that never ends in memory, it cannot go on behind a record that is
too long, its limit on the size of a field is one for the whole process, and a CR ends its lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, islice
from pathlib import Path

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES
from dplda.text.files import BLANK, BOM, check_encoding, decode_field, every_line, open_bytes
from dplda.text.records import Columns, Defect, ReadOptions, Row, TextSource, choose_columns, rows_after, text_source

_CHUNK, _LARGEST_CHUNK = 1 << 20, 1 << 24  # bytes of one read: usual, and maximum for a long record
_HEADER_BYTES, _MOST_COLUMNS = 1 << 20, 100_000  # maximum size of the header in bytes and in columns
_DOUBLED = 1000  # maximum doubled quotation marks in one pattern match; `walk` parses fields with more
_OTHERS = (b";", b"\t", b"|")  # delimiters of CSV files that have no commas
_FOR_EXCEL = re.compile(rb'"?sep=.?"?\r?\n', re.IGNORECASE)  # a first line that names the delimiter
_MISPLACED = {b"\r": "carriage return", b"\n": "line feed"}
_Fields = Sequence[bytes]  # raw fields of a record, with their quotation marks


def delimited_source(files: Sequence[Path], options: ReadOptions, *, tabs: bool) -> TextSource:
    """Return a source of the tables `files`, each with a header, as one table. Skips empty files.

    Fields are separated by tabs, or without `tabs` by a comma, unless the first header has no comma outside quotation
    marks, but semicolons, tabs or vertical bars. The header is public; the choice does not depend on records. Raises
    `InputError` if a header is missing or lacks a column, or if all files are empty.
    """
    tables = _tables(files, options, tabs)
    chosen = [choose_columns(tables[0].path, tables[0].names, options)]
    options = replace(options, text_field=chosen[0].text)  # the same columns in every table
    chosen += [choose_columns(table.path, table.names, options, first=False) for table in tables[1:]]
    parts = [partial(table.rows, columns) for table, columns in zip(tables, chosen, strict=True)]
    return text_source(files, options, parts)


def table_records(
    files: Sequence[Path], options: ReadOptions, *, tabs: bool
) -> tuple[tuple[str, ...], Iterator[dict[str, str | Defect] | Defect]]:
    """Return the columns of the first of `files`, and all records with all their values. Raises `InputError`."""
    tables = _tables(files, options, tabs)

    def records() -> Iterator[dict[str, str | Defect] | Defect]:
        for table in tables:
            for fields in table.records(range(len(table.names))):
                if isinstance(fields, Defect):
                    yield fields
                else:
                    yield dict(zip(table.names, map(table.value, fields), strict=True))

    return tuple(tables[0].names), records()


def _tables(files: Sequence[Path], options: ReadOptions, tabs: bool) -> list[_Table]:
    delimiter = b"\t" if tabs else _guess_delimiter(files)
    check_encoding(options.encoding, records=True, marks=delimiter.decode())
    tables = [table for file in files if (table := _table(file, options, delimiter)) is not None]
    if not tables:
        raise InputError(f"{files[0]} is empty: its first line must name the columns.")
    return tables


def _guess_delimiter(files: Sequence[Path]) -> bytes:
    """Return the delimiter of the first header. Raises `InputError` if several characters could be it."""
    path, start = next(((file, start) for file in files if (start := _start(file)).strip(b"\r\n")), (files[0], b""))

    def n_columns(delimiter: bytes) -> int:
        with suppress(_Malformed):
            walked = _Grammar(delimiter, crlf=_begins_with_crlf_line(start)).walk(start, 0, _MOST_COLUMNS)
            return 1 if isinstance(walked, bytes) else len(walked[0])
        return 1

    by_commas = n_columns(b",")
    found = [other for other in _OTHERS if n_columns(other) > by_commas]
    if len(found) > 1 or (found and by_commas > 1):
        raise InputError(
            f"The first line of {path} has more than one of comma, semicolon, tab and vertical bar. Give --format tsv "
            "if tabs separate its fields; otherwise leave the others out of the names of columns."
        )
    return found[0] if found else b","


def _table(path: Path, options: ReadOptions, delimiter: bytes) -> _Table | None:
    """The table of a file; None for an empty file. Raises `InputError` if its first record does not name columns."""
    start = _start(path)
    if not start.strip(b"\r\n"):
        return None
    grammar = _Grammar(delimiter, crlf=_begins_with_crlf_line(start) and not options.one_line)
    header: _Fields = []
    if options.one_line:
        header = _split_line(start.partition(b"\n")[0].rstrip(b"\r"), grammar, _MOST_COLUMNS)
    else:
        with suppress(_Malformed):
            walked = grammar.walk(start, 0, _MOST_COLUMNS)
            header = [] if isinstance(walked, bytes) else [start[span] for span in walked[0]]
    if not header:
        raise InputError(
            f"The first line of {path} does not name columns. Check --format, the encoding, and that its lines end "
            "at LF or CR LF."
        )
    names = [decode_field(grammar.value(field), options.encoding) for field in header]
    if Defect.UNDECODABLE in names:
        raise InputError(f"The first line of {path} is not {options.encoding}. Check --encoding.")
    return _Table(path, grammar, [str(name).strip() for name in names], options)


def _start(path: Path) -> bytes:
    """Return the beginning of a file, from its first line that is not empty; a small file whole, with a line end.

    Raises `InputError` for what only Excel reads.
    """
    with open_bytes(path) as stream:
        start = stream.read(_HEADER_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path} is encoded as UTF-16. Save it as UTF-8 (in Excel: CSV UTF-8), or as .xlsx.")
    whole = len(start) < _HEADER_BYTES
    start = start.removeprefix(BOM).lstrip(b"\r\n") + (b"\n" if whole else b"")
    if _FOR_EXCEL.match(start):
        raise InputError(
            f"{path} begins with a line for Excel (sep=). Delete it, so that the names of columns are first."
        )
    return start


def _begins_with_crlf_line(start: bytes) -> bool:
    """Whether the first line break of `start` outside quotation marks is CR LF."""
    unquoted = start.split(b'"')[::2]
    first = next((part for part in unquoted if b"\n" in part), b"")
    return first.partition(b"\n")[0].endswith(b"\r")


@dataclass(frozen=True)
class _Table:
    """A file, its grammar and the `names` of its columns."""

    path: Path
    grammar: _Grammar
    names: Sequence[str]
    options: ReadOptions

    def rows(self, columns: Columns, skip: int) -> Generator[Row | Defect, None, int]:
        """Return the rows after the first `skip`; see `RowReader`."""
        places = sorted(self.names.index(name) for name in columns.names)
        order = [None if name is None else places.index(self.names.index(name)) for name in columns.wanted]

        def row(fields: _Fields) -> Row:
            return columns.row([None if at is None else self.value(fields[at]) for at in order])

        return rows_after(skip, self.records(places), row)

    def value(self, field: bytes) -> str | Defect:
        """Return the text of a raw `field`."""
        return decode_field(self.grammar.value(field), self.options.encoding)

    def records(self, places: Sequence[int]) -> Iterator[_Fields | Defect]:
        """The raw fields at `places` of each record, without the header. Raises `InputError` if it is malformed."""
        records = self._lines(places) if self.options.one_line else self._spanning_lines(places)
        return islice(records, 1, None)

    def _lines(self, places: Sequence[int]) -> Iterator[_Fields | Defect]:
        """Yield the fields at `places` of each line, header included."""
        record = self.grammar.record(len(self.names), places)
        lines = every_line(self.path)
        for line in dropwhile(lambda line: not isinstance(line, Defect) and not line.strip(BLANK), lines):
            if isinstance(line, Defect):
                yield line
            elif match := record.fullmatch(line + b"\n"):
                yield match.groups()
            elif line.strip(BLANK):
                yield self._choose(_split_line(line, self.grammar, len(self.names) + 1), places)

    def _spanning_lines(self, places: Sequence[int]) -> Iterator[_Fields | Defect]:
        """Yield the fields at `places` of each record, header included. Raises `InputError` if the file is malformed.

        The pattern of a record finds almost all of them. The others are walked along: records of another number of
        fields, with very many quotation marks, or that continue past what has been read.
        """
        record = self.grammar.record(len(self.names), places)
        line, too_long, ended = 1, False, False
        with open_bytes(self.path) as stream:
            buffer = stream.read(_CHUNK).removeprefix(BOM)
            at = len(buffer) - len(buffer.lstrip(b"\r\n"))
            while True:
                if not too_long and (match := record.match(buffer, at)):
                    yield match.groups() if match.end() - at <= MAX_BYTES else Defect.TOO_LONG
                    at = match.end()
                    continue
                try:
                    walked = self.grammar.walk(buffer, at, len(self.names) + 1)
                except _Malformed as error:
                    raise self._malformed(line + buffer.count(b"\n", 0, at), f"{error} stands inside a field") from None
                if not isinstance(walked, bytes):
                    spans, end = walked
                    if too_long or end - at > MAX_BYTES:
                        yield Defect.TOO_LONG
                    elif len(self.names) == 1 or buffer[at:end].strip(b"\r\n"):  # not a blank line
                        yield self._choose([buffer[span] for span in spans], places)
                    at, too_long = end, False
                    continue
                line += buffer.count(b"\n", 0, at)
                rest = buffer[at:]
                if ended and rest:
                    raise self._malformed(line, "quotation mark begins a field that never ends")
                if ended:
                    return
                if len(rest) > MAX_BYTES:
                    line += rest.count(b"\n")
                    rest, too_long = walked, True
                more = stream.read(min(max(_CHUNK, len(rest)), _LARGEST_CHUNK))
                ended = not more
                if ended and (rest or too_long):  # the line end that the last line of the file lacks
                    more = b"\r\n" if self.grammar.crlf and not rest.endswith(b"\r") else b"\n"
                buffer, at = rest + more, 0

    def _choose(self, fields: _Fields, places: Sequence[int]) -> _Fields | Defect:
        if len(fields) != len(self.names):
            return Defect.MALFORMED
        return [fields[place] for place in places]

    def _malformed(self, line: int, wrong: str) -> InputError:
        kind = "TSV" if self.grammar.delimiter == b"\t" else "CSV"
        return InputError(
            f"{self.path} is not well-formed {kind}: in the record that begins "
            f"on line {line:,} (exact, not private, not for publication) a {wrong}. Export it again, as CSV "
            "that doubles quotation marks, JSON lines or Parquet; or, if each line is one record, give --one-line "
            "(one_line=True)."
        )


def _split_line(line: bytes, grammar: _Grammar, most: int) -> _Fields:
    """Return the fields of one line; fields after the first `most` may be missing.

    In a malformed line quotation marks are ordinary text.
    """
    whole = line + b"\n"
    with suppress(_Malformed):
        walked = grammar.walk(whole, 0, most)
        if not isinstance(walked, bytes) and walked[1] == len(whole):
            return [whole[span] for span in walked[0]]
    return [b'"%b"' % field.replace(b'"', b'""') for field in line.split(grammar.delimiter, most)]


class _Malformed(Exception):
    """A misplaced quotation mark or line end."""


class _Grammar:
    """The syntax of a record: its `delimiter`, and whether it ends with CR LF (`crlf`) or with LF.

    Patterns run in linear time and little memory, because no repetition of a group is unbounded. (Possessive
    repetitions would be simpler, but match wrongly before Python 3.11.5.)
    """

    def __init__(self, delimiter: bytes, crlf: bool) -> None:
        self.delimiter, self.crlf = delimiter, crlf
        # CR CR LF is what Python's csv writes on Windows to a file opened without newline=''.
        self._close = rb"\r{1,2}\n" if crlf else rb"\r{0,2}\n"
        self._follows = re.compile(re.escape(delimiter) + rb"|" + self._close)
        self._plain = re.compile(rb'[^"%b\n%b]*' % (re.escape(delimiter), rb"\r" if crlf else b""))
        self._quoted = re.compile(rb'[^"]*(?:""[^"]*){0,%d}' % _DOUBLED)

    def record(self, n_fields: int, wanted: Sequence[int]) -> re.Pattern[bytes]:
        """Pattern of a record of `n_fields`, with a group for each of the fields `wanted`, in ascending order.

        It does not match records with very many quotation marks; `walk` parses those.
        """
        field = rb'(?:"%b"|%b)' % (self._quoted.pattern, self._plain.pattern)
        fields = [rb"(%b)" % field if place in wanted else field for place in range(n_fields)]
        return re.compile(re.escape(self.delimiter).join(fields) + self._close)

    def walk(self, buffer: bytes, at: int, most: int) -> tuple[list[slice], int] | bytes:
        """Parse the record that begins `at`. Return its first `most` fields, and where the next one begins.

        If the record continues past the end of `buffer`, return instead a few bytes that can stand for the part read so
        far: after them the parser is in the same state. Raises `_Malformed`.
        """
        fields = list[slice]()
        while True:
            begin, quoted = at, buffer.startswith(b'"', at)
            at = _end(self._quoted, buffer, at + 1) if quoted else _end(self._plain, buffer, at)
            while quoted and buffer.startswith(b'""', at):
                at = _end(self._quoted, buffer, at)
            if at == len(buffer):
                return b'"' if quoted else buffer[begin : begin + 1]
            at += quoted  # the closing mark
            follows = self._follows.match(buffer, at)
            if follows is None:
                left = buffer[at : at + 3]
                if len(left) < 3 and not left.strip(b"\r"):
                    return (b'""' if quoted else buffer[begin:at][:1]) + left
                raise _Malformed(_MISPLACED.get(left[:1], "quotation mark"))
            if len(fields) < most:
                fields.append(slice(begin, at))
            at = follows.end()
            if follows[0] != self.delimiter:
                return fields, at

    def value(self, field: bytes) -> bytes:
        """Return the content of a raw `field`."""
        return field[1:-1].replace(b'""', b'"') if field.startswith(b'"') else field


def _end(pattern: re.Pattern[bytes], buffer: bytes, at: int) -> int:
    """Return where the match of `pattern` that begins `at` ends; `at` if nothing matches."""
    match = pattern.match(buffer, at)
    return at if match is None else match.end()
