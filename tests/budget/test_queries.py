"""History in order; and in how many batches documents are, as sketches show it, beside exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import gaussian, reserve, sample, spend
from scipy.stats import binom

from dplda.base.config import DEFAULT_GRANT
from dplda.budget.sketches import CHANCE_SHARE, Sketch, _unexplained, batches_of_most, most_batches

Documents = dict[str, list[set[int]]]  # for each batch everything that was read under its name

_corpora = st.sets(st.integers(0, 60), max_size=40)
_batches = st.dictionaries(st.sampled_from("abcd"), st.lists(_corpora, min_size=1, max_size=2), min_size=1)


def sketches(batches: Documents) -> dict[str, list[Sketch]]:
    return {batch: [sample(corpus) for corpus in corpora] for batch, corpora in batches.items()}


def exact(batches: Documents, declared: int) -> int:
    """By the definitions of docs/privacy.md, section 9.10, over all documents."""
    held = Counter(document for corpora in batches.values() for document in set().union(*corpora))
    most = declared
    for corpus in (corpus for corpora in batches.values() for corpus in corpora if len(corpus) >= 10):
        counts = [held[document] for document in corpus]

        def unexplained(level: int, share: float, counts: list[int] = counts) -> bool:
            seen = sum(count >= level for count in counts)
            return bool(seen and binom.sf(seen - 1, len(counts), share) <= 1e-4)

        if unexplained(declared + 1, 0.025):
            most = max(most, *(level for level in range(declared + 1, 5) if unexplained(level, 0.01)))
    return most


@given(_batches, st.integers(1, 3))
def test_small_batches_are_counted_exactly(batches: Documents, declared: int) -> None:
    assert most_batches(sketches(batches), declared) == exact(batches, declared)


@given(_batches, st.sets(st.integers(0, 60), min_size=10, max_size=40))
def test_most_documents_are_more_than_half_of_what_is_read(batches: Documents, new: set[int]) -> None:
    read = sample(new)
    held = Counter(document for corpora in batches.values() for document in set().union(*corpora) & new)
    counts = sorted((held[document] + 1 for document in new), reverse=True)
    needed = max(len(new) // 2 + 1, _unexplained(len(new), CHANCE_SHARE))
    assert batches_of_most({**sketches(batches), "new": [read]}, read) == counts[needed - 1]


@given(_batches, _batches)
def test_more_documents_or_batches_never_lower_what_was_seen(batches: Documents, more: Documents) -> None:
    both = {batch: [*batches.get(batch, []), *more.get(batch, [])] for batch in {*batches, *more}}
    assert most_batches(sketches(both), 1) >= most_batches(sketches(batches), 1)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.1, 0.4])
def test_large_batches_are_compared_in_samples(share: float) -> None:
    size = 30_000
    overlap = round(share * size)
    weeks = {str(week): [sample(range(week * (size - overlap), week * (size - overlap) + size))] for week in range(2)}
    assert most_batches(weeks, 1) == (2 if share > CHANCE_SHARE else 1)


@pytest.mark.parametrize("documents", [60, 100, 600])
def test_a_small_batch_of_parts_of_much_larger_ones_is_seen_in_their_smaller_samples(documents: int) -> None:
    """A third each of documents of three batches, of which a sketch contains one in fifteen."""
    large = {str(number): [sample(range(number * 60_000, (number + 1) * 60_000))] for number in range(3)}
    parts = sample([number * 60_000 + document for number in range(3) for document in range(documents)])
    assert most_batches(large, 1) == 1
    assert most_batches({**large, "parts": [parts]}, 1) == 2
    assert batches_of_most({**large, "parts": [parts]}, parts) == 2


def test_days_of_a_year_that_was_read_before_are_seen() -> None:
    """Of a hundred documents, the sketch of 42,000 contains about ten."""
    year = sample(range(42_000))
    for day in range(20):
        read = sample(range(100 * day, 100 * day + 100))
        assert most_batches({"year": [year], "day": [read]}, 1) == 2
        assert batches_of_most({"year": [year], "day": [read]}, read) == 2


def test_what_a_batch_read_earlier_counts_although_a_larger_reading_hides_it() -> None:
    first, again = sample(range(1000)), sample(range(500_000, 560_000))
    weeks = {"1": [first, again], "2": [sample([*range(200), *range(900_000, 900_800)])]}
    assert most_batches(weeks, 1) == 2


def test_few_texts_in_all_batches_are_taken_for_chance() -> None:
    """The limit that rests on the deployer's word: .2 % of 100,000 documents, in each of several batches."""
    weeks = {
        str(week): [sample([*range(200), *range(week * 100_000, week * 100_000 + 99_800)])] for week in range(1, 6)
    }
    assert most_batches(weeks, 1) == 1
    assert all(batches_of_most(weeks, read) == 1 for (read,) in weeks.values())


def test_a_batch_of_a_few_phrases_tells_nothing_of_others() -> None:
    """Three greetings, and weeks of text in which they recur."""
    holiday = sample(range(3))
    weeks = {str(week): [sample([*range(3), *range(1000 * week, 1000 * week + 900)])] for week in range(1, 6)}
    assert most_batches({"holiday": [holiday], **weeks}, 1) == 1
    assert all(batches_of_most({"holiday": [holiday], **weeks}, read) == 1 for (read,) in weeks.values())


def test_batches_without_documents_show_nothing() -> None:
    empty = Sketch()
    assert most_batches({"1": [Sketch()], "2": [empty]}, 1) == batches_of_most({"1": [empty]}, empty) == 1
    assert most_batches({}, 2) == 2


def test_texts_that_recur_by_chance_are_seldom_more_than_chance_explains() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 100, 4096):
        assert np.mean(rng.binomial(n, CHANCE_SHARE, 200_000) >= _unexplained(n, CHANCE_SHARE)) <= 2e-4


def test_history_tells_grants_and_runs_in_order_and_when_a_guarantee_was_lost(ledger):
    ledger.grant("reviews", 5.0, 1e-5)
    first = spend(ledger, events=[gaussian(mu_squared=0.1)]).run
    spend(ledger, "other", "g")
    ledger.grant("reviews", 20.0, 1e-6)
    second = reserve(ledger, events=[gaussian(mu_squared=0.1)]).run
    lines = ledger.history("reviews")
    assert [line.text for line in lines] == [
        "grant epsilon {:g}, delta {:g} (what every dataset has before its first grant)".format(*DEFAULT_GRANT),
        "grant epsilon 5, delta 1e-05",
        f"run {first}, epsilon 2, delta 1e-06, done",
        "grant epsilon 20, delta 1e-06, raised after outputs were released, to a level not listed before the first",
        f"run {second}, epsilon 2, delta 1e-06, started and never finished: counted as wholly spent",
    ]
    ledger.grant("reviews", 1.0, 1e-6)
    assert ledger.history("reviews")[-1].text.endswith("not raised after outputs were released")
    assert [line.run for line in lines] == [None, None, first, None, second]
    assert [line.created is None for line in lines] == [True, False, False, False, False]


def test_a_grant_after_a_run_that_asked_nothing_loses_no_guarantee(ledger):
    reserve(ledger).abandon("cancelled", "by the user")
    ledger.grant("reviews", 20.0, 1e-5)
    assert "raised" not in ledger.history("reviews")[-1].text
    assert ledger.dataset("reviews").guaranteed.epsilon == 20.0
