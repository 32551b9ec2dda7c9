"""Which words of a list can occur in text, and why others cannot."""

from __future__ import annotations

from collections import Counter

import pytest
from full_helpers import full_after
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text import wordlists
from dplda.text.reading_options import TOKENIZERS, Tokenization
from dplda.text.tokenizers import find_tokens, match_words

ENTRY = st.text(alphabet="aAbeks'-_. 12é", max_size=8)


def reason(entry: str, **reading: object) -> str | None:
    """Why text cannot contain `entry`; None if it can."""
    return match_words([entry], Tokenization(**reading)).reasons.get(entry)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_words_that_the_tokenizer_makes_of_themselves_are_found(tokenizer: str) -> None:
    listed = ["film", "covid19", "5g", "naïve", "Film", "FILM"]
    matched = match_words(listed, Tokenization(tokenizer=tokenizer))
    assert matched.words == ("film", "covid19", "5g", "naïve")
    assert (list(matched.found), matched.reasons) == (listed, {})


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("the", "a stop word"),
        ("The", "a stop word"),
        ("e-mail", "read as mail"),
        ("well-known film", "read as known, film"),
        ("42", "without a letter"),
        ("...", "without a letter"),
        ("x", "one letter"),
        ("don't", "no word as CORPUS is read"),
        ("ann@example.org", "no word as CORPUS is read"),
        ("new_york", "needs --ngrams 2"),
        ("New York", "needs --ngrams 2"),
        ("new york city", "needs --ngrams 3"),
        ("state of the art", "read as state, art"),
        ("alpha beta gamma delta epsilon zeta", "longer than 5 words"),
    ],
)
def test_the_reason_is_told_of_words_that_no_text_contains(tokenizer: str, entry: str, why: str) -> None:
    assert reason(entry, tokenizer=tokenizer) == why


def test_stop_words_of_the_user_and_words_with_another_lemma_are_not_found() -> None:
    assert reason("film", stopwords=("film",)) == "a stop word"
    assert reason("movies", lemmas=True) == "read as movie"
    assert reason("movie", lemmas=True) is None


def test_a_word_that_is_the_lemma_of_another_is_found() -> None:
    assert reason("found", lemmas=True) is None, "the lemma of founded, although its own lemma is find"


def test_phrases_are_found_with_spaces_and_with_underscores() -> None:
    matched = match_words(["New York", "new_york", "york"], Tokenization(ngrams=2))
    assert matched.words == ("new_york", "york")


def test_spacy_finds_in_capital_letters_what_it_splits_in_small_ones() -> None:
    assert reason("id", tokenizer="spacy") is None
    assert reason("id", tokenizer="fast") is not None


@pytest.mark.parametrize(("language", "word", "other"), [("ja", "見る", "見ました"), ("ko", "먹다", "먹었다")])
def test_languages_with_a_segmenter_have_dictionary_forms(language: str, word: str, other: str) -> None:
    matched = match_words([word, other, "iPhone15"], Tokenization(language))
    assert matched.words == (word, "iphone15")
    assert matched.reasons == {other: f"read as {word}"}


@pytest.mark.parametrize("lemmas", [False, True])
@pytest.mark.parametrize("tokenizer", full_after(1, TOKENIZERS))
def test_all_words_of_a_list_of_frequent_words_are_found(tokenizer: str, lemmas: bool) -> None:
    words = wordlists.frequent_words("en", 5000, tokenizer=tokenizer, lemmas=lemmas)
    assert match_words(words, Tokenization(tokenizer=tokenizer, lemmas=lemmas)).words == tuple(words)


@pytest.mark.parametrize("tokenizer", full_after(1, TOKENIZERS))
@settings(max_examples=200, deadline=None)
@given(entry=ENTRY, around=st.tuples(ENTRY, ENTRY))
def test_whatever_text_contains_is_found_and_whatever_is_found_text_can_contain(
    tokenizer: str, entry: str, around: tuple[str, str]
) -> None:
    tokenization = Tokenization(tokenizer=tokenizer, ngrams=2)
    tokens = find_tokens(tokenization)

    def words_of(text: str) -> Counter[str]:
        return Counter(word for piece in tokens.pieces(text) for word in tokens.words(piece))

    contained = list(words_of(f"{around[0]}{entry} {around[1]}"))
    assert match_words(contained, tokenization).reasons == {}
    for spelled in match_words([entry], tokenization).words:
        text = spelled.replace("_", " ")
        assert any(spelled in words_of(form) for form in (text, text.title(), text.upper()))


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match="language 'qq' is not available"):
        match_words(["film"], Tokenization("qq"))
