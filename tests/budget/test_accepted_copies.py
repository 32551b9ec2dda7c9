"""An older copy that is accepted: what it lacks is not known, so nothing is promised of it and nothing goes on."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from ledger_helpers import contents, gaussian, grant, in_processes, put_back, reserve, spend

from dplda.base.errors import BudgetRefused, InputError, LedgerError
from dplda.budget import Ledger, database

SMALL = {"events": [gaussian(mu_squared=0.01)] * 2}


@pytest.fixture
def old(ledger):
    """A ledger in whose place an older copy was put: it lacks a raised grant, a run, and a whole dataset."""
    ledger.grant("reviews", 4.0, 1e-6)
    ledger.grant("public", unbounded=True)
    spend(ledger, "reviews", events=[gaussian(mu_squared=0.1)])
    files = contents(ledger)
    ledger.grant("reviews", 8.0, 1e-6)
    spend(ledger, "reviews", events=[gaussian(mu_squared=0.2)])
    spend(ledger, "unknown", "g", events=[gaussian(mu_squared=0.5)])
    put_back(files)
    return ledger


@pytest.fixture
def accepted(old):
    old.accept_copy()
    return old


@pytest.mark.parametrize("dataset", ["reviews", "public", "unknown", "new"])
def test_no_dataset_may_spend_before_it_is_granted_again(accepted, dataset):
    for sound in (True, False):
        with pytest.raises(BudgetRefused, match=f"lapsed .*dplda budget grant {dataset} "):
            reserve(accepted, dataset, sound=sound, **SMALL)
    accepted.grant(dataset, 6.0, 1e-6)
    spend(accepted, dataset, f"documents of {dataset}", **SMALL)
    assert accepted.verify().ok


def test_what_the_copy_knows_still_counts_against_the_new_grant(accepted):
    accepted.grant("reviews", 1.0, 1e-6)
    assert accepted.dataset("reviews").spent.mu_squared == pytest.approx(0.1)
    with pytest.raises(BudgetRefused, match="cannot pay"):
        reserve(accepted, events=[gaussian(mu_squared=0.05)])


@pytest.mark.parametrize("dataset", ["reviews", "new"])
def test_no_guarantee_is_stated_any_more(accepted, dataset):
    accepted.grant(dataset, 6.0, 1e-6)
    spend(accepted, dataset, f"documents of {dataset}", **SMALL)
    record = accepted.dataset(dataset)
    assert record.guarantee == (
        "no guarantee: an older copy of the ledger was accepted, and what its lost changes spent is unknown"
    )
    assert record.to_json()["guaranteed"] == {"epsilon": None, "delta": None, "basis": "changes lost"}
    assert not record.guaranteed_alone.holds
    assert record.raises == ""


def test_a_lapsed_grant_is_told_in_words_and_the_copy_in_the_history(accepted):
    record = accepted.dataset("reviews")
    assert record.in_short.startswith("nothing may be spent before it is granted again: every grant lapsed")
    assert (record.remaining, record.remaining_text, record.grant.unbounded) == (0.0, "no run is admitted", False)
    assert json.loads(json.dumps(record.to_json()))["grant"] == {
        "epsilon": 0.0, "delta": 1e-5, "unbounded": False, "lapsed": True,
    }  # fmt: skip
    told = [line.text for line in accepted.history("reviews")]
    changes = accepted.verify().length - 1
    assert told[-1].startswith(f"every grant lapsed when an older copy of the ledger was accepted, of {changes} rec")
    quote = accepted.quote(dataset="reviews", unit="document", adjacency="add-remove", delta=1e-6, plans=[], sound=True)
    assert quote.share == 1.0


def test_an_open_run_cannot_go_on_and_counts_as_wholly_spent(ledger):
    run = reserve(ledger, **SMALL)
    files = contents(ledger)
    run.abandon("cancelled", "")
    put_back(files)
    ledger.accept_copy()
    ledger.grant("reviews", 9.0, 1e-5)
    for step in (lambda: run.charge(run.events[0]), lambda: run.abandon("failed", "")):
        with pytest.raises(LedgerError, match=run.run):
            step()
    assert ledger.dataset("reviews").spent.mu_squared == pytest.approx(0.02)
    spend(ledger, **SMALL)


def test_the_ledger_goes_on_under_its_witness_and_the_newer_copy_is_then_the_wrong_one(old):
    before = contents(old)
    old.accept_copy()
    grant(old)
    assert old.verify().ok
    assert Ledger(old.path).witness()[1] == old.verify().length
    put_back(before)
    with pytest.raises(LedgerError, match="older copy"):
        grant(old)
    old.accept_copy()
    assert len(old._store.witness.latest().code) == 64
    assert old.verify().ok


def test_there_is_nothing_to_accept_if_the_witness_knows_no_newer_copy(ledger, monkeypatch):
    for setting in (None, "off"):
        if setting:
            monkeypatch.setenv("DPLDA_WITNESS", setting)
        with pytest.raises(InputError, match="nothing to accept"):
            Ledger(ledger.path).accept_copy()
        grant(ledger)
    assert ledger.verify().length == 3


def test_an_altered_copy_is_not_accepted(old):
    connection = sqlite3.connect(old.path)
    with connection:
        connection.execute("UPDATE grants SET epsilon = 900")
    connection.close()
    with pytest.raises(LedgerError, match="altered"):
        old.accept_copy()


def die_before_the_mark(path: Path, setting: str) -> None:
    os.environ["DPLDA_WITNESS"] = setting
    setattr(database.Mark, "to_line", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010
    Ledger(path).accept_copy()


def test_an_acceptance_cut_short_before_its_mark_is_made_again(old):
    assert in_processes(die_before_the_mark, [(old.path, os.environ["DPLDA_WITNESS"])]) == [-signal.SIGKILL]
    with pytest.raises(LedgerError, match="copy"):
        grant(old)
    old.accept_copy()
    grant(old)
    assert sum(line.text.startswith("every grant lapsed") for line in old.history("reviews")) == 2
