"""Every table of docs/benchmarks.md again, by the commands that the page names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
PROGRAM = "python scripts/benchmarks"


def blocks(text: str) -> dict[str, list[str]]:
    """The shell blocks below the first section, by the command in their last line."""
    sections = text.split("\n## ")[2:]
    found = [
        block.strip() for block in re.findall(r"^```sh\n(.*?)^```", "\n## ".join(sections), re.DOTALL | re.MULTILINE)
    ]
    named: dict[str, list[str]] = {}
    for block in found:
        named.setdefault(block.splitlines()[-1].removeprefix(PROGRAM).split()[0], []).append(block)
    return named


def run(out: Path, corpora: Path, chosen: Sequence[str]) -> None:
    """Run the blocks, or those of the `chosen` commands, in `out`; write what each prints to a file of its own."""
    known = blocks(PAGE.read_text(encoding="utf-8"))
    if unknown := sorted(set(chosen) - set(known)):
        raise click.UsageError(f"{PAGE.name} has no table of {', '.join(unknown)}. It has those of {', '.join(known)}.")
    out.mkdir(parents=True, exist_ok=True)
    for file in [*corpora.iterdir(), ROOT / "corpora"]:
        link = out / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file.resolve())
    for name in chosen or known:
        for number, block in enumerate(known[name]):
            _run(block, out, out / f"{name}{f'-{number + 1}' if number else ''}.md")


def _run(block: str, out: Path, file: Path) -> None:
    """Run one block, and write its output and where and when it ran."""
    click.echo(f"{file.name}: {block.splitlines()[-1]}", err=True)
    script = f"set -e\n{block}".replace(PROGRAM, f"'{sys.executable}' '{ROOT / 'scripts' / 'benchmarks'}'")
    start = time.perf_counter()
    with file.open("w", encoding="utf-8") as written:
        status = subprocess.run(["bash", "-c", script], cwd=out, stdout=written, check=False).returncode
        seconds = time.perf_counter() - start
        written.write(f"\n{date.today():%-d %B %Y}, {_commit()}, {_machine()}, {seconds:.0f} s")
        written.write(f", ended with status {status}\n" if status else "\n")


def _commit() -> str:
    """The commit of the checkout, with a mark if files have changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _machine() -> str:
    """The number of cores, and the name of the processor where Linux tells it."""
    facts = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", facts.read_text()) if facts.exists() else None
    return f"{os.cpu_count()} cores{f' of {named[1]}' if named else ''}"
