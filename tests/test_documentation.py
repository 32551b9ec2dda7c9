"""What the pages name exists: other pages, files of the repository, modules, functions, commands and their options."""

from __future__ import annotations

import pkgutil
import re
import shlex
from pathlib import Path

import click
import pytest

from dplda.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.name: path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}
FILE = re.compile(r"`((?:dplda|tests|scripts|docs|corpora)/[\w/.-]+\.\w+)")
NAME = re.compile(r"`(dplda(?:\.\w+)+)")
COMMAND = re.compile(r"(?:^|[\s/])dplda +([^#]*)")


def commands(page: Path) -> list[str]:
    """The command lines of `dplda` in a page, without the name of the program."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    lines += re.findall(r"`((?:\S*/)?dplda [^`]*)`", text.replace("\n", " "))
    return [found[1] for line in lines if "pip install" not in line and (found := COMMAND.search(line))]


def options_of(words: list[str]) -> set[str]:
    """All options of the command that `words` begin with."""
    command: click.Command = cli
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
    return {"--help"} | {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_documents_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", PAGES[page].read_text(encoding="utf-8"))
    assert [target for target in targets if not (PAGES[page].parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_document_names_exist(page: str) -> None:
    named = FILE.findall(PAGES[page].read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES)
def test_modules_and_functions_that_a_document_names_exist(page: str) -> None:
    for name in NAME.findall(PAGES[page].read_text(encoding="utf-8")):
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_a_document_take_the_options_they_use(page: str) -> None:
    for command in commands(PAGES[page]):
        words = shlex.split(command)
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        assert used <= options_of(words), command


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == set(re.findall(r": ([\w-]+\.md)", navigation))
