"""Bytes and lines of files, decoded one document or field at a time; and the files that CORPUS stands for.

A record is cut out of the file before it is decoded, and its fields are decoded one by one. A broken character
therefore damages its own field, and no other field of its record or of another record.

CORPUS, the argument of commands, is a path, a pattern, several files, or standard input. All of it is public.
"""

from __future__ import annotations

import codecs
import glob
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES, archive_of, open_file, open_member
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

STANDARD_INPUT = "-"
_MAGIC = re.compile(r"[*?[]")
_SPOOL = re.compile(r"stdin-([0-9]+)-")
_WORD = re.compile(r"[^\W_\d]+$")
_TAIL = re.compile(r"[\W_\d]+$")  # what a common beginning of names need not have: digits and separators

Named = str | Path | Sequence[str | Path]


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open `path`, which may be in an archive, and decompress it if its name ends in .gz, .bz2, .xz or .zst.

    Raises `InputError` if the file is damaged.
    """
    archive = archive_of(path)
    with open_file(path) if archive is None else open_member(archive, path) as stream:
        yield stream


def raw_lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of `path` without their ends, blank lines included; None for a line longer than `MAX_BYTES`."""
    with open_bytes(path) as stream:
        while line := stream.readline(MAX_BYTES + 2):
            if len(line) <= MAX_BYTES or line.endswith(b"\n"):
                yield line.rstrip(b"\r\n")
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_BYTES)
            yield None


def every_line(path: Path) -> Iterator[bytes | Defect]:
    """Yield all lines of `path`, blank ones included, without a byte order mark; each is one record."""
    for number, line in enumerate(raw_lines(path)):
        yield Defect.TOO_LONG if line is None else line if number else line.removeprefix(BOM)


def record_lines(path: Path) -> Iterator[bytes | Defect]:
    """Yield the lines of `path` that are not blank; each is one record."""
    for line in raw_lines(path):
        line = line.removeprefix(BOM) if line else line
        if line is None:
            yield Defect.TOO_LONG
        elif line.strip(BLANK):
            yield line


def text_lines(path: Path) -> Iterator[tuple[int, str | Defect]]:
    """Yield the lines of `path` that are not blank, each decoded separately, with their line numbers from 1."""
    for number, raw in enumerate(raw_lines(path), start=1):
        if raw is None:
            yield number, Defect.TOO_LONG
        elif raw.removeprefix(BOM).strip(BLANK):
            yield number, decode(raw, None)


def read_whole(file: Path) -> bytes | Defect:
    """Return the content of a file that is one document, up to one byte more than `MAX_BYTES`.

    By this byte, `decode` recognises a document that is too long.
    """
    try:
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError:
        return Defect.UNREADABLE


def decode(raw: bytes, encoding: str | None) -> str | Defect:
    """Decode one document in the declared `encoding`, else by its byte order mark, else in UTF-8, cp1252 or Latin-1.

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
    """Decode one field of a record in the declared `encoding`, else UTF-8 (with lone surrogates), cp1252 or Latin-1."""
    if len(raw) > MAX_BYTES:
        return Defect.TOO_LONG
    try:
        return raw.decode(encoding or "utf-8")
    except (UnicodeError, ValueError):
        if encoding:
            return Defect.UNDECODABLE
    with suppress(UnicodeError):
        return raw.decode("utf-8", "surrogatepass")
    with suppress(UnicodeError):
        return raw.decode("cp1252")
    return raw.decode("latin-1")


def decode_line(raw: bytes, encoding: str | None) -> tuple[str, bool] | Defect:
    """Decode one record; also return whether its fields need `mend`, because the record is not UTF-8."""
    try:
        return raw.decode(encoding or "utf-8"), False
    except (UnicodeError, ValueError):
        return Defect.UNDECODABLE if encoding else (raw.decode("utf-8", "surrogateescape"), True)


def mend(value: Any) -> Any:
    """Decode a field from its own bytes, if its record is not UTF-8 and was read with surrogate escapes.

    Return a `value` that is not a string unchanged.
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


def find_paths(named: Named) -> tuple[Path, ...]:
    """Find the paths that `named` stands for, sorted: each name is a path, or a pattern that file names match.

    A name that exists is no pattern. Raises `InputError` if a pattern matches nothing or a file is named twice.
    """
    names: Iterable[str | Path] = [named] if isinstance(named, (str, Path)) else named
    found: list[Path] = []
    for place in (Path(name).expanduser() for name in names):
        if not _MAGIC.search(os.fspath(place)) or os.path.lexists(place):
            found.append(place)
            continue
        matches = [Path(match) for match in glob.glob(os.fspath(place), recursive=True)]
        if not matches:
            raise InputError(f"No file matches {place}. Check the pattern.")
        found += matches
    if not found:
        raise InputError(
            "No file is named. Name a file, a folder or a pattern such as 'tickets-*.csv'. In Python, a list of texts "
            "goes to Corpus.from_texts."
        )
    if len(found) > 1:
        real = [os.path.realpath(place) for place in found]
        twice = next((place for place, path in zip(found, real, strict=True) if real.count(path) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} is named twice, by itself or by a pattern or link. Name each file once.")
    return tuple(sorted(found, key=os.fspath))


def common_name(paths: Sequence[Path], stems: Sequence[str]) -> str:
    """Return a name for several files: the common beginning of their `stems`, else the name of their folder."""
    first, last = min(stems), max(stems)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    common = first[:length]
    if first[length : length + 1].isalpha() or last[length : length + 1].isalpha():
        common = _WORD.sub("", common)  # the names differ within a word
    common = _TAIL.sub("", common)
    folder = os.path.commonpath([os.path.realpath(path.parent) for path in paths])
    return (common if len(common) > 1 else os.path.basename(folder)) or "corpus"


def spool_standard_input(root: Path, stream: BinaryIO | None = None) -> Path:
    """Write standard input, or `stream`, to a file that only its owner may read, in a new folder below `root`.

    The caller removes the folder. Folders that processes left behind when they were killed are removed after a day.
    Raises `InputError` if standard input is a terminal, or if the file cannot be written.
    """
    source, root = stream or sys.stdin.buffer, root / "stdin"
    if source.isatty():
        raise InputError(f"{STANDARD_INPUT} reads standard input, which is a terminal. Pipe a file into dplda.")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(root)
        folder = Path(tempfile.mkdtemp(prefix=f"stdin-{os.getpid()}-", dir=root))  # with mode 0700
    except OSError as error:
        raise InputError(f"Cannot write to {root}: {error.strerror}. Set DPLDA_CACHE to another folder.") from None
    file = folder / "standard-input"
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as spool:
            shutil.copyfileobj(source, spool, 1 << 20)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(f"Cannot keep standard input in {root}: {error.strerror}.") from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return file


def _sweep(root: Path, seconds: int = 86_400) -> None:
    """Remove the spools of processes that have ended, if they are older than `seconds`."""
    for folder in root.glob("stdin-*"):
        owner = _SPOOL.match(folder.name)
        with suppress(OSError):  # another process removed it
            if owner and not _runs(int(owner[1])) and folder.stat().st_mtime < time.time() - seconds:
                shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
