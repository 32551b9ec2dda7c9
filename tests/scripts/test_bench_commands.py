"""The command line knows what the modules know, and starts without them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from full_helpers import full_after

from benchmarks import commands, options, rare, recovery, systems, utility, variational
from benchmarks.audit import poisoning
from reproduce.commands import cli as reproductions

ROOT = Path(__file__).resolve().parents[2]
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
DOCUMENTED = re.findall(r"^python scripts/(benchmarks|reproduce) (.*)$", PAGES, re.MULTILINE)


@pytest.mark.parametrize("package", full_after(1, ["scripts/benchmarks", "scripts/reproduce", "tests/fuzz"]))
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
    assert tuple(utility.SYSTEMS) == options.SYSTEMS
    assert tuple(recovery.SYSTEMS) == options.PEERS
    assert rare.GIVEN == options.RARE_GIVEN
    assert (tuple(poisoning.SYSTEMS), tuple(poisoning.ADJACENCY)) == (options.POISONED, options.POISON_QUESTIONS)


def test_defaults_are_those_that_the_modules_know() -> None:
    defaults = {
        name: {option.name: option.default for option in commands.cli.commands[name].params}
        for name in ("utility", "fit")
    }
    assert (defaults["utility"]["rounds"], defaults["utility"]["clip"]) == (variational.ROUNDS, variational.CLIP)
    assert (defaults["fit"]["sweeps"], defaults["fit"]["passes"]) == (systems.SWEEPS, systems.PASSES)
    epsilons = defaults["utility"]["epsilons"].split(",")
    assert tuple(map(options.epsilon_or_none, epsilons)) == utility.EPSILONS


@pytest.mark.parametrize(("given", "message"), [("1,x", "could not convert"), ("", "could not convert")])
def test_a_list_that_is_none_is_refused(given: str, message: str) -> None:
    told = CliRunner().invoke(commands.cli, ["splits", "--synthetic", "9,9,3", "--epsilons", given])
    assert told.exit_code == 2
    assert message in told.output


@pytest.mark.parametrize(("package", "given"), DOCUMENTED, ids=[" ".join(words) for words in DOCUMENTED])
def test_documented_commands_and_options_exist(package: str, given: str) -> None:
    group: click.Group = {"benchmarks": commands.cli, "reproduce": reproductions}[package]
    name, *arguments = shlex.split(given, comments=True)
    if name != "--help":
        command = group.commands[name]
        command.make_parser(click.Context(command)).parse_args(arguments)


@pytest.mark.parametrize("name", reproductions.commands)
def test_every_claim_has_its_figure_and_its_place_in_the_documentation(name: str) -> None:
    assert (ROOT / "docs" / "figures" / f"papers-{name}.svg").exists()
    assert ("reproduce", name) in DOCUMENTED


@pytest.mark.parametrize("name", commands.cli.commands)
def test_every_benchmark_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGES or any(
        package == "benchmarks" and given.split()[0] == name for package, given in DOCUMENTED
    )
