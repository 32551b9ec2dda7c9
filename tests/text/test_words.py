from __future__ import annotations

import pickle
import pkgutil
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from string import printable

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text.reading_options import NO_WHITE_SPACE, Tokenization
from dplda.text.tokenizers import SpacyTokens, fast_tokens
from dplda.text.words import _MAX_LETTERS, _WITH_MARKS, FastTokens, WordRule

RULE = WordRule({"the", "go"}, {"films": "Film", "went": "go", "cannot": "can not", "i": "myself"})


def test_words_are_lower_case_lemmas() -> None:
    assert [RULE(token) for token in ("Films", "STARS", "can't", "naïve")] == ["film", "stars", "", "naïve"]


def test_letters_and_decimal_digits_make_a_word_and_digits_alone_do_not() -> None:
    words = ("X2", "5g", "H1N1", "0th", "a٣", "ｂ１２")
    assert [RULE(token) for token in words] == ["x2", "5g", "h1n1", "0th", "a٣", "ｂ１２"]
    assert [RULE(token) for token in ("1990", "12", "٣٣", "m²", "½a", "x①", "a_1", "3.5a", "1'a", "")] == [""] * 10


def test_stop_words_count_neither_as_they_stand_nor_as_lemmas() -> None:
    assert [RULE(token) for token in ("The", "went", "cannot")] == ["", "", ""]


def test_words_have_two_to_many_characters() -> None:
    assert [RULE(token) for token in ("a", "1", "ab", _MAX_LETTERS * "a")] == ["", "", "ab", _MAX_LETTERS * "a"]
    assert RULE((_MAX_LETTERS + 1) * "a") == ""
    assert RULE("I") == "myself"


def test_a_mixed_word_has_a_letter_and_a_digit() -> None:
    runs = re.compile(r"[\w\u0930-\u0950]+")
    rule = WordRule((), {}, marks=True)
    found = [run[0] for run in rule.find_mixed("covid19 film 1990 5g! file_5g 3.5mm m²5 हिन्दी 5जी", runs)]
    assert found == ["covid19", "5g", "5जी"]


def test_letters_that_leave_a_mark_in_lower_case_make_no_word() -> None:
    assert RULE("İSTANBUL") == ""


FAST = fast_tokens("en")


ENGLISH = spacy.blank("en").Defaults


TRICKY = st.text(alphabet="aAbdDeilnNorStuvwyÉßİΣς'\u2019\u02bc12٣²½_-.,:/@ \n\u00a0\u0301\u093e字", max_size=30)


NUMBERS = st.lists(st.sampled_from(["3.5mm", "1,000km", "10:30am", "8pm", "5G", "h1n1", "1.x.org", *"12ab.,: '"])).map(
    "".join
)


ADDRESSES = st.lists(
    st.sampled_from(
        ["ann@mail.example.org", "http://x.org/a-b?c=d", "news.x.org", "x.com", "x.de", "a.b.", "well...then"]
    )
    | st.sampled_from(
        ["comp.os.x", "x.com's", "a.b.it", "a.b.uk", "x.org/path/word", "@name", "good/bad", "great.the.food"]
    )
    | st.sampled_from(
        [" ", ",", "<", ">", "-", "/", ":", "@", "://", ".", "'", "word", "it's", "(see", "né)", "\u2014", "\u201d"]
    ),
    max_size=8,
).map("".join)


PHRASES = st.lists(st.sampled_from(["Don't", "WON’T", "they're", "o'clock", "n't", "film's", "rock'n'roll", "x"]))


def words_of(text: str, by: FastTokens | SpacyTokens = FAST) -> Counter[str]:
    """Words of all pieces of a document."""
    return Counter(word for piece in by.pieces(text) for word in by.words(piece))


def runs_of(text: str) -> list[str]:
    """Find runs of letters, digits, underscores and combining marks, joined by apostrophes, letter by letter."""
    runs = [""]
    for place, letter in enumerate(text):
        begins = [after.isalnum() or after == "_" for after in text[place : place + 2]]
        joins = letter == "'" and begins[1:] == [True]
        if begins[0] or (runs[-1] and (joins or unicodedata.category(letter).startswith("M"))):
            runs[-1] += letter
        else:
            runs.append("")
    return [run for run in runs if run]


def parted(text: str, apart: Callable[[str], bool]) -> list[str]:
    """The parts of `text` between letters that are `apart`, letter by letter."""
    return "".join(" " if apart(letter) else letter for letter in text).split(" ")


def is_spelled(letter: str) -> bool:
    return letter.isalnum() or letter == "_" or unicodedata.category(letter).startswith("M")


def without_addresses(text: str) -> str:
    """`text` without e-mail and web addresses and names of hosts."""
    pieces = []
    for piece in text.split():
        parts = [piece]
        if "@" in piece or "://" in piece:
            parts = parted(piece, lambda letter: not is_spelled(letter) and letter not in ".'/-@:+%~?&=#!$")
        parts = [part for part in parts if "@" not in part.rstrip("@") and "://" not in part]
        for part in parts:
            names = parted(part, lambda letter: not is_spelled(letter) and letter not in ".'/-")
            pieces += [name for name in names if not is_host(name)]
    return " ".join(pieces)


def is_host(name: str) -> bool:
    labels = name.split("/")[0].strip(".-'").removesuffix("'s").split(".")
    if len(labels) < 2 or "" in labels or not name.isascii():
        return False
    if labels[-1] in ("com", "edu", "gov", "mil", "net", "org"):
        return True
    country = len(labels[-1]) == 2 and labels[-1].isalpha() and labels[-1] not in ENGLISH.stop_words
    newsgroup = labels[0] in ("alt", "comp", "humanities", "misc", "news", "rec", "sci", "soc", "talk")
    return len(labels) >= 3 and (country or newsgroup)


def with_whole_numbers(text: str, separators: str) -> str:
    """`text` with an underscore for each of the `separators` between two digits of ASCII, letter by letter."""
    digits = set("0123456789")
    middle = (
        "_" if letter in separators and {before, after} <= digits else letter
        for before, letter, after in zip(text, text[1:], text[2:], strict=False)
    )
    return "".join([text[:1], *middle, text[1:][-1:]])


def is_word(part: str) -> bool:
    """Whether `part` consists of two or more letters and decimal digits, at least one of them a letter."""
    spelled = all(letter.isalpha() or unicodedata.category(letter) == "Nd" for letter in part)
    return len(part) >= 2 and spelled and any(letter.isalpha() for letter in part)


def by_the_rule(text: str) -> Counter[str]:
    """A plain implementation of the rule of `FastTokens`."""
    words: Counter[str] = Counter()
    plain = with_whole_numbers(text.lower(), ",:").replace("\u2019", "'")
    for run in runs_of(with_whole_numbers(without_addresses(plain), ".")):
        listed = ENGLISH.tokenizer_exceptions.get(run)
        for part in [orths[spacy.symbols.ORTH] for orths in listed] if listed else run.split("'"):
            if is_word(part) and part not in ENGLISH.stop_words:
                words[part] += 1
    return words


@settings(max_examples=500)
@given(
    TRICKY
    | st.text(max_size=30)
    | st.text(alphabet=printable, max_size=30)
    | PHRASES.map(" ".join)
    | ADDRESSES
    | NUMBERS
)
def test_the_words_are_those_of_the_rule(text: str) -> None:
    assert words_of(text) == by_the_rule(text)


@given(st.lists(TRICKY, max_size=4))
def test_the_words_of_a_document_are_those_of_its_lines(lines: list[str]) -> None:
    assert words_of("\n".join(lines)) == sum((words_of(line) for line in lines), Counter())


def test_words_are_lower_case_and_no_stop_words() -> None:
    text = "The Movie, a movie! It's 100% great; I can't recommend e-mail x (really) naïve file_name file_2."
    assert words_of(text) == {"movie": 2, "great": 1, "recommend": 1, "mail": 1, "naïve": 1}


def test_letters_and_digits_are_words_and_numbers_are_none() -> None:
    text = "Covid19, B12 H1N1; (5G) a 401k's MP3 at 10km: 2nd x2 1990 007 3.5 1,000 m² ½in 8 0x"
    words = ["covid19", "b12", "h1n1", "5g", "401k", "mp3", "10km", "2nd", "x2", "0x"]
    assert words_of(text) == words_of(text, fast_tokens("en", lemmas=True)) == Counter(words)


@pytest.mark.parametrize("text", ["3.5mm", "1,000km", "10:30am", "2.0.1b", "v3_5", "a_1"])
@pytest.mark.parametrize("around", ["{}", "née {}", "mail @ {}"])  # ASCII, not, and perhaps with an address
def test_what_follows_a_number_in_parts_is_no_word(text: str, around: str) -> None:
    assert words_of(around.format(text)) - Counter(["née", "mail"]) == {}


def test_times_are_split_as_the_table_of_the_language_says() -> None:
    assert words_of("8pm 8PM 8th") == {"pm": 2, "8th": 1}


@pytest.mark.parametrize("text", ["{}", "née {}", "mail @ {}"])  # ASCII, not, and perhaps with an address
def test_addresses_and_hosts_are_no_words(text: str) -> None:
    inside = (
        "Ann.Lee@mail.example.org wrote <news@x.org>, see http://www.example.org/a/film.html, comp.os.ms-windows.misc."
    )
    found = words_of(text.format(inside + " Films on example.com are great.really well...superb"))
    assert found - Counter(["née", "mail"]) == Counter(["wrote", "films", "great", "superb"])


def test_words_without_a_space_after_a_period_are_words() -> None:
    text = "great.The.food dell'arte.La.casa хорошо.очень java.lang.String"
    text += " fish\u2014bird.cow cats.\u201d\u2014Mr.Smith 3.5mm"
    expected = ["great", "food", "dell", "arte", "la", "casa", "хорошо", "очень", "java", "lang", "string"]
    assert words_of(text) == Counter([*expected, "fish", "bird", "cow", "cats", "mr", "smith"])


def test_no_phrase_bridges_an_address() -> None:
    assert [FAST.sequence(part) for part in FAST.split("great ann@x.org film")] == [["great"], [""], ["film"]]


@pytest.mark.parametrize("mark", ["'", "\u2019"])
def test_apostrophes_end_as_with_spacy(mark: str) -> None:
    text = "Don't, won't; they're the film's best: cannot couldn't've y'all rock'n'roll 'quoted' o'clock".replace(
        "'", mark
    )
    assert words_of(text) == words_of(text, SpacyTokens("en")) + Counter(["rock", "roll"])


def test_marks_belong_to_their_letters() -> None:
    assert words_of("nai\u0308ve film") == {
        "film": 1
    }  # as with spaCy: a mark is not a letter, and does not split a word
    assert words_of("हिन्दी film", fast_tokens("hi")) == {"हिन्दी": 1, "film": 1}


def test_all_combining_marks_are_known() -> None:
    marks = [place for place in range(sys.maxunicode + 1) if unicodedata.category(chr(place)).startswith("M")]
    assert set(marks) <= set(_WITH_MARKS)


@pytest.mark.parametrize("letter", ["x", "é"])
def test_an_endless_run_counts_as_nothing_and_hides_no_other(letter: str) -> None:
    assert words_of(letter * (_MAX_LETTERS + 1) + " word") == {"word": 1}
    assert words_of(f"{2 * letter},word," * _MAX_LETTERS) == {2 * letter: _MAX_LETTERS, "word": _MAX_LETTERS}


def test_another_process_needs_no_spacy() -> None:
    script = (
        "import pickle, sys; from dplda.text import counting\n"
        "tokens = pickle.load(sys.stdin.buffer)\n"
        "assert tokens.words('films') == ('films',)\n"
        "assert 'spacy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], input=pickle.dumps(fast_tokens()), check=True)


def test_lemmas_are_looked_up_and_stop_words_among_them_left_out() -> None:
    lemmas = fast_tokens("en", lemmas=True)
    assert words_of("Movies were further called mice", lemmas) == {"movie": 1, "mouse": 1}


def test_other_languages_have_their_own_lists() -> None:
    assert words_of("Der Film ist schön", fast_tokens("de")) == {"film": 1, "schön": 1}
    assert words_of("L'été d'une femme", fast_tokens("fr")) == {"été": 1, "femme": 1}


def test_spacy_has_a_tokenizer_of_its_own_for_languages_without_white_space_and_no_others() -> None:
    languages = [package.name for package in pkgutil.iter_modules(spacy.lang.__path__) if package.ispkg]
    kinds = {code: spacy.util.get_lang_class(code).default_config["nlp"]["tokenizer"] for code in languages}
    assert {code for code, kind in kinds.items() if kind["@tokenizers"] != "spacy.Tokenizer.v1"} == NO_WHITE_SPACE
    assert {Tokenization(code).tokenizer for code in NO_WHITE_SPACE} == {"spacy"}
    assert {Tokenization(code).tokenizer for code in set(languages) - NO_WHITE_SPACE} == {"fast"}


@pytest.mark.parametrize("language", sorted(NO_WHITE_SPACE))
def test_languages_without_white_space_between_words_are_refused(language: str) -> None:
    with pytest.raises(InputError, match=rf"'fast' cannot find the words of language '{language}'.*'spacy'\.$"):
        fast_tokens(language)


def test_unknown_languages_and_missing_tables_are_refused() -> None:
    with pytest.raises(InputError, match="language 'qq' is not available"):
        fast_tokens("qq")
    with pytest.raises(InputError, match="no table of lemmas"):
        fast_tokens("xx", lemmas=True)
