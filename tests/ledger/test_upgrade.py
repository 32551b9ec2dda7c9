"""Ledgers of earlier versions are brought up to date in one transaction, and keep their record."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from ledger_helpers import gaussian, reserve, sample, spend

from dplda.accounting.accountant import capacity
from dplda.corpus import Corpus
from dplda.errors import BudgetRefused, LedgerError
from dplda.ledger import Ledger
from dplda.ledger.schema import SCHEMA_VERSION
from dplda.store.fingerprint import fingerprint
from dplda.store.sketches import Fingerprint

TABLES = ("cells", "comparisons", "overlaps", "groupings", "sketches", "accepted_copies")
ADDED = {1: TABLES, 2: TABLES[2:], 3: ("groupings", TABLES[-1]), **dict.fromkeys((4, 5, 6), TABLES[-1:])}
COLUMNS = {  # and the version that added them
    ("runs", "grouping"): 4,
    ("grants", "listed"): 4,
    ("runs", "batch"): 5,
    ("runs", "result"): 6,
}


@pytest.fixture(params=ADDED)
def old(request, ledger, monkeypatch):
    """A ledger as an earlier version left it, with a grant and a run on documents `f` that has no sketch yet."""
    with monkeypatch.context() as earlier:
        earlier.setattr("dplda.ledger.reservation._document_rows", lambda *_: [])
        ledger.grant("reviews", 9.0, 1e-5)
        spend(ledger)
    connection = sqlite3.connect(ledger.path)
    with connection:
        for table in ADDED[request.param]:
            connection.execute(f"DROP TABLE {table}")
        for (table, column), added in COLUMNS.items():
            if added > request.param:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
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
    assert version(new.path) == SCHEMA_VERSION == 7
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
        patched.setattr("dplda.ledger.database.Base.metadata.create_all", fail)
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


SCHEMA_3 = Path(__file__).with_name("data") / "schema3.sql"


@pytest.fixture
def schema_3(tmp_path):
    """A ledger that dplda wrote when its schema was 3: 4 documents of 3 people, one of them of two words."""
    script = SCHEMA_3.read_text()
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript(script)
    connection.close()
    (tmp_path / "old.db.key").write_bytes(bytes.fromhex(script.splitlines()[0].split()[-1]))
    return tmp_path / "old.db"


def corpus(units):
    counts = np.array([[1, 2, 0], [0, 0, 3], [1, 1, 1], [0, 1, 0]])
    return Corpus.from_counts(counts, ["a", "b", "c"], units=units).open()


def test_a_ledger_of_schema_3_keeps_its_record_and_learns_groupings_when_documents_are_bound_again(schema_3):
    ledger = Ledger(schema_3)
    assert (version(schema_3), ledger.verify().ok, ledger.verify().length) == (SCHEMA_VERSION, True, 8)
    [run] = ledger.runs()
    assert (run.status, run.grouping, run.unit) == ("done", None, "unit")
    assert ledger.dataset("tickets").guarantee == "the guarantee is the whole grant: epsilon 8 at delta 1e-05"
    assert run.id in ledger.dataset("tickets").remarks[0]
    assert "is not recorded" in ledger.dataset("tickets").remarks[0]
    people = fingerprint(corpus(["u", "u", "v", "w"]), ledger.key)
    assert people.code == run.fingerprint
    small = {"unit": "unit", "events": [gaussian(mu_squared=0.01)]}
    reserve(ledger, "tickets", **small).bind(people)  # its sketch is replaced by one of eligible documents
    assert ledger.verify().ok
    with pytest.raises(BudgetRefused, match="groups them otherwise"):
        reserve(ledger, "tickets", **small).bind(fingerprint(corpus([1, 2, 3, 4]), ledger.key))
    assert Ledger(schema_3).verify().ok


def test_a_value_put_into_a_column_that_an_old_row_did_not_have_is_found(schema_3):
    Ledger(schema_3)
    connection = sqlite3.connect(schema_3)
    with connection:
        connection.execute("UPDATE grants SET listed = '[900.0]'")
    connection.close()
    assert any("listed" in problem for problem in Ledger(schema_3).verify().problems)
