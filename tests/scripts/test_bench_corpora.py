"""The words of the benchmarks follow the rule that is written down, and tuning sees nothing that is reported."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import numpy as np
import pytest

from benchmarks import corpora

TEXTS = ["Apple's pear the the", "the pear plum It's 42 xy", *(f"something{n} banana" for n in "abcdefghijklmnopqrs")]


@pytest.fixture
def small_planted(monkeypatch):
    monkeypatch.setattr(corpora, "PLANTED", {"n_documents": 50, "n_words": 30, "n_topics": 3})


def test_words_are_the_frequent_ones_that_are_neither_common_nor_function_words():
    counts, words = corpora.count_words(TEXTS, most=3)
    assert words == ["pear", "apple's", "it's"]  # 'banana' is in most documents, 'the' a stop word, ties by name
    np.testing.assert_array_equal(counts.toarray()[:3], [[1, 1, 0], [1, 0, 1], [0, 0, 0]])


def test_halves_of_the_reviews_share_words_but_no_review(tmp_path):
    path = tmp_path / "reviews.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    everything, tune, report = (corpora.lines(path, half) for half in ("all", "tune", "report"))
    assert everything.words == tune.words == report.words
    np.testing.assert_array_equal(everything.counts[::2].toarray(), tune.counts.toarray())
    np.testing.assert_array_equal(everything.counts[1::2].toarray(), report.counts.toarray())


def test_messages_are_read_without_their_headers(tmp_path):
    path = tmp_path / "news.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number, text in enumerate(TEXTS):
            member = tarfile.TarInfo(f"group/{number}")
            body = f"Subject: {'heading' * (number == 0)}\n\n{text}".encode() + b"\xff"
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    case = corpora.newsgroups(path)
    assert "pear" in case.words
    assert "heading" not in case.words
    assert case.counts.shape[0] == len(TEXTS)
    assert case.labels == ["group"] * len(TEXTS)


@pytest.mark.usefixtures("small_planted")
def test_planted_corpora_for_tuning_are_none_of_those_reported():
    tuned = [corpora.planted(seed, "tune").counts.toarray() for seed in range(5)]
    reported = [corpora.planted(seed, half).counts.toarray() for half in ("all", "report") for seed in (0, 4)]
    assert not any(np.array_equal(a, b) for a in tuned for b in reported)
