"""Runs that make tables: what they charge and release, and that nothing is spent on bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

import dplda
from dplda.base.errors import BudgetRefused, InputError, UnsupportedByData
from dplda.budget import Ledger
from dplda.budget.accountant import run_epsilon
from dplda.model.topic_model import TopicModel
from dplda.private.attributes import OTHER, Attribute, Axis, TableRows
from dplda.private.noise import ExactNoise
from dplda.private.passes.local_passes import LocalPasses
from dplda.runs import tabulation
from dplda.runs.corpus import synthetic
from dplda.runs.released_table import least_noisy_shares
from dplda.runs.tabulation import best_shares, groupings, plan_tables, tables_of, topic_tables

N, D, K = 3000, 60, 3
COUNTS, TOPICS, _ = synthetic(N, D, K, mean_length=40, seed=4)
WORDS = [f"w{i}" for i in range(D)]
DAYS = [(date(2024, 1, 1) + timedelta(days=i % 90)).isoformat() for i in range(N)]
PRODUCTS = [("phone", "tablet", "toaster")[i % 3] if i % 7 else None for i in range(N)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l.db")


@pytest.fixture(scope="module")
def model():
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=True, name="c")
    found = dplda.fit(corpus, n_topics=K, epsilon=50, ledger=False, simulate_seed=1)
    return replace(found, privacy=replace(found.privacy, sound=True, reason="", epsilon=1.0))


def corpus(n=N, units=None, **groups):
    groups = groups or {"product": PRODUCTS, "day": DAYS}
    return dplda.Corpus.from_counts(
        COUNTS[:n], WORDS, units, name="c", groups={k: v[:n] for k, v in groups.items()}, unit=units and "person"
    )


def exact(model: TopicModel, source: dplda.Corpus, axes) -> np.ndarray:
    passes = LocalPasses(source.open())
    rows = TableRows(axes)
    passes.use_words(tuple(model.vocabulary), rows)
    contribution = tabulation.table_proportions(model.topics.T, float(np.mean(model.alpha)), len(rows))
    total, _ = passes.clipped_sum(contribution, tabulation.TABLE_CLIP)
    return total * tabulation.TABLE_CLIP / 2**20


def test_a_table_without_attributes_is_one_row_and_gives_shares_intervals(ledger):
    source = corpus()
    model = dplda.fit(source, n_topics=K, epsilon=3.0, vocabulary=WORDS, ledger=ledger)
    tables = dplda.tabulate(model, source, epsilon=4.0, ledger=ledger)
    (one,) = tables
    assert (one.by, one.rows, one.to_json()["changes"]) == ((), [()], [])
    truth = exact(model, source, ())
    shares = one.shares()
    expected = truth[0, :-1] / truth[0, :-1].sum()
    np.testing.assert_allclose(shares.value[0], expected, atol=0.02)
    best = best_shares(ledger, model)
    assert best is not None
    np.testing.assert_array_equal(best.value, least_noisy_shares([tables], model).value)
    np.testing.assert_array_equal(best.value, shares.value[0])
    assert ((best.low <= best.value) & (best.value <= best.high)).all()
    dplda.tabulate(model, source, epsilon=0.1, ledger=ledger)
    np.testing.assert_array_equal(best_shares(ledger, model).value, best.value)  # the one with less noise
    assert best_shares(ledger, replace(model, facts=replace(model.facts, run="another"))) is None
    dplda.tabulate(model, source, epsilon=5.0, dataset="elsewhere", ledger=ledger)
    other = dplda.tabulate(model, corpus(N // 4), epsilon=5.0, ledger=ledger)
    assert least_noisy_shares([other], model) is None
    np.testing.assert_array_equal(best_shares(ledger, model).value, best.value)  # not of other documents


def test_a_table_of_other_files_is_not_of_the_documents_that_topics_were_learned_from(ledger, tmp_path):
    """The year and its last month, and another column of texts; only the names of files and columns decide."""
    texts = [" ".join(np.repeat(WORDS, row.toarray()[0])) for row in COUNTS[:400]]
    for name, lines in (("year", texts), ("october", texts[:100])):
        rows = [json.dumps({"text": text, "reply": text, "product": "phone"}) for text in lines]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))

    def read(name, **options):
        return dplda.read_corpus(tmp_path / f"{name}.jsonl", name="c", cache=tmp_path / "cache", **options)

    model = dplda.fit(read("year"), n_topics=2, epsilon=3.0, vocabulary=WORDS, ledger=ledger)
    for source in (read("october"), read("year", text_field="reply")):
        assert not dplda.tabulate(model, source, epsilon=1.0, ledger=ledger).same_documents
    assert best_shares(ledger, model) is None
    again = dplda.tabulate(model, read("year", group_fields=["product"]), epsilon=1.0, ledger=ledger)
    assert again.same_documents
    np.testing.assert_array_equal(best_shares(ledger, model).value, again[0].shares().value[0])
    assert len(tabulation.best_tables(ledger, str(model.facts.run))) == 3, "of other documents, each is another table"


def test_a_table_is_the_exact_one_with_the_noise_that_it_states(model, ledger):
    axis = Axis(Attribute("product"), ("phone", "tablet", "toaster"))
    tables = dplda.tabulate(
        model, corpus(), ["product"], 2.0, groups={"product": ["phone", "tablet", "toaster"]}, ledger=ledger
    )
    (table,) = tables
    (event,) = tables.privacy.events
    assert table.std == pytest.approx(event.noise_multiplier * tabulation.TABLE_CLIP, rel=1e-3)
    deviation = (table.totals - exact(model, corpus(), (axis,))[:, :-1]) / table.std
    assert np.abs(deviation).max() < 6
    found = table.units()
    assert np.abs(found.value - [857, 857, 857, 429]).max() < 5 * table._size_std
    assert (table.private, table.groups) == ((False,), (("phone", "tablet", "toaster", OTHER),))


def test_private_groups_are_found_and_rare_ones_are_not(model, ledger):
    products = ["phone"] * 1500 + ["tablet"] * 1400 + ["prototype x"] * 3 + [None] * 97
    tables = model.tabulate(corpus(product=products), by=["product"], epsilon=1.0, ledger=ledger)
    assert tables[0].groups == (("phone", "tablet", OTHER),)
    assert tables[0].private == (True,)
    (run,) = ledger.runs()
    assert [(e.stage, e.mechanism) for e in run.events] == [("groups", "gaussian-threshold"), ("table", "gaussian")]
    assert "prototype" not in str(run.to_json())
    assert run_epsilon(run.events, 1e-6) <= 1.0
    assert tables.privacy.epsilon == pytest.approx(run_epsilon(run.events, 1e-6))


@pytest.mark.parametrize("groups_of_person", [None, 1, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_groups_are_found_as_often_as_the_plan_says(groups_of_person, adjacency, model):
    n_groups, shared = 30, groups_of_person or 1

    def plan(groups, people=None):
        source = corpus(len(groups), people, group=groups)
        return plan_tables(model, source, groupings("group", {}), 8.0, 1e-6, adjacency=adjacency, simulate_seed=1)

    _, told = plan(["a"], groups_of_person and ["p"]).outlook
    pattern = (
        r"Groups by group would be found privately: one of about (\d+) \w+ with an even chance, one of about (\d+) "
    )
    even, likely = map(int, re.match(pattern, told).groups())
    assert ("the share of their documents" in told) == bool(groups_of_person)
    for size, least, most in ((even // 2, 0, 1), (even, 8, 22), (likely, 27, 30)):
        # each person has a document in each of so many groups, and counts in each as a part
        groups = [f"g{group}" for group in range(n_groups) for _ in range(size * shared)]
        people = [f"{group // shared} {i}" for group in range(n_groups) for i in range(size * shared)]
        found = plan(groups, people if groups_of_person else None).execute(False)
        assert least <= len(found[0].groups[0]) - 1 <= most, size


def test_several_tables_share_the_budget_and_a_private_list_is_found_once(model, ledger):
    tables = dplda.tabulate(
        model,
        corpus(),
        ["product", "month(day)", "product,month(day)"],
        1.0,
        dates=("2024-01-01", "2024-03-31"),
        ledger=ledger,
    )
    (run,) = ledger.runs()
    assert [event.stage for event in run.events] == ["groups", "table", "table", "table"]
    assert tables[1].groups == (("2024-01", "2024-02", "2024-03", OTHER),)
    assert len(tables[2].rows) == len(tables[0].rows) * 4
    spent = ledger.dataset("c").spent_epsilon
    assert 0 < spent <= 1.0
    assert [run.id for run in tables_of(ledger, str(model.facts.run))] == [tables.run]
    kept = topic_tables(ledger.run(tables.run))
    assert [table.to_json() for table in kept] == [table.to_json() for table in tables]


@pytest.mark.parametrize(
    ("between", "inside"),
    [
        (("product=phone", "product=toaster"), [[p == "phone" for p in PRODUCTS], [p == "toaster" for p in PRODUCTS]]),
        (
            ("day=2024-03", "day=2024-01-15..2024-02-10"),
            [[d >= "2024-03" for d in DAYS], ["2024-01-15" <= d <= "2024-02-10" for d in DAYS]],
        ),
    ],
)
def test_two_groups_are_compared_as_brute_force_does(model, between, inside):
    ((grouping,),) = tabulation.groupings((), {}, between=between)
    found = exact(model, corpus(), (Axis(grouping.attribute, grouping.groups),))
    rows = np.array([*inside, ~np.any(inside, axis=0)])
    parts = [dplda.Corpus.from_counts(COUNTS[row], WORDS, name="c") for row in rows]
    truth = np.concatenate([exact(model, part, ()) for part in parts])
    np.testing.assert_allclose(found, truth, atol=1e-3)

    (table,) = dplda.tabulate(model, corpus(), epsilon=100.0, between=between, ledger=False, simulate_seed=1)
    assert table.by == (f"between({grouping.attribute.column})",)
    assert table.groups == ((*(each.partition("=")[2] for each in between), OTHER),)
    assert table.private == (False,)
    assert table.std < 0.3
    assert np.abs(table.totals - truth[:, :-1]).max() < 5 * table.std
    np.testing.assert_allclose(table.units().value, rows.sum(axis=1), atol=5 * table._size_std)
    (pair,), differences = table.differences()
    shares = truth[:, :-1] / truth[:, :-1].sum(axis=1, keepdims=True)
    assert pair == (0, 1)
    np.testing.assert_allclose(differences.value[0], shares[1] - shares[0], atol=0.01)
    assert all((change.since, change.group) == (table.rows[0], table.rows[1]) for change in table.changes())


def test_a_comparison_stands_beside_other_tables_and_shares_their_budget(model, ledger):
    groups = {"product": ["phone", "tablet"]}
    dates = ("2024-01-01", "2024-03-31")
    tables = dplda.tabulate(
        model,
        corpus(),
        ["product", "month(day)"],
        1.0,
        groups=groups,
        dates=dates,
        between=("2024-02", "2024-03"),  # of the only column of dates
        ledger=ledger,
    )
    assert [table.name for table in tables] == ["product", "month(day)", "between(day)"]
    assert len({table.std for table in tables}) == 1
    (run,) = ledger.runs()
    assert [event.stage for event in run.events] == ["table"] * 3, "named groups cost nothing"
    assert run.parameters["by"] == ["product", "month(day)", "between(day)"]
    assert [table.to_json() for table in topic_tables(run)] == [table.to_json() for table in tables]


def test_comparisons_of_other_groups_are_other_tables(model, ledger):
    pairs = [("phone", "tablet"), ("phone", "toaster"), ("phone", "tablet")]
    source = corpus()
    runs = [
        dplda.tabulate(model, source, epsilon=1.0, between=tuple(f"product={each}" for each in pair), ledger=ledger).run
        for pair in pairs
    ]
    assert [tables.run for tables in tabulation.best_tables(ledger, str(model.facts.run))] == runs[1:]


def test_a_person_counts_once_over_all_groups(model):
    people = [f"p{i % 500}" for i in range(N)]
    tables = dplda.tabulate(
        model, corpus(units=people), ["month(day)"], 4.0, dates=("2024-01-01", "2024-03-31"), ledger=False,
        simulate_seed=1,
    )  # fmt: skip
    assert tables[0].units().value.sum() == pytest.approx(500, abs=60)
    assert not tables.privacy.sound


def test_the_latest_run_of_a_dataset_is_one_with_a_model(model, ledger, tmp_path):
    fitted = dplda.fit(corpus(), n_topics=3, epsilon=2, vocabulary=WORDS, ledger=ledger, models=tmp_path / "m")
    tables = dplda.tabulate(fitted, corpus(), ["product"], 1.0, ledger=ledger)
    assert ledger.run("c").id == fitted.facts.run
    assert tables.of == fitted.facts.run
    with pytest.raises(InputError, match=r"released tables by product of run .* and no topics"):
        dplda.load(tables.run, ledger=ledger)


@pytest.mark.parametrize(
    ("by", "options", "told"),
    [
        (["fortnight(day)"], {}, "is no period"),
        (["month(day)"], {"dates": ("2024-02-01", None)}, "first day"),
        (["month(day)"], {"dates": ("2024-02-01", "2024-01-01")}, "first day"),
        (["month(day)"], {"dates": ("May", "June")}, "must be a day"),
        (["month(day)"], {"dates": "2024-01-01"}, "must be the first and the last day, such as .*, got '2024-01-01'"),
        (["month(day)"], {"dates": ("2024-01-01",)}, "must be the first and the last day"),
        (["product"], {"dates": ("2024-01-01", "2024-02-01")}, "no table is by period"),
        (["product"], {"groups": {"colour": ["red"]}}, "'colour'"),
        (["product"], {"groups": {"product": "red"}}, "must be a list"),
        (["product"], {"groups": {"product": ["red", " red"]}}, "twice"),
        (["product"], {"groups": {"product": [OTHER]}}, "the row of all others"),
        (["product"], {"zone": "Mars/Base"}, "zone"),
        (["product,product"], {}, "twice"),
        (["colour"], {}, r"read without column 'colour'\. It keeps [^.]*\. Read it with group_fields"),
        (["prodcut"], {}, r"without column 'prodcut'\. It keeps .*\. Did you mean 'product'\? If not, read it with"),
        (["day(day)"], {"dates": ("1024-01-01", "2090-01-01")}, "too long"),
        (["product"], {"epsilon": 0.0}, "epsilon"),
        (["product"], {"ledger": False}, "ledger=False"),
        ([3], {}, "by must be a list"),
        (5, {}, "by must be a list"),
        ((), {"bye": "product"}, "no option 'bye': did you mean 'by'"),
        ((), {"foo": 1}, "no option 'foo'. There are dataset, ledger, .*, and the parameters of the function"),
        (["product"], {"zone": "Europe/Oslo"}, "a time zone is given, but no table is by period"),
        (["product"], {"groups": {"product": [True, False]}}, r"group by bool\(product\)"),
        (["month(day"], {}, "by must name"),
        (["product"], {"groups": {"product": 5}}, "must be a list"),
        (["product"], {"groups": ["phone"]}, r"groups must map columns to their groups, such as \{'product': "),
        (["day(day)"], {"dates": (1, 2)}, "must be a day"),
        ([], {"between": ("product=phone",)}, "must be two groups"),
        ([], {"between": "product=phone"}, "must be two groups"),
        ([], {"between": ("product=1", 2)}, "must be two groups"),
        ([], {"between": ("product=phone", "day=2024")}, "two groups of one column"),
        ([], {"between": ("product=phone", "tablet")}, "two groups of one column"),
        ([], {"between": ("=phone", "=tablet")}, "must name the column of the two groups: COLUMN=phone COLUMN=tablet"),
        (
            [],
            {"between": ("2024-01", "2024-02")},
            "must name the column of the two groups: COLUMN=2024-01 COLUMN=2024-02",
        ),
        (["month(day)"], {"between": ("phone", "tablet")}, "must name the column of"),
        (["month(day)", "year(product)"], {"between": ("2024-01", "2024-02")}, "must name the column of"),
        ([], {"between": ("month(day)=2024-01", "month(day)=2024-02")}, "two groups of one column"),
        ([], {"between": ("product=phone", "product= phone")}, "twice"),
        ([], {"between": ("product=", "product=phone")}, "cannot be a group"),
        ([], {"between": ("product=phone", f"product={OTHER}")}, "the row of all others"),
        ([], {"between": ("day=2024-01..2024-03", "day=2024-03..2024-05")}, "overlap"),
        ([], {"between": ("day=2024-01..2024-03", "day=2024-02")}, "overlap"),
        ([], {"between": ("day=2024-01..2024-03", "day=May")}, "no range of dates"),
        ([], {"between": ("colour=red", "colour=blue")}, "read without column 'colour'"),
        (["between(day)"], {}, "is no period"),
        ([], {"between": ("product=a", "product=b"), "dates": ("2024-01-01", "2024-02-01")}, "no table is by period"),
        ([], {"between": ("product=a", "product=b"), "date_format": "%d.%m.%Y"}, "no table is by period"),
        ([], {"between": ("product=a", "product=b"), "groups": {"product": ["a"]}}, "no table is grouped"),
        (["prodct"], {"groups": {"product": ["a", "b"]}}, "or group by 'product' instead of 'prodct'"),
    ],
)
def test_bad_input_gets_one_line_and_spends_nothing(by, options, told, model, ledger):
    with pytest.raises(InputError, match=told) as caught:
        dplda.tabulate(model, corpus(), by, **{"epsilon": 1.0, "ledger": ledger} | options)
    assert "\n" not in str(caught.value)
    assert all(not run.is_charged for run in ledger.runs())


@pytest.mark.parametrize("level", [0, 1, 2.5, "a"])
def test_a_level_that_is_no_probability_is_refused(level, model, ledger):
    (table,) = dplda.tabulate(model, corpus(), "product", epsilon=1.0, ledger=ledger)
    assert "<table" in table._repr_html_()
    for asked in (table.shares, table.units, table.changes, table.to_arrow):
        with pytest.raises(InputError, match="level must be a number between 0 and 1"):
            asked(level)


def test_truth_values_are_read_however_they_are_written(model):
    paid = ["True", "TRUE", "no", 0, 1.0, False, "maybe", None] * 375
    tables = dplda.tabulate(model, corpus(paid=paid), ["bool(paid)"], 50.0, ledger=False, simulate_seed=1)
    assert tables[0].groups == (("true", "false", OTHER),)
    np.testing.assert_allclose(tables[0].units().value, [1125, 1125, 750], atol=25)


def test_a_group_that_is_called_other_is_no_other_than_any_group(model):
    names = ["other"] * 2000 + ["phone"] * 1000
    tables = dplda.tabulate(model, corpus(product=names), ["product"], 20.0, ledger=False, simulate_seed=1)
    assert tables[0].groups == (("other", "phone", OTHER),)
    assert tables[0].rest == [False, False, True]
    np.testing.assert_allclose(tables[0].units().value, [2000, 1000, 0], atol=30)


def test_too_many_rows_are_noticed_before_a_table_is_paid_for(model, ledger, monkeypatch):
    monkeypatch.setattr(tabulation, "MOST_CELLS", 8 * K)
    with pytest.raises(UnsupportedByData, match="at most 8 are possible"):
        dplda.tabulate(model, corpus(), ["product", "product,day"], 4.0, ledger=ledger)
    (run,) = ledger.runs()
    assert [planned.event.stage for planned in run.plan if planned.charged] == ["groups", "groups"]


def test_words_that_no_topic_holds_do_not_make_documents_vanish(model):
    empty = np.array(model.topics)
    empty[:, :15] = 0
    blind = replace(model, topics=empty / empty.sum(axis=1, keepdims=True))
    tables = dplda.tabulate(blind, corpus(), ["product"], 50.0, ledger=False, simulate_seed=1)
    units = tables[0].units()
    assert units.value.sum() == pytest.approx(N, abs=60)


def test_a_table_of_which_only_the_row_other_is_left_can_be_shown(model, ledger):
    tables = dplda.tabulate(
        model, corpus(product=[f"p{i}" for i in range(N)]), "product", 1.0, ledger=ledger, check_groups=False
    )
    assert tables[0].groups == ((OTHER,),)
    assert tables[0].changes() == []
    assert tables.to_json()["groups"][0]["group"] == OTHER
    assert OTHER not in repr(tables)


def test_reports_take_the_latest_table_of_those_with_equal_noise(model, ledger):
    of = corpus()
    runs = [dplda.tabulate(model, of, by, 1.0, ledger=ledger).run for by in ("product", "Month(day)", "product")]
    found = tabulation.best_tables(ledger, str(model.facts.run))
    assert [tables.run for tables in found] == runs[1:]


def test_all_take_the_table_with_the_least_noise(model, ledger):
    of, source, options = str(model.facts.run), corpus(), {"dataset": model.facts.dataset, "ledger": ledger}
    tables = [dplda.tabulate(model, source, "product", epsilon, **options) for epsilon in (2.0, 1.0)]
    assert [each.run for each in tabulation.best_tables(ledger, of)] == [tables[0].run]
    listed = {"product": ["phone", "tablet"]}
    other = dplda.tabulate(model, source, "product", 0.5, groups=listed, **options)
    assert [each.run for each in tabulation.best_tables(ledger, of)] == [tables[0].run, other.run]


def test_topics_that_are_not_private_make_no_table_unless_they_are_public(model, ledger):
    exact_model = replace(model, privacy=replace(model.privacy, sound=False, reason="NOT PRIVATE: exact"))
    with pytest.raises(InputError, match="not private"):
        dplda.tabulate(exact_model, corpus(), ["product"], 1.0, ledger=ledger)
    assert not ledger.runs()
    assert dplda.tabulate(exact_model, corpus(), ["product"], 1.0, ledger=ledger, public_topics=True).privacy.sound


def test_the_budget_of_the_documents_holds_for_tables(model, ledger):
    ledger.grant("c", 1.0, 1e-5)
    dplda.tabulate(model, corpus(), ["product"], 0.9, ledger=ledger)
    with pytest.raises(BudgetRefused):
        dplda.tabulate(model, corpus(), ["product"], 0.9, ledger=ledger)
    with pytest.raises(BudgetRefused):  # the same documents under another name
        dplda.tabulate(model, corpus(), ["product"], 0.9, ledger=ledger, dataset="other")


def test_a_run_that_dies_keeps_its_charge(model, ledger, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret words")

    monkeypatch.setattr(ExactNoise, "gaussian", fail)
    phones = {"product": ["phone"]}
    with pytest.raises(RuntimeError):
        dplda.tabulate(model, corpus(), ["product"], 1.0, groups=phones, ledger=ledger, check_groups=False)
    (run,) = ledger.runs()
    assert (run.status, run.reason, run.is_charged) == ("failed", "unexpected RuntimeError", True)
    assert run.result is None
