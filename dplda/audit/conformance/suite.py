"""The rules that a budget ledger must keep, and their check on any ledger that has an adapter."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from dplda.audit.conformance import filter_rules, process_rules, replay_rules, storage_rules
from dplda.audit.conformance.harness import Broken, Harness, NotApplicable
from dplda.audit.conformance.interface import Factory

_Rule = Callable[[Harness], None]

RULES: tuple[_Rule, ...] = (
    filter_rules.grant_is_never_exceeded,
    filter_rules.impossible_numbers_are_refused,
    filter_rules.small_costs_count,
    filter_rules.guarantee_covers_what_was_spent,
    replay_rules.release_is_charged_once,
    replay_rules.ending_refunds_no_charge,
    process_rules.crash_keeps_charges,
    process_rules.open_reservations_count,
    process_rules.processes_share_one_budget,
    process_rules.threads_share_one_budget,
    replay_rules.old_copy_is_noticed,
    replay_rules.old_copy_charges_nothing_again,
    filter_rules.time_gives_nothing_back,
    filter_rules.order_is_not_time,
    storage_rules.edits_are_noticed,
    filter_rules.units_are_not_mixed,
    filter_rules.documents_keep_their_budget,
    filter_rules.batches_that_overlap_add_up,
    storage_rules.full_disk_releases_nothing,
    storage_rules.missing_folder_releases_nothing,
    storage_rules.locked_file_releases_nothing,
)


class Outcome(StrEnum):
    """What the check of a rule found."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Result:
    """The outcome of a rule, by its name; `detail` says how it was broken, or why it does not apply."""

    rule: str
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:14}  {self.rule}{': ' if self.detail else ''}{self.detail}"


def check(factory: Factory, rules: Collection[str] | None = None) -> list[Result]:
    """Check the ledger that `factory` opens, by all rules or by the rules of these names.

    Everything happens in a temporary folder, which is removed. Raises `ValueError` if there is no rule of a name.
    """
    names = [rule.__name__ for rule in RULES]
    unknown = sorted(set(rules or ()) - set(names))
    if unknown:
        raise ValueError(f"there is no rule {', '.join(unknown)}: choose among {', '.join(names)}")
    with TemporaryDirectory() as root:
        harness = Harness(factory, Path(root))
        return [_result(rule, harness) for rule in RULES if rules is None or rule.__name__ in rules]


def _result(rule: _Rule, harness: Harness) -> Result:
    try:
        rule(harness)
    except NotApplicable as reason:
        return Result(rule.__name__, Outcome.NOT_APPLICABLE, str(reason))
    except Broken as broken:
        return Result(rule.__name__, Outcome.BROKEN, str(broken))
    except Exception as error:  # of the ledger or its adapter, where the rule expects it to work
        return Result(rule.__name__, Outcome.BROKEN, f"{type(error).__name__}: {error}")
    return Result(rule.__name__, Outcome.KEPT)
