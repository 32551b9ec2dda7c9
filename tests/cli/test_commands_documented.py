from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dplda.cli.main import _COMMANDS, cli
from dplda.cli.options import MODELS, READING_NAMES
from dplda.model import EXPORTERS

DOCUMENT = Path(__file__).parents[2] / "docs" / "commands.md"


def commands(command: click.Command, path: str = "dplda") -> Iterator[tuple[str, click.Command]]:
    """Every command below `command` with what is typed to run it."""
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield f"{path} {name}", child
            yield from commands(child, f"{path} {name}")


COMMANDS = dict(commands(cli))


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield next(name for name in parameter.opts if name.startswith("--"))


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert set(sections()) - {"Everyday commands", "Options that many commands take"} == set(COMMANDS)


def test_groups_of_commands_are_those_of_the_help() -> None:
    opening = DOCUMENT.read_text(encoding="utf-8").partition("\n## ")[0]
    documented = re.findall(r"^\| ([A-Z][a-z ]+) \| (`.*`) \|$", opening, flags=re.MULTILINE)
    shown = [(name, ", ".join(f"`{command.name}`" for command in listed)) for name, listed in _COMMANDS.items()]
    assert documented == shown


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_is_documented(path: str) -> None:
    text = sections()
    if f"```{{options}}\n{path} --help\n```" in text[path]:
        return  # the built page has a table of the command's own help
    shared = set(re.findall(r"^\| `(--[a-z-]+)", text["Options that many commands take"], flags=re.MULTILINE))
    missing = [option for option in options(COMMANDS[path]) if option not in shared and f"`{option}" not in text[path]]
    missing = [option for option in missing if f" {option} " not in text[path]]
    assert not missing


@pytest.mark.parametrize("path", COMMANDS)
def test_every_documented_option_exists(path: str) -> None:
    known = {"--ledger", "--json", *options(COMMANDS[path])}
    known |= {option for name, child in COMMANDS.items() if name.startswith(path) for option in options(child)}
    mentioned = set(re.findall(r"`(--[a-z0-9-]+)", sections()[path]))
    assert mentioned - known <= {"--unit-field", "--to"}


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_help(path: str) -> None:
    assert COMMANDS[path].help
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help


def test_shared_options_are_those_of_the_code() -> None:
    text = sections()["Options that many commands take"]
    documented = set(re.findall(r"^\| `--([a-z-]+)", text, flags=re.MULTILINE))
    assert documented == {name.replace("_", "-") for name in READING_NAMES if name != "group_fields"} | {
        "json",
        "ledger",
        "quiet",
        "help",
    }


def test_export_kinds_and_the_default_folder_are_those_of_the_code() -> None:
    assert set(re.findall(r"^\| `([a-z]+)` \|", sections()["dplda export"], flags=re.MULTILINE)) == set(EXPORTERS)
    assert f"`{MODELS}/<run>`" in sections()["dplda fit"]
