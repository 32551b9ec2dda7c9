import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from dplda.base.characters import is_name, remove_unsafe, replace_controls, replace_unsafe, storable, visible

DIRECTION_MARKS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs"} or character in DIRECTION_MARKS


def test_every_control_surrogate_and_direction_mark_is_removed_or_replaced_and_nothing_else() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert remove_unsafe(everything) == "".join(c for c in everything if not _is_unsafe(c))
    assert replace_unsafe(everything) == "".join("\ufffd" if _is_unsafe(c) else c for c in everything)
    expected = "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in everything)
    assert replace_controls(everything) == expected


@given(st.text(alphabet=st.characters(codec=None)))
def test_storable_text_can_always_be_encoded(text: str) -> None:
    storable(text).encode("utf-8")


def test_only_what_a_reader_sees_is_visible() -> None:
    assert "".join(visible("\u200b \ufffd\u0301=a")) == "=a"


def test_names_are_short_printable_strings() -> None:
    assert all(map(is_name, ("reviews 2024", 200 * "x")))
    assert not any(map(is_name, ("", "  ", 201 * "x", "a\nb", "a\u202eb", None, 7)))
