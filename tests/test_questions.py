"""Documents of a question that are read otherwise than those of its topics."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import dplda
from dplda.questions import _warn_of_other_words


def warned(known: dict[str, Any], **reading: Any) -> list[str]:
    """The warnings for a run with the parameters `known`."""
    model: Any = SimpleNamespace(parameters=known)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        _warn_of_other_words(model, dplda.Corpus.from_texts(["a few words"], **reading))
    return [str(each.message) for each in found]


ALIKE = {"language": "en", "lemmas": False, "tokenizer": "fast"}


@pytest.mark.parametrize(
    ("name", "value"), [("tokenizer", "spacy"), ("lemmas", True), ("language", "de"), ("ngrams", 2)]
)
def test_text_that_is_read_otherwise_than_that_of_the_topics_is_told(name: str, value: Any) -> None:
    assert warned(ALIKE) == []
    (message,) = warned(ALIKE, **{name: value})
    assert message.startswith(f"The documents are read with {name} {value}, and those of the topics were read with ")


def test_counts_say_nothing_about_words() -> None:
    model: Any = SimpleNamespace(parameters=ALIKE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_of_other_words(model, dplda.Corpus.from_counts([[1, 2]], ["one", "two"]))
