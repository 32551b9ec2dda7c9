"""What counts as a word, and the fast tokenizer, which finds words with one regular expression.

Nothing here needs spaCy, so that processes that count words start fast. The lists of a language are arguments.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import NamedTuple, Protocol

_MIN_LETTERS = 2
_MAX_LETTERS = 1000  # maximum letters of a word
# a letter that can be a word alone: a Han character or a Hangul syllable
_SYLLABLE = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U0003ffff]")
_DIGIT = re.compile(r"\d")
_SHAPES = bytes.maketrans(b"123456789,:", b"000000000..")

_WITH_MARKS = (*range(0x300, 0x20000), *range(0xE0000, 0xE1000))  # code points, all combining marks among them
_MOST_JOINED = 10_000  # maximum parts of one run, which bounds the memory of a match
_IN_NAMES = r".'/\-"  # what a name of a host and its path may have besides letters, and words as well
_IN_ADDRESSES = rf"{_IN_NAMES}@:+%~?&=#!$"
_APART = bytes(code if re.match(rf"[\w{_IN_NAMES}]", chr(code)) else ord(" ") for code in range(256))
_TOP_LEVEL = frozenset({"com", "edu", "gov", "mil", "net", "org"})
_USENET = frozenset({"alt", "comp", "humanities", "misc", "news", "rec", "sci", "soc", "talk"})


@dataclass(frozen=True)
class WordRule:
    """Maps a token to the word that it counts as: the token in lower case, or its lemma.

    A token counts only if it consists of letters and decimal digits (which superscripts and fractions are not), with at
    least one letter, and is not a stop word. With `marks`, vowel signs and tone marks after a letter belong to a word,
    as the scripts of India and Thailand need. With `syllables`, one Han character or Hangul syllable can be a word; any
    other word has at least two characters.
    """

    stop_words: Collection[str]
    lemmas: Mapping[str, str]
    marks: bool = False
    syllables: bool = False

    def __call__(self, token: str, lemma: str | None = None) -> str:
        """Return the word that `token` counts as, or the empty string if it does not count.

        `lemma`, the tokenizer's own, is used if `lemmas` has no entry for the token in lower case.
        """
        lower = token.lower()
        if not self._is_spelled(token) or lower in self.stop_words:
            return ""
        word = str(self.lemmas.get(lower, lower if lemma is None else lemma)).lower()
        least = 1 if self.syllables and _SYLLABLE.match(word) else _MIN_LETTERS
        is_word = self._is_spelled(word) and least <= len(word) <= _MAX_LETTERS and word not in self.stop_words
        return word if is_word else ""

    def find_mixed(self, text: str, runs: re.Pattern[str]) -> list[re.Match[str]]:
        """Find `runs` in `text` that are words of letters and digits, such as ``5g``, with marks if they are set."""
        found = runs.finditer(whole_numbers(text)) if _DIGIT.search(text) else ()
        return [run for run in found if _DIGIT.search(run[0]) and self._is_spelled(run[0])]

    def _is_spelled(self, text: str) -> bool:
        """Whether `text` has a letter, and consists of letters, digits and, after the first, marks if they are set."""
        if text.isalpha():
            return True
        return (
            any(map(str.isalpha, text))
            and text[0].isalnum()
            and all(c.isalpha() or c.isdecimal() or (self.marks and _is_mark(c)) for c in text)
        )


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


class Token(NamedTuple):
    """The place of a token in its text, its spelling, and its lemma: None without one, empty if it does not count."""

    start: int
    end: int
    text: str
    lemma: str | None = None


def rejoin(tokens: Iterable[Token], runs: Sequence[re.Match[str]]) -> Iterable[Token]:
    """Put one token in place of the `tokens` that one of the `runs` was split into.

    `runs` are matches in the text, from left to right; a run that a token crosses stays as it is. This keeps words such
    as ``5g`` whole, which many tokenizers take for a number and a unit.
    """
    starts = [run.start() for run in runs]

    def run_of(token: Token) -> int:
        """Return the number of the run that holds `token`, or -1."""
        number = bisect_right(starts, token.start) - 1
        return number if number >= 0 and token.end <= runs[number].end() else -1

    for number, group in groupby(tokens, run_of):
        parts = list(group)
        if number >= 0 and (parts[0].start, parts[-1].end) == runs[number].span():
            yield Token(*runs[number].span(), runs[number][0])
        else:
            yield from parts


def whole_numbers(text: str, separators: str = ".,:") -> str:
    """Replace each of the `separators` between two digits in `text` by an underscore.

    A number such as 3.5 or 10:30 is then one run with the letters that follow it, and no word.
    """
    if b"0.0" not in text.encode("utf-8", "surrogatepass").translate(_SHAPES):  # ten times as fast as the pattern
        return text
    return re.sub(f"(?<=[0-9])[{separators}](?=[0-9])", "_", text)


class Tokens(Protocol):
    """A tokenizer. Its results depend only on the arguments."""

    def pieces(self, text: str) -> list[str]:
        """Split a document into parts that can be tokenized separately."""

    def words(self, piece: str) -> Sequence[str]:
        """The words of one piece, repeated as often as they occur."""


class FastTokens:
    """The fast tokenizer, which finds words with one regular expression and does not need spaCy.

    `exceptions` maps the runs that a language splits in a special way to their parts; `word` maps a part to the word it
    counts as. Runs consist of letters, digits, underscores and combining marks in lower-case text; an apostrophe
    joins two runs. A run in `exceptions` becomes the parts listed for it ("don't": "do", "n't"); any other run is split
    at its apostrophes. Parts that are words by `word` count. E-mail and web addresses, names of hosts, and numbers
    such as 3.5 with the letters after them contain no words.
    """

    def __init__(self, exceptions: Mapping[str, tuple[str, ...]], word: WordRule) -> None:
        self._exceptions = exceptions
        self._word = word

    def pieces(self, text: str) -> list[str]:
        """Cut `text`, in lower case, into pieces so that every run lies inside one piece."""
        # The periods stay, because they may be those of a name of a host.
        lower = whole_numbers(text.lower(), ",:")
        if lower.isascii() and not _may_hold_address(lower):  # splits at punctuation too: fewer distinct pieces
            lower = lower.encode().translate(_APART).decode().replace(". ", " ")
        return lower.split()

    def words(self, piece: str) -> tuple[str, ...]:
        """Return the words of one piece."""
        runs = _runs().findall(self._plain(piece))
        return tuple(word for run in runs for word in self._parts(run) if word)

    def split(self, text: str) -> list[str]:
        """Return the parts of `text` between white space, in lower case."""
        return whole_numbers(text.lower(), ",:").split()

    def sequence(self, part: str) -> list[str]:
        """Return the words of `part` in their order; an empty string stands for anything else."""
        found, end, part = [], 0, self._plain(part)
        for run in _runs().finditer(part):
            found += [""] * (run.start() > end) + self._parts(run[0])
            end = run.end()
        return found + [""] * (end < len(part))

    def _parts(self, run: str) -> list[str]:
        """Return the word of each part of `run`; empty for a part that does not count."""
        return [self._word(part) for part in self._exceptions.get(run) or run.split("'")]

    def _plain(self, piece: str) -> str:
        """Return `piece` with plain apostrophes, and with a period in place of each address and each name of a host."""
        piece = piece.replace("\u2019", "'")
        if _may_hold_address(piece):
            # An e-mail or web address, or a user's name after @.
            parts = _around(_IN_ADDRESSES).split(piece)
            piece = " ".join("." if "@" in part.rstrip("@") or "://" in part else part for part in parts)
        if "." in piece:
            piece = " ".join("." if self._is_host(part) else part for part in _around(_IN_NAMES).split(piece))
            piece = whole_numbers(piece)
        return piece

    def _is_host(self, part: str) -> bool:
        """Whether `part` is a name such as example.com or news.example.de, perhaps with a path, or of a newsgroup."""
        labels = part.partition("/")[0].strip(".-'").removesuffix("'s").split(".")
        last = labels[-1]
        if len(labels) < 2 or not all(labels) or not part.isascii():
            return False
        country = len(last) == 2 and last.isalpha() and last not in self._word.stop_words
        return last in _TOP_LEVEL or (len(labels) > 2 and (country or labels[0] in _USENET))


def _may_hold_address(text: str) -> bool:
    return "@" in text or "://" in text


@cache
def _runs() -> re.Pattern[str]:
    """Return the pattern of a run: letters, digits, underscores and combining marks, with apostrophes between them."""
    return re.compile(rf"\w+(?:[{_marks()}]+\w*|'\w+){{0,{_MOST_JOINED}}}")


@cache
def run_pattern() -> re.Pattern[str]:
    """Return the pattern of a run of letters, digits, underscores and combining marks alone."""
    return re.compile(rf"[\w{_marks()}]+")


@cache
def _around(inside: str) -> re.Pattern[str]:
    """Return the pattern of one character at which a text is split to find addresses and names of hosts.

    It is no letter, digit, underscore or combining mark, and none of the characters `inside` addresses and names.
    """
    return re.compile(rf"[^\w{_marks()}{inside}]")


@cache
def _marks() -> str:
    return "".join(letter for letter in map(chr, _WITH_MARKS) if _is_mark(letter))
