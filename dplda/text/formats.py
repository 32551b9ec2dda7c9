"""Choose the reader of a path by its name, or by the format that the user declares.

`_TABLES` and `_FILES` map formats to readers, and `_ENDINGS` file name extensions to formats. Kinds of single documents
(PDF, Word, e-mail such as ``.eml``, ...) are not formats: they are in `_KINDS` in `dplda.text.documents`.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dplda.base.errors import InputError
from dplda.text.compression import check_parts, is_archive, list_members, without_compression
from dplda.text.counted_files import mtx_source, npz_source, uci_source
from dplda.text.delimited import delimited_source
from dplda.text.documents import DOCUMENT_ENDINGS, is_document, missing_extractors
from dplda.text.files import common_name
from dplda.text.folder import (
    PATTERN_SEPARATOR,
    archive_source,
    choose_files,
    document_source,
    folder_source,
    list_files,
)
from dplda.text.json_lines import json_source, lines_source
from dplda.text.records import ReadOptions, Source, TextSource
from dplda.text.spreadsheets import spreadsheet_source
from dplda.text.tables import parquet_source

_TABLES: dict[str, Callable[[Sequence[Path], ReadOptions], TextSource]] = {  # may consist of several files
    "jsonl": partial(json_source, arrays=False),
    "json": partial(json_source, arrays=True),
    "csv": partial(delimited_source, tabs=False),
    "tsv": partial(delimited_source, tabs=True),
    "parquet": parquet_source,
    "spreadsheet": spreadsheet_source,
    "lines": lines_source,
}
_FILES: dict[str, Callable[[Path, ReadOptions], Source]] = {
    "uci": uci_source,
    "mtx": mtx_source,
    "npz": npz_source,
    "document": document_source,
}
_FOLDER = "folder"  # each file is a document
FORMATS = (_FOLDER, *_TABLES, *_FILES)
_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".xlsx": "spreadsheet",
    ".xlsm": "spreadsheet",
    ".ods": "spreadsheet",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".npz": "npz",
}
_PLAIN = (".txt", ".text")
_DELTA_LOG = "_delta_log"
_OTHER_WORKBOOKS = (".xls", ".xlsb", ".numbers")
_UNREADABLE = (  # as documents
    *_OTHER_WORKBOOKS,
    *(".doc", ".xlsx", ".xlsm", ".ods", ".ppt", ".pptx", ".msg", ".pst", ".epub", ".pages", ".mdb", ".sqlite", ".db"),
    *(".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".mp3", ".mp4", ".wav", ".exe"),
)
_LISTED_ENDINGS = 10  # maximum number of endings in a suggested pattern
_ABOUT = ("readme", "license", "licence")  # files that describe a table in parts


class Located(NamedTuple):
    """The format of a corpus and its files."""

    format: str
    files: list[Path]
    root: Path  # the folder, if each file is a document
    archive: Path | None = None  # that the files are in

    @property
    def is_folder(self) -> bool:
        """Whether each file is a document."""
        return self.format == _FOLDER


def open_source(paths: Path | Sequence[Path], options: ReadOptions, format: str | None = None) -> Source:
    """Check a path, or several files of one kind, and return the source of their documents.

    Reads no documents. Raises `InputError` if a path is missing, the format unknown, or a check of the reader fails.
    """
    return open_located(locate(paths, options, format), options)


def open_located(located: Located, options: ReadOptions) -> Source:
    """Return the source of files whose format is known. Raises `InputError` if a check of the reader fails."""
    format, files, root, archive = located
    if options.sheet is not None and format != "spreadsheet":
        raise InputError(f"--sheet (sheet) names a sheet of a workbook, and {files[0]} is not one. Leave it out.")
    if located.is_folder:
        return folder_source(root, files, options) if archive is None else archive_source(archive, files, options)
    if archive is not None:  # whose size and time stand for those of the files in it
        check_parts(archive, len(files))
        return replace(_TABLES[format](files, options), files=(archive,))
    return _TABLES[format](files, options) if format in _TABLES else _FILES[format](files[0], options)


def locate(paths: Path | Sequence[Path], options: ReadOptions, format: str | None = None) -> Located:
    """Find the files of a corpus and their format, by names and options alone. Raises `InputError`."""
    files = [paths] if isinstance(paths, Path) else list(paths)
    for path in files:
        if not os.path.exists(path):  # Path.exists raises without permission
            raise InputError(f"{path} does not exist. Check the path.")
    if format is not None and format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    path = files[0]
    if len(files) == 1 and (os.path.isdir(path) or is_archive(path)):
        return _locate_folder(path, options, format)
    if options.pattern is not None:
        raise InputError(f"pattern chooses files of a folder, and {path} is a file. Leave it out.")
    if len(files) > 1:
        return _locate_several(files, format)
    format = format or _guess_format(path)
    if format == _FOLDER:
        raise InputError(
            f"format 'folder' reads a folder, and {path} is a file. Name the folder, or leave --format out."
        )
    return Located(format, files, path.parent)


def _locate_several(files: list[Path], format: str | None) -> Located:
    """Several files as one table, or as one document each with the format ``"folder"``."""
    folder = next((file for file in files if os.path.isdir(file) or is_archive(file)), None)
    if folder is not None:
        what = "an archive" if is_archive(folder) else "a folder"
        raise InputError(f"{folder} is {what}, and other paths are named with it. Name it alone, or files alone.")
    if format == _FOLDER:
        files = [Path(os.path.abspath(file)) for file in files]
        return Located(_FOLDER, files, Path(os.path.commonpath([file.parent for file in files])))
    formats = {format or _guess_format(file) for file in files}
    if len(formats) > 1:
        raise InputError(
            f"The files are of several kinds ({', '.join(sorted(formats))}). Name files of one kind, or give --format "
            "folder to read each file as one document."
        )
    format = formats.pop()
    if format not in _TABLES:
        way = "Name their folder, with --pattern to choose files" if format == "document" else "Name one of them"
        raise InputError(f"format {format!r} reads a single file, and {len(files)} are named. {way}.")
    return Located(format, files, files[0].parent)


def _guess_format(path: Path) -> str:
    """Return the format of a file by its name. Raises `InputError` if no format fits."""
    guess = "document" if is_document(path) or path.suffix.lower() == ".md" else _named_format(path)
    if guess is None and without_compression(path).suffix.lower() in _PLAIN:
        raise InputError(
            f"{path} may hold one document or one in each line. If each line is a document, give --format lines; if "
            "each file is one, name its folder, or several files with --format folder."
        )
    if guess is None and without_compression(path).suffix.lower() in _OTHER_WORKBOOKS:
        raise InputError(f"{path} is a workbook of a kind without a reader. Open it and save it as .xlsx, .ods or CSV.")
    if guess is None:
        raise InputError(f"The format of {path} cannot be told from its name. Give --format: {', '.join(FORMATS)}.")
    return guess


def default_name(paths: Path | Sequence[Path]) -> str:
    """Return the name of a dataset: the file's without endings, the folder's, or what several files have in common."""
    if not isinstance(paths, Path) and len(paths) > 1:
        return common_name(paths, [default_name(path) for path in paths])
    path = paths if isinstance(paths, Path) else paths[0]
    if os.path.isdir(path):
        return path.resolve().name or "corpus"
    name = without_compression(path).name
    if is_archive(path):
        return name.removesuffix(Path(name).suffix) or "corpus"
    if name.startswith("docword."):
        name = name.removeprefix("docword.").removesuffix(".txt")
    elif Path(name).suffix.lower() in {*_ENDINGS, *DOCUMENT_ENDINGS, ".txt", ".md"}:
        name = Path(name).stem
    return name or "corpus"


def _locate_folder(folder: Path, options: ReadOptions, format: str | None) -> Located:
    """Return a folder of documents, or one table in several files, by the names of the files alone."""
    if format in _FILES:
        raise InputError(f"format {format!r} reads a single file, and {folder} is a folder. Name a file in it.")
    archive = folder if is_archive(folder) else None
    if archive is None:
        files = list_files(folder, options.pattern)
    else:
        files = choose_files(archive, list_members(archive), options.pattern)
    format = format or _common_format(folder, files)
    if format == _FOLDER:
        packed = next((file for file in files if archive is not None and is_document(file)), None)
        if packed is not None:
            raise InputError(f"{packed} is a document in an archive. Unpack the archive and name the folder.")
        _refuse_unreadable(folder, files)
        return Located(format, files, folder, archive)
    if os.path.isdir(folder / _DELTA_LOG):
        raise InputError(
            f"{folder} is a Delta Lake table, whose folder also holds rows that were deleted. Write its current rows "
            "to a folder of Parquet files, and name that."
        )
    parts = [file for file in files if not _is_about(file, folder)]
    if not parts:
        raise InputError(
            f"{folder} holds only files that describe data (README, LICENSE, names that begin with _), "
            "and no table. Name the table's file or folder."
        )
    return Located(format, parts, folder, archive)


def _refuse_unreadable(folder: Path, files: Sequence[Path]) -> None:
    """Raise `InputError` if files have endings of programs whose files are not text, or have no reader."""
    unreadable = [file for file in files if file.suffix.lower() in _UNREADABLE]
    if unreadable:
        endings = Counter(file.suffix.lower() for file in unreadable)
        listed = ", ".join(f"{n:,} {ending}" for ending, n in endings.most_common())
        others = {file.suffix for file in files} - {file.suffix for file in unreadable} - {""}
        pattern = PATTERN_SEPARATOR.join(f"*{ending}" for ending in sorted(others)[:_LISTED_ENDINGS])
        choose = f", or read others, as with --pattern {shlex.quote(pattern)}" if pattern else ""
        missing = f"{lacking} " if (lacking := missing_extractors(files)) else ""
        raise InputError(
            f"{folder} holds files that are not text and have no reader ({listed}), such as "
            f"{unreadable[0].relative_to(folder)}. Move them out of the folder, or convert them to text, PDF or .docx"
            f"{choose}. {missing}(The counts are exact, not private, not for publication.)"
        )


def _common_format(folder: Path, files: Sequence[Path]) -> str:
    """Return the format of all `files`; ``"folder"`` if they are documents. Raises `InputError` if they are mixed."""
    if not any(map(_named_format, files)):
        return _FOLDER
    parts = {_named_format(file) for file in files if not _is_about(file, folder)}
    format = parts.pop() if len(parts) == 1 else None
    if format in _TABLES:
        return format
    formats = Counter(map(_named_format, files))
    listed = ", ".join(f"{n:,} {format or 'other'}" for format, n in sorted(formats.items(), key=str))
    tables_first = sorted(files, key=lambda file: _named_format(file) not in _TABLES)
    endings = [file.name.removeprefix(without_compression(file).stem) for file in tables_first if file.suffix]
    choose = ""
    if _named_format(tables_first[0]) in _TABLES:
        usual, _ = Counter(endings).most_common(1)[0]
        choose = f", choose some with --pattern '*{usual}'"
    raise InputError(
        f"{folder} mixes kinds of files ({listed}). Name one file{choose}, or give --format folder to read "
        "each file as one document. (The counts are exact, not private, not for publication.)"
    )


def _is_about(file: Path, folder: Path) -> bool:
    """Whether `file` in `folder` describes the data beside it, by its name: README, LICENSE, _SUCCESS, _temporary/0."""
    hidden = any(part.startswith("_") for part in file.relative_to(folder).parts)
    return hidden or file.name.split(".")[0].lower() in _ABOUT


def _named_format(path: Path) -> str | None:
    plain = without_compression(path)
    return "uci" if plain.name.startswith("docword.") else _ENDINGS.get(plain.suffix.lower())
