from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dplda.cli.console import clean, print_json, private_notes, say, table


@given(st.text())
def test_cleaned_text_directs_no_terminal(text: str) -> None:
    cleaned = clean(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or "\u202a" <= c <= "\u202e" for c in cleaned)
    cleaned.encode()


def test_ordinary_text_is_left_alone() -> None:
    assert clean("naïve café Москва 東京 [red]") == "naïve café Москва 東京 [red]"


def test_markup_and_emoji_codes_in_words_are_printed_as_they_are(capsys) -> None:
    table(("word",), [("[red]alarm[/red]",), (":smile:",), ("\x1b[2Jgone",)])
    say("[bold]x")
    out = capsys.readouterr().out
    for expected in ("[red]alarm[/red]", ":smile:", "[2Jgone", "[bold]x"):
        assert expected in out
    assert "\x1b" not in out


def test_json_is_one_line_of_ascii(capsys) -> None:
    print_json({"word": "é\x1b\u202e"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out) == {"word": "é\x1b\u202e"}


def test_private_notes_go_to_standard_error_only(capsys) -> None:
    private_notes(["3 documents contributed nothing"])
    out, err = capsys.readouterr()
    assert out == ""
    assert "Local diagnostics (exact, not private, not for publication)" in err
    assert "3 documents" in err
    private_notes([])
    assert capsys.readouterr() == ("", "")
