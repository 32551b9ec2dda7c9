"""Sketches: what they estimate, and how surely shared documents are seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dplda.budget.sketches import _CROWD, _LINKING_DOCUMENTS, _SKETCH_SIZE, Fingerprint, Sketch

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=40)


def random_sketches(seed: int, shared: int, one: int, other: int) -> tuple[Sketch, Sketch]:
    """Sketches of corpora with `shared` documents in common and `one` and `other` of their own."""
    hashes = np.random.default_rng(seed).integers(0, 2**64, shared + one + other, dtype=np.uint64)
    return Sketch(hashes[: shared + one]), Sketch(np.concatenate([hashes[:shared], hashes[shared + one :]]))


@given(HASHES, HASHES)
def test_of_few_documents_the_shared_part_is_exact(one, other):
    expected = len({*one} & {*other}), min(len(set(one)), len(set(other)))
    assert Sketch(one).shared(Sketch(other)) == Sketch(other).shared(Sketch(one)) == expected


@given(st.lists(HASHES, max_size=5))
def test_a_sketch_does_not_depend_on_blocks_order_or_repetition(blocks):
    growing = Sketch()
    for block in blocks:
        growing = growing.with_documents(np.array(block, np.uint64))
    everything = [number for block in blocks for number in block]
    assert np.array_equal(growing.hashes, Sketch(everything[::-1] * 2).hashes)


@given(HASHES)
def test_a_sketch_survives_the_ledger(hashes):
    assert np.array_equal(Sketch.from_text(Sketch(hashes).to_text()).hashes, Sketch(hashes).hashes)


def test_a_sketch_keeps_the_smallest_hashes_of_many_documents():
    numbers = np.random.default_rng(1).permutation(np.arange(0, 10 * _SKETCH_SIZE, dtype=np.uint64))
    sketch = Sketch()
    for block in np.array_split(numbers, 7):
        sketch = sketch.with_documents(block)
    assert sketch.hashes.tolist() == list(range(_SKETCH_SIZE))
    assert sketch.bound == _SKETCH_SIZE - 1
    assert Sketch(numbers[: _SKETCH_SIZE - 1]).bound == 2**64 - 1


@pytest.mark.parametrize(("shared", "one", "other"), [(20_000, 20_000, 60_000), (9_000, 1_000, 90_000), (30_000, 0, 0)])
def test_the_shared_part_of_large_corpora_is_estimated_without_bias(shared, one, other):
    """Within six standard deviations of the share of the smaller, over many draws of the hashes."""
    size = shared + min(one, other)
    share, sampled = shared / size, _SKETCH_SIZE * min(1.0, size / (shared + max(one, other)))
    found = [a.shared(b) for a, b in (random_sketches(seed, shared, one, other) for seed in range(10))]
    assert np.mean([both / sampled for both, sampled in found]) == pytest.approx(
        share, abs=6 * np.sqrt(share * (1 - share) / sampled / 10) + 1e-12
    )


@pytest.mark.parametrize(("shared", "own"), [(2_000, 99_000), (900, 30_000), (10, 4_000), (1, 9), (2, 30)])
def test_a_fiftieth_of_the_documents_is_seen_and_few_of_few(shared, own):
    assert all(a.overlaps(b) for a, b in (random_sketches(seed, shared, own, own) for seed in range(20)))


@pytest.mark.parametrize(("shared", "own"), [(0, 5_000), (9, 2_000), (1, 30), (9, 200_000)])
def test_a_few_documents_in_common_link_only_the_smallest_corpora(shared, own):
    assert not any(a.overlaps(b) for a, b in (random_sketches(seed, shared, own, own) for seed in range(5)))


def test_documents_that_were_added_to_hide_others_hide_them_only_in_great_numbers():
    """docs/ledger.md: 1,500 documents among 24, 100 and 1,000 times as many others, in either corpus."""
    for times in (24, 100):
        pairs = (random_sketches(seed, 1_500, times * 1_500, times * 1_500) for seed in range(5))
        assert all(a.overlaps(b) for a, b in pairs)
    assert binom.cdf(_LINKING_DOCUMENTS - 1, 1_500, _SKETCH_SIZE / 1_501_500) == pytest.approx(0.99, abs=0.01)


def test_the_chances_of_missing_what_is_shared_are_those_documented():
    """docs/ledger.md: corpora of 100,000 and a million documents, and a part whose whole is 200 times as large."""
    for size, shared, missed in ((100_000, 600, 5e-4), (100_000, 1_500, 1e-14), (1_000_000, 6_000, 5e-4)):
        assert binom.cdf(_LINKING_DOCUMENTS - 1, shared, _SKETCH_SIZE / size) < missed
    assert binom.cdf(0, _SKETCH_SIZE, 1 / 200) < 2e-9


def test_a_part_of_a_two_hundredth_is_found():
    """The sample holds about twenty documents of the part, which are all shared."""
    assert all(a.overlaps(b) for a, b in (random_sketches(seed, 500, 0, 99_500) for seed in range(20)))


def test_corpora_without_documents_share_nothing():
    assert Sketch().shared(Sketch()) == Sketch().shared(Sketch([1, 2])) == (0, 0)
    assert not Sketch().overlaps(Sketch())


def test_fingerprints_are_told_apart_by_their_code():
    assert Fingerprint("a") == Fingerprint("a", Sketch([1]))
    assert Fingerprint("a") != Fingerprint("b")
    assert Fingerprint("a", grouping="x") != Fingerprint("a", grouping="y")


HELD = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 15)), max_size=80)


def of(documents, units):
    """The sketch of documents (hashes) and the units that hold them."""
    hashes = np.asarray(documents, np.uint64)
    return Sketch().with_documents(hashes, np.asarray(units, np.uint64))


@given(HELD)
def test_a_sketch_knows_the_units_of_each_document_unless_they_are_a_crowd(held):
    owners = {}
    for number, unit in held:
        owners.setdefault(number, set()).add(unit)
    sketch = of(*np.array(held, np.uint64).reshape(-1, 2).T)
    assert sketch.hashes.tolist() == sorted(owners)
    assert [tuple(row) for row in sketch.members.tolist()] == [
        (number, unit) for number in sorted(owners) for unit in sorted(owners[number])[: _CROWD + 1]
    ]
    growing = Sketch()
    for number, unit in held:
        growing = growing.with_documents(np.array([number], np.uint64), np.array([unit], np.uint64))
    assert np.array_equal(growing.members, sketch.members)
    again = Sketch.from_text(sketch.to_text(), sketch.members_to_text())
    assert (again.hashes.tolist(), again.members.tolist()) == (sketch.hashes.tolist(), sketch.members.tolist())


PEOPLE = np.arange(2000) // 20 + 1
ALONE = np.arange(2000) + 1
RANDOM = np.random.default_rng(0)
DOCUMENTS = RANDOM.integers(0, 2**64, 2000, np.uint64)
OTHERS = RANDOM.integers(0, 2**64, 60_000, np.uint64)
GROUPINGS = {
    "each document alone": (DOCUMENTS, ALONE, True),
    "two people in one": (DOCUMENTS, PEOPLE // 2 + 1, True),
    "at random": (DOCUMENTS, RANDOM.permutation(PEOPLE), True),
    "all in one": (DOCUMENTS, np.ones(2000, int), True),
    "each alone, and copies of all in one more unit": (np.tile(DOCUMENTS, 2), np.append(ALONE, [9999] * 2000), True),
    "each alone, and copies of all in a crowd": (
        np.tile(DOCUMENTS, 11), np.append(ALONE, np.repeat(range(9000, 9010), 2000)), True,
    ),
    "each alone, and one unit of twenty times as many": (
        np.append(DOCUMENTS, OTHERS[:40_000]), np.append(ALONE, [9999] * 40_000), True,
    ),
    "one document in twenty split off everybody": (
        DOCUMENTS, np.where(np.arange(2000) % 20 == 0, 5000 + ALONE, PEOPLE), True,
    ),
    "other names": (DOCUMENTS, 5000 - PEOPLE, False),
    "other names, and copies of all in one more unit": (
        np.tile(DOCUMENTS, 2), np.append(5000 - PEOPLE, [9999] * 2000), False,
    ),
    "every fiftieth document moved": (DOCUMENTS, np.where(np.arange(2000) % 50 == 0, PEOPLE + 1, PEOPLE), False),
    "some accounts united": (DOCUMENTS, np.where(PEOPLE < 9, PEOPLE // 2 + 1, PEOPLE), False),
    "grown": (np.append(DOCUMENTS, OTHERS[:2000]), np.append(PEOPLE, RANDOM.integers(1, 200, 2000)), False),
    "few documents shared": (np.append(DOCUMENTS[:300], OTHERS[:4000]), np.append(ALONE[:300], PEOPLE.repeat(2)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPINGS)
def test_another_grouping_of_shared_documents_is_told_from_the_same(name):
    hashes, units, otherwise = GROUPINGS[name]
    people, others = of(DOCUMENTS, PEOPLE), of(hashes, units)
    assert people.regroups(others) is others.regroups(people) is otherwise
    if otherwise is not None:
        assert of(DOCUMENTS[400:], PEOPLE[400:]).regroups(others) is otherwise


def customers_of_a_support_desk(random):
    """12,000 tickets of 3,500 customers; three in five repeat a stock phrase, and a third are about one product."""
    stock = random.random(12_000) < 0.6
    documents = np.where(stock, random.zipf(1.3, 12_000) % 1500, random.integers(2**32, 2**64, 12_000, np.uint64))
    return documents.astype(np.uint64), random.integers(1, 3501, 12_000), random.random(12_000) < 0.34


@pytest.mark.parametrize("seed", range(5))
def test_a_part_whose_people_write_alike_is_told_from_another_grouping(seed):
    """In a part, a phrase has fewer people than in the whole; that is no other grouping, but merged people are."""
    documents, customers, part = customers_of_a_support_desk(np.random.default_rng(seed))
    whole = of(documents, customers)
    assert not whole.regroups(of(documents[part], customers[part]))
    assert not of(documents[part], customers[part]).regroups(whole)
    assert whole.regroups(of(documents[part], customers[part] // 3 + 9000)) is True
    assert whole.regroups(of(documents, customers // 2 + 9000)) is True
    tickets = np.arange(len(documents)) + 9000
    assert whole.regroups(of(documents, tickets)) is True


def test_authors_replaced_by_recipients_are_another_grouping_although_some_write_to_themselves():
    """Three in ten notes keep their unit; the others are with several others, and not with their author."""
    random = np.random.default_rng(1)
    notes, authors = random.integers(0, 2**64, 12_000, np.uint64), random.integers(1, 2001, 12_000)
    kept = random.random(12_000) < 0.3
    held = [
        (note, person)
        for note, author, own in zip(notes.tolist(), authors.tolist(), kept.tolist(), strict=True)
        for person in ([author] if own else np.unique(random.integers(1, 2001, random.integers(2, 5))).tolist())
    ]
    by_author, by_recipient = of(notes, authors), of([note for note, _ in held], [person for _, person in held])
    assert by_author.regroups(by_recipient) is by_recipient.regroups(by_author) is True


def test_months_of_people_are_other_units_of_the_same_documents_although_their_texts_recur():
    """A person repeats two texts from month to month, and wrote two at the beginning, which stay in one unit."""
    random = np.random.default_rng(2)
    person, month = np.repeat(np.arange(500), 6), np.tile(np.arange(6), 500)
    first = np.arange(1000)
    held = [(first + 10**6, first // 2, first // 2 * 10)]
    for text in range(2):
        wrote = random.random(3000) < 0.5
        held.append(((person * 2 + text)[wrote], person[wrote], (person * 10 + month)[wrote]))
    documents, people, months = map(np.concatenate, zip(*held, strict=True))
    documents = random.permutation(np.arange(2 * 10**6, dtype=np.uint64))[documents]
    assert of(documents, people + 1).regroups(of(documents, months + 1), same_documents=True) is True


def test_sketches_that_hold_no_two_documents_of_a_unit_cannot_tell():
    alone = of(DOCUMENTS, ALONE)
    assert alone.regroups(of(DOCUMENTS, ALONE[::-1])) is None
    assert Sketch().regroups(alone) is None


def test_months_of_the_same_customers_who_repeat_stock_phrases_are_not_taken_for_another_grouping():
    """A tenth of the messages from a pool of 2000 phrases by a law of Zipf: other records, some with the same words."""

    def month(random):
        documents = random.integers(2**32, 2**64, 3000, np.uint64)
        stock = random.random(3000) < 0.1
        likely = 1 / np.arange(1, 2001)
        documents[stock] = random.choice(2000, stock.sum(), p=likely / likely.sum())
        return of(documents, random.integers(1, 1000, 3000))

    refused = [month(random).regroups(month(random)) for random in map(np.random.default_rng, range(20))]
    assert refused == [None] * 20
