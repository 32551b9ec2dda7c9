"""Characters that are unsafe to show or store in names, terminals, pages and tables."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_CONTROLS = (*range(32), *range(127, 160))  # C0, DEL and C1, which control terminals, start formulas and break lines
_SURROGATES = range(0xD800, 0xE000)
_DIRECTION_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSAFE = (*_CONTROLS, *_SURROGATES, *_DIRECTION_MARKS)
_REMOVE_UNSAFE = dict.fromkeys(_UNSAFE)
_REPLACE_UNSAFE = dict.fromkeys(_UNSAFE, "\ufffd")
_REPLACE_CONTROLS = dict.fromkeys(_CONTROLS, "\ufffd")
_INVISIBLE = ("C", "Z", "M")  # Unicode categories of controls and format characters, separators, and combining marks
_MAX_NAME = 200
_MOST_MARKS = 30  # in a row
_ASCII = bytes(range(128))
_JOINER = "\u034f"  # a mark that is never reordered


def composed(text: str) -> str:
    """Return `text` with composed accents (NFC), after a break behind every 30 marks in a row.

    Python sorts a run of marks in time that grows with the square of its length: one text of many marks would hold up
    all others. Breaks are those of the Stream-Safe Text Process of Unicode (UAX 15).
    """
    if text.isascii():
        return text
    # Marks are in a row here if they are in the text, and there are few other characters to search.
    others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    if len(others) > _MOST_MARKS and _marks().search(others):
        text = _marks().sub(r"\1" + _JOINER, text)
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=1)
def _marks() -> re.Pattern[str]:
    """Match 30 marks that another one follows."""
    points = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.combining(chr(point))]
    marks = f"[{''.join(map(re.escape, points))}]"
    return re.compile(f"({marks}{{{_MOST_MARKS}}})(?={marks})")


def remove_unsafe(text: str) -> str:
    """Remove control characters, surrogates and direction marks from `text`."""
    return text.translate(_REMOVE_UNSAFE)


def one_line(text: str, longest: int) -> str:
    """Return `text` as one line without unsafe characters, cut after `longest` characters."""
    return remove_unsafe(" ".join(text.split()))[:longest].strip()


def replace_unsafe(text: str) -> str:
    """Replace each control character, surrogate and direction mark in `text` by U+FFFD."""
    return text.translate(_REPLACE_UNSAFE)


def without_markup(text: str) -> str:
    """Escape each ``<`` in `text`, so that it begins no HTML element where Markdown is rendered. Idempotent."""
    return text.replace("<", "&lt;")


def replace_controls(text: str) -> str:
    """Replace each control character in `text` by U+FFFD."""
    return text.translate(_REPLACE_CONTROLS)


def visible(text: str) -> Iterator[str]:
    """Return the characters of `text` that a reader sees, without U+FFFD."""
    return (c for c in text if c != "\ufffd" and not unicodedata.category(c).startswith(_INVISIBLE))


def storable(text: str) -> str:
    """Escape the surrogates in `text` (from undecodable file names or broken JSON escapes), so that it is UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_name(value: object) -> bool:
    """Whether `value` is a string of 1 to 200 printable characters that are not all spaces."""
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _MAX_NAME and value.isprintable()
