"""Imports between the folders point down only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_import_points_down() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


def test_an_import_that_points_up_is_found(tmp_path: Path) -> None:
    house = tmp_path / "house"
    for folder in ("upper", "lower"):
        (house / folder).mkdir(parents=True)
        (house / folder / "__init__.py").touch()
    (house / "__init__.py").touch()
    (house / "lower" / "room.py").write_text("import house.upper\n")
    (tmp_path / ".importlinter").write_text(
        "[importlinter]\nroot_package = house\n"
        "[importlinter:contract:arrows]\nname = arrows\ntype = layers\nlayers =\n    house.upper\n    house.lower\n"
    )
    result = lint(tmp_path)
    assert result.returncode != 0
    assert " 1 broken" in result.stdout, result.stdout + result.stderr
