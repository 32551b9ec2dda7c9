from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from dplda.base.progress import Progress
from dplda.budget.comparisons import Cell
from dplda.cli.console import following, following_grid


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


def on_terminal(monkeypatch: pytest.MonkeyPatch, steps: Callable[[Progress], None]) -> str:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "160")):
        monkeypatch.setenv(name, value)
    with following(quiet=False) as progress:
        steps(progress)
        time.sleep(0.15)  # the display draws ten times a second
    return screen.getvalue()


def test_a_bar_shows_documents_and_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(progress: Progress) -> None:
        progress.start("read", 20_000)
        progress.advance(5000)

    drawn = on_terminal(monkeypatch, steps)
    assert "5,000 of 20,000 documents" in drawn
    assert "25%" in drawn


def test_a_bar_of_unknown_length_shows_the_share_of_bytes_and_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(progress: Progress) -> None:
        progress.start("read")
        progress.advance(7)
        progress.estimate(0.4)
        progress.start("refine")
        for done in range(1, 4):
            progress.advance(10)
            progress.estimate(done / 4)
            time.sleep(0.05)

    drawn = on_terminal(monkeypatch, steps)
    for expected in ("7 documents", "30 units", "75%", "left"):
        assert expected in drawn, expected


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
