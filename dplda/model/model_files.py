"""Model folders: `model.json` and `topics.npz`, without pickles and timestamps, written wholly or not at all.

Disk space is reserved before any budget is spent, so that a full disk costs no budget.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplda.base.errors import InputError
from dplda.budget.events import PrivacyStatement
from dplda.model.released_counts import CountSums, ReleasedCounts
from dplda.model.topic_model import TopicModel

TEXT_FILE = "model.json"
_ARRAY_FILE = "topics.npz"
_TOPICS = ("topics", "prevalence")
_COUNTS = ("counts", "counts_variance", "counts_weight", "frequencies", "frequencies_std")
_RESERVED = ".reserved-space"
_FORMAT, _FORMAT_VERSION = "dplda-model", 1
_BLOCK = 1 << 20


def save(model: TopicModel, directory: str | Path) -> None:
    """Write `model` into `directory`, which is new or contains only reserved space (`reserve_space`).

    `model.json` is renamed into place last, so a folder that has it is complete. Raises `InputError` if it
    cannot be written.
    """
    folder = Path(directory)
    _prepare_folder(folder)
    arrays = io.BytesIO()
    np.savez(arrays, allow_pickle=False, **_arrays_of(model))
    record = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "arrays_sha256": hashlib.sha256(arrays.getvalue()).hexdigest(),
        "vocabulary": model.vocabulary,
        "privacy": model.privacy.to_json(),
        "parameters": dict(model.parameters),
    }
    try:
        (folder / _RESERVED).unlink(missing_ok=True)
        write_atomically(folder / _ARRAY_FILE, arrays.getvalue())
        write_atomically(folder / TEXT_FILE, _json(record))
    except OSError as error:
        raise InputError(
            f"cannot write the model into {folder}: {error.strerror or error}. Free some space or check "
            "the folder's permissions, then save again. (After a fit: what the run charged stays spent.)"
        ) from None


def save_parameters(model: TopicModel, directory: str | Path) -> None:
    """Replace the parameters of the model saved in `directory` by the parameters of `model`, which has the same arrays.

    Raises `InputError` if they cannot be written.
    """
    path = Path(directory) / TEXT_FILE
    try:
        record = _parse(Path(directory), path.read_bytes()) | {"parameters": dict(model.parameters)}
        write_atomically(path, _json(record))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None


def _json(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def load(directory: str | Path) -> TopicModel:
    """Read a model written by `save`. Every field is checked and no code in the files is run.

    Raises `InputError` if the folder is missing, incomplete, altered or not a model.
    """
    folder = Path(directory)
    if not os.path.isfile(folder / TEXT_FILE):
        raise InputError(f"{folder} is not a model folder (no {TEXT_FILE}). List runs with `dplda runs`.")
    try:
        raw = (folder / TEXT_FILE).read_bytes()
        arrays = (folder / _ARRAY_FILE).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the model in {folder}: {error.strerror or error}.") from None
    record = _parse(folder, raw)
    if hashlib.sha256(arrays).hexdigest() != record.get("arrays_sha256"):
        _corrupt(folder, f"{_ARRAY_FILE} does not match {TEXT_FILE}")
    found = _arrays(folder, arrays)
    try:
        return TopicModel(
            topics=found["topics"],
            prevalence=found["prevalence"],
            counts=_counts(found),
            vocabulary=_expect(record["vocabulary"], list),
            privacy=_statement(_expect(record["privacy"], dict)),
            parameters=_expect(record["parameters"], dict),
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        _corrupt(folder, error if isinstance(error, InputError) else "fields are missing or of the wrong type")


def reserve_space(directory: str | Path, n_bytes: int) -> None:
    """Create the model folder and allocate `n_bytes` of disk in it; `save` releases them.

    Raises `InputError` if the folder holds other files or cannot be created, or if the disk is full; a folder created
    here is then removed.
    """
    folder = Path(directory)
    is_new = not os.path.exists(folder)
    _prepare_folder(folder)
    try:
        _allocate(folder / _RESERVED, n_bytes)
    except OSError as error:
        if is_new:
            release_space(folder)
        else:
            (folder / _RESERVED).unlink(missing_ok=True)
        megabytes = -(-n_bytes // 10**6)
        raise InputError(
            f"cannot set aside {megabytes} MB for the model in {folder}: {error.strerror or error}. "
            "Nothing was spent. Free some space or choose another folder with --out."
        ) from None


def release_space(directory: str | Path) -> None:
    """Release reserved space after a run without a model, and remove an empty folder. Never raises."""
    folder = Path(directory)
    with contextlib.suppress(OSError):
        (folder / _RESERVED).unlink(missing_ok=True)
        folder.rmdir()


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write `content` to a temporary file, sync it and rename it to `path`. Raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def refuse_existing(*paths: Path) -> None:
    """Raise `InputError` if one of `paths` exists."""
    for path in paths:
        if os.path.exists(path):
            raise InputError(f"{path} exists already. Choose another destination or remove it first.")


def _prepare_folder(folder: Path) -> None:
    """Create `folder`, or raise `InputError` if it exists and contains anything but reserved space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = any(entry.name != _RESERVED for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot create the model folder {folder}: {error.strerror or error}.") from None
    if foreign:
        raise InputError(f"{folder} is not empty. Choose a new folder with --out, or remove it first.")


def _allocate(path: Path, n_bytes: int) -> None:
    """Create the file `path` with `n_bytes` allocated on disk."""
    with path.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(n_bytes, 1))
        except AttributeError:  # missing on some platforms: write zeros instead
            for start in range(0, n_bytes, _BLOCK):
                file.write(bytes(min(_BLOCK, n_bytes - start)))
        file.flush()
        os.fsync(file.fileno())


def _parse(folder: Path, raw: bytes) -> dict[str, Any]:
    """Parse `model.json` and check its format and version."""
    try:
        record: dict[str, Any] = _expect(json.loads(raw, parse_constant=_no_constant), dict)
        json.dumps(record, ensure_ascii=False).encode()  # refuses lone surrogates, which no file can hold
    except (ValueError, TypeError, RecursionError):
        _corrupt(folder, f"{TEXT_FILE} is not the JSON of a model")
    if record.get("format") != _FORMAT:
        _corrupt(folder, f"{TEXT_FILE} was not written by dplda")
    if record.get("format_version") != _FORMAT_VERSION:
        raise InputError(
            f"the model in {folder} is not of format version {_FORMAT_VERSION}, which this dplda reads. "
            "Use the dplda that wrote it."
        )
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _arrays(folder: Path, content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of the file with this `content`: topics, prevalence and, if it has any, the counts (`_COUNTS`)."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > len(content):
                raise ValueError("compressed, which `save` never does")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            names = _TOPICS + (_COUNTS if _COUNTS[0] in file else ())
            found = {name: file[name] for name in names}
    except (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile):
        _corrupt(folder, f"{_ARRAY_FILE} does not hold the arrays of a model")
    if any(array.dtype != np.float64 for array in found.values()):
        _corrupt(folder, f"{_ARRAY_FILE} must hold 64-bit floating point arrays")
    return found


def _arrays_of(model: TopicModel) -> dict[str, NDArray[np.float64]]:
    """The arrays that are saved: topics, prevalence and, if the model has any, the counts (`_COUNTS`)."""
    arrays = {"topics": model.topics, "prevalence": model.prevalence}
    if model.counts is None:
        return arrays
    sums, counts = model.counts.sums, model.counts
    released = sums.total, sums.variance, np.array(sums.weight), counts.frequencies, counts.frequency_std
    return arrays | dict(zip(_COUNTS, released, strict=True))


def _counts(found: dict[str, NDArray[Any]]) -> ReleasedCounts | None:
    """The released counts among the arrays `found`, None without them."""
    if _COUNTS[0] not in found:
        return None
    total, variance, weight, frequencies, frequency_std = (found[name] for name in _COUNTS)
    return ReleasedCounts(CountSums(total, variance, weight.item()), frequencies, frequency_std)


def _statement(record: dict[str, Any]) -> PrivacyStatement:
    """The privacy statement, with its types and ranges checked."""
    for text in (record["unit"], record["adjacency"], record.get("reason", "")):
        _expect(text, str)
    _expect(record["sound"], bool)
    statement = PrivacyStatement.from_json(record)
    for number in (statement.epsilon, statement.delta):
        _expect(number, (int, float))
    if statement.epsilon < 0 or not 0 <= statement.delta < 1:
        raise ValueError("epsilon or delta out of range")
    return statement


def _expect(value: Any, expected: type | tuple[type, ...]) -> Any:
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise TypeError("wrong type")
    return value


def _corrupt(folder: Path, why: object) -> NoReturn:
    raise InputError(f"the model in {folder} cannot be used: {why}. Fetch a fresh copy of the folder.") from None
