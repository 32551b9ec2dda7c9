"""The CORPUS argument of commands: a path, a pattern, several files, or standard input. All of it is public."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dplda.base.errors import InputError

STANDARD_INPUT = "-"
_MAGIC = re.compile(r"[*?[]")
_SPOOL = re.compile(r"stdin-([0-9]+)-")
_WORD = re.compile(r"[^\W_\d]+$")
_TAIL = re.compile(r"[\W_\d]+$")  # what a common beginning of names need not have: digits and separators

Named = str | Path | Sequence[str | Path]


def find_paths(named: Named) -> tuple[Path, ...]:
    """The paths that `named` stands for, sorted: each name is a path, or a pattern for the files that match it.

    A name that exists is no pattern. Raises `InputError` if a pattern matches nothing or a file is named twice.
    """
    names: Iterable[str | Path] = [named] if isinstance(named, (str, Path)) else named
    found = [place for name in names for place in _find(Path(name).expanduser())]
    if not found:
        raise InputError("No file is named. Name a file, a folder or a pattern such as 'tickets-*.csv'.")
    if len(found) > 1:
        real = [os.path.realpath(place) for place in found]
        twice = next((place for place, path in zip(found, real, strict=True) if real.count(path) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} is named twice, by itself or by a pattern or link. Name each file once.")
    return tuple(sorted(found, key=os.fspath))


def _find(place: Path) -> list[Path]:
    if not _MAGIC.search(os.fspath(place)) or os.path.lexists(place):
        return [place]
    matches = [Path(match) for match in glob.glob(os.fspath(place), recursive=True)]
    if not matches:
        raise InputError(f"No file matches {place}. Check the pattern.")
    return matches


def common_name(paths: Sequence[Path], stems: Sequence[str]) -> str:
    """A name for several files: the common beginning of their `stems`, else the name of their folder."""
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
