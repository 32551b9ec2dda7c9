"""Which reader a path gets: by its name alone, or by the format the user declares."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dplda.errors import InputError
from dplda.text.columns import ReadOptions
from dplda.text.delimited import delimited_source, mallet_source
from dplda.text.folder import folder_source
from dplda.text.jsonlines import jsonl_source
from dplda.text.matrix import npz_source
from dplda.text.pairs import ldac_source, svmlight_source
from dplda.text.parquet import parquet_source
from dplda.text.records import Source
from dplda.text.triples import mtx_source, uci_source

READERS: dict[str, Callable[[Path, ReadOptions], Source]] = {
    "folder": folder_source,
    "jsonl": jsonl_source,
    "csv": partial(delimited_source, delimiter=","),
    "tsv": partial(delimited_source, delimiter="\t"),
    "parquet": parquet_source,
    "mallet": mallet_source,
    "uci": uci_source,
    "mtx": mtx_source,
    "lda-c": ldac_source,
    "svmlight": svmlight_source,
    "npz": npz_source,
}
FORMATS = tuple(READERS)
_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".mallet": "mallet",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".ldac": "lda-c",
    ".lda-c": "lda-c",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}


def guess_format(path: Path) -> str:
    """The format `path` has by its name (a folder is a folder of texts). Raises `InputError` if none fits."""
    if os.path.isdir(path):
        return "folder"
    plain = _ungzipped(path)
    if plain.name.startswith("docword."):
        return "uci"
    guess = _ENDINGS.get(plain.suffix.lower())
    if guess is None:
        raise InputError(f"The format of {path} cannot be told from its name. Give --format: {', '.join(FORMATS)}.")
    return guess


def open_source(path: Path, options: ReadOptions, format: str | None = None) -> Source:
    """Run the public checks of `path` and return its source, of which nothing else has been read.

    Raises `InputError` if the path is missing, the format unknown, or the reader's own checks fail.
    """
    if not os.path.exists(path):  # False, not an exception, where the path may not be looked at
        raise InputError(f"{path} does not exist. Check the path.")
    if format is not None and format not in READERS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    chosen = format or guess_format(path)
    if os.path.isdir(path) != (chosen == "folder"):
        raise InputError(
            f"{path} is {'a folder' if os.path.isdir(path) else 'a file'}, which format {chosen!r} is not."
        )
    return READERS[chosen](path, options)


def default_name(path: Path) -> str:
    """Name of the dataset at `path`: the file's name without endings, or the folder's name."""
    if os.path.isdir(path):
        return path.resolve().name or "corpus"
    name = _ungzipped(path).name
    if name.startswith("docword."):
        name = name.removeprefix("docword.").removesuffix(".txt")
    elif Path(name).suffix.lower() in {*_ENDINGS, ".txt"}:
        name = Path(name).stem
    return name or "corpus"


def _ungzipped(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path
