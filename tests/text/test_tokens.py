import pickle
import re
import sys
import unicodedata
from collections import Counter

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.strings import hash_string

from dplda.base.errors import InputError
from dplda.text import tokenizers
from dplda.text.tokenizers import _MAX_PIECE, SpacyTokens

TOKENS = SpacyTokens("en")
WHOLE = spacy.blank("en")


def words_of(text: str, by: SpacyTokens = TOKENS) -> Counter[str]:
    """Words of all pieces of a document."""
    return Counter(word for piece in by.pieces(text) for word in by.words(piece))


def by_spacy(text: str) -> Counter[str]:
    """The rule, applied to spaCy's tokens of the whole document."""
    document = WHOLE.tokenizer(text)
    starts, ends = {token.idx for token in document}, {token.idx + len(token) for token in document}
    whole = [
        run
        for run in re.finditer(r"\w+", re.sub(r"(?<=[0-9])[.,:](?=[0-9])", "_", text))
        if is_word(run[0]) and not run[0].isalpha() and run[0] not in WHOLE.Defaults.tokenizer_exceptions
        if run.start() in starts and run.end() in ends
    ]
    inside = {place for run in whole for place in range(*run.span())}
    parts = [token.text for token in document if token.idx not in inside] + [run[0] for run in whole]
    words = [part.lower() for part in parts if is_word(part) and is_word(part.lower())]
    return Counter(word for word in words if word not in WHOLE.Defaults.stop_words)


def is_word(part: str) -> bool:
    """Whether `part` consists of two or more letters and decimal digits, at least one of them a letter."""
    spelled = all(letter.isalpha() or unicodedata.category(letter) == "Nd" for letter in part)
    return len(part) >= 2 and spelled and any(letter.isalpha() for letter in part)


def test_words_are_lower_case_and_no_stop_words() -> None:
    text = "The Movie, a movie! It's 100% great; I can't recommend e-mail x (really) naïve."
    assert words_of(text) == {"movie": 2, "great": 1, "recommend": 1, "mail": 1, "naïve": 1}


def test_letters_and_digits_are_words_even_if_spacy_takes_them_for_a_number_and_a_unit() -> None:
    text = "Covid19, B12 (5G) a 401K's MP3 at 10km: 2nd x2 1990 007 m² ½in"
    words = ["covid19", "b12", "5g", "401k", "mp3", "10km", "2nd", "x2"]
    assert words_of(text) == Counter(words)
    assert words_of(text, SpacyTokens("en", lemmas=True)) == Counter(words)
    assert words_of("5G-Netz 10km z.B. h1n1", SpacyTokens("de")) == {"10km": 1, "h1n1": 1}


def test_numbers_in_parts_and_times_are_split_as_spacy_does() -> None:
    assert words_of("3.5mm 10:30am 8pm") == by_spacy("3.5mm 10:30am 8pm") == {"mm": 1, "pm": 1}


@settings(max_examples=200)
@given(
    st.text(alphabet="aB'.,-!:() \n\u00a0é1İß/@", max_size=40) | st.text(alphabet="kgKGmM0123²x.,:'$_ -", max_size=30)
)
def test_words_of_pieces_are_those_of_the_whole_document(text: str) -> None:
    assert words_of(text) == by_spacy(text)


def test_everyday_text_gives_spacys_own_words() -> None:
    text = (
        "Mr. O'Neill's well-made U.S. film (1994)... cannot be missed:don't, won't, they're; "
        'see http://example.com/a?b=c or mail me@x.org. "Wow!"--he said/she said :-) 10km e.g. this.And that'
    )
    assert words_of(text) == by_spacy(text)


def test_a_fresh_vocabulary_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "_FOUND_TOKENS", 3)
    forgetful = SpacyTokens("en")
    first = tokenizers._analyser("en")
    for text in ("alpha beta gamma delta alpha", "epsilon (beta) gamma.", "alpha alpha beta"):
        assert words_of(text, forgetful) == words_of(text)
    assert tokenizers._analyser("en") is not first


def test_no_document_can_stand_in_for_a_word_of_another() -> None:
    forged = "ohtnyvqqHrEEcabK"  # constructed to have the same hash in spaCy
    assert hash_string(forged) == hash_string("movie")
    for first, second in ((forged, "movie"), ("movie", forged)):
        tokenizers._here.made.clear()
        fresh = SpacyTokens("en")
        assert words_of(first, fresh) == {first.lower(): 1}
        assert words_of(f"a {second}, ({second})", fresh) == {second.lower(): 2}
        assert words_of(f"{first}, {second}!", fresh) == {first.lower(): 1, second.lower(): 1}


@pytest.mark.full
@settings(max_examples=30, deadline=None)
@given(
    language=st.sampled_from(["en", "de", "fr"]),
    text=st.lists(
        st.sampled_from([*"aA.,'()-:/", "don't", "a.m.", "z.B.", "O'", "10km", "l'", ":-)", "e.g."]), max_size=6
    ),
)
def test_a_tokenizer_of_few_rules_cuts_a_piece_as_one_of_all_rules(language: str, text: list[str]) -> None:
    piece = "".join(text)
    whole = tokenizers._tokenizer(language)
    few = tokenizers._with_own_vocabulary(whole, language, piece)
    assert [token.text for token in few(piece)] == [token.text for token in whole(piece)]


def test_a_language_that_joins_across_space_is_read_in_parts_that_end_at_spaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "\u6211\u7231 " * 20_000 + "\u6211" * 15_000
    parts = tokenizers._PART.findall(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= tokenizers._MAX_PART
    assert all(part.endswith(" ") for part in parts[:5])
    taken = SpacyTokens("zh")
    asked: list[str] = []
    monkeypatch.setattr(taken, "_analyse", lambda part: asked.append(part) or [part[:2]])
    assert taken.pieces(text) == [part[:2] for part in parts]


def test_everyday_text_is_never_read_twice() -> None:
    for language in ("en", "de", "fr", "zh"):
        fresh = SpacyTokens(language)
        before = tokenizers._analyser(language)
        text = "Mr. O'Neill's \u6211\u7231 it's  (10km)\n\tdon't\u00a0e.g. L'\u00e9t\u00e9 :-) http://a.b/c?d=e"
        words_of(text, fresh)
        assert tokenizers._analyser(language) is before


def test_an_endless_piece_costs_no_time_and_counts_as_nothing() -> None:
    assert words_of("(" * 1_000_000 + " word " + "x" * (_MAX_PIECE + 1)) == {"word": 1}


def test_lemmas_are_looked_up_and_stop_words_among_them_left_out() -> None:
    lemmas = SpacyTokens("en", lemmas=True)
    assert words_of("Movies were further called mice", lemmas) == {"movie": 1, "mouse": 1}


@pytest.mark.full
def test_another_process_reads_by_the_same_rule() -> None:
    sent = pickle.loads(pickle.dumps(SpacyTokens("de", lemmas=True)))
    assert words_of("Der Film ist schöner", sent) == words_of("Der Film ist schöner", SpacyTokens("de", lemmas=True))
    assert words_of("schöner Film", sent) == {"schön": 1, "film": 1}


def test_other_languages_have_their_own_rules() -> None:
    assert words_of("Der Film ist schön", SpacyTokens("de")) == {"film": 1, "schön": 1}


def test_a_language_that_joins_across_space_is_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    chinese = SpacyTokens("zh")
    assert words_of("电影 好看", chinese) == {"电": 1, "影": 1}  # spaCy's own: characters, less the stop words
    finding = tokenizers._Analyser(WHOLE.tokenizer)  # finds words; spaCy's own need other packages
    monkeypatch.setitem(tokenizers._here.made, "zh", finding)
    chinese._word = TOKENS._word
    assert chinese.pieces("A film, don't; film") == ["film", "film"]
    assert words_of("A film, don't; film", chinese) == {"film": 2}


def test_lemmas_without_their_package_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy_lookups_data", None)
    with pytest.raises(InputError, match=r"^Lemmas need a package\. .*pip install 'dplda\[lemmas\]'$"):
        SpacyTokens("en", lemmas=True)


def test_unknown_languages_and_missing_tables_are_refused() -> None:
    with pytest.raises(InputError, match="language 'qq' is not available"):
        SpacyTokens("qq")
    with pytest.raises(InputError, match="no table of lemmas"):
        SpacyTokens("xx", lemmas=True)
