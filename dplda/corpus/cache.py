"""The cache of prepared stores, keyed by what was read and how."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import platformdirs

from dplda.corpus.partial import sweep
from dplda.corpus.store import VERSION
from dplda.errors import InputError
from dplda.text.files import reading

STALE_SECONDS = 86_400  # a partial store this old is not resumed


def cache_folder(cache: str | Path | None = None) -> Path:
    """`cache`, else ``$DPLDA_CACHE``, else the user's cache folder; made with mode 0700 if missing.

    Raises `InputError` if it cannot be made.
    """
    root = Path(cache or os.environ.get("DPLDA_CACHE") or platformdirs.user_cache_dir("dplda"))
    folder = root.expanduser() / "stores"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise InputError(f"Cannot use the cache folder {folder}: {error.strerror}. Set DPLDA_CACHE.") from None
    sweep(folder, STALE_SECONDS)  # it is private text
    return folder


def source_key(path: Path, files: Iterable[Path], options: dict[str, Any]) -> str:
    """Name of the store of `path` read with `options`: changes when a file's path, size or time does."""
    digest = hashlib.sha256(json.dumps([VERSION, os.path.realpath(path), options], sort_keys=True).encode())
    with reading(path):
        for file in files:
            status = os.stat(file)
            stamp = f"\0{status.st_size}\0{status.st_mtime_ns}\n"
            digest.update(os.fsencode(file) + stamp.encode())
    return digest.hexdigest()[:40]
