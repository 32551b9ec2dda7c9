from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import click
import pytest

from dplda.base.errors import BudgetRefused, DpldaWarning, GateError, InputError, LedgerError, UnsupportedByData
from dplda.cli.main import _BROKEN_PIPE, cli, main
from dplda.cli.options import GroupedCommand


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """A command `fail` that raises what it is given."""

    def install(error: BaseException) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setitem(cli.commands, "fail", click.Command("fail", callback=fail))

    return install


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("no such folder"), 2),
        (LedgerError("locked"), 2),
        (BudgetRefused("too much"), 3),
        (UnsupportedByData("no word passed"), 4),
    ],
)
def test_errors_for_users_are_one_line_and_their_status(failing, capsys, error: Exception, status: int) -> None:
    failing(error)
    assert main(["fail"]) == status
    assert capsys.readouterr() == ("", f"dplda: {error}\n")


def test_control_characters_and_line_breaks_of_messages_are_dropped(failing, capsys) -> None:
    failing(InputError("a\nb \x1b[31mred\x07"))
    assert main(["fail"]) == 2
    assert capsys.readouterr().err == "dplda: a b [31mred\n"


def test_warnings_are_one_line_and_those_of_libraries_quote_nothing(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def warn() -> None:
        warnings.warn_explicit("read\notherwise", DpldaWarning, "/lib/click.py", 1)
        warnings.warn_explicit("patient Smith", RuntimeWarning, "/lib/other.py", 1)

    monkeypatch.setitem(cli.commands, "warn", click.Command("warn", callback=warn))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["warn"]) == 0
    told = "dplda: warning: read otherwise\ndplda: warning: RuntimeWarning from other.py\n"
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(
    "error", [ValueError("patient Smith"), GateError("patient Smith"), MemoryError(), KeyError("patient Smith")]
)
def test_unexpected_failures_show_neither_traceback_nor_values(failing, capsys, error: Exception) -> None:
    failing(error)
    assert main(["fail"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert type(error).__name__ in err
    assert "Smith" not in err
    assert "Traceback" not in err


def test_an_interrupt_ends_with_130(failing, capsys) -> None:
    failing(KeyboardInterrupt())
    assert main(["fail"]) == 130
    assert capsys.readouterr().err.strip() == "dplda: interrupted."


def test_the_traceback_of_a_thread_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def leave_a_thread_behind() -> None:
        thread = threading.Thread(target=lambda: int("patient Smith"))
        thread.start()
        thread.join()

    monkeypatch.setitem(cli.commands, "fail", click.Command("fail", callback=leave_a_thread_behind))
    assert main(["fail"]) == 0
    assert capsys.readouterr() == ("", "")
    assert threading.excepthook is threading.__excepthook__


def test_an_interrupt_says_what_was_spent(failing, capsys) -> None:
    error = KeyboardInterrupt()
    error.add_note("Run x had charged 3%.")
    failing(error)
    assert main(["fail"]) == 130
    assert capsys.readouterr().err.strip() == "dplda: interrupted. Run x had charged 3%."


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["fit"],
        ["fit", "x", "--epsilon", "much"],
        ["fit", "x", "--topics", "many"],
        ["fit", "x", "--placement", "config9"],
        ["topics", "run", "--top", "0"],
        ["export", "run", "--to", "word", "--out", "x"],
        ["budget", "grant", "reviews"],
        ["budget", "grant", "reviews", "--epsilon", "1"],
        ["budget", "grant", "reviews", "--unbounded", "--epsilon", "1", "--delta", "1e-6"],
    ],
)
def test_wrong_usage_ends_with_2(capsys, arguments: list[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dplda: ")
    assert err.count("\n") == 1
    assert "See: dplda" in err


@pytest.mark.parametrize("arguments", [[], ["budget"], ["--help"], ["fit", "-h"], ["--version"], ["-V"]])
def test_help_and_version_end_with_0(capsys, arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert "dplda" in capsys.readouterr().out


def test_a_closed_pipe_ends_quietly() -> None:
    code = "import sys; from dplda.cli.main import main; sys.exit(main(['fit', '--help']))"
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert (done.stderr, done.returncode) == ("", _BROKEN_PIPE)


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from dplda.cli.main import main; main(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('numba', 'spacy', 'gensim', 'opendp', 'scipy', 'sqlalchemy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


def test_the_help_of_fit_shows_its_options_in_groups(capsys) -> None:
    assert main(["fit", "--help"]) == 0
    text = capsys.readouterr().out
    titles = [
        text.index(f"\n{title}") for title in ("Data", "Topics", "Privacy", "Where it runs", "Output", "Expert options")
    ]
    assert titles == sorted(titles)
    places = [
        text.index(f"  {option}") for option in ("--format", "-k, --topics", "--epsilon", "--device", "-o, --out")
    ]
    assert all(title < place < after for title, place, after in zip(titles, places, titles[1:], strict=False))
    assert all(text.index(f"  {option}") > titles[-1] for option in ("--placement", "--calibration", "--split"))
    assert "Other options" not in text


def test_an_option_without_a_group_is_shown_before_the_expert_options() -> None:
    command = GroupedCommand("x", params=[click.Option([f"--{name}"]) for name in ("placement", "new", "language")])
    text = command.get_help(click.Context(command))
    assert text.index("--language") < text.index("Other options") < text.index("--new") < text.index("--placement")


def test_the_shell_is_told_what_completes_a_command(tmp_path) -> None:
    environment = os.environ | {"_DPLDA_COMPLETE": "bash_complete", "COMP_WORDS": "dplda fit --topi", "COMP_CWORD": "2"}
    code = "from dplda.cli.main import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["plain,--topics"]
