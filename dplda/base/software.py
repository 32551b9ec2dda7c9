"""Which software made a run: digests of dplda's code and of the libraries that decide what it releases.

docs/verify.md says how to compute each digest without dplda, and how to find the release that a run was made with.
"""

from __future__ import annotations

import csv
import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
READ_WITH = (  # from bytes to words: files, tokens, dictionaries
    *("pyarrow", "spacy", "spacy-lookups-data", "wordfreq", "python-calamine"),
    *("pypdf", "defusedxml", "striprtf", "google-re2"),
    *("rjieba", "sudachipy", "sudachidict-core", "kiwipiepy", "kiwipiepy-model", "pythainlp"),
)
_LIBRARIES = (
    *("opendp", "dp-accounting"),  # the noise, and the epsilon that it is worth
    *("numpy", "scipy", "array-api-compat", "cupy-cuda12x"),  # arithmetic
    *("numba", "llvmlite"),  # compile the kernels that bound and sum the contributions of units
    *("dask", "distributed"),  # add sums of a cluster
    *("sqlalchemy", "filelock"),  # the ledger, which admits and charges a run
    *READ_WITH,
    "tzdata",  # the day of a document, and so its group
)
_OF_THE_INSTALLER = {"INSTALLER", "REQUESTED", "direct_url.json", "provenance_url.json", "uv_cache.json"}
_SHORT = 16  # digits of a digest that people read


def digest(files: Iterable[Path], root: Path) -> str:
    """Hash the names of `files` below `root`, and their contents, in any order: SHA-256, 64 hexadecimal digits.

    It is the digest of the lines that ``sha256sum`` prints for the files, sorted by name.
    """
    named = sorted((file.relative_to(root).as_posix(), file) for file in files)
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n" for name, file in named)
    return _sha256("".join(lines))


@cache
def code_digest() -> str:
    """Return the `digest` of all files of the installed package dplda, without bytecode."""
    return digest((path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts), PACKAGE)


def version() -> str:
    """Return the version of the running package dplda."""
    return str(sys.modules[PACKAGE.name].__version__)


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those distributions in `names` that are installed."""
    return {name: found.version for name in names if (found := _installed(name)) is not None}


def installed_software(noise: str) -> dict[str, Any]:
    """Return the software of this process, as plain JSON; `noise` names the source of its noise.

    It depends on the installation only, and contains no names of folders, machines or users.
    """
    return {
        "dplda": version(),
        "code": code_digest(),
        "python": platform.python_version(),
        "system": f"{platform.system()}-{platform.machine()}",
        "noise": noise,
        "libraries": {name: dict(facts) for name, facts in _libraries().items()},
    }


def software_of(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the software that made a run, by its recorded `parameters`; None if its version did not record it."""
    found = parameters.get("software")
    return found if isinstance(found, dict) else None


def describe(made_by: Mapping[str, Any]) -> str:
    """Return the version and the first digits of the code digest, as text for people."""
    return f"dplda {made_by.get('dplda')}, code {_short(made_by.get('code'))}"


def differences(made_by: Mapping[str, Any], present: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List how the software of a run differs from the `present` installation: name, then, now."""
    then, now = _flat(made_by), _flat(present)
    names = dict.fromkeys((*now, *then))
    return [(name, then.get(name, "none"), now.get(name, "none")) for name in names if then.get(name) != now.get(name)]


def _flat(made_by: Mapping[str, Any]) -> dict[str, str]:
    libraries = made_by.get("libraries")
    facts = {name: str(made_by.get(name)) for name in ("dplda", "python", "system", "noise")}
    facts["code"] = _short(made_by.get("code"))
    for name, library in libraries.items() if isinstance(libraries, dict) else ():
        if isinstance(library, dict):
            facts[str(name)] = f"{library.get('version')}, digest {_short(library.get('digest'))}"
    return facts


def _short(digits: object) -> str:
    return digits[:_SHORT] if isinstance(digits, str) else "none"


@cache
def _libraries() -> dict[str, dict[str, str | None]]:
    """Return the version and digest of each installed library that decides what a run releases."""
    found = {name: _installed(name) for name in sorted(_LIBRARIES)}
    return {name: {"version": each.version, "digest": _library_digest(each)} for name, each in found.items() if each}


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _library_digest(distribution: metadata.Distribution) -> str | None:
    """Return SHA-256 of the sorted lines of RECORD, which lists the hash of each file of the distribution.

    Lines about files that an installer writes are left out: bytecode, notes of the installer, and scripts, which
    contain the path of the environment. What remains is the wheel's own list, so that the digest is the same on every
    machine. None for a distribution without a list, or one that is installed as a link to a folder.
    """
    record = distribution.read_text("RECORD")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if record is None or origin.get("dir_info", {}).get("editable"):
        return None
    rows = (row for row in csv.reader(record.splitlines()) if len(row) == 3 and row[1])

    def is_of_wheel(name: str) -> bool:
        path = PurePosixPath(name)
        by_installer = path.name in _OF_THE_INSTALLER and path.parent.suffix == ".dist-info"
        return not by_installer and not name.startswith(("..", "/"))

    return _sha256("".join(sorted(f"{','.join(row)}\n" for row in rows if is_of_wheel(row[0]))))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
