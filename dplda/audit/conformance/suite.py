"""The rules that a budget ledger must keep, and their check on any ledger that has an adapter."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from dplda.audit.conformance import filter_rules, storage_rules
from dplda.audit.conformance.harness import Broken, Harness, NotApplicable
from dplda.audit.conformance.interface import Factory

_Rule = Callable[[Harness], None]

RULES: tuple[_Rule, ...] = (
    filter_rules.grant_is_never_exceeded,
    filter_rules.impossible_numbers_are_refused,
    filter_rules.small_costs_count,
    filter_rules.guarantee_covers_what_was_spent,
    filter_rules.release_is_charged_once,
    filter_rules.ending_refunds_no_charge,
    storage_rules.crash_keeps_charges,
    storage_rules.open_reservations_count,
    storage_rules.processes_share_one_budget,
    storage_rules.threads_share_one_budget,
    storage_rules.old_copy_is_noticed,
    storage_rules.old_copy_charges_nothing_again,
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
    """What the check of one rule found."""

    rule: str
    outcome: Outcome
    detail: str = ""
    """How the rule was broken, or why it does not apply."""

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
    results = []
    with TemporaryDirectory() as root:
        harness = Harness(factory, Path(root))
        for rule in RULES:
            if rules is not None and rule.__name__ not in rules:
                continue
            outcome, detail = Outcome.KEPT, ""
            try:
                rule(harness)
            except NotApplicable as reason:
                outcome, detail = Outcome.NOT_APPLICABLE, str(reason)
            except Broken as broken:
                outcome, detail = Outcome.BROKEN, str(broken)
            except Exception as error:  # of the ledger or its adapter, where the rule expects it to work
                outcome, detail = Outcome.BROKEN, f"{type(error).__name__}: {error}"
            results.append(Result(rule.__name__, outcome, detail))
    return results
