"""Rules about calls that are made again, and about old copies of the ledger."""

from __future__ import annotations

from dplda.audit.conformance.harness import Broken, Harness, restore, succeeds
from dplda.audit.conformance.interface import DATASET


def release_is_charged_once(harness: Harness) -> None:
    """Each planned release is charged at most once, and none after the run has ended.

    A second charge is refused, or pays again. If a ledger breaks this rule, one payment buys any number of answers.
    """
    plan = harness.plan()
    with harness.open(harness.new_place()) as ledger:
        handle = ledger.reserve(plan)
        handle.charge(0)
        before = ledger.spent(DATASET)
        if succeeds(handle.charge, 0) and ledger.spent(DATASET) <= before:
            raise Broken("a release was charged twice and paid once")
    for ending in ("finish", "abandon"):
        with harness.open(harness.new_place()) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            getattr(handle, ending)()
            before = ledger.spent(DATASET)
            if succeeds(handle.charge, 1) and ledger.spent(DATASET) <= before:
                raise Broken(f"a release was charged after {ending}, and nothing was paid for it")


def ending_refunds_no_charge(harness: Harness) -> None:
    """What was charged stays spent, however and how often its run ends.

    Only what was reserved and not charged is given back. If a ledger breaks this rule, an answer costs nothing if its
    run is abandoned afterwards.
    """
    plan = harness.plan()
    for endings in ("finish", "abandon", "finish finish", "finish abandon", "abandon finish"):
        place = harness.new_place()
        with harness.open(place) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            for ending in endings.split():
                succeeds(getattr(handle, ending))
        if harness.holds_another(place):
            raise Broken(f"after {' and '.join(endings.split())}, what was charged came back")


def old_copy_is_noticed(harness: Harness) -> None:
    """An old copy that replaces the ledger's files is noticed, and gives nothing back.

    Backups, synchronised folders and snapshots of machines put old files in place of newer ones. An old file is intact
    in itself, so that the ledger must keep something elsewhere (in the folder `outside`): how far it had come. It then
    refuses, or counts what is missing. If a ledger breaks this rule, whoever can copy a file has a new budget whenever
    they like.
    """
    plan, place = harness.plan(), harness.new_place()
    copies = {"the copy from before the first run": harness.copy_of(place)}
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        copies["the copy from between reservation and charge"] = harness.copy_of(place)
        handle.charge(0)
        handle.finish()
    latest = harness.copy_of(place)
    for name, copy in copies.items():
        restore(latest.outside, place.outside)
        restore(copy.folder, place.folder)
        if harness.holds_another(place):
            raise Broken(f"{name} was put back, and the budget could be spent again")


def old_copy_charges_nothing_again(harness: Harness) -> None:
    """A run that is going on cannot charge a release again after an old copy was put back.

    The files may be replaced while a process has the ledger open. If a ledger breaks this rule, the process charges the
    same release for each answer, and restores the old file in between.
    """
    plan, place = harness.plan(), harness.new_place()
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        copy = harness.copy_of(place)
        handle.charge(0)
        restore(copy.folder, place.folder)
        if succeeds(handle.charge, 0):
            raise Broken("an old copy was put back while a run was going on, and its release was charged again")
