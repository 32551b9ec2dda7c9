"""How a run chooses its words: compared with a list of the language, or above a threshold alone."""

from __future__ import annotations

import random
from itertools import chain

import pytest

import dplda
from dplda.base.errors import InputError, UnsupportedByData
from dplda.learning.settings import LISTED, PRIVATE, FitSettings
from dplda.private.curator import Curator
from dplda.runs.words import choose_way_of_words
from dplda.text.reading_options import Tokenization
from dplda.text.wordlists import N_LISTED, general_frequencies

SUBJECTS = (
    ["guitar", "melody", "orchestra", "piano", "concert", "singer", "rhythm", "chorus"],
    ["vaccine", "hospital", "surgeon", "fever", "nurse", "therapy", "clinic", "virus"],
    ["goalkeeper", "referee", "striker", "stadium", "league", "tournament", "defender", "penalty"],
)
COMMON = ["people", "time", "good", "world", "year", "work", "little", "place", "long", "house"]
OWN = "frobnicator"  # in no list, and in every twentieth document


def texts(documents: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    made = []
    for _ in range(documents):
        words = draw.choices(draw.choice(SUBJECTS), k=8) + draw.choices(COMMON, k=8) + [OWN] * (draw.random() < 0.05)
        made.append(" ".join(words))
    return made


def fitted(documents: int = 1500, **options: object) -> dplda.TopicModel:
    corpus = dplda.Corpus.from_texts(texts(documents), name="t")
    asked = {"n_topics": 3, "epsilon": 2.0, "simulate_seed": 0, "ledger": False} | options
    return dplda.fit(corpus, **asked)  # type: ignore[arg-type]


def test_words_that_set_the_documents_apart_are_chosen_where_a_threshold_would_leave_too_few() -> None:
    model = fitted(2500, epsilon=1.0)
    assert model.facts.words == LISTED
    assert len(set(chain(*SUBJECTS)) & set(model.vocabulary)) >= 22
    with pytest.raises(UnsupportedByData):
        fitted(300, epsilon=1.0, words="private")


def test_a_word_outside_the_list_needs_to_be_frequent() -> None:
    assert OWN in fitted(6000, epsilon=4.0).vocabulary
    assert OWN not in fitted(2200, epsilon=1.0).vocabulary


def test_words_in_more_documents_than_the_limit_are_left_out_and_named_but_for_seed_words() -> None:
    model = fitted(4000, epsilon=4.0, max_document_frequency=0.3)
    assert model.facts.frequency_limit == 0.3
    assert set(COMMON) <= set(model.facts.frequent_words or ())
    assert not set(COMMON) & set(model.vocabulary)
    assert set(chain(*SUBJECTS)) <= set(model.vocabulary)
    guided = fitted(4000, epsilon=4.0, max_document_frequency=0.3, seed_words={"home": ["house", OWN]})
    assert {"house", OWN} <= set(guided.vocabulary)
    assert "house" not in (guided.facts.frequent_words or ())


def test_the_words_that_are_named_as_too_frequent_are_those_left_out() -> None:
    limit, named = 0.57, set[str]()  # about the share of the documents that each common word is in
    for seed in range(4):
        model = fitted(2000, epsilon=2.0, max_document_frequency=limit, simulate_seed=seed)
        frequent = set(model.facts.frequent_words or ())
        assert frequent <= set(COMMON)
        assert set(COMMON) - frequent == set(COMMON) & set(model.vocabulary)
        named |= frequent
    assert named


def test_texts_of_few_words_have_no_limit_on_document_frequencies_of_their_own_accord() -> None:
    model = fitted(4000, epsilon=4.0)
    assert (model.facts.frequency_limit, model.facts.frequent_words) == (1.0, ())
    assert set(chain(*SUBJECTS)) <= set(model.vocabulary)


def test_a_limit_that_leaves_too_few_words_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedByData, match=r"too few .* to choose the words that are in at most 0\.01% of"):
        fitted(3000, max_document_frequency=1e-4)
    monkeypatch.setattr("dplda.runs.words.require_documents", lambda *args, **options: None)
    with pytest.raises(UnsupportedByData, match="Raise --max-document-frequency"):
        fitted(3000, max_document_frequency=1e-6)


def test_every_word_of_the_list_and_every_seed_word_is_asked_for_whatever_the_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    choose = Curator.choose_words

    def choose_words(self: Curator, listed: list[str]) -> object:
        asked.append(listed)
        return choose(self, listed)

    monkeypatch.setattr(Curator, "choose_words", choose_words)
    for documents in (1500, 1900):
        fitted(documents, seed_words={"one": [OWN, "guitar"]})
    assert asked[0] == asked[1] == [*general_frequencies(Tokenization("en")), OWN]
    assert len(asked[0]) == N_LISTED + 1


def test_a_store_whose_tokenizer_is_not_installed_has_words_above_a_threshold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(tokenization: Tokenization) -> None:
        raise InputError("Lemmas need a package.")

    monkeypatch.setattr("dplda.runs.words.general_frequencies", missing)
    assert fitted(6000, epsilon=4.0).facts.words == PRIVATE


@pytest.mark.parametrize(
    ("corpus", "options", "expected"),
    [
        (dplda.Corpus.from_texts(["a few words"], name="t"), {}, LISTED),
        (dplda.Corpus.from_texts(["ein paar Worte"], name="t", language="de"), {}, LISTED),
        (dplda.Corpus.from_texts(["a few words"], name="t"), {"words": PRIVATE}, PRIVATE),
        (dplda.Corpus.from_texts(["qualche parola"], name="t", language="it"), {}, PRIVATE),
        (dplda.Corpus.from_counts([[3, 1]], ["a", "b"], name="t"), {}, PRIVATE),
        (dplda.Corpus.from_texts(["a few words"], name="t"), {"placement": "config2", "topics": 2}, PRIVATE),
        (dplda.Corpus.from_texts(["a few words"], name="t"), {"placement": "none"}, PRIVATE),
        (dplda.Corpus.from_texts(["a few words"], name="t"), {"series": "s", "batch": "b"}, PRIVATE),
    ],
)
def test_public_facts_decide_how_words_are_chosen(corpus: dplda.Corpus, options: dict, expected: str) -> None:
    assert choose_way_of_words(corpus, FitSettings.of(**options)).vocabulary.words == expected


def test_the_list_is_spelled_as_the_documents_are_read() -> None:
    plain, lemmas = (general_frequencies(Tokenization("en", lemmas)) for lemmas in (False, True))
    assert {"movie", "movies"} <= set(plain)
    assert "movies" not in lemmas
    assert plain["people"] > plain["movie"] > plain["orchestra"]
    assert lemmas["movie"] == pytest.approx(plain["movie"] + plain["movies"], rel=0.05)
    assert min(*plain.values(), *lemmas.values()) > 0
