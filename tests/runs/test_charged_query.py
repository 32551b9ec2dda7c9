"""Documents of a question that are read otherwise than those of its topics."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import dplda
from dplda.model.run_facts import RunFacts
from dplda.runs.charged_query import warn_of_other_words


def warned(corpus: dplda.Corpus) -> list[str]:
    """The warnings for `corpus` under topics of English text that the fast tokenizer split."""
    model: Any = SimpleNamespace(facts=RunFacts(language="en", lemmas=False, tokenizer="fast"))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_other_words(model, corpus)
    return [str(each.message) for each in found]


@pytest.mark.parametrize(
    ("name", "value"), [("tokenizer", "spacy"), ("lemmas", True), ("language", "de"), ("ngrams", 2)]
)
def test_text_that_is_read_otherwise_than_that_of_the_topics_is_told(name: str, value: Any) -> None:
    texts = ["a few words"]
    assert warned(dplda.Corpus.from_texts(texts)) == []
    (message,) = warned(dplda.Corpus.from_texts(texts, **{name: value}))
    assert message.startswith(f"The documents are read with {name} {value}, and those of the topics were read with ")


def test_counts_say_nothing_about_words() -> None:
    assert warned(dplda.Corpus.from_counts([[1, 2]], ["one", "two"])) == []
