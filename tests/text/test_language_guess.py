from __future__ import annotations

import pytest
import wordfreq

from dplda.text import wordlists
from dplda.text.language_guess import _WORDS, mistaken_language
from dplda.text.tokenizers import word_rule


def chosen(written: str, read: str, n_words: int) -> list[str]:
    """The most frequent words of texts in the language `written`, as they are counted if read as `read`."""
    rule = word_rule(read, lemmas=False)
    return [word for word in map(rule, wordfreq.top_n_list(written, 3 * n_words)) if word][:n_words]


@pytest.mark.parametrize("read", _WORDS)
def test_texts_read_in_another_language_are_noticed_and_no_others(read: str) -> None:
    for written in _WORDS:
        assert mistaken_language(chosen(written, read, 60), read) == (None if written == read else written)


def test_a_language_whose_words_are_not_known_is_believed() -> None:
    assert mistaken_language(chosen("da", "nn", 60), "nn") is None
    assert mistaken_language(chosen("en", "xx", 60), "xx") is None


def test_words_of_a_subject_are_no_mistake() -> None:
    assert mistaken_language(wordlists.english(5000), "en") is None
    assert mistaken_language([], "en") is None
    assert mistaken_language(["los", "las", "con", "para", "angeles", "vegas"], "en") is None
