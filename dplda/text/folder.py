"""A folder of text files, one document each, at any depth and in any encoding."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, no_columns
from dplda.text.files import MAX_BYTES, check_encoding, decode, reading
from dplda.text.records import Defect, TextRecord, TextSource, document_key, printable


def folder_source(path: Path, options: ReadOptions) -> TextSource:
    """Check the folder and list its files in sorted order. Raises `InputError` when there are none."""
    no_columns(path, "a folder of text files", options)
    check_encoding(options.encoding, line_file=False)
    files = tuple(list_files(path))
    if not files:
        raise InputError(f"{path} holds no files to read (hidden files are not read).")

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        for ordinal, file in enumerate(files[skip:], start=skip):
            text = _text(file, options.encoding)
            if isinstance(text, Defect):
                yield text
            else:
                name = printable(file.relative_to(path).as_posix())
                yield TextRecord(name, document_key(ordinal), text)

    return TextSource(files, options.unit, records, total=len(files))


def list_files(folder: Path) -> list[Path]:
    """Regular files under `folder`, sorted; hidden ones and links are left out (a document must not count twice)."""
    found = []
    with reading(folder):
        os.scandir(folder).close()  # os.walk swallows the error of a folder it may not list
        for directory, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths = (os.path.join(directory, name) for name in names if not name.startswith("."))
            found += [Path(path) for path in paths if _is_file(path)]
    return sorted(found, key=os.fspath)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _text(file: Path, encoding: str | None) -> str | Defect:
    try:
        with open(file, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError:
        return Defect.UNREADABLE
    return decode(raw, encoding)
