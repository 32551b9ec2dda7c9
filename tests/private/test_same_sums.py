"""A fit's integer sums, and so every number it releases, do not depend on how the documents lie or the work is cut."""

from __future__ import annotations

import os

import numpy as np
import pytest
from full_helpers import full_after

import dplda
from dplda.base.threads import thread_count
from dplda.runs.corpus import synthetic

WORDS = [f"w{i}" for i in range(15)]
COUNTS = synthetic(500, len(WORDS), 3, mean_length=20, seed=2)[0].toarray()
PEOPLE = np.random.default_rng(3).integers(0, 200, len(COUNTS))


def topics(order: np.ndarray, unit: str) -> np.ndarray:
    """What a fit with noise from one seed learns from the documents in this order."""
    owners = [f"p{i}" for i in PEOPLE[order]] if unit == "people" else None
    corpus = dplda.Corpus.from_counts(COUNTS[order], WORDS, units=owners)
    asked = {"n_topics": 3, "vocabulary": WORDS, "epsilon": 50.0, "ledger": False, "simulate_seed": 1}
    return dplda.fit(corpus, **asked).topics


def arranged(order: str, unit: str) -> np.ndarray:
    """Numbers of documents; those of one person keep their order, on which that person's own integers may depend."""
    places = np.random.default_rng(4).permutation(len(COUNTS)) if order == "shuffled" else -np.arange(len(COUNTS))
    return np.argsort(places[PEOPLE] if unit == "people" else places, kind="stable")


@pytest.fixture(scope="module", params=["documents", "people"])
def whole(request):
    """The unit, and the topics from one block and, if the machine has them, several threads."""
    return request.param, topics(np.arange(len(COUNTS)), request.param)


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("order", full_after(1, ["shuffled", "backwards", "as they were"]))
def test_blocks_of_any_size_in_any_order_give_the_same_topics(whole, monkeypatch, size, order):
    monkeypatch.setattr("dplda.private.store.preparation.BLOCK_DOCUMENTS", size)
    unit, expected = whole
    numbers = np.arange(len(COUNTS)) if order == "as they were" else arranged(order, unit)
    np.testing.assert_array_equal(topics(numbers, unit), expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_gives_the_same_topics(whole, monkeypatch, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(threads), raising=False)
    assert thread_count() == threads
    np.testing.assert_array_equal(topics(np.arange(len(COUNTS)), whole[0]), whole[1])


def test_one_document_more_gives_other_topics(whole):
    assert not np.array_equal(topics(np.append(np.arange(len(COUNTS)), 0), whole[0]), whole[1])
