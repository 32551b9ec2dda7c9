import re

from dplda.text.words import _MAX_LETTERS, WordRule

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
