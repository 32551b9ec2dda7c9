"""The command line: all commands, and a one-line message and exit status for every failure."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click
from click.exceptions import NoArgsIsHelpError

from dplda import __version__
from dplda.base.errors import DpldaError, DpldaWarning
from dplda.cli.ask_command import ask
from dplda.cli.audit_command import audit
from dplda.cli.budget_command import budget
from dplda.cli.check_command import check
from dplda.cli.compare_command import compare
from dplda.cli.console import clean
from dplda.cli.corpus_command import corpus
from dplda.cli.count_command import count
from dplda.cli.evaluate_command import evaluate
from dplda.cli.examples_command import examples
from dplda.cli.fit_command import fit
from dplda.cli.naming_commands import contrast, label, merge, tree
from dplda.cli.plan_command import plan
from dplda.cli.prior_command import prior
from dplda.cli.report_command import report
from dplda.cli.run_commands import runs, software, transform
from dplda.cli.search_command import search
from dplda.cli.table_commands import tables, tabulate
from dplda.cli.topics_command import export, topics
from dplda.cli.words_command import words

_UNEXPECTED, _INTERRUPTED, _BROKEN_PIPE = 1, 130, 141  # exit statuses
_ENDS = (".", "?", "?)")  # of a sentence

_COMMANDS: dict[str, dict[click.Command, str]] = {  # in groups, in the order in which a newcomer needs them
    "Start": {
        check: "Inspect a corpus before a fit, and suggest the command.",
        plan: "Forecast what a budget allows, without reading data.",
        prior: "Have public text written for `dplda fit --prior`.",
        fit: "Learn topics from a corpus.",
    },
    "Look": {
        topics: "Show the topics of a run.",
        search: "Find topics of all runs by their words.",
        examples: "Show public texts that are about each topic.",
        label: "Name the topics of a run.",
        tree: "Group similar topics of a run.",
        merge: "Merge topics of a run.",
        report: "Write an HTML report about runs, to share with others.",
        export: "Export a model to gensim, pyLDAvis, CSV or JSON.",
    },
    "Ask": {
        ask: "Answer the questions of a plan file in one run.",
        tabulate: "Show topic shares by group or period, with intervals.",
        count: "Count documents in categories, with intervals.",
        words: "Show the words that tell groups or periods apart.",
        tables: "Show earlier tables and counts again, or save them.",
        contrast: "Compare the topics of two collections.",
        evaluate: "Measure the coherence and perplexity of topics.",
    },
    "Budget": {
        budget: "Show and set budgets, and check the ledger.",
        runs: "List runs, and show what each stage spent.",
        corpus: "Prepare corpora, and show their public facts.",
    },
    "For experts": {
        compare: "Compare noise placements and budgets on one corpus.",
        audit: "Test the privacy guarantee by attacks.",
        software: "Show the installed code and libraries, or those of a run.",
        transform: "Infer topics of single documents. NOT PRIVATE.",
    },
}


class _Grouped(click.Group):
    """A group whose help lists its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group of `_COMMANDS`."""
        for name, commands in _COMMANDS.items():
            with formatter.section(name):
                formatter.write_dl([(str(command.name), summary) for command, summary in commands.items()])


@click.group(
    cls=_Grouped,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, "--version", "-V", prog_name="dplda")
def cli() -> None:
    """Learn topics from private text, and release only what is differentially private."""


for _commands in _COMMANDS.values():
    for _command, _summary in _commands.items():
        _command.short_help = _summary
        cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Errors are one line on standard error.

    Tracebacks are never shown, because they may contain private values. `arguments` default to those of the process.
    """
    for stream in (sys.stdout, sys.stderr):  # whose encoding may lack characters of a topic's words
        with contextlib.suppress(AttributeError):  # a replaced stream may lack the method
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            threading.excepthook = _discard
            status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _broken_pipe()
    finally:
        threading.excepthook = threading.__excepthook__
    return status


def _discard(failure: threading.ExceptHookArgs) -> None:
    """Discard the traceback of a thread, such as that of a pool that was killed; what needs the thread fails too."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning in one line.

    For a warning of another library, the line has only the category and the file, because the message may quote values.
    """
    if issubclass(category, DpldaWarning):
        text = " ".join(str(message).split())
    else:
        text = f"{category.__name__} from {Path(filename).name}"
    click.echo(f"dplda: warning: {clean(text)}", err=True)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        status = cli.main(args=arguments, prog_name="dplda", standalone_mode=False)
    except click.UsageError as error:
        if isinstance(error, NoArgsIsHelpError):
            click.echo(error.message)
            return 0
        help_command = error.ctx.command_path if error.ctx else "dplda"
        message = error.format_message()
        return _fail(f"{message}{'' if message.endswith(_ENDS) else '.'} See: {help_command} --help", error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except DpldaError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:  # click raises its own from an interrupt
        source = error.__cause__ or error
        notes = source.__notes__ if hasattr(source, "__notes__") else []
        return _fail(" ".join(["interrupted.", *notes]), _INTERRUPTED)
    except BrokenPipeError:
        raise
    except SystemExit as error:  # click and rich exit like this when the output pipe is closed
        if isinstance(error.code, str):
            return _fail(_unexpected(error), _UNEXPECTED)
        return _broken_pipe() if error.code == 1 else int(error.code or 0)
    except Exception as error:
        return _fail(_unexpected(error), _UNEXPECTED)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    click.echo(f"dplda: {clean(' '.join(message.split()))}", err=True)
    return status


def _unexpected(error: BaseException) -> str:
    """Return the type and place of the failure, without its message, which may quote private values."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "dplda" in Path(f.filename).parts]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"unexpected {type(error).__name__}{place}. Its details may be private and are not shown; whatever was "
        "spent is in the ledger (`dplda runs`)."
    )


def _broken_pipe() -> int:
    """Discard further output, including the output at interpreter exit; returns the exit status."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE
