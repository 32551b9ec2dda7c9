"""Rare topics: as many documents are about the topic as is told, and finding it means what the table says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import rare


def test_as_many_documents_as_told_are_about_the_rare_topic(monkeypatch):
    monkeypatch.setattr(rare, "LAW", {"concentration": 0.005, "zipf": 0.0})  # topics without common words
    case = rare.planted(200, 0.05, seed=1)
    own = case.topics[-1] > 1e-3
    tokens = np.asarray(case.counts[:, own].sum(axis=1)).ravel() / np.asarray(case.counts.sum(axis=1)).ravel()
    assert tokens[:10].mean() == pytest.approx(rare.OWN, abs=0.1)
    assert tokens[10:].mean() < 0.1
    np.testing.assert_array_equal(case.topics[-1][case.first_words], np.sort(case.topics[-1])[::-1][: rare.FIRST])


def test_the_planted_topics_are_found_and_merged_ones_are_not():
    case = rare.planted(50, 0.1, seed=0)
    exact = rare.found(case, case.topics[::-1])
    assert exact == {"cosine": 1.0, "other_words": 1.0, "common": rare.TOPICS - 1}
    merged = np.vstack([case.topics[:-2], case.topics[-2:].mean(axis=0)])
    assert rare.found(case, merged)["cosine"] < rare.FOUND
    assert rare.found(case, case.topics[:-1])["cosine"] == 0


def test_first_words_alone_do_not_count_as_the_other_words():
    case = rare.planted(50, 0.1, seed=0)
    topics = case.topics.copy()
    topics[-1] = 0
    topics[-1, case.first_words] = 0.1
    found = rare.found(case, topics)
    assert found["cosine"] > 0.5
    assert found["other_words"] == 0


def test_a_fit_is_measured_once_and_finds_a_common_topic_without_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(rare, "TOPICS", 3)
    arguments = (tmp_path / "results", ("nothing",), (400,), (0.3,), (None,), 1)
    rare.measure(*arguments)
    (record,) = rare.results.read(arguments[0])
    assert record["cosine"] >= rare.FOUND
    assert record["words"] > 0
    monkeypatch.setattr(rare, "planted", None)  # nothing is drawn again
    rare.measure(*arguments)
    assert rare.results.read(arguments[0]) == [record]


def test_the_least_share_is_that_from_which_on_half_of_the_fits_find_the_topic():
    cosines = {0.01: (0.9, 0.9, 0.9), 0.02: (0.9, 0.1, 0.1), 0.05: (0.9, 0.8, 0.1), 0.1: (0.9, 0.9, 0.9)}
    records = [
        {"given": "nothing", "documents": 1000, "epsilon": 1.0, "share": share, "cosine": one, "other_words": 0.0}
        for share, found in cosines.items()
        for one in found
    ]
    assert rare.least_share(records) == 0.05
    assert rare.least_share(records, "other_words") is None
    table = rare.table(records)
    assert "| nothing | all words | 1,000 | 5 % (50) |" in table
    assert "| nothing | words that are not first | 1,000 | none |" in table
