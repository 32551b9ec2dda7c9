"""Stores that hold the documents' answers: what is read from them, damaged ones too, and what the ledger sees (T16)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_stand_in import chat, stand_in
from hypothesis import given
from hypothesis import strategies as st

import dplda
from dplda.base.chat_server import ChatServer
from dplda.base.config import MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.private.attributes import CATEGORY, HOW_MANY, OTHER, Answers, Attribute, Axis, TableRows
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.word_indicators import (
    INDICATOR_CLIP,
    answer_weights,
    person_counts,
    word_indicators,
)
from dplda.private.store import preparation, writer
from dplda.private.store.count_store import CountStore
from dplda.private.store.fingerprint import fingerprint
from dplda.private.store.preparation import ById, documents_by_id
from dplda.private.store.units import UnitRange, answers_of
from dplda.runs.corpus import Corpus
from dplda.text.categories import NONE, asked_categories, listed_categories

KEY = b"k" * 32
RULES = listed_categories({"refund": ["refund"], "phone": {"column": "product", "values": ["phone"]}})
ROWS = TableRows((Axis(Attribute("product"), ("phone", "tablet")),))
RECORDS = [
    {
        "text": f"{'refund' if i % 3 else 'thanks'} alpha beta gamma word{i}",
        "product": [None, "phone", "tablet"][i % 4 % 3],
        "id": f"d{i}",
        "person": i // 2,
    }
    for i in range(40)
]
FIELDS = {"text_field": "text", "group_fields": ["product"]}


def answers_by_hand(record: dict[str, Any]) -> list[int]:
    found = [1] * ("refund" in record["text"]) + [2] * (record["product"] == "phone")
    return found or [3]


def held(store: CountStore, n: int = 3) -> list[list[int]]:
    """The answers of each eligible document, in the order of the store if documents are units."""
    units = answers_of(store, Answers(n), UnitRange(), ROWS)
    assert units.n_words == n + 1
    assert (units.counts[units.words == 0] == MINIMUM_LENGTH).all()
    found = [units.words[a:b].tolist() for a, b in zip(units.indptr, units.indptr[1:], strict=False)]
    assert all(words[0] == 0 for words in found)
    return [words[1:] for words in found]


def asked(records: list[dict[str, Any]] = RECORDS, **fields: Any) -> Corpus:
    return Corpus.from_texts(records, name="c", **(FIELDS | fields)).asking(RULES)


def of_file(folder: Path, records: list[dict[str, Any]] = RECORDS, **fields: Any) -> Corpus:
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, records)))
    return dplda.read_corpus(folder / "c.jsonl", cache=folder / "cache", **(FIELDS | fields))


def sums(store: CountStore, n: int = 3, n_ranges: int | None = None) -> np.ndarray:
    passes = LocalPasses(store, n_ranges)
    passes.use_words(Answers(n), ROWS)
    total, _ = passes.clipped_sum(word_indicators(np.append(0, np.full(n, 0.5)), 0.25, len(ROWS)), INDICATOR_CLIP)
    return total


def test_answers_are_those_of_the_documents_and_short_documents_have_none():
    records = [*RECORDS, {"text": "refund", "product": "phone", "id": "s", "person": 1}]
    assert held(asked(records).open()) == [answers_by_hand(record) for record in RECORDS]
    assert np.array_equal(sums(asked(records).open()), sums(asked().open()))


@pytest.mark.parametrize("by_person", [False, True])
def test_sums_are_those_by_hand_and_of_any_division_into_ranges(by_person):
    store = asked(**({"unit_field": "person"} if by_person else {})).open()
    expected = np.zeros((3, 5))
    for record in RECORDS:
        vector = np.zeros(5)
        vector[answers_by_hand(record)], vector[-1] = 0.5, 0.25
        expected[["phone", "tablet", None].index(record["product"])] += vector / (2 if by_person else 1)
    np.testing.assert_allclose(sums(store) * INDICATOR_CLIP / BOUND, expected, atol=1e-3)
    for n_ranges in (1, 3):
        assert np.array_equal(sums(store, n_ranges=n_ranges), sums(store))


def test_a_prepared_store_keeps_answers_and_their_definition_and_cannot_be_asked_again(tmp_path):
    of_file(tmp_path).asking(RULES).write(tmp_path / "store")
    kept = dplda.read_corpus(tmp_path / "store")
    assert kept.categories == ("refund", "phone", NONE)
    assert kept.category_facts == RULES.facts
    assert kept.group_columns == ("product",), "answers and codes are no columns to group by"
    assert held(kept.open()) == [answers_by_hand(record) for record in RECORDS]
    kept.write(tmp_path / "again")
    again = dplda.read_corpus(tmp_path / "again")
    assert (again.category_facts, held(again.open())) == (RULES.facts, held(kept.open()))
    with pytest.raises(InputError, match="no texts to ask"):
        kept.asking(RULES)


def test_a_cached_store_is_that_of_its_categories(tmp_path):
    corpus = of_file(tmp_path)
    other = listed_categories({"gamma": ["gamma"]})
    assert corpus.categories == ()
    assert held(corpus.asking(RULES).open()) == [answers_by_hand(record) for record in RECORDS]
    assert held(corpus.asking(other).open(), 2) == [[1]] * len(RECORDS)
    assert corpus.open().group_columns == ("product",)
    assert held(corpus.asking(RULES).open()) == [answers_by_hand(record) for record in RECORDS]


def test_an_import_whose_server_went_away_goes_on_with_the_answers_it_had(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_SHARD_SECONDS", 0.0)
    monkeypatch.setattr(preparation, "_SLOW_CHUNK", 2)
    with stand_in() as server:

        def reply(question: str) -> bytes:
            server.status = 500 if server.failing and len(server.asked) > 25 else 200
            return chat("yes" if "refund" in question.partition("Text:")[2] else "no")

        server.failing, server.reply = True, reply
        questions = asked_categories("Refund?", ["yes", "no"], ChatServer(server.address, "m"))
        corpus = of_file(tmp_path).asking(questions)
        with pytest.raises(InputError, match="did not answer"):
            corpus.write(tmp_path / "store")
        assert len(server.asked) == 26  # a made-up text, and 25 documents
        server.failing = False
        corpus.write(tmp_path / "store")
        assert len(server.asked) < 26 + len(RECORDS) - 10, "answers are kept every minute"
    found = held(dplda.read_corpus(tmp_path / "store").open(), 4)
    assert found == [[1] if "refund" in record["text"] else [2] for record in RECORDS]


def test_documents_that_are_told_apart_by_ids_keep_their_answers(tmp_path):
    doubled = [*RECORDS, *(record | {"text": "other words that are new"} for record in RECORDS[:9])]
    store = asked(doubled, id_field="id").open()
    everyone = ById("c", lambda ids: np.ones(len(ids), np.bool_))
    kept, left_out = documents_by_id(store, everyone, KEY, tmp_path)
    assert left_out == 9
    assert held(kept) == [answers_by_hand(record) for record in RECORDS]
    assert kept.categories == RULES.facts


# Forged and damaged stores.


@given(st.lists(st.one_of(st.none(), st.text("0123 x-\u0663²", max_size=9)), min_size=1, max_size=9))
def test_whatever_stands_for_answers_changes_no_other_document_and_counts_at_most_once(values):
    def store(answers: list[str | None]) -> CountStore:
        counts = np.full((len(answers), 3), 1.0)
        groups = {"product": ["phone"] * len(answers), "(answers)": answers}
        return Corpus.from_counts(counts, ["a", "b", "c"], groups=groups, name="c").open()

    def numbers(value: str | None) -> list[int]:
        return [n for n in (1, 2, 3) if n in [int(part) for part in (value or "").split() if part.isdecimal()]]

    assert held(store(values)) == [numbers(value) for value in values]
    alone = sum(sums(store([value])) for value in values)
    assert np.array_equal(sums(store(values)), alone)


def test_a_store_without_answers_has_none():
    store = Corpus.from_counts(np.full((2, 3), 1.0), ["a", "b", "c"], groups={"product": ["phone"] * 2}).open()
    assert held(store) == [[], []]


@pytest.mark.parametrize("damage", [5, [], ["a"], {"x": 1}, {"names": "ab"}, {"names": [1]}, {"names": ["\x1b[2J"]}])
def test_damaged_facts_of_categories_are_refused_in_one_line(tmp_path, damage):
    asked().write(tmp_path / "store")
    path = tmp_path / "store" / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"categories": damage or [0]}))
    with pytest.raises(InputError, match=r"store|version") as error:
        dplda.read_corpus(tmp_path / "store")
    assert "\n" not in str(error.value)


def test_documents_are_grouped_by_an_answer():
    store = asked().open()
    attribute = Attribute("phone", CATEGORY, answer=2)
    passes = LocalPasses(store)
    passes.use_words(Answers(3), TableRows((Axis(attribute, ("yes", "no")),)))
    total, _ = passes.clipped_sum(word_indicators(np.zeros(4), 0.25, 3), INDICATOR_CLIP)
    phones = sum(record["product"] == "phone" for record in RECORDS)
    found = total[:, -1] * INDICATOR_CLIP / BOUND / 0.25
    np.testing.assert_allclose(found, [phones, len(RECORDS) - phones, 0], atol=1e-3)


def test_answers_are_no_part_of_the_fingerprint():
    plain = Corpus.from_texts(RECORDS, name="c", **FIELDS, tokenizer="fast").open()
    assert fingerprint(asked(tokenizer="fast").open(), KEY) == fingerprint(plain, KEY)


# Answers of whole units (T16), by two groups and all others. The last two of five are for units without others.


answers_of_a_document = st.lists(st.integers(1, 3), max_size=3, unique=True).map(sorted) | st.sampled_from([[4], [5]])
owned_documents = st.lists(st.tuples(st.sampled_from(["phone", "tablet", None]), answers_of_a_document), max_size=5)
persons = st.lists(owned_documents.filter(bool), min_size=1, max_size=4)
tables = st.sampled_from([ROWS, TableRows(())])
in_full = st.integers(0, 6)  # documents of a person that count in full; 0 if persons are counted
Owned = Sequence[tuple[str | None, list[int]]]


def by_hand(documents: Owned, rows: TableRows, at_most: int, most: int) -> np.ndarray:
    """A person's contribution (n_rows, 6): categories that any of their documents in the row has, or else 4 or 5.

    If documents of persons are counted, it is the sum of what is in each of their documents, divided by `most`.
    """
    answer_weight, size_weight = answer_weights(at_most)
    vector = np.zeros((len(rows), 6))
    for row in range(len(rows)):
        inside = [
            answers for group, answers in documents if len(rows) == 1 or (group or OTHER) == ROWS.axes[0].names[row]
        ]
        if most:
            for answers in inside:
                vector[row, 0] += size_weight / most
                vector[row, answers] += answer_weight / most
            continue
        held = {answer for answers in inside for answer in answers}
        vector[row, sorted(held & {1, 2, 3}) or sorted(held)[:1]] = answer_weight
        vector[row, 0] = size_weight if inside else 0
    return vector / max(1.0, float(np.linalg.norm(vector)))


def store_of_persons(given_persons: Sequence[Owned]) -> CountStore:
    documents = [(person, *document) for person, owned in enumerate(given_persons) for document in owned]
    order = np.random.default_rng(0).permutation(len(documents))  # a person's documents are anywhere
    people, products, answers = zip(*(documents[i] for i in order), strict=True)
    return Corpus.from_counts(
        np.full((len(documents), 3), 1.0),
        ["a", "b", "c"],
        units=[f"p{person}" for person in people],
        groups={"product": list(products), "(answers)": [" ".join(map(str, each)) for each in answers]},
    ).open()


def person_sums(
    given_persons: Sequence[Owned], rows: TableRows, at_most: int, most: int, n_ranges: int | None = None
) -> tuple[np.ndarray, int]:
    passes = LocalPasses(store_of_persons(given_persons), n_ranges)
    passes.use_words(Answers(5, HOW_MANY) if most else Answers(5, 1, n_rest=2), rows)
    total, mass = passes.clipped_sum(person_counts(5, at_most, len(rows), most or 1), INDICATOR_CLIP)
    return total.reshape(len(rows), 6).astype(float), mass


@given(persons, tables, st.integers(1, 4), in_full)
def test_persons_count_once_for_each_answer_and_their_documents_each(given_persons, rows, at_most, most):
    total, mass = person_sums(given_persons, rows, at_most, most)
    expected = sum(by_hand(documents, rows, at_most, most) for documents in given_persons)
    np.testing.assert_allclose(total * INDICATOR_CLIP / BOUND, expected, atol=1e-4)
    for n_ranges in (1, 3):
        assert np.array_equal(person_sums(given_persons, rows, at_most, most, n_ranges)[0], total)
    assert mass == round(BOUND * MASS_SHARE) * len(given_persons), "no person is clipped"


@given(persons, owned_documents.filter(bool), owned_documents.filter(bool), tables, st.integers(1, 4), in_full)
def test_a_person_moves_the_sum_by_at_most_what_is_charged(others, one, another, rows, at_most, most):
    """The sensitivity of T16 by trial: 1 for a person who is added, sqrt(2) for one who is replaced by another."""
    with_one, mass = person_sums([*others, one], rows, at_most, most)
    with_another, other_mass = person_sums([*others, another], rows, at_most, most)
    without, less = person_sums(others, rows, at_most, most)
    alone, own = person_sums([one], rows, at_most, most)
    assert np.array_equal(with_one - without, alone)
    assert (alone >= 0).all()
    assert (alone**2).sum() + float(own) ** 2 <= BOUND**2
    assert mass - less == own
    assert ((with_one - with_another) ** 2).sum() + float(mass - other_mass) ** 2 <= 2 * BOUND**2


@pytest.mark.parametrize(("rows", "at_most"), [(TableRows(()), 3), (ROWS, 1), (ROWS, 3)])
@pytest.mark.parametrize("most", [0, 1, 40])
def test_the_worst_person_attains_what_is_charged(rows, at_most, most):
    """Any number of documents, with every category in every group."""
    worst: Owned = [(group, [1, 2, 3]) for group in ("phone", "tablet", None)] * 40
    total, mass = person_sums([worst], rows, at_most, most)
    assert np.linalg.norm(total * INDICATOR_CLIP / BOUND) == pytest.approx(1, abs=1e-5)
    assert (total**2).sum() + float(mass) ** 2 <= BOUND**2


@given(st.lists(owned_documents.filter(bool), min_size=1, max_size=3), tables, st.integers(3, 4), st.integers(5, 9))
def test_documents_of_persons_with_few_enough_are_counted_one_by_one(given_persons, rows, at_most, most):
    """T16: at most N documents with at most c answers each count in full, in whatever groups they are."""
    total, _ = person_sums(given_persons, rows, at_most, most)
    answer_weight, size_weight = answer_weights(at_most)
    found = total * INDICATOR_CLIP / BOUND * most / np.array([size_weight, *[answer_weight] * 5])
    documents = [document for owned in given_persons for document in owned]
    expected = np.zeros((len(rows), 6))
    for group, answers in documents:
        expected[0 if len(rows) == 1 else ROWS.axes[0].names.index(group or OTHER), [0, *answers]] += 1
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_a_cell_of_a_person_holds_no_more_than_its_limit_and_so_cannot_overflow():
    store = store_of_persons([[("phone", [1, 2])] * 5 + [("phone", [2])], [("tablet", [3])]])
    for most, expected in ((HOW_MANY, [6, 5, 6, 1, 1]), (4, [4, 4, 4, 1, 1]), (1, [1] * 5)):
        cells = answers_of(store, Answers(5, most), UnitRange(), ROWS)
        assert cells.counts.dtype == np.int32
        assert sorted(cells.counts) == sorted(MINIMUM_LENGTH * number for number in expected)
    assert MINIMUM_LENGTH * HOW_MANY < 2**31


def test_short_documents_are_none_of_a_persons():
    short = {"text": "refund", "product": "phone", "id": "s", "person": 0}
    weights = np.array([answer_weights(2)[1], *[answer_weights(2)[0]] * 3])
    for records in (RECORDS, [*RECORDS, short, short | {"person": "only short ones"}]):
        passes = LocalPasses(asked(records, unit_field="person").open())
        passes.use_words(Answers(3, most_of_unit=1, n_rest=1), TableRows(()))
        total, _ = passes.clipped_sum(person_counts(3, 2, 1), INDICATOR_CLIP)
        held_by = [
            {answer for record in RECORDS[i : i + 2] for answer in answers_by_hand(record)} for i in range(0, 40, 2)
        ]
        expected = [sum(answer in (held - {3} or held) for held in held_by) for answer in (1, 2, 3)]
        np.testing.assert_allclose(total[:, 0] * INDICATOR_CLIP / BOUND / weights, [20, *expected], atol=1e-3)
