"""Disk space for a model, reserved before any budget is spent, so that a full disk costs no budget."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dplda.errors import InputError

RESERVED = ".reserved-space"
_BLOCK = 1 << 20


def reserve_space(directory: str | Path, n_bytes: int) -> None:
    """Create the model folder and allocate `n_bytes` of disk in it; `save` gives them back.

    Raises `InputError` if the folder holds other files, cannot be created, or the disk is full; a folder
    made here is then removed again.
    """
    folder = Path(directory)
    made = not os.path.exists(folder)
    prepare_folder(folder)
    try:
        _allocate(folder / RESERVED, n_bytes)
    except OSError as error:
        if made:
            release_space(folder)
        else:
            (folder / RESERVED).unlink(missing_ok=True)
        megabytes = -(-n_bytes // 10**6)
        raise InputError(
            f"cannot set aside {megabytes} MB for the model in {folder}: {error.strerror or error}. "
            "Nothing was spent. Free some space or choose another folder with --out."
        ) from None


def release_space(directory: str | Path) -> None:
    """Give reserved space back after a run without a model; an empty folder is removed. Never raises."""
    folder = Path(directory)
    with contextlib.suppress(OSError):
        (folder / RESERVED).unlink(missing_ok=True)
        folder.rmdir()


def prepare_folder(folder: Path) -> None:
    """Create `folder`, or raise `InputError` if it exists and holds anything but reserved space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = any(entry.name != RESERVED for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot create the model folder {folder}: {error.strerror or error}.") from None
    if foreign:
        raise InputError(f"{folder} is not empty. Choose a new folder with --out, or remove it first.")


def _allocate(path: Path, n_bytes: int) -> None:
    """Make `path` a file of `n_bytes` that are really on the disk."""
    with path.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(n_bytes, 1))
        except AttributeError:  # not every platform has the call; zeros take the room as well
            for start in range(0, n_bytes, _BLOCK):
                file.write(bytes(min(_BLOCK, n_bytes - start)))
        file.flush()
        os.fsync(file.fileno())
