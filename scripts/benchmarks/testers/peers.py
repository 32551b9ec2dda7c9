"""Modules of packages that others published, which dplda does not need: only the module that is asked for is run.

The packages ask for far more than the modules used here import (JAX, Vizier), so that the code of the packages
themselves (`__init__.py`) is not run, and `pip install --no-deps` is enough.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from dplda.base.errors import DpldaError

INSTALL = {
    "jax_privacy": "pip install --no-deps --target PEERS jax_privacy",
    "riskcal": "pip install --no-deps --target PEERS riskcal",
    "dp_auditorium": "git clone https://github.com/google/differential-privacy, then give its folder "
    "python/dp_auditorium as another --peers; pip install --no-deps --target PEERS etils",
    "tensorflow": "pip install --target TENSORFLOW tensorflow-cpu, then give TENSORFLOW as another --peers",
}


class PeerMissing(DpldaError):
    """A package of others is not installed."""


def use(folders: Iterable[Path]) -> None:
    """Look for packages in `folders` too, behind those of the environment of dplda."""
    sys.path.extend(str(folder) for folder in folders if str(folder) not in sys.path)


def load(name: str) -> ModuleType:
    """The module `name`, such as ``jax_privacy.auditing``; raises `PeerMissing` and says how to install it."""
    package, *inner = name.split(".")[:-1]
    try:
        _without_code(package, None)
        for depth in range(len(inner)):
            parent = ".".join([package, *inner[:depth]])
            _without_code(f"{parent}.{inner[depth]}", sys.modules[parent].__path__)
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        absent = (error.name or package).partition(".")[0]
        raise PeerMissing(
            f"{name} cannot be loaded: {absent} is not installed. {INSTALL.get(absent, INSTALL[package])}"
        ) from None


def version(package: str) -> str:
    """The version of an installed or checked-out `package` that was loaded."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        (folder,) = sys.modules[package].__path__
        return (Path(folder).parent / "VERSION").read_text(encoding="utf-8").split()[-1]


def _without_code(package: str, path: Iterable[str] | None) -> None:
    """Register `package`, found in the folders `path`, as a package whose code is not run."""
    if package in sys.modules:
        return
    found = PathFinder.find_spec(package, None if path is None else list(path))
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError(name=package)
    module = ModuleType(package)
    module.__path__ = list(found.submodule_search_locations)
    sys.modules[package] = module
