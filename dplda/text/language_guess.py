"""Guesses at the language of texts, by their script and their stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SCRIPTS = (  # the language whose writing has these characters
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
UNSPACED = ("ja", "zh", "th")
_FREQUENT = {  # ten of the most frequent words of a language; none of English, for example, is among the German ones
    "en": "the of and to in is that for with was",
    "de": "und der die das ist nicht mit von den auf",
    "fr": "les des est une dans pour pas que qui sur",
    "es": "los las una por con para como más pero está",
    "it": "che non per una con della sono più nel gli",
    "pt": "não uma com para os mais dos como foi são",
    "nl": "het een van niet zijn voor dat met ook naar",
    "sv": "och att det som inte på är för har ett",
    "da": "og ikke jeg til af hvad der vi nogle også",
    "pl": "nie się na jest jak że do ale przez dla",
    "tr": "bir ve bu için çok ile olarak gibi daha kadar",
}
_WORDS = {code: frozenset(words.split()) for code, words in _FREQUENT.items()}
_GUESSED_TEXTS, _GUESSED_CHARACTERS = 200, 2000
_LEADING, _MISTAKEN = 50, 5  # of so many first chosen words, so many from one list show a mistake


def guess_language(texts: Sequence[str]) -> str | None:
    """Guess the code of the language of most of the `texts`, by script and stop words; None if unclear."""
    text = " ".join(text[:_GUESSED_CHARACTERS] for text in texts[:_GUESSED_TEXTS]).lower()
    letters = sum(map(str.isalpha, text))
    for code, script in _SCRIPTS:
        if letters and len(script.findall(text)) > 0.2 * letters:
            return code
    words = Counter(re.findall(r"[^\W\d_]+", text))
    if words.total() < 20:
        return None
    shares = {code: sum(words[word] for word in frequent) / words.total() for code, frequent in _WORDS.items()}
    best, second = sorted(shares, key=shares.__getitem__, reverse=True)[:2]
    return best if shares[best] > 0.06 and shares[best] > 1.3 * shares[second] else None


def mistaken_language(words: Sequence[str], language: str) -> str | None:
    """Return the code of a language other than `language` that `words` of texts suggest; None if they suggest none.

    The texts were read as `language`, and its own frequent words do not count. The `words` are the most frequent first.
    """
    if language not in _WORDS:  # without a list of its own, its words may be taken for those of another language
        return None
    leading = set(words[:_LEADING])
    found = {code: len(leading & frequent) for code, frequent in _WORDS.items() if code != language}
    best = max(found, key=found.__getitem__)
    return best if found[best] >= _MISTAKEN else None
