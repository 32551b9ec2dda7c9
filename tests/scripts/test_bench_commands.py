"""The command line knows what the modules know, and starts without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import commands, recovery, utility, variational
from benchmarks.audit import membership
from click.testing import CliRunner

from dplda.placements import registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["scripts/benchmarks", "scripts/reproduce", "tests/fuzz"])
def test_a_package_starts_as_a_folder(package: str) -> None:
    done = subprocess.run([sys.executable, package, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Usage: python {package}")


@pytest.mark.parametrize("name", commands.cli.commands)
def test_every_command_says_what_it_measures_and_how_long_it_takes(name: str) -> None:
    told = CliRunner().invoke(commands.cli, [name, "--help"], terminal_width=500)
    assert told.exit_code == 0
    assert "Take" in told.output
    assert len(commands.cli.commands[name].get_short_help_str(200)) <= 64


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from benchmarks import commands; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_choices_are_those_that_the_modules_know() -> None:
    assert tuple(utility.SYSTEMS) == commands.SYSTEMS
    assert tuple(recovery.SYSTEMS) == commands.PEERS
    assert tuple(membership.SYSTEMS) == commands.ATTACKED
    assert all(registry.find(name, registry.SOUND).split for name in commands.SPLIT)


def test_defaults_are_those_that_the_modules_know() -> None:
    defaults = {option.name: option.default for option in commands.cli.commands["utility"].params}
    assert (defaults["rounds"], defaults["clip"]) == (variational.ROUNDS, variational.CLIP)


@pytest.mark.parametrize(("given", "message"), [("1,x", "could not convert"), ("", "could not convert")])
def test_a_list_that_is_none_is_refused(given: str, message: str) -> None:
    told = CliRunner().invoke(commands.cli, ["splits", "--synthetic", "9,9,3", "--epsilons", given])
    assert told.exit_code == 2
    assert message in told.output
