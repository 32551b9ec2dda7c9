"""Ledgers of earlier versions are brought up to date in one transaction, and keep their record."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from ledger_helpers import reserve, sample, spend

from dplda.errors import BudgetRefused, LedgerError
from dplda.ledger import Ledger
from dplda.ledger.schema import SCHEMA_VERSION
from dplda.overlap import Fingerprint
from dplda.privacy.accountant import capacity

ADDED = {1: ("overlaps", "sketches", "cells", "comparisons"), 2: ("overlaps", "sketches")}


@pytest.fixture(params=ADDED)
def old(request, ledger, monkeypatch):
    """A ledger as version 1 or 2 left it, with a grant and a run on documents `f`."""
    with monkeypatch.context() as earlier:
        earlier.setattr("dplda.ledger.reservation._sketch_rows", lambda *_: [])
        ledger.grant("reviews", 9.0, 1e-5)
        spend(ledger)
    connection = sqlite3.connect(ledger.path)
    with connection:
        for table in ADDED[request.param]:
            connection.execute(f"DROP TABLE {table}")
        connection.execute(f"PRAGMA user_version = {request.param}")
    connection.close()
    return ledger


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return found


def test_an_old_ledger_is_brought_up_to_date_and_keeps_its_record(old):
    runs, dataset = Ledger(old.path).runs(), Ledger(old.path).dataset("reviews")
    new = Ledger(old.path)
    assert version(new.path) == SCHEMA_VERSION == 3
    assert (new.verify().ok, new.verify().length) == (True, 7)
    assert (new.runs(), new.dataset("reviews")) == (runs, dataset)
    begun = new.begin_comparison(key="k", corpus="reviews", kind="private", parameters={})
    assert Ledger(old.path).comparison("k").name == begun.name


def test_old_runs_share_documents_once_these_are_bound_again(old):
    ledger, part = Ledger(old.path), Fingerprint("part", sample(range(50)))
    spend(ledger, "part", part)
    assert ledger.dataset("part").linked == ("part",)
    reserve(ledger).bind(Fingerprint("f", sample(range(100))))
    assert ledger.dataset("part").linked == ("part", "reviews")
    ledger.grant("part", 1.0, 1e-6)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "part").bind(part)


def test_an_upgrade_is_whole_or_not_at_all(old, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    before = version(old.path)
    with monkeypatch.context() as patched:
        patched.setattr("dplda.ledger.store.Base.metadata.create_all", fail)
        with pytest.raises(KeyboardInterrupt):
            Ledger(old.path)
    assert version(old.path) == before
    assert Ledger(old.path).dataset("reviews").spent.fits(capacity(9.0, 1e-5))


def test_processes_that_upgrade_at_once_agree(old):
    found = []
    threads = [threading.Thread(target=lambda: found.append(Ledger(old.path).verify().ok)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_a_ledger_whose_key_is_not_its_own_is_not_upgraded(old):
    before = version(old.path)
    old.path.with_name(old.path.name + ".key").write_bytes(bytes(32))
    with pytest.raises(LedgerError, match="does not belong"):
        Ledger(old.path)
    assert version(old.path) == before
