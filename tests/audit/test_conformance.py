"""The conformance suite: it passes ledgers that keep its rules, and fails each broken one for what is wrong with it."""

from __future__ import annotations

import datetime
import re
import sqlite3
import sys
import time
from datetime import UTC, date
from functools import partial
from pathlib import Path

import pytest
from broken_ledgers import BROKEN, JsonLedger, Refused
from click.testing import CliRunner
from full_helpers import full_after

from dplda.audit.conformance import RULES, Factory, Feature, Outcome, check, own
from dplda.audit.conformance.__main__ import main
from dplda.audit.conformance.harness import Harness, shifted_clock
from dplda.audit.conformance.interface import DELTA, EPSILON, Measure, exact_delta, largest_mu_squared, share_of_budget
from dplda.audit.conformance.storage_rules import edits_of
from dplda.budget import accountant, database

NAMES = {rule.__name__ for rule in RULES}
PROCESSES = {"crash_keeps_charges", "processes_share_one_budget"}  # slow: test_ledger_processes has the same for dplda
OLD_COPIES = {"old_copy_is_noticed", "old_copy_charges_nothing_again"}


def broken(factory: Factory, rules: set[str] = NAMES) -> dict[str, str]:
    return {result.rule: result.detail for result in check(factory, rules) if result.outcome == Outcome.BROKEN}


@pytest.mark.full
def test_a_ledger_that_keeps_every_rule_passes():
    assert [str(result) for result in check(JsonLedger) if result.outcome != Outcome.KEPT] == []


@pytest.mark.parametrize("ledger", full_after(3, BROKEN), ids=lambda ledger: ledger.__name__)
def test_a_broken_ledger_fails_what_it_breaks(ledger):
    assert broken(ledger, BROKEN[ledger]).keys() == BROKEN[ledger]


@pytest.mark.slow
@pytest.mark.parametrize("ledger", full_after(3, BROKEN), ids=lambda ledger: ledger.__name__)
def test_a_broken_ledger_fails_nothing_else(ledger):
    assert broken(ledger).keys() == BROKEN[ledger]


def test_every_rule_is_broken_by_a_ledger():
    assert set().union(*BROKEN.values()) == NAMES


@pytest.mark.full
def test_dplda_keeps_every_rule(monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    assert broken(own.factory, NAMES - PROCESSES) == {}


@pytest.mark.full
def test_dplda_keeps_the_rules_of_processes():
    assert broken(own.factory, PROCESSES) == {}


def test_dplda_without_its_witness_fails_the_rules_of_old_copies(monkeypatch):
    monkeypatch.setattr(own, "SETTING", "DPLDA_NO_SETTING")
    monkeypatch.setenv("DPLDA_WITNESS", "off")
    assert broken(own.factory, OLD_COPIES).keys() == OLD_COPIES


class AdmitsNothing(JsonLedger):
    def admit(self, changes, run):
        raise Refused("always")


def test_a_ledger_that_admits_nothing_does_not_pass_for_that():
    assert broken(AdmitsNothing, {"grant_is_never_exceeded", "edits_are_noticed"}).keys() == {
        "grant_is_never_exceeded",
        "edits_are_noticed",
    }


class KnowsOneDataset(JsonLedger):
    features = frozenset()


def test_rules_about_features_that_a_ledger_lacks_do_not_apply():
    rules = {
        "guarantee_covers_what_was_spent",
        "units_are_not_mixed",
        "documents_keep_their_budget",
        "batches_that_overlap_add_up",
    }
    results = check(KnowsOneDataset, rules)
    assert {result.rule: result.outcome for result in results} == dict.fromkeys(rules, Outcome.NOT_APPLICABLE)
    assert all("the ledger" in result.detail for result in results)


class CountsPureEpsilon(JsonLedger):
    """Costs are epsilons of pure mechanisms, which are summed."""

    measure = Measure.EPSILON
    features = frozenset({Feature.GUARANTEED})

    def grant(self, dataset, epsilon, delta):
        assert delta == 0
        super().grant(dataset, epsilon, 0.5)

    def exceeds(self, mu_squared, grant):
        return mu_squared > grant["epsilon"]


class CountsTooLittle(CountsPureEpsilon):
    def exceeds(self, mu_squared, grant):
        return mu_squared > 1.02 * grant["epsilon"]


def test_ledgers_of_pure_mechanisms_are_checked_too():
    rules = {"grant_is_never_exceeded", "small_costs_count", "guarantee_covers_what_was_spent"}
    assert broken(CountsPureEpsilon, rules) == {}
    assert broken(CountsTooLittle, rules).keys() == {"grant_is_never_exceeded"}


class Raises(JsonLedger):
    def reserve(self, request):
        raise KeyError("adapter")


def test_an_error_of_an_adapter_is_shown():
    assert broken(Raises, {"small_costs_count"}) == {"small_costs_count": "KeyError: 'adapter'"}


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"luck.*grant_is_never_exceeded"):
        check(JsonLedger, ["luck"])


def test_a_budget_is_what_other_accountants_say():
    sigma = share_of_budget(1.0, Measure.NOISE_MULTIPLIER)
    assert accountant.gaussian_epsilon(1 / sigma, DELTA) == pytest.approx(EPSILON, rel=1e-9)
    assert exact_delta(largest_mu_squared(), EPSILON) == pytest.approx(DELTA, rel=1e-9)
    assert share_of_budget(0.5, Measure.RHO) == pytest.approx(largest_mu_squared() / 4)
    assert share_of_budget(0.5, Measure.EPSILON) == EPSILON / 2


def test_a_tested_size_fits_once(tmp_path):
    harness = Harness(JsonLedger, tmp_path)
    assert harness.size == 0.97
    assert harness.holds_another(place := harness.new_place())
    assert not harness.holds_another(place)


def test_edits_change_text_and_databases(tmp_path):
    (tmp_path / "text").write_bytes(b"epsilon 2.5\ndelta\n")
    with sqlite3.connect(tmp_path / "base") as connection:
        connection.execute("CREATE TABLE costs (run TEXT, cost REAL, note TEXT)")
        connection.execute("INSERT INTO costs VALUES ('a', 0.25, NULL)")
    connection.close()
    original = {file: file.read_bytes() for file in tmp_path.iterdir()}
    found = {}
    for what, edit in edits_of(tmp_path):
        edit()
        changed = [file for file in original if file.read_bytes() != original[file]]
        assert len(changed) == 1, what
        found[what] = changed[0].read_bytes()
        changed[0].write_bytes(original[changed[0]])
    assert found["the number at byte 8 of text became zero"] == b"epsilon 0.0\ndelta\n"
    assert found["line 1 of text was removed"] == b"delta\n"
    assert found["half of text was cut off"] == b"epsilon 2"
    assert {"the rows of table costs were removed", "column cost of table costs became zero"} <= found.keys()


def test_a_shifted_clock_is_read_by_all_modules_and_then_set_right():
    classes = datetime.datetime, date, sys.modules[__name__].date
    day, now = 86400, time.time()
    with shifted_clock(3 * day):
        assert time.time() - now == pytest.approx(3 * day, abs=60)
        assert time.time_ns() / 1e9 - now == pytest.approx(3 * day, abs=60)
        for told in (datetime.datetime.now(UTC), datetime.datetime.now(), datetime.datetime.today()):
            assert told.timestamp() - now == pytest.approx(3 * day, abs=60)
            assert isinstance(told, datetime.datetime)
        assert date.today() == datetime.datetime.now().date()
    assert (datetime.datetime, date, sys.modules[__name__].date) == classes
    assert time.time() - now < 60


def test_the_command_prints_a_line_for_each_rule_and_fails_if_one_is_broken():
    run = partial(CliRunner().invoke, main)
    rules = ["--rule", "small_costs_count", "--rule", "order_is_not_time"]
    kept = run(["broken_ledgers:JsonLedger", *rules])
    assert (kept.exit_code, kept.output) == (
        0,
        "kept            small_costs_count\nkept            order_is_not_time\n",
    )
    failed = run(["broken_ledgers:SortsByTime", *rules])
    assert failed.exit_code == 1
    assert "broken          order_is_not_time: with another date, a grant that had been lowered was" in failed.output


@pytest.mark.parametrize(
    "wrong", [["no_such_module:f"], ["broken_ledgers:f"], ["broken_ledgers:JsonLedger", "--rule", "x"]]
)
def test_the_command_says_what_was_called_wrongly(wrong):
    result = CliRunner().invoke(main, wrong)
    assert result.exit_code == 2
    assert "Error: " in result.output


PAGE = Path(__file__).resolve().parents[2] / "docs" / "ledger-conformance.md"


def test_the_page_has_every_rule_in_order():
    listed = re.findall(r"(?m)^(\d+)\. \*\*`(\w+)`\*\*", PAGE.read_text(encoding="utf-8"))
    assert listed == [(str(i + 1), rule.__name__) for i, rule in enumerate(RULES)]


def test_the_ledger_of_the_page_breaks_what_the_page_says(tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    code, expected = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)[0] for kind in ("python", "text"))
    (tmp_path / "one_number.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    shown = CliRunner().invoke(main, ["one_number:OneNumber"])
    races = re.compile(r"(\w+_share_one_budget): .*")  # how many of them won is a matter of luck
    assert races.sub(r"\1", shown.output) == races.sub(r"\1", expected)
    assert shown.exit_code == 1
