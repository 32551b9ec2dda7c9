from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import gaussian, reserve, spend

from dplda.base.errors import LedgerError
from dplda.budget import Ledger
from dplda.budget.schema import Chain, canonical
from dplda.budget.sketches import Fingerprint

EDITS = {
    "UPDATE events SET asked = 0": "events '{run}/0' was altered: asked",
    "UPDATE runs SET status = 'failed', seconds = '0'": "runs '{run}' was altered: status, seconds",
    "UPDATE grants SET epsilon = 50": "grants '1' was altered: epsilon",
    "UPDATE runs SET fingerprint = NULL": "runs '{run}' was altered: fingerprint",
    "DELETE FROM events": "events '{run}/0' was removed",
    "DELETE FROM grants": "grants '1' was removed",
    "INSERT INTO datasets VALUES ('twin', '')": "datasets 'twin' is not in the journal",
    "UPDATE journal SET change = replace(change, '9', '90') WHERE number = 2": "journal row 2 was altered",
    "DELETE FROM journal WHERE number BETWEEN 2 AND 3": "journal rows 2 to 3 were removed",
    "DELETE FROM journal WHERE number = 8": "ends at row 7, its head says 8",
    "UPDATE head SET length = 7": "the journal's head was altered",
    "DELETE FROM head": "the journal's head was removed",
    "DELETE FROM journal": "the journal ends at row 0",
    "UPDATE runs SET parameters = '{', created = ''": "runs '{run}' was altered: parameters, created",
    "UPDATE grants SET epsilon = 'much'": "grants '1' was altered: epsilon",
    "CREATE VIEW shown AS SELECT * FROM runs": "view 'shown' was added to the file",
    "CREATE TRIGGER later AFTER INSERT ON events BEGIN SELECT 1; END": "trigger 'later' was added to the file",
    "CREATE TABLE more (x)": "table 'more' was added to the file",
    "UPDATE journal SET change = x'00', code = x'00' WHERE number = 3": "journal row 3 was altered",
}


def edit(ledger: Ledger, statement: str) -> None:
    connection = sqlite3.connect(ledger.path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """A ledger with a grant and a finished run: eight changes."""
    ledger.grant("reviews", 9.0, 1e-5)
    spend(ledger, events=[gaussian()])
    return ledger


def test_an_untouched_ledger_is_intact(used):
    assert used.verify() == Ledger(used.path).verify()
    assert (used.verify().ok, used.verify().length, used.verify().problems) == (True, 8, ())


@pytest.mark.parametrize("statement", EDITS)
def test_an_edit_by_hand_is_found_and_named(used, statement):
    run = used.runs()[0].id
    edit(used, statement)
    verification = Ledger(used.path).verify()
    assert not verification.ok
    assert any(EDITS[statement].replace("{run}", run) in problem for problem in verification.problems)


@pytest.mark.parametrize("statement", EDITS)
def test_no_budget_is_decided_on_an_altered_ledger(used, statement):
    edit(used, statement)
    with pytest.raises(LedgerError, match="dplda budget verify"):
        reserve(used, events=[gaussian(mu_squared=0.01)])


@pytest.mark.parametrize("told", [Ledger.runs, Ledger.datasets, lambda ledger: ledger.dataset("reviews")])
def test_nothing_is_told_from_an_altered_ledger(used, told):
    edit(used, "UPDATE grants SET epsilon = -1")
    with pytest.raises(LedgerError, match="altered"):
        told(used)


def test_an_open_run_is_not_bound_on_an_altered_ledger(used):
    run = reserve(used, events=[gaussian(mu_squared=0.01)])
    edit(used, "UPDATE events SET asked = 0")
    with pytest.raises(LedgerError, match="altered"):
        run.bind(Fingerprint("f"))


def test_nothing_is_asked_or_granted_on_a_journal_cut_short(used):
    run = reserve(used, events=[gaussian(mu_squared=0.01)])
    run.bind(Fingerprint("f"))
    edit(used, "DELETE FROM journal WHERE number > 8")
    for change in (lambda: run.charge(run.events[0]), lambda: used.grant("reviews", 20.0, 1e-5)):
        with pytest.raises(LedgerError, match="altered"):
            change()


def test_nothing_is_granted_on_a_journal_whose_head_was_altered(used):
    edit(used, "UPDATE head SET length = length + 1")
    with pytest.raises(LedgerError, match="journal"):
        used.grant("reviews", 20.0, 1e-5)


def test_a_chain_without_the_key_cannot_be_forged(used):
    """Replace a change and recompute all codes under another key: every row is reported."""
    other = Chain(b"x" * 32)
    connection = sqlite3.connect(used.path)
    with connection:
        code = ""
        for number, change in connection.execute("SELECT number, change FROM journal").fetchall():
            code = other.link(code, change)
            connection.execute("UPDATE journal SET code = ? WHERE number = ?", (code, number))
        connection.execute("UPDATE head SET code = ?, seal = ?", (code, other.seal(8, code)))
    connection.close()
    assert len(used.verify().problems) >= 8


@given(st.binary(min_size=32, max_size=32), st.text(), st.text())
def test_codes_depend_on_key_predecessor_and_change(key, previous, change):
    code = Chain(key).link(previous, change)
    assert code == Chain(key).link(previous, change)
    assert code != Chain(key + b"x").link(previous, change)
    assert code != Chain(key).link(previous + "x", change)
    assert code != Chain(key).link(previous, change + "x")


@given(st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_canonical_json_does_not_depend_on_order(value):
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_a_row_that_an_index_misses_is_found(used):
    """The tables are whole, but who looks a run up by its number would not see it."""
    connection = sqlite3.connect(used.path)
    with connection:
        connection.execute("PRAGMA writable_schema = ON")
        found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_runs_%'")
        pages = [page for (page,) in found]
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'sqlite_autoindex_runs_1'", pages[1:2])
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'sqlite_autoindex_runs_2'", pages[0:1])
    connection.close()
    assert any("the file is damaged" in problem for problem in used.verify().problems)
    with pytest.raises(LedgerError, match="altered"):
        used.runs()
