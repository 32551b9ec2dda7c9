"""Command lines that mostly make no sense, for every command but `audit`, which works for a minute.

No argument holds a NUL: no operating system passes one on.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from pathlib import Path
from typing import Any

import click
from hypothesis import strategies as st

from dplda.cli.main import _UNEXPECTED, cli, main

CORPORA = (
    "missing.jsonl", "empty.jsonl", "tiny.jsonl", "header.csv", "junk.npz", "nothing", "", "-", "x" * 5000, ".",
    "..", "tiny.jsonl/below", "docword.tiny.txt", "--", "ledger.db",
)  # fmt: skip
JUNK = (
    "", "0", "-1", "1", "2", "3.5", "nan", "inf", "-inf", "1e999", "1e-400", "99999999999999999999999", "auto", "a,b",
    "e6=1", "e6=0.5,e8=0.5", "e6=,", "=", ",", ",,,", "default", "config1", "none", "replace", "text", "\udcff",
    "tiny.jsonl", "ledger.db", ".", "missing/below", "en", "xx", "<script>", "1,2,3", "5,4,2", "0,0,0", "x" * 3000,
    "\u202e", "reviews", "rev", "%s", "{}", "../../x", "utf-16",
)  # fmt: skip
BRIEF = {"compare": ("--yes", "--epsilons", "1", "--placements", "none")}  # nobody can be asked, and one run will do


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {path: group} if path else {}
    for name, command in group.commands.items():
        here = (*path, name)
        found |= _commands(command, here) if isinstance(command, click.Group) else {here: command}
    return found


COMMANDS = {path: command for path, command in _commands(cli).items() if path != ("audit",)}


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command, some of its arguments and options with likely or unlikely values, and sometimes another's."""
    path = draw(st.sampled_from(sorted(COMMANDS)))
    words: list[str] = [*path, *BRIEF.get(path[0], ())]
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Argument):
            words += draw(
                st.lists(st.sampled_from(CORPORA + JUNK), min_size=int(draw(st.integers(0, 9)) > 0), max_size=1)
            )
    options = [parameter for parameter in COMMANDS[path].params if isinstance(parameter, click.Option)]
    for option in draw(st.lists(st.sampled_from(options), max_size=3)) if options else []:
        words.append(option.opts[0])
        if not option.is_flag:
            words.append(draw(_value(option)))
    words += (
        draw(st.lists(st.sampled_from([*JUNK, "--json", "--help", "--unknown"]), max_size=1))
        if draw(st.booleans())
        else []
    )
    return words


def _value(option: click.Parameter) -> st.SearchStrategy[str]:
    likely: st.SearchStrategy[Any] = st.sampled_from(JUNK)
    if isinstance(option.type, click.Choice):
        likely = likely | st.sampled_from([str(choice) for choice in option.type.choices])
    return (
        likely
        | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
        | st.floats().map(str)
    )


COMMAND_LINES = command_lines()


def run_command(words: list[str], folder: Path) -> str:
    """Run a command line in `folder`; a status of 1 is an exception that the program did not expect."""
    _furnish(folder)
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*words])
    finally:
        os.chdir(before)
    told = err.getvalue()
    assert "Traceback" not in told
    assert status != _UNEXPECTED, told.strip()
    refusals = sum(line.startswith("dplda: ") for line in told.splitlines())
    assert status == 0 or refusals == 1 or "Problem: " in out.getvalue(), (
        status,
        told,
    )  # a problem is the answer of check
    return "accepted" if status == 0 else "refused"


def _furnish(folder: Path) -> None:
    """The corpora, anew: some commands write."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (folder / "nothing").mkdir()
    (folder / "empty.jsonl").touch()
    (folder / "tiny.jsonl").write_text('{"text": "red green blue"}\n' * 3)
    (folder / "header.csv").write_text("text,who\n")
    (folder / "junk.npz").write_bytes(b"PK\x03\x04junk")
    (folder / "docword.tiny.txt").write_text("2\n4\n3\n1 1 2\n1 2 1\n2 4 3\n")
    (folder / "vocab.tiny.txt").write_text("red\ngreen\nblue\ngold\n")
