"""Runs that count documents: what they charge and release, and what ends one before anything is spent."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_stand_in import chat, stand_in

import dplda
from dplda.base.chat_server import ChatServer
from dplda.base.errors import BudgetRefused, InputError
from dplda.budget.accountant import run_epsilon
from dplda.private.attributes import OTHER
from dplda.private.statistics.word_indicators import INDICATOR_CLIP, answer_weights
from dplda.runs.counting import load_counts, plan_counts
from dplda.runs.questions import latest_indicators
from dplda.runs.tabulation import groupings
from dplda.text.categories import NO_ANSWER, NONE, asked_categories, listed_categories

N = 1200
RECORDS = [
    {
        "text": f"{('refund' if i % 3 else 'thanks')} {'late' if i % 4 == 0 else 'soon'} alpha beta gamma n{i}",
        "product": ("phone", "tablet", "toaster")[i % 3 if i % 7 else 0],
        "day": f"2024-0{i % 3 + 1}-11",
        "person": i // 3,
    }
    for i in range(N)
]
RULES = {
    "refund": ["refund"],
    "late": {"expression": "^(refund|thanks) la.e"},
    "phone": {"column": "product", "values": ["phone"]},
}
NAMES = ("refund", "late", "phone", NONE)
LISTED = {"product": ["phone", "tablet", "toaster"]}


def corpus(records: list[dict[str, Any]] = RECORDS, **fields: Any) -> dplda.Corpus:
    fields = {"text_field": "text", "group_fields": ["product", "day"], "tokenizer": "fast"} | fields
    return dplda.Corpus.from_texts(records, name="c", **fields)


def answers(record: dict[str, Any]) -> set[str]:
    words = record["text"].split()
    held = {"refund": "refund" in words, "late": "late" in words, "phone": record["product"] == "phone"}
    return {name for name in held if held[name]} or {NONE}


def truth(at_most: int, groups=("phone", "tablet", "toaster"), column="product") -> tuple[np.ndarray, np.ndarray]:
    """Numbers of matches (n_rows, 4) and of documents (n_rows,). A document with too many answers matches less."""
    totals, sizes = np.zeros((len(groups) + 1, 4)), np.zeros(len(groups) + 1)
    for record in RECORDS:
        row = groups.index(record[column]) if record[column] in groups else len(groups)
        found = answers(record)
        for name in found:
            totals[row, NAMES.index(name)] += min(1, math.sqrt(at_most / len(found)))
        sizes[row] += 1
    return totals, sizes


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_counts_are_the_exact_ones_with_the_noise_that_they_state(at_most, ledger):
    counts = dplda.count(corpus(), RULES, "product", 2.0, at_most=at_most, groups=LISTED, ledger=ledger)
    (one,), (event,) = counts, counts.privacy.events
    assert (one.titles, one.groups, one.at_most) == (NAMES, ((*LISTED["product"], OTHER),), at_most)
    closed_form = event.noise_multiplier * math.sqrt(at_most * (1 + 0.29**2))
    assert closed_form < one.std < 1.1 * closed_form
    assert one._size_std < 1.1 * event.noise_multiplier * math.sqrt(1 + 0.29**2) / 0.29
    totals, sizes = truth(at_most)
    assert np.abs(one.totals - totals).max() < 6 * one.std
    assert np.abs(one.counts - sizes).max() < 6 * one._size_std
    assert run_epsilon(counts.privacy.events, 1e-6) <= 2.0
    assert [(e.stage, e.mechanism) for e in counts.privacy.events] == [("table", "gaussian")]


@pytest.mark.full
def test_the_noise_drawn_has_the_standard_deviation_that_is_stated():
    totals, sizes = truth(3)
    prepared, away, of_sizes = corpus().asking(listed_categories(RULES)), [], []
    for seed in range(60):
        (one,) = dplda.count(prepared, by="product", epsilon=1.0, groups=LISTED, ledger=False, simulate_seed=seed)
        away.append((one.totals - totals) / one.std)
        of_sizes.append((one.counts - sizes) / one._size_std)
    for found in (np.array(away), np.array(of_sizes)):
        assert found.std() == pytest.approx(1, abs=4 / math.sqrt(2 * found.size))
        assert abs(found.mean()) < 4.5 / math.sqrt(found.size)
    assert INDICATOR_CLIP <= 1.1


def test_numbers_of_numpy_are_taken_like_those_of_python(ledger):
    (one,) = dplda.count(corpus(), RULES, epsilon=np.float32(4), at_most=np.int64(2), ledger=ledger)
    assert (ledger.runs()[0].epsilon, one.at_most) == (4.0, 2)
    assert one.to_json(np.float32(0.5)) == one.to_json(0.5)


def test_without_groups_all_documents_are_one_row_and_by_default_three_answers_count(ledger):
    (one,) = dplda.count(corpus(), RULES, epsilon=4.0, ledger=ledger)
    assert (one.rows, one.at_most) == ([()], 3)
    assert one.units().value[0] == pytest.approx(N, abs=6 * one._size_std)
    run = ledger.runs()[0]
    assert (run.parameters["kind"], run.parameters["categories"]) == ("count", list(NAMES))
    assert not {"refund", "thanks"} & set(str(run.result).split())


def test_what_was_read_to_count_is_in_the_notes_of_the_corpus_that_was_given():
    given = corpus([*RECORDS[:60], {"text": "", "product": "phone", "day": "2024-01-11", "person": 0}])
    asked = given.asking(listed_categories(RULES))
    again = {"ledger": False, "simulate_seed": 1}
    for source in (given, asked):
        assert source.notes == []
        dplda.count(source, {"late": ["late"]}, epsilon=4.0, **again)
        assert source.notes == ["61 documents read.", "1 contribute nothing: no words left."], source
    assert not asked.asking(listed_categories(RULES)).notes


def test_a_person_counts_once_over_all_groups_and_answers():
    people = corpus(unit_field="person")
    (one,) = dplda.count(people, RULES, "month(day)", 50.0, dates=("2024-01-01", "2024-03-31"), ledger=False,
                         simulate_seed=1)  # fmt: skip
    assert one.units().value.sum() == pytest.approx(N / 3, abs=5)
    assert (one.totals.sum(axis=0) <= N / 3 + 5).all()


@pytest.mark.parametrize("at_most", [None, 1])
def test_persons_count_once_in_each_category_of_at_least_one_of_their_documents(at_most, ledger):
    people = corpus(unit_field="person")
    counts = dplda.count(people, RULES, epsilon=8.0, at_most=at_most, persons=True, ledger=ledger)
    (one,), (event,) = counts, counts.privacy.events
    totals, size = np.zeros(4), 0.0
    for first in range(0, N, 3):
        held = set().union(*map(answers, RECORDS[first : first + 3]))
        held = held - {NONE} or held
        weight = 1 / max(1, math.sqrt((len(held) / one.at_most + 0.29**2) / (1 + 0.29**2)))
        totals[[NAMES.index(name) for name in held]] += weight
        size += weight
    assert np.abs(one.totals[0] - totals).max() < 6 * one.std
    assert abs(one.counts[0] - size) < 6 * one._size_std
    if at_most is None:
        assert (size, one.at_most, totals[0]) == (N / 3, 3, N / 3), "everybody has one about a refund"
        (of_documents,) = dplda.count(people, RULES, epsilon=50.0, ledger=False, simulate_seed=1)
        assert of_documents.totals[0, 0] == pytest.approx(2 / 3 * N / 3, abs=9), "two of three documents"
    assert (event.stage, event.mechanism) == ("table", "gaussian")
    closed_form = event.noise_multiplier * math.sqrt(one.at_most * (1 + 0.29**2))
    assert closed_form < one.std < 1.1 * closed_form
    (run,) = ledger.runs()
    assert run.parameters["persons"] is True
    assert load_counts(run)[0].to_json() == one.to_json()
    assert one.to_json()["persons"] is True


@pytest.mark.parametrize("at_most", [None, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_persons_count_once_in_each_group_that_their_documents_are_in(at_most, adjacency, ledger):
    people = corpus(unit_field="person")
    counts = dplda.count(
        people, RULES, "product", 8.0, at_most=at_most, groups=LISTED, persons=True, adjacency=adjacency, ledger=ledger
    )
    (one,), (event,) = counts, counts.privacy.events
    assert one.at_most == at_most or (at_most is None and one.at_most == 10)
    totals, sizes = np.zeros((4, 4)), np.zeros(4)
    for first in range(0, N, 3):
        held: dict[str, set[str]] = {}
        for record in RECORDS[first : first + 3]:
            held.setdefault(record["product"], set()).update(answers(record))
        cells = {product: found - {NONE} or found for product, found in held.items()}
        square = sum(map(len, cells.values())) / one.at_most + len(cells) * 0.29**2
        weight = 1 / max(1, math.sqrt(square / (1 + 0.29**2)))
        assert weight == 1 or at_most == 2
        for product, found in cells.items():
            row = LISTED["product"].index(product)
            totals[row, [NAMES.index(name) for name in found]] += weight
            sizes[row] += weight
    assert np.abs(one.totals - totals).max() < 6 * one.std
    assert np.abs(one.counts - sizes).max() < 6 * one._size_std
    closed_form = event.noise_multiplier * math.sqrt(one.at_most * (1 + 0.29**2))
    closed_form *= math.sqrt(2) if adjacency == "replace" else 1
    assert closed_form < one.std < 1.1 * closed_form
    assert load_counts(ledger.runs()[0])[0].to_json() == one.to_json()


def of_documents(most: int, at_most: int, table: tuple[str, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of matches and of documents by T16, where `most` of a person count in full."""
    products = LISTED["product"] if table else [None]
    totals, sizes = np.zeros((len(products) + bool(table), 4)), np.zeros(len(products) + bool(table))
    answer, size = 1 / math.sqrt(at_most * (1 + 0.29**2)), 0.29 / math.sqrt(1 + 0.29**2)
    for first in range(0, N, 3):
        own, own_size = np.zeros_like(totals), np.zeros_like(sizes)
        for record in RECORDS[first : first + 3]:
            row = products.index(record["product"]) if table else 0
            own[row, [NAMES.index(name) for name in answers(record)]] += 1
            own_size[row] += 1
        norm = math.hypot(answer * np.linalg.norm(own), size * np.linalg.norm(own_size)) / most
        totals += own / max(1, norm)
        sizes += own_size / max(1, norm)
    return totals, sizes


@pytest.mark.parametrize(("most", "by"), [(1, ()), (3, ()), (2, ("product",)), (4, ("product",))])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_documents_are_counted_one_by_one_where_persons_are_protected(most, by, adjacency, ledger):
    people = corpus(unit_field="person")
    groups = LISTED if by else None
    counts = dplda.count(
        people, RULES, by, 8.0, groups=groups, documents_per_person=most, adjacency=adjacency, ledger=ledger
    )
    (one,), (event,) = counts, counts.privacy.events
    assert (one.persons, one.documents_per_person, one.at_most, counts.privacy.unit) == (False, most, 3, "person")
    totals, sizes = of_documents(most, 3, by)
    if most > 2:
        assert np.array_equal(totals.sum(axis=0), truth(3)[0].sum(axis=0)), "as if documents were protected"
    elif not by:
        assert sizes.sum() < N
    assert np.abs(one.totals - totals).max() < 6 * one.std
    assert np.abs(one.counts - sizes).max() < 6 * one._size_std
    closed_form = most * event.noise_multiplier * math.sqrt(3 * (1 + 0.29**2))
    closed_form *= math.sqrt(2) if adjacency == "replace" else 1
    assert closed_form < one.std < 1.1 * closed_form
    (run,) = ledger.runs()
    assert run.parameters["documents_per_person"] == most
    assert load_counts(run)[0].to_json() == one.to_json()
    assert one.to_json()["documents_per_person"] == most


def test_documents_of_persons_are_in_one_group_each_which_add_up_also_by_several_attributes():
    people = corpus(unit_field="person")
    (one,) = dplda.count(people, RULES, "product,month(day)", 50.0, documents_per_person=3, groups=LISTED,
                         dates=("2024-01-01", "2024-03-31"), ledger=False, simulate_seed=1)  # fmt: skip
    assert len(one.rows) == 16
    assert one.whole().counts[0] == pytest.approx(N, abs=6 * one.whole()._size_std)
    np.testing.assert_allclose(one.over(0).totals[:3], truth(3)[0][:3], atol=6 * one.over(0).std)


def test_intervals_of_documents_of_persons_hold_in_95_percent():
    people = corpus(unit_field="person").asking(listed_categories(RULES))
    totals, sizes = of_documents(3, 3, ("product",))
    held, n_seeds = [], 40
    for seed in range(n_seeds):
        (one,) = dplda.count(
            people, by="product", epsilon=1.0, groups=LISTED, documents_per_person=3, ledger=False, simulate_seed=seed
        )
        found, units, shares = one.matches(), one.units(), one.shares()
        held.append((found.low <= totals) & (totals <= found.high))
        held.append(((units.low <= sizes) & (sizes <= units.high))[:, None])
        inside = (shares.low[:3] <= totals[:3] / sizes[:3, None]) & (totals[:3] / sizes[:3, None] <= shares.high[:3])
        held.append(inside)
    share = np.concatenate([each.ravel() for each in held]).mean()  # of 32 intervals for each seed
    assert share == pytest.approx(0.96, abs=0.025), "also those that end at 0, which hold more often"


def test_with_one_category_documents_of_persons_tell_the_sizes_too(ledger):
    people = corpus(unit_field="person")
    settings = {"epsilon": 8.0, "ledger": ledger, "documents_per_person": 3}
    (one,) = dplda.count(people, {"refund": ["refund"]}, **settings)
    assert (one.exclusive, one.at_most) == (True, 1)
    assert one._size_std < one.std / one.size_precision
    assert one.matches().value[0, 0] == pytest.approx(2 / 3 * N, abs=6 * one.std)
    assert one.totals.sum() == pytest.approx(N, abs=9 * one.std)


def test_a_sample_of_persons_tells_less_than_as_many_documents():
    found = []
    for most in (3, 30):
        (one,) = dplda.count(corpus(unit_field="person"), RULES, epsilon=100.0, documents_per_person=most,
                             ledger=False, sampling=True, simulate_seed=1)  # fmt: skip
        shares = one.shares()
        found.append(shares.high[0, 0] - shares.low[0, 0])
        assert found[-1] > 2 * 1.8 * math.sqrt(2 / 9 / (N / most))
    assert found[1] > 2.5 * found[0]


@pytest.mark.parametrize("at_most", [1, 2, 5, 10, 40])
@pytest.mark.parametrize("groups", [1, 3, 20])
def test_a_plan_warns_of_persons_who_would_count_less(at_most, groups):
    listed = {"product": [f"p{i}" for i in range(groups)]}
    people = corpus(unit_field="person").asking(listed_categories(RULES))
    in_all = (groups + 1) * (len(RULES) / at_most + 0.29**2)  # with the group of all others
    for public in (listed, {}):
        tables = groupings("product", public)
        run = plan_counts(people, tables, 1.0, 1e-6, at_most=at_most, persons=True)
        assert any("would count less" in line for line in run.outlook) == (in_all > 1 + 0.29**2 or not public)


@pytest.mark.parametrize("at_most", [1, 3, 10, 15, 40])
def test_a_person_in_so_many_groups_as_are_told_counts_in_full_and_in_more_less(at_most):
    rules = {"late": RULES["late"]} if at_most == 1 else RULES
    people = corpus(unit_field="person").asking(listed_categories(rules))
    run = plan_counts(people, groupings("month(day)", {}), 1.0, 1e-6, at_most=at_most, persons=True)
    (told,) = re.findall(r"A person with documents in more than ([0-9]+) months? would count less", run.outlook[1])
    answer, size = answer_weights(at_most)
    norms = [math.sqrt(groups * (answer**2 + size**2)) for groups in (int(told), int(told) + 1)]
    assert norms[0] <= 1 + 1e-9 < norms[1], "with one answer in each"


@pytest.mark.parametrize("changes", [{"persons": True, "at_most": 15}, {"persons": True}, {"documents_per_person": 2}])
@pytest.mark.parametrize("rules", [RULES, {"late": RULES["late"]}])
def test_a_plan_tells_how_exact_numbers_and_sizes_of_groups_will_be(changes, rules):
    people = corpus(unit_field="person").asking(listed_categories(rules))
    public = {"product": ["phone", "tablet"]}
    for by, tables in (("product", groupings("product", public)), ((), groupings((), {}))):
        given = {**changes, "at_most": 1} if not by and "at_most" in changes else changes
        run = plan_counts(people, tables, 1.0, 1e-6, **given)
        (one,) = dplda.count(
            people, None, by, 1.0, 1e-6, groups=public if by else {}, ledger=False, simulate_seed=1, **given
        )
        number, size = (float(np.max(found.high - found.value)) for found in (one.matches(), one.units()))
        told = re.findall(r"to within ([0-9,.]+?)[ ,.;]", f"{run.outlook[0]} ")
        assert list(map(float, told[:2])) == pytest.approx([number, size], abs=0.51)


def test_persons_are_counted_by_groups_found_privately_by_category_and_between_two(ledger):
    people = corpus(unit_field="person")
    counts = dplda.count(
        people,
        RULES,
        ["product", "category(late)"],
        8.0,
        between=("day=2024-01", "day=2024-02"),
        persons=True,
        at_most=20,
        ledger=ledger,
    )
    assert [event.stage for event in ledger.runs()[0].events] == ["groups", "table", "table", "table"]
    late = sum(any("late" in record["text"] for record in RECORDS[i : i + 3]) for i in range(0, N, 3))
    assert counts[1].matches().value[0, NAMES.index("late")] == pytest.approx(late, abs=8 * counts[1].std)
    np.testing.assert_allclose(counts[2].units().value[:2], N / 3, atol=8 * counts[2]._size_std)


def test_counts_of_persons_and_of_documents_cost_the_same_and_stand_in_for_no_others(ledger):
    people = corpus(unit_field="person")
    ways = {"persons": True}, {}, {"documents_per_person": 2}
    spent = [dplda.count(people, RULES, epsilon=1.0, ledger=ledger, **way).privacy for way in ways]
    assert spent[0].events == spent[1].events == spent[2].events
    kept = [one for each in latest_indicators(ledger, "c") for one in each]
    assert [(one.persons, one.documents_per_person) for one in kept] == [(True, None), (False, None), (False, 2)]


def test_a_person_has_several_answers_to_a_question_or_of_a_function(ledger):
    def classify(text: str) -> str | None:
        return "yes" if "refund" in text else "no" if "late" in text else None

    (one,) = dplda.count(
        corpus(unit_field="person"), ["yes", "no"], epsilon=30.0, classify=classify, persons=True, ledger=False,
        simulate_seed=1,
    )  # fmt: skip
    assert one.at_most == 2
    late = sum(any(classify(record["text"]) == "no" for record in RECORDS[i : i + 3]) for i in range(0, N, 3))
    np.testing.assert_allclose(one.matches().value[0], [N / 3, late, 0, 0], atol=6)


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, {}, "--unit-field"),
        ({"unit_field": "person"}, {"by": "product,month(day)"}, "one attribute"),
        ({"unit_field": "person"}, {"by": "product", "at_most": 1001}, "at_most"),
        ({"unit_field": "person"}, {"at_most": 4}, "at_most"),
    ],
)
def test_persons_are_refused_for_documents_and_combined_groups_before_anything_is_spent(
    fields, options, message, ledger
):
    with pytest.raises(InputError, match=message) as error:
        dplda.count(corpus(**fields), RULES, persons=True, check_groups=False, ledger=ledger, **options)
    assert "\n" not in str(error.value)
    assert ledger.runs() == []


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, {"documents_per_person": 2}, "--unit-field"),
        ({"unit_field": "person"}, {"documents_per_person": 2, "persons": True}, "exclude each other"),
        *(({"unit_field": "person"}, {"documents_per_person": bad}, "from 1 to 1,000") for bad in (0, 1001, 2.5, True)),
    ],
)
def test_documents_of_persons_are_refused_without_persons_or_a_number(fields, options, message, ledger):
    with pytest.raises(InputError, match=message) as error:
        dplda.count(corpus(**fields), RULES, ledger=ledger, **options)
    assert "\n" not in str(error.value)
    assert ledger.runs() == []


def test_several_tables_share_the_budget_private_groups_and_a_comparison_among_them(ledger):
    counts = dplda.count(
        corpus(), RULES, ["product", "category(late)"], 2.0, between=("day=2024-01", "day=2024-02"), ledger=ledger
    )
    (run,) = ledger.runs()
    assert [event.stage for event in run.events] == ["groups", "table", "table", "table"]
    assert [one.name for one in counts] == ["product", "category(late)", "between(day)"]
    assert counts[1].groups == (("yes", "no", OTHER),)
    late = counts[1].shares().value[:2, 1]
    assert late[0] > 0.7
    assert late[1] < 0.3
    assert counts[2].rows[:2] == [("2024-01",), ("2024-02",)]
    assert [one.to_json() for one in load_counts(run)] == [one.to_json() for one in counts]
    assert 0 < ledger.dataset("c").spent_epsilon <= 2.0


def test_a_function_and_its_categories(ledger):
    counts = dplda.count(
        corpus(), ["yes", "no"], epsilon=8.0, ledger=ledger, classify=lambda text: "yes" if "refund" in text else None
    )
    assert counts[0].titles == ("yes", "no", NONE, NO_ANSWER)
    assert counts[0].at_most == 1
    value = counts[0].shares().value[0]
    np.testing.assert_allclose(value, [2 / 3, 0, 1 / 3, 0], atol=0.05)


def test_a_function_that_keeps_state_crashes_nothing_and_is_asked_once_a_document():
    """Nothing is guaranteed for it (T16): the user declares that there is none."""
    seen: list[str] = []

    def classify(text: str) -> str | None:
        if "trial" in text:
            return None
        seen.append(text)
        if len(seen) % 5 == 0:
            raise RuntimeError
        return ("yes", "no", "rubbish")[len(seen) % 3]

    (one,) = dplda.count(corpus(), ["yes", "no"], epsilon=8.0, ledger=False, simulate_seed=0, classify=classify)
    assert len(seen) == N
    assert one.totals.sum() == pytest.approx(N, abs=60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "not asked"),
        ({"categories": ["yes"]}, "classify"),
        ({"categories": RULES, "classify": len}, "classify"),
        ({"categories": "yes", "classify": len}, "classify"),
        ({"categories": RULES, "at_most": 4}, "at_most"),
        ({"categories": RULES, "at_most": 0}, "at_most"),
        ({"categories": RULES, "by": "colour"}, "colour"),
        ({"categories": RULES, "by": "category(colour)"}, "no category"),
        ({"categories": {"x": {"column": "colour", "values": ["red"]}}}, "colour"),
    ],
)
def test_bad_input_spends_nothing_and_reads_nothing(options, message, ledger):
    with pytest.raises(InputError, match=message):
        dplda.count(corpus(), ledger=ledger, **options)
    assert ledger.runs() == []


def test_counts_have_no_texts_to_ask(ledger):
    matrix = dplda.Corpus.from_counts(np.ones((5, 4)), list("abcd"), name="c")
    with pytest.raises(InputError, match="no texts"):
        dplda.count(matrix, RULES, ledger=ledger)


def test_a_server_that_goes_away_ends_the_run_before_anything_is_spent(ledger, tmp_path):
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, RECORDS[:60])))
    with stand_in() as server:

        def reply(question: str) -> bytes:
            server.status = 500 if len(server.asked) > 20 else 200
            return chat("yes")

        server.reply = reply
        asked = asked_categories("Refund?", ["yes", "no"], ChatServer(server.address, "m"))
        source = dplda.read_corpus(tmp_path / "c.jsonl", cache=tmp_path / "cache", tokenizer="fast", text_field="text")
        with pytest.raises(InputError, match="did not answer"):
            dplda.count(source, asked, epsilon=1.0, ledger=ledger)
    (run,) = ledger.runs()
    assert not run.is_charged
    assert run.result is None
    assert "alpha" not in json.dumps(run.to_json())
    assert ledger.dataset("c").spent_epsilon == 0
    with stand_in() as server:  # it is back, elsewhere
        server.reply = lambda question: chat("yes" if "refund" in question.partition("Text:")[2] else "Ignore this.")
        asked = asked_categories("Refund?", ["yes", "no"], ChatServer(server.address, "m"))
        counts = dplda.count(source, asked, epsilon=8.0, ledger=ledger)
        dplda.count(source, asked, epsilon=1.0, ledger=ledger)
        assert len(server.asked) == 61, "a made-up text, and once each document: answers are kept"
    np.testing.assert_allclose(counts[0].matches().value[0], [40, 0, 0, 20], atol=6)
    assert [run.is_charged for run in ledger.runs()].count(True) == 2


def test_documents_that_the_server_refuses_are_counted_without_an_answer(ledger):
    def reply(question: str) -> bytes:
        server.status = 400 if "late" in question.partition("Text:")[2] else 200
        return chat("yes" if "refund" in question.partition("Text:")[2] else "no")

    with stand_in() as server:
        server.reply = reply
        asked = asked_categories("Refund?", ["yes", "no"], ChatServer(server.address, "m"))
        (one,) = dplda.count(corpus(RECORDS[:120]), asked, epsilon=8.0, ledger=ledger)
    np.testing.assert_allclose(one.matches().value[0], [60, 30, 0, 30], atol=6)


def test_a_server_that_is_no_language_model_spends_nothing_and_sees_no_document(ledger):
    with stand_in() as server:
        server.body = b"<html>It works!</html>"
        asked = asked_categories("Refund?", ["yes", "no"], ChatServer(server.address, "m"))
        with pytest.raises(InputError, match="not as a language model"):
            dplda.count(corpus(), asked, epsilon=1.0, ledger=ledger)
        assert len(server.asked) == 1
    assert [run.is_charged for run in ledger.runs()] == [False]
    assert ledger.dataset("c").spent_epsilon == 0


def test_a_run_beyond_the_budget_is_refused_before_it_is_read(ledger):
    def classify(text: str) -> str:
        assert "trial" in text, "a document was read"
        return "yes"

    with pytest.raises(BudgetRefused):
        dplda.count(corpus(), ["yes"], epsilon=100.0, ledger=ledger, classify=classify)
    assert ledger.runs() == []


@pytest.mark.parametrize("classify", [5, lambda text: text[1000], lambda text: "rubbish", lambda text: 3])
def test_a_function_that_cannot_work_is_refused_before_anything_is_spent(ledger, classify):
    with pytest.raises(InputError, match="classify"):
        dplda.count(corpus(), ["yes"], epsilon=1.0, ledger=ledger, classify=classify)
    assert ledger.runs() == []


def test_a_prepared_store_is_counted_and_its_answers_cannot_change(ledger, tmp_path: Path):
    corpus().asking(listed_categories(RULES)).write(tmp_path / "store")
    prepared = dplda.read_corpus(tmp_path / "store")
    (one,) = dplda.count(prepared, by="product", groups=LISTED, epsilon=4.0, ledger=ledger)
    assert np.abs(one.totals - truth(3)[0]).max() < 6 * one.std
    with pytest.raises(InputError, match="no texts"):
        dplda.count(prepared, RULES, ledger=ledger)
