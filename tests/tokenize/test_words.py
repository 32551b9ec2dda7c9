from dplda.tokenize.counting import _MAX_LETTERS, WordRule

RULE = WordRule({"the", "go"}, {"films": "Film", "went": "go", "cannot": "can not", "i": "myself"})


def test_words_are_lower_case_lemmas_of_letters_alone() -> None:
    assert [RULE(token) for token in ("Films", "STARS", "x2", "can't", "naïve")] == ["film", "stars", "", "", "naïve"]


def test_stop_words_count_neither_as_they_stand_nor_as_lemmas() -> None:
    assert [RULE(token) for token in ("The", "went", "cannot")] == ["", "", ""]


def test_words_have_two_to_many_letters() -> None:
    assert [RULE(token) for token in ("a", "ab", _MAX_LETTERS * "a")] == ["", "ab", _MAX_LETTERS * "a"]
    assert RULE((_MAX_LETTERS + 1) * "a") == ""
    assert RULE("I") == "myself"


def test_letters_that_leave_a_mark_in_lower_case_make_no_word() -> None:
    assert RULE("İSTANBUL") == ""
