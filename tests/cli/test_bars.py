from __future__ import annotations

import io
import sys

import pytest

from dplda.cli.bars import following


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
