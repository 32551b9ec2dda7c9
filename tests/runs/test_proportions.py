"""`TopicModel.transform` of corpora and texts: read like the model's documents, and marked as not private."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from handmade import make_model, with_facts

import dplda
from dplda import Corpus
from dplda.base.errors import DpldaWarning, InputError
from dplda.model import TopicModel

TEXTS = ["w001 w001 w003", "w000", "unknown words", ""]


@pytest.fixture
def model() -> TopicModel:
    return with_facts(make_model(), language="en", lemmas=False, tokenizer="fast")


def counted(model: TopicModel) -> np.ndarray:
    counts = np.zeros((4, 12))
    counts[0, [1, 3]], counts[1, 0] = (2, 1), 1
    return model.transform(counts)


def test_texts_have_the_proportions_of_their_counts(model: TopicModel) -> None:
    for texts in (TEXTS, tuple(TEXTS), iter(TEXTS), pd.Series(TEXTS), np.array(TEXTS), Corpus.from_texts(TEXTS)):
        found = model.transform(texts)
        np.testing.assert_array_equal(np.asarray(found), counted(model))
        assert found.ids == ["1", "2", "3", "4"]
        assert (found.unknown_tokens, found.tokens) == (2, 6)
    records = [{"text": text, "date": "2024"} for text in TEXTS]
    np.testing.assert_array_equal(np.asarray(model.transform(records)), counted(model))


def test_an_item_that_is_no_text_keeps_its_row(model: TopicModel) -> None:
    found = model.transform([TEXTS[0], None, 7, TEXTS[1]])
    assert len(found) == 4
    np.testing.assert_array_equal(found.values[[0, 3]], counted(model)[[0, 1]])
    np.testing.assert_allclose(found.values[1:3], np.tile(model.alpha / model.alpha.sum(), (2, 1)))
    records = [{"text": TEXTS[0]}, {"text": ["w000"]}, {"text": None}, {"text": TEXTS[1]}]
    np.testing.assert_array_equal(model.transform(records).values, found.values)


def test_the_result_says_everywhere_that_it_is_not_private(model: TopicModel) -> None:
    found = model.transform(TEXTS)
    assert found.private is False
    assert "NOT PRIVATE" in found.warning
    assert repr(found) == "Proportions(NOT PRIVATE: 4 documents, 3 topics; 33.3% of the words are unknown to the model)"
    frame = with_facts(model, topic_names=("Billing", "", "")).transform(TEXTS).to_frame()
    assert frame.columns[0] == "0 Billing (not private)"
    assert all(name.endswith("(not private)") for name in frame.columns)
    assert frame.attrs == {"private": False}
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame["known words (not private)"].tolist() == [3, 1, 0, 0]
    assert model.transform(pd.Series(TEXTS, index=list("abcd"))).to_frame().index.tolist() == list("abcd")
    assert model.transform(Corpus.from_texts(TEXTS)).to_frame().index.tolist() == ["1", "2", "3", "4"]
    records = [{"id": f"t{place}", "text": text} for place, text in enumerate(TEXTS)]
    assert model.transform(records).to_frame().index.tolist() == ["t0", "t1", "t2", "t3"]
    assert "NOT private" in TopicModel.transform.__doc__ or "NOT PRIVATE" in TopicModel.transform.__doc__


def test_texts_are_read_like_the_documents_of_the_model(model: TopicModel) -> None:
    german = with_facts(model, language="de", ngrams=2)
    phrase = dplda.TopicModel(
        topics=german.topics,
        prevalence=german.prevalence,
        vocabulary=["alte_stadt", *german.vocabulary[1:]],
        privacy=german.privacy,
        facts=german.facts,
    )
    counts = np.zeros((1, 12))
    counts[0, 0] = 1
    np.testing.assert_array_equal(np.asarray(phrase.transform(["Alte Stadt"])), phrase.transform(counts))
    with pytest.warns(DpldaWarning, match="language en") as caught:
        german.transform(Corpus.from_texts(TEXTS, ngrams=2))
    assert caught[0].filename == __file__


def test_what_cannot_be_read_is_refused_in_a_line_that_quotes_nothing(model: TopicModel) -> None:
    frame = pd.DataFrame({"text": ["secret"], "date": ["secret"]})
    for wrong, why in (
        (frame, r"read_corpus\(table, text_field"),
        (np.array([["secret"]], object), "must be numbers"),
        ("secret", "one string"),
        ({"text": "secret"}, "iterable of strings"),
        (17, "iterable"),
        ([], "no document|no text|empty"),
    ):
        with pytest.raises(InputError, match=why) as refused:
            model.transform(wrong)
        assert "secret" not in str(refused.value)
        assert refused.value.__suppress_context__ or refused.value.__context__ is None
    with pytest.raises(InputError, match="learned from counts"):
        make_model().transform(["secret"])


def test_without_pandas_one_line_says_what_to_install(model: TopicModel, monkeypatch: pytest.MonkeyPatch) -> None:
    found = model.transform(TEXTS)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (found.to_frame, model.to_frame):
        with pytest.raises(InputError, match=r"^to_frame needs pandas: pip install pandas\.[^\n]*$"):
            ask()
