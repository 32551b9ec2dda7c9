"""A small ledger that keeps every rule of the conformance suite, and ledgers that each break one thing.

The ledger is one file of JSON: grants, runs, charges and ends in order, under an HMAC. Another file, in the folder
`outside`, has the number of these changes and the HMAC. A lock excludes others during a decision and its record.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dplda.audit.conformance import Feature, Measure, Request
from dplda.audit.conformance.interface import exact_delta

SECONDS = 0.2  # how long a lock is waited for
DAY = 86400.0
Change = dict[str, Any]


class Refused(Exception):
    """The ledger refuses."""


class Run:
    """A reserved run."""

    def __init__(self, ledger: JsonLedger, name: str) -> None:
        self.ledger, self.name = ledger, name

    def charge(self, position: int) -> None:
        self.ledger.charge(self.name, position)

    def finish(self) -> None:
        self.ledger.end(self.name, "finish")

    def abandon(self) -> None:
        self.ledger.end(self.name, "abandon")


class JsonLedger:
    """Each document pays for the runs that read it; costs are squared Gaussian-DP parameters."""

    measure = Measure.MU_SQUARED
    features = frozenset(Feature)
    refusals: tuple[type[Exception], ...] = (Refused,)

    def __init__(self, folder: Path, outside: Path) -> None:
        self.file, self.lock, self.mark = folder / "ledger.json", folder / "lock", outside / "mark"
        if not self.file.exists():
            if self.mark.exists():
                raise Refused("the ledger is missing")
            (folder / "key").write_bytes(secrets.token_bytes(32))
            self.lock.touch()
            replaced(self.file, json.dumps({"changes": [], "seal": ""}))
        self.key = (folder / "key").read_bytes()

    def grant(self, dataset: str, epsilon: float, delta: float) -> None:
        if not (0 < epsilon < math.inf and 0 < delta < 1):
            raise Refused("epsilon and delta must be positive and finite")
        with self.transaction() as changes:
            self.write([*changes, new("grant", dataset=dataset, epsilon=epsilon, delta=delta)])

    def spent(self, dataset: str) -> float:
        with self.transaction() as changes:
            return paid([run for run in self.counted(changes) if run["dataset"] == dataset])

    def guaranteed(self, dataset: str) -> tuple[float, float]:
        """The largest grant, because more than the latest may have been spent before."""
        with self.transaction() as changes:
            grants = [one for one in changes if one["kind"] == "grant" and one["dataset"] == dataset]
        return max(grant["epsilon"] for grant in grants), max(grant["delta"] for grant in grants)

    def reserve(self, request: Request) -> Run:
        self.check_costs(request.costs)
        documents = [request.documents.start, request.documents.stop]
        where = {"dataset": request.dataset, "batch": request.batch, "unit": request.unit, "documents": documents}
        run = new("run", id=secrets.token_hex(8), process=os.getpid(), costs=list(request.costs), **where)
        with self.transaction() as changes:
            self.admit(changes, run)
            self.write([*changes, run])
        return Run(self, run["id"])

    def charge(self, run: str, position: int) -> None:
        with self.transaction() as changes:
            self.check_charge([one for one in changes if one.get("id") == run], position)
            self.write([*changes, new("charge", id=run, position=position)])

    def end(self, run: str, how: str) -> None:
        with self.transaction() as changes:
            self.write([*changes, new("end", id=run, how=how)])

    # What is decided

    def check_costs(self, costs: Sequence[float]) -> None:
        if not all(0 < cost < math.inf for cost in costs):
            raise Refused("costs must be positive and finite")

    def check_charge(self, own: list[Change], position: int) -> None:
        """Raise `Refused` if the run with these changes has ended or has charged the release."""
        if any(one["kind"] == "end" or one.get("position") == position for one in own):
            raise Refused("the release was charged before, or the run has ended")

    def admit(self, changes: list[Change], run: Change) -> None:
        """Raise `Refused` if a unit that `run` reads would pay more than a grant allows."""
        runs = [*(other for other in self.counted(changes) if self.shares(other, run)), run]
        if len({one["unit"] for one in runs}) > 1:
            raise Refused("costs of different units cannot be added")
        for dataset in {one["dataset"] for one in runs}:
            grant = self.latest_grant([one for one in changes if one["kind"] == "grant" and one["dataset"] == dataset])
            if self.exceeds(paid(runs), grant):
                raise Refused("the budget does not allow it")

    def exceeds(self, mu_squared: float, grant: Change) -> bool:
        return exact_delta(mu_squared, grant["epsilon"]) > grant["delta"]

    def latest_grant(self, grants: list[Change]) -> Change:
        return grants[-1]

    def shares(self, other: Change, run: Change) -> bool:
        """Whether one unit may be in both: they read the same documents, or have people in one dataset."""
        people = "person" in (other["unit"], run["unit"]) and other["dataset"] == run["dataset"]
        first, last = zip(other["documents"], run["documents"], strict=True)
        return people or max(first) < min(last)

    def counted(self, changes: list[Change]) -> list[Change]:
        """The runs with the costs that count: all of an open run, the charged ones of a run that has ended."""
        endings = {one["id"]: one["how"] for one in reversed(changes) if one["kind"] == "end"}
        charged = {(one["id"], one["position"]) for one in changes if one["kind"] == "charge"}
        runs = [one for one in changes if one["kind"] == "run"]
        return [{**run, "costs": self.count(run, endings.get(run["id"]), charged)} for run in runs]

    def count(self, run: Change, ending: str | None, charged: set[tuple[str, int]]) -> list[float]:
        return [cost for i, cost in enumerate(run["costs"]) if ending is None or (run["id"], i) in charged]

    # How it is kept

    @contextmanager
    def transaction(self) -> Iterator[list[Change]]:
        """All changes, while nobody else reads or writes."""
        with self.lock.open("r+b") as lock:
            locked(lock, fcntl.flock)
            yield self.read()

    def read(self) -> list[Change]:
        content = json.loads(self.file.read_bytes())
        changes: list[Change] = content["changes"]
        if changes and not hmac.compare_digest(content["seal"], self.seal(changes)):
            raise Refused("the ledger was altered")
        self.check_mark(len(changes), content["seal"])
        return changes

    def check_mark(self, length: int, seal: str) -> None:
        """A process that was killed may have written one change and not its mark."""
        marked, marked_seal = json.loads(self.mark.read_bytes()) if self.mark.exists() else (0, "")
        if length < marked or (length == marked and seal != marked_seal):
            raise Refused("an old copy of the ledger was put back")

    def write(self, changes: list[Change]) -> None:
        """Write the changes and then the mark; both are on disk on return."""
        seal = self.seal(changes)
        replaced(self.file, json.dumps({"changes": changes, "seal": seal}))
        replaced(self.mark, json.dumps([len(changes), seal]))

    def seal(self, changes: list[Change]) -> str:
        return hmac.new(self.key, json.dumps(changes, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def new(kind: str, **values: Any) -> Change:
    return {"kind": kind, "time": time.time(), **values}


def paid(runs: list[Change]) -> float:
    """The most that one unit pays for `runs`: a document for those that read it, a person for all."""
    if any(run["unit"] == "person" for run in runs):
        return math.fsum(cost for run in runs for cost in run["costs"])
    documents = [run["documents"][0] for run in runs]
    over = [[run for run in runs if run["documents"][0] <= i < run["documents"][1]] for i in documents]
    return max((math.fsum(cost for run in those for cost in run["costs"]) for those in over), default=0.0)


def replaced(file: Path, text: str) -> None:
    """Replace the content of `file` in one step that is on disk on return."""
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    with draft.open("w") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def locked(file: IO[bytes], lock: Callable[[IO[bytes], int], None]) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Refused("the ledger is locked") from None
            time.sleep(0.001)


class RefundsDeadProcesses(JsonLedger):
    """When it is opened, runs of processes that have died are taken back, with what they had charged."""

    def __init__(self, folder: Path, outside: Path) -> None:
        super().__init__(folder, outside)
        with self.transaction() as changes:
            dead = {one["id"] for one in changes if one["kind"] == "run" and not is_alive(one["process"])}
            if dead:
                self.write([one if one.get("id") not in dead else new("removed") for one in changes])


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


class BeginsAnew(JsonLedger):
    """It writes into its file, and takes what cannot be read for a new ledger."""

    def write(self, changes: list[Change]) -> None:
        with self.file.open("w") as file:
            file.write(json.dumps({"changes": changes, "seal": self.seal(changes)}))
        replaced(self.mark, json.dumps([len(changes), self.seal(changes)]))

    def read(self) -> list[Change]:
        if self.file.stat().st_size == 0:
            self.mark.unlink(missing_ok=True)
            return [new("grant", dataset="notes", epsilon=2.0, delta=1e-6)]
        return super().read()


class ChecksThenWrites(JsonLedger):
    """It looks for room without the lock, and takes the lock to write."""

    def reserve(self, request: Request) -> Run:
        self.seen = self.read()
        time.sleep(0.05)  # as when the disk is slow
        return super().reserve(request)

    def admit(self, changes: list[Change], run: Change) -> None:
        super().admit(self.seen, run)


class LocksOutNoThreads(JsonLedger):
    """Its lock belongs to the process, so that it excludes no thread of it."""

    @contextmanager
    def transaction(self) -> Iterator[list[Change]]:
        with self.lock.open("r+b") as lock:
            locked(lock, fcntl.lockf)
            changes = self.read()
            time.sleep(0.02)  # as when the disk is slow, so that threads meet on a busy machine, too
            yield changes


class CountsChargesOnly(JsonLedger):
    """Open reservations count for nothing."""

    def count(self, run: Change, ending: str | None, charged: set[tuple[str, int]]) -> list[float]:
        return super().count(run, ending or "finish", charged)


class ChargesAgain(JsonLedger):
    """A release may be charged as often as one likes."""

    def check_charge(self, own: list[Change], position: int) -> None:
        pass


class RefundsAbandonedRuns(JsonLedger):
    """A run that is abandoned costs nothing, whatever it had charged."""

    def count(self, run: Change, ending: str | None, charged: set[tuple[str, int]]) -> list[float]:
        return [] if ending == "abandon" else super().count(run, ending, charged)


class KeepsNoMark(JsonLedger):
    """It knows nothing but its file."""

    def check_mark(self, length: int, seal: str) -> None:
        pass


class ForgetsOldReservations(JsonLedger):
    """Runs that have not ended within a day count for nothing."""

    def count(self, run: Change, ending: str | None, charged: set[tuple[str, int]]) -> list[float]:
        late = ending is None and abs(time.time() - run["time"]) > DAY
        return [] if late else super().count(run, ending, charged)


class SortsByTime(JsonLedger):
    """The grant in force is that with the latest time."""

    def latest_grant(self, grants: list[Change]) -> Change:
        return max(grants, key=lambda grant: grant["time"])


class HasNoSeal(JsonLedger):
    """Its seal depends on no content."""

    def seal(self, changes: list[Change]) -> str:
        return "sealed"


class MixesUnits(JsonLedger):
    """Costs of all units are added."""

    def admit(self, changes: list[Change], run: Change) -> None:
        super().admit([{**one, "unit": run["unit"]} if "unit" in one else one for one in changes], run)


class TrustsNames(JsonLedger):
    """Documents are those of their dataset's name."""

    def shares(self, other: Change, run: Change) -> bool:
        return bool(other["dataset"] == run["dataset"]) and super().shares(other, run)


class TrustsBatches(JsonLedger):
    """Batches with different names compose in parallel, whatever is in them."""

    def shares(self, other: Change, run: Change) -> bool:
        apart = other["batch"] != run["batch"] and other["dataset"] == run["dataset"]
        return not apart and super().shares(other, run)


class MistakesTheMeasure(JsonLedger):
    """Squared Gaussian-DP parameters are taken for zCDP parameters, which are half as large."""

    def exceeds(self, mu_squared: float, grant: Change) -> bool:
        return super().exceeds(mu_squared / 2, grant)


class TakesAnyNumber(JsonLedger):
    """Costs may be negative or not a number."""

    def check_costs(self, costs: Sequence[float]) -> None:
        pass

    def exceeds(self, mu_squared: float, grant: Change) -> bool:
        return mu_squared > 0 and super().exceeds(mu_squared, grant)


class RoundsCosts(JsonLedger):
    """Costs are kept with six decimals."""

    def reserve(self, request: Request) -> Run:
        rounded = Request(**{**vars(request), "costs": tuple(round(cost, 6) for cost in request.costs)})
        return super().reserve(rounded)

    def check_costs(self, costs: Sequence[float]) -> None:
        if not all(0 <= cost < math.inf for cost in costs):
            raise Refused("costs must be finite and not negative")


class GuaranteesTheLatestGrant(JsonLedger):
    """Its guarantee is the grant in force, even if more was spent."""

    def guaranteed(self, dataset: str) -> tuple[float, float]:
        with self.transaction() as changes:
            grant = [one for one in changes if one["kind"] == "grant" and one["dataset"] == dataset][-1]
        return grant["epsilon"], grant["delta"]


class GoesOnWithoutStorage(JsonLedger):
    """A charge that cannot be written is left out."""

    def charge(self, run: str, position: int) -> None:
        try:
            super().charge(run, position)
        except (OSError, Refused) as error:
            if isinstance(error, Refused) and "locked" not in str(error):
                raise


FULL = ("full_disk_releases_nothing", "missing_folder_releases_nothing", "locked_file_releases_nothing")
BROKEN: dict[type[JsonLedger], set[str]] = {  # each broken ledger, and the rules that it breaks
    RefundsDeadProcesses: {"crash_keeps_charges"},
    BeginsAnew: {"crash_keeps_charges", "edits_are_noticed"},
    ChecksThenWrites: {"processes_share_one_budget", "threads_share_one_budget"},
    LocksOutNoThreads: {"threads_share_one_budget"},
    CountsChargesOnly: {
        *("open_reservations_count", "processes_share_one_budget", "threads_share_one_budget"),
        "time_gives_nothing_back",
    },
    ChargesAgain: {"release_is_charged_once", "threads_share_one_budget"},
    RefundsAbandonedRuns: {"ending_refunds_no_charge", "crash_keeps_charges"},
    KeepsNoMark: {"old_copy_is_noticed", "old_copy_charges_nothing_again"},
    ForgetsOldReservations: {"time_gives_nothing_back"},
    SortsByTime: {"order_is_not_time"},
    HasNoSeal: {"edits_are_noticed"},
    MixesUnits: {"units_are_not_mixed"},
    TrustsNames: {"documents_keep_their_budget"},
    TrustsBatches: {"batches_that_overlap_add_up"},
    MistakesTheMeasure: {"grant_is_never_exceeded"},
    TakesAnyNumber: {"impossible_numbers_are_refused"},
    RoundsCosts: {"small_costs_count"},
    GuaranteesTheLatestGrant: {"guarantee_covers_what_was_spent"},
    GoesOnWithoutStorage: set(FULL),
}
