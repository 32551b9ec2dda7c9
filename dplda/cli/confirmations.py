"""What is asked before a charge that may be a mistake: spending, and whom a dataset protects, cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dplda.cli.budget_command import before_charging, reads_otherwise, same_run
from dplda.cli.check_command import look
from dplda.cli.console import confirm, say
from dplda.text.files import STANDARD_INPUT
from dplda.text.records import DOCUMENT, plainly_named

if TYPE_CHECKING:
    from dplda.budget import Ledger
    from dplda.model import TopicModel
    from dplda.runs.run import Run


def tell_before_charging(
    run: Run[Any],
    ledger: Ledger,
    corpus: Sequence[str],
    options: dict[str, Any],
    model: TopicModel | None = None,
    *,
    sure: bool,
    unit_chosen: bool = False,
) -> None:
    """Say what may be a mistake in a planned `run` of `corpus`, read with `options`, about a `model` if there is one.

    Unless the user is `sure`, ask whether to go on if documents alone would be protected for good although a column
    seems to name people and the unit was not `unit_chosen`, if the run ends a guarantee, if it reads a path
    otherwise than the run of its topics, and if it repeats another.
    Raises `InputError` if it must ask and cannot, `BudgetRefused` for what could not be mended or paid, and `Abort` for
    no.
    """
    for line in before_charging(run, ledger, model):
        say(line, error=True)
    if ends := run.quote(ledger).warning:
        say(f"warning: {ends}", error=True, style="yellow")
    if sure or run.reason:
        return
    if not unit_chosen and (people := _forgotten_people(run, ledger, corpus, options)):
        say(
            f"{people!r} seems to name people with several documents. The first run on dataset {run.dataset} fixes for "
            "good whether all documents of one are protected together (--unit-field) or each by itself.",
            error=True,
        )
        confirm(
            "Protect each document by itself?",
            otherwise=f"give --unit-field {people} (in a plan, unit_field), or --yes to protect each by itself.",
        )
    elif ends:
        confirm("Charge it all the same?", otherwise="give a smaller epsilon, or --yes to charge it all the same.")
    elif reads_otherwise(run, ledger):
        confirm(
            "Read it with other options than the topics were learned with?",
            otherwise="read it with the options of the run, such as --text-field, or give --yes to read it otherwise.",
        )
    elif same_run(run, ledger):
        confirm("Charge it all the same?", otherwise="give --yes to charge it all the same.")


def _forgotten_people(run: Run[Any], ledger: Ledger, corpus: Sequence[str], options: dict[str, Any]) -> str:
    """Return the column that seems to name people if the first `run` on a dataset would protect documents alone."""
    first = all(record.name != run.dataset or not record.runs for record in ledger.datasets())
    if not first or run.corpus.unit != DOCUMENT or STANDARD_INPUT in corpus:
        return ""
    people = look(corpus, options, any_unit=True).people or ""
    return people if plainly_named([people]) else ""  # without a header, a name may be of a document
