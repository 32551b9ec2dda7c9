from __future__ import annotations

import io
import sys

import pytest

from dplda.cli.console import following, following_grid
from dplda.ledger.comparisons import Cell


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(*, quiet: bool) -> None:
    with following(quiet=quiet) as progress:
        progress.start("read [b]", 10)
        progress.advance(4)
        progress.start("subspace")
        progress.start("subspace")
        progress.advance()


def test_a_log_gets_stage_names_and_no_amounts(capsys) -> None:
    work(quiet=False)
    assert capsys.readouterr() == ("", "read [b] ...\nsubspace ...\n")


def test_quiet_says_nothing(capsys) -> None:
    work(quiet=True)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_bars(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    work(quiet=False)
    assert "read [b]" in screen.getvalue()
    assert "subspace" in screen.getvalue()
    assert capsys.readouterr().out == ""


def compare(*, quiet: bool) -> None:
    with following_grid(quiet=quiet) as watcher:
        for repeat in range(2):
            watcher.cell(Cell("default", "sound", 0.5, repeat), repeat + 1, 2)
            watcher.start("read [b]", 10)
            watcher.advance(4)
            watcher.start("subspace")


def test_a_log_gets_the_names_of_cells(capsys) -> None:
    compare(quiet=False)
    lines = [f"cell {n} of 2: default, sound, epsilon 0.5, repeat {n - 1} ...\n" for n in (1, 2)]
    assert capsys.readouterr() == ("", "".join(lines))


def test_a_quiet_comparison_says_nothing(capsys) -> None:
    compare(quiet=True)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_of_cells_and_one_of_the_stage(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    compare(quiet=False)
    for expected in ("cells", "default, sound, epsilon 0.5, repeat 1: subspace"):
        assert expected in screen.getvalue()
    assert capsys.readouterr().out == ""
