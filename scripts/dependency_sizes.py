"""Print what docs/dependencies.md says of the sizes of dplda's dependencies, as they are installed beside this Python.

For each package: its own megabytes, the megabytes of what only it brings, its version, its licence, and whether a plain
`dplda fit` loads it. Sizes are those of the files that the installer recorded, bytecode included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FIT = """
import sys
from dplda.cli.main import cli
reading = ["sample/sample.jsonl.gz", "--text-field", "text", "--unit", "document"]
cli(["corpus", "sample", "sample", "--documents", "4000"], standalone_mode=False)
cli(["fit", *reading, "--topics", "4", "--quiet", "--ledger", "ledger.db"], standalone_mode=False)
print()
print(*sys.modules)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extra", nargs="?", help="list what this extra adds, instead of what dplda always needs")
    extra: str | None = parser.parse_args().extra
    base = closure(needed("dplda")) if extra else frozenset()
    listed = needed("dplda", extra or "") - base
    loaded = frozenset() if extra else loaded_by_a_fit()
    for name in sorted(listed):
        brought = closure(listed) - closure(listed - {name}) - base - {name}
        found = installed(name)
        told = (found.version, licence(found)) if found else ("not installed", "")
        print(name, f"{size([name]):.1f}", f"{size(brought):.1f}", *told, name in loaded, sep=" | ")
    print(f"Together, with all that they need: {size(closure(listed) - base):.0f} MB")


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


@cache
def needed(name: str, extra: str = "") -> frozenset[str]:
    """The packages that `name`, with its `extra`, asks for on this machine; none if it is not installed."""
    found = installed(name)
    wanted = map(Requirement, (found.requires if found else None) or [])
    chosen = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": extra})]
    names = {str(canonicalize_name(one.name)) for one in chosen}
    return frozenset(
        names.union(*(needed(one.name, asked) - needed(one.name) for one in chosen for asked in one.extras))
    )


def closure(names: Iterable[str]) -> frozenset[str]:
    """`names` and all that they need."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        found |= waiting
        waiting = {new for name in waiting for new in needed(name)} - found
    return frozenset(found)


def size(names: Iterable[str]) -> float:
    """Megabytes of the files of packages."""
    packages = (found for name in names if (found := installed(name)))
    paths = {Path(str(file.locate())) for found in packages for file in found.files or []}
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def licence(found: Distribution) -> str:
    """The licence as the package states it, in one line."""
    stated = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    classified = [line.split(" :: ")[-1] for line in found.metadata.get_all("Classifier") or [] if "License" in line]
    return stated if stated and "\n" not in stated and len(stated) < 80 else ", ".join(classified)


def loaded_by_a_fit() -> frozenset[str]:
    """The packages of which a plain fit imports modules."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", FIT]
        told = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    modules = {name.split(".")[0] for name in told.splitlines()[-1].split()}
    return frozenset(
        str(canonicalize_name(package))
        for module, packages in packages_distributions().items()
        if module in modules
        for package in packages
    )


if __name__ == "__main__":
    main()
