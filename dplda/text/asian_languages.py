"""Segmenters of Chinese, Japanese, Korean and Thai, where white space alone does not separate words.

A segmenter maps a text to its tokens. The lemma of a token is its dictionary form, or empty if it is not a content
word. All segmenters look words up in a dictionary, or in a model, that does not change: they learn nothing from the
texts, so that the words of a document depend on it alone. They write neither logs nor caches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from threading import local
from typing import NamedTuple
from unicodedata import normalize

from dplda.base.errors import InputError
from dplda.text.words import Token, WordRule, rejoin

_MAX_PART = 10_000  # maximum characters of one analysis; Sudachi takes at most 49,149 bytes
_ENDS = "\\s\u3002\u3001\uff0c\uff01\uff1f\uff1b\u2026"  # white space, and where a Chinese or Japanese clause ends
_PART = re.compile(rf".{{1,{_MAX_PART - 1}}}(?:[{_ENDS}]|\Z)|.{{1,{_MAX_PART}}}", re.DOTALL)
_FULL_WIDTH = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
_LATIN = re.compile(f"[0-9A-Za-z_\u00c0-\u024f\u0370-\u03ff{_FULL_WIDTH}]+")  # Latin and Greek
_SURROGATE = re.compile("[\ud800-\udfff]")  # is not text for a segmenter that is not written in Python
_KOREAN_WORDS = ("NNG", "NNP", "VV", "VA", "MAG", "XR", "SL", "SH")  # nouns, verbs, adjectives, adverbs, roots, foreign
_JAPANESE_PARTICLES = ("助詞", "助動詞")  # particles and auxiliary verbs

_Segment = Callable[[str], list[Token]]


class _Segmenter(NamedTuple):
    extra: str  # the extra of dplda that installs its package
    make: Callable[[], _Segment]
    lemmas: bool  # whether tokens come with their dictionary forms


class SegmentedTokens:
    """The words that the segmenter of `language` finds and `word` accepts.

    A run of Latin or Greek letters and digits ("5g") is one token, in which full-width characters count as plain ones.
    Raises `InputError` if the segmenter is not installed.
    """

    def __init__(self, language: str, word: WordRule) -> None:
        self._language = language
        self._word = word
        _segment(language)

    def __reduce__(self) -> tuple[type[SegmentedTokens], tuple[str, WordRule]]:
        """Pickle the arguments only; another process loads its own dictionary."""
        return SegmentedTokens, (self._language, self._word)

    def pieces(self, text: str) -> list[str]:
        """Return the words of `text`."""
        return [word for part in self.split(text) for word in self.sequence(part) if word]

    def words(self, piece: str) -> list[str]:
        """Return the words of a piece: the piece itself, which is one word."""
        return [piece]

    def split(self, text: str) -> Iterator[str]:
        """Cut `text` into parts of at most 10,000 characters, at the end of a clause if there is one."""
        for match in _PART.finditer(_SURROGATE.sub("\ufffd", text)):
            yield match[0]

    def sequence(self, part: str) -> list[str]:
        """Return the words of `part` in their order; an empty string stands for anything else."""
        try:
            tokens = _segment(self._language)(part)
        except (Exception, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of a segmenter in Rust, which may be unusable now
            _here.made.pop(self._language, None)
            raise ValueError("the segmenter failed") from None
        whole = rejoin(tokens, self._word.find_mixed(part, _LATIN))
        return [self._word(text, normalize("NFKC", text) if lemma is None else lemma) for *_, text, lemma in whole]


def is_segmented(language: str) -> bool:
    """Whether the words of `language` are found by a segmenter."""
    return language in _SEGMENTERS


def finds_lemmas(language: str) -> bool:
    """Whether the segmenter of `language` finds dictionary forms."""
    return language in _SEGMENTERS and _SEGMENTERS[language].lemmas


class _Here(local):
    """The segmenters of this thread, by language; no segmenter may be used by two threads at a time."""

    def __init__(self) -> None:
        self.made: dict[str, _Segment] = {}


_here = _Here()


def _segment(language: str) -> _Segment:
    """Return the segmenter of `language` for this thread; made once, since that takes up to five seconds."""
    if language not in _here.made:
        segmenter = _SEGMENTERS[language]
        try:
            _here.made[language] = segmenter.make()
        except Exception:  # a package without its dictionary raises errors of its own
            raise InputError(
                f"language {language!r} needs a package that finds its words and is not installed, or not whole. "
                f"Install it with: pip install 'dplda[{segmenter.extra}]'"
            ) from None
    return _here.made[language]


def _chinese() -> _Segment:
    import rjieba

    cut = rjieba.Jieba().cut  # an instance of its own: that of the module can be given words by other code
    return lambda text: _in_order(cut(text))


def _japanese() -> _Segment:
    from sudachipy import Dictionary, SplitMode

    tokenizer = Dictionary(dict="core").tokenizer(mode=SplitMode.A)

    def segment(text: str) -> list[Token]:
        tokens = []
        for found in tokenizer.tokenize(text):
            lemma = "" if found.part_of_speech()[0] in _JAPANESE_PARTICLES else found.dictionary_form()
            tokens.append(Token(found.begin(), found.end(), found.surface(), lemma))
        return tokens

    return segment


def _korean() -> _Segment:
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)

    def segment(text: str) -> list[Token]:
        tokens = []
        for found in kiwi.tokenize(text):
            lemma = found.lemma if found.tag.partition("-")[0] in _KOREAN_WORDS else ""
            tokens.append(Token(found.start, found.end, found.form, lemma))
        return tokens

    return segment


def _thai() -> _Segment:
    from pythainlp.tokenize import word_dict_trie
    from pythainlp.tokenize.newmm import segment as cut

    dictionary = word_dict_trie()
    return lambda text: _in_order(cut(text, dictionary, safe_mode=True))


def _in_order(words: Iterable[str]) -> list[Token]:
    """Return the tokens of a text that consists of `words`, which are their own dictionary forms."""
    found, end = list[Token](), 0
    for word in words:
        found.append(Token(end, end := end + len(word), word, word))
    return found


_SEGMENTERS = {  # keyed by spaCy's code of the language
    "zh": _Segmenter("chinese", _chinese, lemmas=False),
    "ja": _Segmenter("japanese", _japanese, lemmas=True),
    "ko": _Segmenter("korean", _korean, lemmas=True),
    "th": _Segmenter("thai", _thai, lemmas=False),
}
