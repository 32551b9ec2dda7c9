"""Lazy imports of public names, so that the command line starts without compilers and parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for `package`; `homes` maps each public name to its module."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return module if homes[name].rpartition(".")[2] == name else getattr(module, name)

    return find, lambda: sorted(homes)


def load_name(module: str, name: str) -> Any:
    """Import `module` now, and return its public `name`."""
    return getattr(import_module(module), name)
