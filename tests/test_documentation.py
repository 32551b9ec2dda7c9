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
PAGES = {str(path.relative_to(ROOT)): path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"```(?:sh|\{code-cell\}|\{options\})[^\n]*\n(.*?)```", re.DOTALL)
FILE = re.compile(r"`((?:dplda|tests|scripts|docs|corpora)/[\w/.-]+\.\w+)")
NAME = re.compile(r"`(dplda(?:\.\w+)+)")
COMMAND = re.compile(r"(?:^|[\s/])dplda +([^#]*)")


def commands(page: Path) -> list[str]:
    """The command lines of `dplda` in a page, without the name of the program."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in CODE.findall(text) for line in block.splitlines()]
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


def headings(page: Path) -> set[str]:
    """What links call the headings of a page, on the repository's host and in the built site."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_documents_lead_somewhere(page: str) -> None:
    for target, heading in LINK.findall(PAGES[page].read_text(encoding="utf-8")):
        linked = PAGES[page].parent / target if target else PAGES[page]
        assert linked.exists(), target
        assert not heading or heading in headings(linked), f"{target}#{heading}"


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
