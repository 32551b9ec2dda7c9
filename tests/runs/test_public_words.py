"""Public words that documents cannot contain are left out, or refused, before anything is reserved or read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplda
from dplda.base.errors import DpldaWarning, InputError
from dplda.model.prior_topics import PriorTopics

LISTED = ["Apple", "apple", "banana", "e-mail", "the", "new_york", "cherry", "date", "42", "x", "Fig"]
TOLD = (
    "7 of the 11 words of the word list can occur in the documents as they are read. The others: 'e-mail' (read as "
    "mail), 'the' (a stop word), 'new_york' (needs --ngrams 2), '42' (without a letter), 'x' (one letter). They are "
    "left out."
)


def unread(**reading: Any) -> dplda.Corpus:
    """A corpus whose documents must not be read."""

    def document(_: int) -> str:
        raise AssertionError("the documents were read")

    return dplda.Corpus.from_texts(map(document, range(1)), name="unread", **reading)


def texts(n: int = 400) -> list[str]:
    return ["apple banana cherry date fig " * 3] * n


def fit(corpus: dplda.Corpus, n_topics: int = 2, **more: Any) -> dplda.TopicModel:
    return dplda.fit(corpus, n_topics=n_topics, epsilon=8.0, ledger=False, simulate_seed=1, **more)


def told(run: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    ours = [each for each in found if each.category is DpldaWarning]
    assert {each.filename for each in ours} <= {__file__}  # where `dplda.fit` was called
    return [str(each.message) for each in ours]


def test_words_that_cannot_occur_are_told_and_are_not_in_the_model() -> None:
    found: list[dplda.TopicModel] = []
    listed = [word for word in LISTED if word != "apple"]
    messages = told(lambda: found.append(fit(dplda.Corpus.from_texts(texts()), vocabulary=listed)))
    assert messages == [TOLD.replace("7 of the 11", "5 of the 10")]
    assert sorted(found[0].vocabulary) == ["apple", "banana", "cherry", "date", "fig"]


def test_words_in_capitals_count_once_and_in_small_letters() -> None:
    model = fit(dplda.Corpus.from_texts(texts()), vocabulary=["APPLE", "Apple", "banana", "cherry", "date"])
    assert sorted(model.vocabulary) == ["apple", "banana", "cherry", "date"]


def test_nothing_is_said_of_a_list_that_can_occur() -> None:
    assert told(lambda: fit(dplda.Corpus.from_texts(texts()), vocabulary=["apple", "banana", "cherry", "date"])) == []


@pytest.mark.parametrize("n_topics", [4, "auto"])
def test_too_few_words_are_refused_before_the_documents_are_read(n_topics: Any, tmp_path: Path) -> None:
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    listed = ["apple", "e-mail", "the", "and", "of", "42", "7", "8"] + (["fig"] if n_topics == 4 else [])
    with pytest.raises(InputError) as refused:
        dplda.fit(unread(), n_topics=n_topics, vocabulary=listed, ledger=ledger)
    n_found, needed = (2, 8) if n_topics == 4 else (1, 2)
    assert str(refused.value).startswith(
        f"{n_found} of the {len(listed)} words of the word list can occur in the documents as they are read. The "
        "others: 'e-mail' (read as mail), 'the' (a stop word), "
    )
    assert str(refused.value).endswith(
        f" and 2 more. At least {needed} are needed, two for each topic: give other words, or ask for fewer topics."
    )
    assert not ledger.runs()


def test_words_that_need_phrases_or_lemmas_are_found_with_them() -> None:
    for listed, reading in ((["new_york", "san_jose"], {"ngrams": 2}), (["found", "mouse"], {"lemmas": True})):
        with pytest.raises(AssertionError, match="were read"):
            dplda.fit(unread(**reading), n_topics="auto", vocabulary=listed, ledger=False, simulate_seed=0)
    with pytest.raises(InputError, match="needs --ngrams 2"):
        dplda.fit(unread(), n_topics="auto", vocabulary=["new_york", "san_jose"], ledger=False, simulate_seed=0)


def test_a_run_without_noise_needs_no_two_words_for_each_topic() -> None:
    model = fit(dplda.Corpus.from_texts(texts()), n_topics=3, vocabulary=["apple", "banana", "fig"], placement="none")
    assert len(model.vocabulary) == 3


def test_counts_are_compared_with_nothing() -> None:
    counts, words = np.full((400, 4), 3), ["Apple", "the", "e-mail", "42"]
    model = fit(dplda.Corpus.from_counts(counts, words), vocabulary=words)
    assert sorted(model.vocabulary) == sorted(words)


def test_a_store_is_compared_by_the_text_settings_that_it_keeps(tmp_path: Path) -> None:
    dplda.Corpus.from_texts(texts(), lemmas=True, stopwords=["fig"]).write(tmp_path / "store")
    store = dplda.read_corpus(tmp_path / "store")
    listed = ["apple", "bananas", "cherry", "date", "fig", "banana"]
    (message,) = told(lambda: fit(store, vocabulary=listed))
    assert " The others: 'bananas' (read as banana)." in message, (
        "the store does not keep which further words are stop words"
    )


@pytest.mark.parametrize("reading", [{"language": "qq"}, {"tokenizer": "quick"}])
def test_a_store_whose_tokenizer_is_missing_is_compared_with_nothing(tmp_path: Path, reading: dict[str, str]) -> None:
    dplda.Corpus.from_texts(texts()).write(tmp_path / "store")
    meta = tmp_path / "store" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"reading": reading}))
    listed = ["apple", "banana", "the", "date"]
    assert told(lambda: fit(dplda.read_corpus(tmp_path / "store"), vocabulary=listed)) == []


def test_seed_words_that_cannot_occur_are_left_out_and_a_topic_without_others_is_refused() -> None:
    corpus = dplda.Corpus.from_texts(texts())
    vocabulary = ["apple", "banana", "cherry", "date", "fig"]
    found: list[dplda.TopicModel] = []
    seeds = {"fruit": ["Apple", "the", "e-mail"]}
    messages = told(lambda: found.append(fit(corpus, vocabulary=vocabulary, seed_words=seeds)))
    assert messages == [
        "1 of the 3 seed words of topic 'fruit' can occur in the documents as they are read. The others: 'the' (a stop "
        "word), 'e-mail' (read as mail). They are left out."
    ]
    assert found[0].facts.seed_words == {"fruit": ("apple",)}
    with pytest.raises(InputError, match=r"^0 of the 2 seed words of topic 'fruit' can occur .* 'the' \(a stop word\)"):
        fit(unread(), seed_words={"fruit": ["the", "42"]})


VECTORS = """\
apple 9 0 1
Apples 9 1 1
the 9 0 0
e-mail 8 0 1
pear 8 1 1
cherry 7 1 0
date 0 9 1
fig 1 9 1
"""


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text(VECTORS)
    return path


def guided(given: Any, vectors: Path, corpus: dplda.Corpus | None = None, **more: Any) -> Any:
    corpus = dplda.Corpus.from_texts(texts()) if corpus is None else corpus
    return fit(corpus, seed_words=given, vectors=vectors, words="private", **more).facts.seed_words


def test_names_of_topics_become_the_nearest_words_that_documents_can_contain(vectors: Path) -> None:
    found = guided(["apple", "date"], vectors)
    assert found == {"apple": ("apple", "apples", "pear", "cherry"), "date": ("date", "fig")}
    more = dplda.Corpus.from_texts(["apple banana cherry date fig lemon orange melon " * 3] * 400)
    mixed = guided({"apple": None, "mine": ["cherry", "fig"], "date": ()}, str(vectors), more, n_topics=3)
    assert mixed == {"apple": ("apple", "apples", "pear"), "mine": ("cherry", "fig"), "date": ("date",)}
    assert dplda.nearest_words(["date"], vectors) == {"date": ("date", "fig")}


def test_names_become_words_of_a_public_list_and_lemmas_of_a_corpus_with_lemmas(vectors: Path) -> None:
    listed = ["apple", "banana", "cherry", "date", "fig"]
    assert guided(["apple", "date"], vectors, vocabulary=listed) == {
        "apple": ("apple", "cherry"),
        "date": ("date", "fig"),
    }
    with_lemmas = guided(["apple", "date"], vectors, dplda.Corpus.from_texts(texts(), lemmas=True))
    assert with_lemmas == {"apple": ("apple", "pear", "cherry"), "date": ("date", "fig")}  # `apples` is read as apple
    counts = dplda.Corpus.from_counts(np.full((400, 3), 3), ["Apple", "fig", "date"], public_vocabulary=True)
    assert guided(["apple", "date"], vectors, counts) == {"apple": ("Apple",), "date": ("date", "fig")}


def test_names_become_words_of_a_prior(vectors: Path) -> None:
    words = ("apple", "banana", "cherry", "date", "fig")
    prior = PriorTopics(np.full((4, 5), 0.2), words, "a test", True)
    assert guided(["apple", "date"], vectors, prior=prior) == {"apple": ("apple", "cherry"), "date": ("date", "fig")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed_words": ["apple"]}, "'apple' has a name and no seed words"),
        ({"seed_words": {"apple": None}}, "'apple' has a name and no seed words"),
        ({"seed_words": "apple", "vectors": "v"}, "must map names of topics to words, or be a list of names"),
        ({"seed_words": [1, 2], "vectors": "v"}, "must map names of topics to words, or be a list of names"),
        ({"seed_words": ["apple", "apple"], "vectors": "v"}, "each name of a topic once"),
        ({"seed_words": {"one": ["apple"]}, "vectors": "v"}, "there are none"),
        ({"vectors": "v"}, "there are none"),
        ({"seed_words": ["apple"], "vectors": "absent.txt"}, "absent.txt does not exist"),
    ],
)
def test_names_and_vectors_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(unread(), **options)


def test_a_prior_of_other_words_is_told() -> None:
    words = ("movies", "films", "apple", "fig")
    prior = PriorTopics(np.full((4, 4), 0.25), words, "a test", True)
    with pytest.raises(AssertionError, match="were read"), pytest.warns(DpldaWarning) as found:
        dplda.fit(unread(lemmas=True), n_topics=2, prior=prior, ledger=False, simulate_seed=0)
    assert [str(each.message) for each in found] == [
        "2 of the 4 words of the prior can occur in the documents as they are read. The others: 'movies' (read as "
        "movie), 'films' (read as film). Was the text of the prior read with other settings?"
    ]
    assert told(lambda: fit(dplda.Corpus.from_texts(texts()), prior=prior)) == []
