from collections import Counter

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.strings import hash_string

from dplda.errors import InputError
from dplda.text import tokens
from dplda.text.tokens import MAX_PIECE, WordCounter

COUNTER = WordCounter("en")
WHOLE = spacy.blank("en")


def by_spacy(text: str) -> Counter[str]:
    """The rule in spaCy's own words, over the whole document."""
    kept = (token for token in WHOLE.tokenizer(text) if token.is_alpha and not token.is_stop)
    return Counter(token.lower_ for token in kept if len(token.lower_) >= 2 and token.lower_.isalpha())


def test_words_are_lower_case_alphabetic_and_no_stop_words() -> None:
    text = "The Movie, a movie! It's 100% great; I can't recommend e-mail x (really) naïve."
    assert COUNTER.count(text) == {"movie": 2, "great": 1, "recommend": 1, "mail": 1, "naïve": 1}


@settings(max_examples=200)
@given(st.text(alphabet="aB'.,-!:() \n\u00a0é1İß/@", max_size=40))
def test_words_of_pieces_are_those_of_the_whole_document(text: str) -> None:
    assert COUNTER.count(text) == by_spacy(text)


def test_everyday_text_gives_spacys_own_words() -> None:
    text = (
        "Mr. O'Neill's well-made U.S. film (1994)... cannot be missed:don't, won't, they're; "
        'see http://example.com/a?b=c or mail me@x.org. "Wow!"--he said/she said :-) 10km e.g. this.And that'
    )
    assert COUNTER.count(text) == by_spacy(text)


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "CACHED_PIECES", 3)
    forgetful = WordCounter("en")
    for text in ("alpha beta gamma delta alpha", "epsilon (beta) gamma.", "alpha alpha beta"):
        assert forgetful.count(text) == COUNTER.count(text)


def test_no_document_can_stand_in_for_a_word_of_another() -> None:
    forged = "ohtnyvqqHrEEcabK"  # made up so that spaCy takes it for the same string
    assert hash_string(forged) == hash_string("movie")
    for first, second in ((forged, "movie"), ("movie", forged)):
        counter = WordCounter("en")
        assert counter.count(first) == {first.lower(): 1}
        assert counter.count(f"a {second}, ({second})") == {second.lower(): 2}
        assert counter.count(f"{first}, {second}!") == {first.lower(): 1, second.lower(): 1}


def test_everyday_text_is_never_read_twice() -> None:
    for language in ("en", "de", "fr", "zh"):
        counter = WordCounter(language)
        before = counter._nlp
        counter.count("Mr. O'Neill's \u6211\u7231 it's  (10km)\n\tdon't\u00a0e.g. L'\u00e9t\u00e9 :-) http://a.b/c?d=e")
        assert counter._nlp is before


def test_an_endless_piece_costs_no_time_and_counts_as_nothing() -> None:
    assert COUNTER.count("(" * 1_000_000 + " word " + "x" * (MAX_PIECE + 1)) == {"word": 1}


def test_lemmas_are_looked_up_and_stop_words_among_them_left_out() -> None:
    assert WordCounter("en", lemmas=True).count("Movies were further called mice") == {"movie": 1, "mouse": 1}


def test_other_languages_have_their_own_rules() -> None:
    assert WordCounter("de").count("Der Film ist schön") == {"film": 1, "schön": 1}


def test_a_language_that_joins_across_space_is_taken_whole() -> None:
    assert WordCounter("zh").count("电影 好看") == Counter()  # characters: each shorter than two letters


def test_unknown_languages_and_missing_tables_are_refused() -> None:
    with pytest.raises(InputError, match="language 'qq' is not available"):
        WordCounter("qq")
    with pytest.raises(InputError, match="no table of lemmas"):
        WordCounter("xx", lemmas=True)
