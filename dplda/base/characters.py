"""Characters that are unsafe to show or store in names, terminals, pages and tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_CONTROLS = (*range(32), *range(127, 160))  # C0, DEL and C1, which control terminals, start formulas and break lines
_SURROGATES = range(0xD800, 0xE000)
_DIRECTION_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSAFE = (*_CONTROLS, *_SURROGATES, *_DIRECTION_MARKS)
_REMOVE_UNSAFE = dict.fromkeys(_UNSAFE)
_REPLACE_UNSAFE = dict.fromkeys(_UNSAFE, "\ufffd")
_REPLACE_CONTROLS = dict.fromkeys(_CONTROLS, "\ufffd")
_INVISIBLE = ("C", "Z", "M")  # Unicode categories of controls and format characters, separators, and combining marks
_MAX_NAME = 200


def remove_unsafe(text: str) -> str:
    """Return `text` without control characters, surrogates and direction marks."""
    return text.translate(_REMOVE_UNSAFE)


def replace_unsafe(text: str) -> str:
    """Return `text` with U+FFFD for each control character, surrogate and direction mark."""
    return text.translate(_REPLACE_UNSAFE)


def without_markup(text: str) -> str:
    """`text` with each ``<`` escaped, so that it begins no HTML element where Markdown is rendered. Idempotent."""
    return text.replace("<", "&lt;")


def replace_controls(text: str) -> str:
    """Return `text` with U+FFFD for each control character."""
    return text.translate(_REPLACE_CONTROLS)


def visible(text: str) -> Iterator[str]:
    """Return the characters of `text` that a reader sees, U+FFFD left out."""
    return (c for c in text if c != "\ufffd" and not unicodedata.category(c).startswith(_INVISIBLE))


def storable(text: str) -> str:
    """`text` with its surrogates (from undecodable file names or broken JSON escapes) escaped, so that it is UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_name(value: object) -> bool:
    """Whether `value` is a string of 1 to 200 printable characters that are not all spaces."""
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _MAX_NAME and value.isprintable()
