"""A folder or an archive of documents, one a file: text files in any encoding, PDF, Word, e-mail and others.

Its only column is `SUBFOLDER`: the first subfolder on the path of a document, which the document's own path tells.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from dplda.base.characters import storable
from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES, is_litter, open_members, reading, reading_archive
from dplda.text.documents import extract_texts, is_document, missing_extractors
from dplda.text.files import check_encoding, decode, read_whole
from dplda.text.records import (
    Defect,
    ReadOptions,
    TextRecord,
    TextSource,
    document_key,
    group_value,
    refuse_columns,
    unit_key,
)

SUBFOLDER = "folder"
PATTERN_SEPARATOR = "|"  # which fnmatch gives no meaning


def folder_source(folder: Path, files: Sequence[Path], options: ReadOptions) -> TextSource:
    """Return a source of the `files` of `folder`, in this order.

    Raises `InputError` for options of tables, and if a library is missing that one of the files needs.
    """
    _check_columns(folder, "a folder of text files", files, options)
    return _documents(folder, files, options)


def document_source(path: Path, options: ReadOptions) -> TextSource:
    """Return a source of one document, such as a PDF file; errors as in `folder_source`."""
    refuse_columns(path, "one document", options)
    return _documents(path.parent, [path], options)


def archive_source(archive: Path, files: Sequence[Path], options: ReadOptions) -> TextSource:
    """Return a source of the members `files` of an archive, one document each, in its order. Raises `InputError`."""
    _check_columns(archive, "an archive of text files", files, options)
    check_encoding(options.encoding, records=False)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        with reading_archive(archive):
            for ordinal, (file, stream) in enumerate(open_members(archive, frozenset(files))):
                if ordinal < skip:
                    continue
                text = decode(stream.read(MAX_BYTES + 1), options.encoding)
                yield _record(text, file.relative_to(archive), ordinal, options)

    return TextSource(
        (archive,), options.unit, records, total=len(files), subfolders=lambda: _subfolders(archive, files)
    )


def in_subfolders(place: Path, files: Sequence[Path]) -> bool:
    """Whether any of the `files` of the folder or archive `place` is in a subfolder."""
    return any(file.parent != place for file in files)


def first_subfolder(name: Path) -> str | None:
    """Return the first subfolder on the relative path `name` of a file; None if it is in none."""
    return name.parts[0] if len(name.parts) > 1 else None


def _subfolders(place: Path, files: Sequence[Path]) -> Iterator[str | None]:
    return (first_subfolder(file.relative_to(place)) for file in files)


def _check_columns(place: Path, kind: str, files: Sequence[Path], options: ReadOptions) -> None:
    """Raise `InputError` if `options` name a column other than `SUBFOLDER` for units and groups, or no subfolder is."""
    if in_subfolders(place, files):
        unit = None if options.unit_field == SUBFOLDER else options.unit_field
        groups = [name for name in options.group_fields if name != SUBFOLDER]
        options = replace(options, unit_field=unit, group_fields=groups)
        refuse_columns(place, f"{kind} in subfolders", options, f"only {SUBFOLDER!r}, the first subfolder of a file")
    refuse_columns(place, kind, options)


def _documents(folder: Path, files: Sequence[Path], options: ReadOptions) -> TextSource:
    check_encoding(options.encoding, records=False)
    if missing := missing_extractors(files):
        raise InputError(missing)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        chosen = files[skip:]
        extracted = extract_texts(filter(is_document, chosen), options.encoding)
        for ordinal, file in enumerate(chosen, start=skip):
            text = next(extracted) if is_document(file) else _text(file, options.encoding)
            yield _record(text, file.relative_to(folder), ordinal, options)

    slow = any(map(is_document, files))
    return TextSource(
        tuple(files), options.unit, records, len(files), slow=slow, subfolders=lambda: _subfolders(folder, files)
    )


def list_files(folder: Path, pattern: str | None = None) -> list[Path]:
    """List the files under `folder`, sorted, whose names or relative paths match `pattern`; see `choose_files`.

    Hidden files, files that programs leave in every folder, and links are left out. Without links, no document counts
    twice. Raises `InputError` if no file is left.
    """
    files: list[Path] = []
    with reading(folder):
        os.scandir(folder).close()  # os.walk hides the error of an unreadable folder
        for directory, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(directory, name)
                with suppress(OSError):  # a file that vanished
                    if not is_litter(name) and stat.S_ISREG(path.lstat().st_mode):
                        files.append(path)
    return choose_files(folder, files, pattern)


def choose_files(folder: Path, files: Sequence[Path], pattern: str | None) -> list[Path]:
    """Choose the `files` in `folder`, sorted, whose names or relative paths match one of the patterns in `pattern`.

    `PATTERN_SEPARATOR` separates patterns. Raises `InputError` if no file is left.
    """
    if not files:
        raise InputError(f"{folder} holds no files to read (hidden files are not read).")
    chosen = list(files)
    if pattern is not None:

        def matches(name: str) -> bool:
            return any(fnmatch(name, one) for one in pattern.split(PATTERN_SEPARATOR))

        chosen = [file for file in files if matches(file.name) or matches(file.relative_to(folder).as_posix())]
    if not chosen:
        raise InputError(
            f"None of the {len(files):,} files in {folder} matches pattern {pattern!r}. Change --pattern. (The "
            "number of files is exact, so do not publish this message.)"
        )
    return sorted(chosen, key=os.fspath)


def _text(file: Path, encoding: str | None) -> str | Defect:
    raw = read_whole(file)
    return raw if isinstance(raw, Defect) else decode(raw, encoding)


def _record(text: str | Defect, name: Path, ordinal: int, options: ReadOptions) -> TextRecord | Defect:
    if isinstance(text, Defect):
        return text
    folder = first_subfolder(name)
    unit = document_key(ordinal) if options.unit_field is None else unit_key(folder)
    if unit is None:
        return Defect.NO_UNIT
    groups = (group_value(folder),) * len(options.group_fields)  # `_check_columns`
    return TextRecord(storable(name.as_posix()), unit, text, groups)
