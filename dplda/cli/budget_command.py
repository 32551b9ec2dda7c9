"""`dplda budget`: grants and spending of datasets, and the integrity of the ledger."""

from __future__ import annotations

import json
import os
import re
import shlex
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.base.errors import BudgetRefused, DpldaWarning, LedgerError, RaisedGrantWarning
from dplda.cli.console import confirm, print_json, say, table
from dplda.cli.options import json_option, ledger_option, open_ledger

if TYPE_CHECKING:
    from dplda.budget import Ledger, RunRecord
    from dplda.budget.events import PrivacyStatement
    from dplda.budget.ledger_records import DatasetRecord
    from dplda.model import TopicModel
    from dplda.runs.run import Run

_TABULATING = "table"  # the kind of a run that makes tables of topics
_COUNTING = ("count", "words")  # kinds of runs whose numbers `dplda report` shows beside topics
_LISTED = 3  # names of other datasets
_SLIP = 0.8  # similarity (difflib) from which a name may be a slip for another; a swapped pair among seven has 0.86


def tell_spent(ledger: Ledger, dataset: str, run: PrivacyStatement) -> None:
    """Print what `run`, which has ended, and all others have spent of `dataset`, and what is left, as the last line.

    Whatever is out of the ordinary has a line of its own before. All of it depends on which datasets share documents,
    so that it is local: it goes to standard error.
    """
    from dplda.budget.events import at_least

    record = ledger.dataset(dataset)
    whole = record.guaranteed.holds and str(record.guaranteed) == str(record.grant)
    usual = whole and record.limit is None and not record.in_reports
    unusual = ("" if usual else record.guarantee, *record.on_reports, record.to_tell, *record.remarks)
    for line in filter(None, unusual):
        say(_sentence(line), error=True)
    if not usual or record.grant.unbounded or record.grant.lapsed:
        say(f"Dataset {dataset}: {record.in_short}.", error=True)
        return
    epsilon, delta = record.guaranteed.largest_total
    differs = record.grant.delta != run.delta
    own = f" (The run's own epsilon, {at_least(run.epsilon)}, is at delta {run.delta:g}.)" if differs else ""
    total = f"To others, quote the total of all runs: epsilon {epsilon:g} at delta {delta:g}."
    say(f"Dataset {dataset}: {record.in_short}. {total}{own}", error=True)


def tell_weakness(privacy: PrivacyStatement, n_units: int | None = None) -> None:
    """Print what the guarantee `privacy` of about `n_units` units leaves open, if that is unusually much."""
    from dplda.report import promise

    if privacy.sound:
        success = promise.success_at_most(privacy)
        for line in promise.weaknesses(privacy.epsilon, privacy.delta, success, n_units):
            say(line, style="yellow")


def before_charging(run: Run[Any], ledger: Ledger, model: TopicModel | None = None) -> list[str]:
    """Say what may be a mistake in a planned `run`, which is about a `model` if there is one.

    Raises `BudgetRefused` for one that could not be mended.
    """
    from dplda.budget.ledger_records import Status
    from dplda.budget.quotes import fixed_by_default, larger_delta

    records = ledger.datasets()
    done = [each for each in ledger.runs() if each.dataset == run.dataset and each.status == Status.DONE]
    read = ledger.place_codes([run.corpus.identity])
    repeated = same_run(run, ledger)
    fixed = fixed_by_default(run.dataset, records)
    larger = larger_delta(run.dataset, run.privacy.delta, run.events, records, "--delta ")
    if fixed:
        _refuse_slip(run, records)
        fixed += f" dplda budget grant {shlex.quote(run.dataset)} --epsilon E --delta D"
    return [
        *_new_name(run, model, records),
        *([fixed] if fixed and not run.reason else []),
        *([larger] if larger and not run.reason else []),
        *_other_documents(run, done, read),
        *([repeated] if repeated else []),
    ]


def _new_name(run: Run[Any], model: TopicModel | None, records: Sequence[DatasetRecord]) -> list[str]:
    """Say that a `run` about `model` would charge a name that none of the `records` has, if it would."""
    own = None if model is None else model.facts.dataset
    others = [record.name for record in records if record.runs]
    if run.dataset in {own, *(record.name for record in records)} or not (own or others):
        return []
    if own is None:
        listed = f"{', '.join(others[:_LISTED])}{', ...' * (len(others) > _LISTED)}"
        return [
            f"Dataset {run.dataset} is a new name, with a total of its own. If its documents are those of another one "
            f"({listed}), both names pay for each run, and the larger total is to be quoted: add --dataset NAME (in a "
            "plan, dataset)."
        ]
    return [
        f"Dataset {run.dataset} is a new name, with a total of its own. If its documents belong to {own}, from which "
        f"these topics were learned, add --dataset {shlex.quote(own)}."
    ]


def _refuse_slip(run: Run[Any], records: Sequence[DatasetRecord]) -> None:
    """Raise `BudgetRefused` for the first `run` on a dataset without a grant if the name may be a slip.

    It may if nobody uses a grant of almost this name, or if it was chosen and is almost that of a dataset with runs.
    The first run fixes the total, so that neither can be mended after it. Names that differ in digits only are no slip.
    """
    otherwise = (
        f"if not, grant {run.dataset} what every dataset has: dplda budget grant {shlex.quote(run.dataset)} --epsilon "
        f"{DEFAULT_GRANT[0]:g} --delta {DEFAULT_GRANT[1]:g}"
    )
    unused = [record.name for record in records if record.grant.created is not None and not record.runs]
    used = [record.name for record in records if record.runs and _letters(record.name) != _letters(run.dataset)]
    chosen = run.dataset != run.corpus.name
    for meant in get_close_matches(run.dataset, [*used * chosen, *unused], n=1):
        if meant in used:
            break  # which is nearer
        raise BudgetRefused(
            f"Dataset {run.dataset} has no grant of its own. There is one for {meant}, which no run has charged. Is "
            f"that another spelling? Then grant {run.dataset} the same; {otherwise}"
        )
    for meant in get_close_matches(run.dataset, used, n=1, cutoff=_SLIP) if chosen else []:
        raise BudgetRefused(
            f"Dataset {run.dataset} is a new name, with a total of its own, and there is {meant}, which has runs. Is "
            f"that the one meant? Then name it: --dataset {shlex.quote(meant)}; {otherwise}"
        )


def _letters(name: str) -> str:
    return re.sub(r"[\W\d_]", "", name)


def _other_documents(run: Run[Any], earlier: Sequence[RunRecord], read: Sequence[str]) -> list[str]:
    """Say that a `run` that counts does not `read` what the latest of `earlier` runs read, first one with topics.

    A run that makes tables of topics is compared with the run of these topics.
    """
    from dplda.budget.ledger_records import READ

    kind, latest = run.parameters.get("kind"), earlier[-1] if earlier else None
    if kind == _TABULATING:
        latest = next((each for each in earlier if each.id == run.parameters.get("of")), None)
    elif kind in _COUNTING:
        latest = next((each for each in reversed(earlier) if each.model), latest)
    else:
        return []
    if latest is None or latest.batch is not None or latest.parameters.get(READ) == read:
        return []
    if kind == _TABULATING:
        return [
            f"These are not known to be the documents that the topics of run {latest.id} were learned from: this run "
            "reads another path, or reads it with other options, such as --text-field. Reports show its shares beside "
            "the topics' own, and not in their place."
        ]
    return [
        f"These are not known to be the documents of run {latest.id} of dataset {run.dataset}: this run reads another "
        "path, or reads it with other options. A page of both says so beside its numbers; a page of this run alone "
        "does not: give that a --title which says what was read."
    ]


def reads_otherwise(run: Run[Any], ledger: Ledger) -> bool:
    """Whether a `run` makes tables of topics that were learned from the same path, read with other options."""
    from dplda.budget.ledger_records import PLACES, READ

    of = next((each for each in ledger.runs() if each.id == run.parameters.get("of")), None)
    if run.parameters.get("kind") != _TABULATING or of is None or of.batch is not None:
        return False
    places = ledger.place_codes(run.corpus.named_places)
    same_path = bool(places) and of.parameters.get(PLACES) == places
    return same_path and of.parameters.get(READ) != ledger.place_codes([run.corpus.identity])


def same_run(run: Run[Any], ledger: Ledger) -> str:
    """Name the last finished run that read the same path with the settings of `run`, which is charged once more.

    Empty if there is none. Whether documents were added or changed since is not known before they are read.
    """
    from dplda.budget.ledger_records import PLACES, READ, Status

    read = ledger.place_codes([run.corpus.identity])
    asked = run.dataset, Status.DONE, json.loads(json.dumps(run.parameters)), read, run.events, run.batch
    for earlier in reversed(ledger.runs()):
        settings = {name: value for name, value in earlier.parameters.items() if name not in ("software", PLACES, READ)}
        known = earlier.dataset, earlier.status, settings, earlier.parameters.get(READ), earlier.events, earlier.batch
        if known == asked:
            show = "tables" if earlier.result else "topics" if earlier.model else "runs show"
            return (
                f"Run {earlier.id} read the same path with the same settings, and this one would be charged beside it. "
                "What was added or changed there since is not in that result, which is shown again free of charge: "
                f"dplda {show} {shlex.quote(earlier.id)}"
            )
    return ""


@click.group()
def budget() -> None:
    """Show and set the budgets of datasets, and check the ledger."""


@budget.command()
@click.argument("name", required=False)
@json_option
@ledger_option
def show(name: str | None, as_json: bool, ledger_path: Path | None) -> None:
    """Show guarantee and spending of dataset NAME, or of all."""
    ledger = open_ledger(ledger_path)
    records = [ledger.dataset(name)] if name else ledger.datasets()
    if as_json:
        listed = [record.to_json() for record in records]
        print_json(listed[0] if name else {"datasets": listed})
        return
    if not records:
        epsilon, delta = DEFAULT_GRANT
        say(f"No datasets yet: each may spend epsilon {epsilon:g} at delta {delta:g} until granted otherwise.")
    for record in records:
        say(record.name, style="bold")
        say(f"  {record.in_short}")
        say(f"  {record.guarantee}")
        for told in record.on_reports:
            say(f"  {told}")
        if not record.grant.unbounded:
            say(f"  {record.remaining_text}")
        if record.raises:
            say(f"  {record.raises}")
        if record.to_tell:
            say(f"  {record.to_tell}")
        if record.unit:
            say(f"  one {record.unit} is protected, adjacency {record.adjacency}")
        for remark in record.remarks:
            say(f"  {remark}")


@budget.command()
@click.argument("name")
@click.option("--epsilon", type=float, help="Total epsilon (nats) that the dataset may spend.")
@click.option("--delta", type=float, help="Total delta that the dataset may spend.")
@click.option(
    "--then",
    "listed",
    type=float,
    multiple=True,
    metavar="EPSILON",
    help="A larger total epsilon to which the grant may be raised later; may be repeated.",
)
@click.option(
    "--batches-per-document",
    type=int,
    default=1,
    metavar="N",
    help="Declare that a document is in up to N batches of a series; the N batches that spent most are then charged.",
)
@click.option("--unbounded", is_flag=True, help="Set no limit; for public or synthetic documents only.")
@json_option
@ledger_option
def grant(
    name: str,
    epsilon: float | None,
    delta: float | None,
    listed: tuple[float, ...],
    batches_per_document: int,
    unbounded: bool,
    as_json: bool,
    ledger_path: Path | None,
) -> None:
    """Set the total budget of dataset NAME: --epsilon at --delta.

    All runs on the dataset share it, and a new grant replaces the earlier one. Set it before the first run: once
    something has been released, a larger grant keeps the guarantee valid only if its epsilon was listed with --then
    before the first release.
    """
    numbers = (epsilon is not None, delta is not None)
    if unbounded and batches_per_document > 1:
        raise click.UsageError("--batches-per-document has no effect with --unbounded; leave it out.")
    if unbounded == any(numbers) or (any(numbers) and not all(numbers)) or (unbounded and listed):
        example = f"--epsilon 6 --delta {PrivacySettings().delta:g}"
        raise click.UsageError(
            f"give either --epsilon and --delta, such as {example}, with or without --then, or --unbounded."
        )
    if os.sep in name or os.path.isfile(name):
        from dplda.text.formats import default_name

        named = default_name(Path(name))
        raise click.UsageError(
            f"{name!r} is a path, and a grant is for a dataset. The one that is named after it is {named!r}: dplda "
            f"budget grant {shlex.quote(named)} ..."
        )
    ledger = open_ledger(ledger_path)
    earlier = {other.name: str(other.grant) for other in ledger.datasets()}.get(name)
    with warnings.catch_warnings(record=True, action="always", category=DpldaWarning) as raised:  # told below
        if unbounded:
            ledger.grant(name, unbounded=True)
        elif epsilon is not None and delta is not None:
            ledger.grant(name, epsilon, delta, listed=listed, batches_per_document=batches_per_document)
    record = ledger.dataset(name)
    if as_json:
        print_json(record.to_json())
    else:
        raises = f" {_sentence(record.raises)}" if record.raises else ""
        declared = f" A document is in up to {record.batches_declared} batches." if record.batches_declared > 1 else ""
        replaced = "" if earlier in (None, str(record.grant)) else f" This replaces {earlier}."
        say(f"{name} may now spend: {record.grant}.{replaced}{raises}{declared} {_sentence(record.spent_so_far)}")
        say(
            _sentence(record.guarantee),
            style="yellow" if any(each.category is RaisedGrantWarning for each in raised) else None,
        )
        if record.to_tell:
            say(_sentence(record.to_tell))
        if epsilon is not None and delta is not None:
            from dplda.budget.quotes import small_delta
            from dplda.report import promise

            largest = max(epsilon, *listed, 0.0)
            for line in promise.weaknesses(largest, delta, promise.success_under_filter(largest, delta)):
                say(line, style="yellow")
            if told := small_delta(delta, "--delta "):
                say(told, style="yellow")
        others = [other for other in ledger.datasets() if other.name != name]
        if not record.runs and (near := get_close_matches(name, [other.name for other in others], n=1)):
            if any(other.name == near[0] and other.runs for other in others):
                say(f"No such dataset yet: {name} (did you mean {near[0]}?).", style="yellow")
            else:
                say(
                    f"There is also a grant for {near[0]}, another dataset. A grant that no run uses spends nothing: "
                    "if one of the two is a slip, leave it.",
                    style="yellow",
                )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@budget.command()
@click.argument("name", required=False)
@json_option
@ledger_option
def history(name: str | None, as_json: bool, ledger_path: Path | None) -> None:
    """List grants and runs of dataset NAME, or of all, in order."""
    ledger = open_ledger(ledger_path)
    names = [name] if name else [record.name for record in ledger.datasets()]
    histories = {each: ledger.history(each) for each in names}
    if as_json:
        listed = [
            {"name": each, "history": [{"text": line.text, "run": line.run} for line in lines]}
            for each, lines in histories.items()
        ]
        print_json(listed[0] if name else {"datasets": listed})
        return
    if not histories:
        say("No datasets yet.")
    for each, lines in histories.items():
        say(each, style="bold")
        dated = ((f"{line.created:%Y-%m-%d %H:%M}" if line.created else "", line.text) for line in lines)
        table(("UTC", "what"), dated, wide="what")


@budget.command()
@json_option
@ledger_option
def verify(as_json: bool, ledger_path: Path | None) -> None:
    """Check that the ledger is exactly as dplda wrote it.

    Exits with status 2 if it is not.
    """
    ledger = open_ledger(ledger_path)
    result = ledger.verify()
    place, known = ledger.witness()
    if as_json:
        found = {"ok": result.ok, "length": result.length, "problems": list(result.problems)}
        print_json({**found, "witness": {"place": place, "length": known}})
    elif result.ok:
        say(f"The ledger is intact: {result.length} recorded changes, all as dplda wrote them.")
        if place is None:
            say("Its witness is off: an older copy in its place would not be noticed.")
        elif not known:
            say(f"Its witness in {place} does not know it yet: it is trusted as it is at its next change.")
        else:
            say(f"Its witness in {place} knows of {known} of them.")
    elif not result.outdated:
        for problem in result.problems:
            say(f"  {problem}")
    if result.outdated:
        raise LedgerError(result.problems[0])
    if not result.ok:
        raise LedgerError(f"the ledger {ledger.path} was altered outside dplda. Restore it from a copy.")


@budget.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@ledger_option
def accept_copy(yes: bool, as_json: bool, ledger_path: Path | None) -> None:
    """Continue with an older copy of a lost ledger.

    What was spent since the copy was made is not known. So every grant lapses, unfinished runs count as wholly spent,
    and the ledger states no guarantee from then on.
    """
    ledger = open_ledger(ledger_path)
    result = ledger.verify()
    if result.outdated:
        say(result.problems[0], error=True)
        if not yes:
            question = "Accept it? Every grant lapses, and the ledger states no guarantee any more."
            confirm(question, otherwise="add --yes to accept the copy. Nothing was changed.")
    ledger.accept_copy()
    place, known = ledger.witness()
    if as_json:
        print_json({"accepted": result.length, "witness": {"place": place, "length": known}})
    else:
        say(f"The copy with {result.length} recorded changes is accepted. Grant again what each dataset may spend:")
        say("  dplda budget grant NAME --epsilon E --delta D")
