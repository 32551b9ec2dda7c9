"""Public word lists: the most frequent words of a language, for `dplda.fit(..., vocabulary=...)`.

A public list saves the share of the budget that choosing words from the documents costs. It does not contain the words
that only your documents use. The lists are made of those of the package `wordfreq`, which count words of Wikipedia,
books, subtitles, news and the web up to 2021.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dplda.errors import InputError
from dplda.readers.reading_options import Tokenization

__all__ = ["english", "french", "frequent_words", "german", "language_code", "spanish"]

_CODES = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}


def english(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent English words that `read_corpus` can find; as `frequent_words`."""
    return frequent_words("en", count, lemmas=lemmas)


def german(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent German words that `read_corpus` can find; as `frequent_words`."""
    return frequent_words("de", count, lemmas=lemmas)


def french(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent French words that `read_corpus` can find; as `frequent_words`."""
    return frequent_words("fr", count, lemmas=lemmas)


def spanish(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent Spanish words that `read_corpus` can find; as `frequent_words`."""
    return frequent_words("es", count, lemmas=lemmas)


def frequent_words(language: str, count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent words of `language` (``"en"``, ``"de"``, ``"fr"`` or ``"es"``), most frequent first.

    They are spelled as documents are read: in lower case, without stop words, numbers and single letters. Set `lemmas`
    if the corpus is read with lemmas; then the list consists of lemmas. Raises `InputError` if the package wordfreq is
    not installed, or has fewer words.
    """
    if language not in _CODES.values():
        raise InputError(f"There are word lists for the languages {', '.join(_CODES.values())}, not {language!r}.")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"count must be a positive whole number of words, got {count!r}.")
    words = list(islice(_words(language, bool(lemmas)), count))
    if len(words) < count:
        raise InputError(f"The list of language {language!r} has {len(words):,} words. Ask for at most that many.")
    return words


def language_code(name: str) -> str:
    """The code of the language called `name`, such as ``"en"`` for ``"english"``. Raises `InputError`."""
    if name not in _CODES:
        raise InputError(
            f"There is no word list {name!r}. The lists are {', '.join(_CODES)}; a file may have any name."
        )
    return _CODES[name]


def _words(language: str, lemmas: bool) -> Iterator[str]:
    """The distinct words of the list, as the tokenizer finds them; what it splits or drops is left out."""
    from dplda.tokenize.pool import find_tokens

    try:
        from wordfreq import iter_wordlist
    except ImportError:
        raise InputError("Word lists need a package. Install it with: pip install 'dplda[wordlists]'") from None
    tokens = find_tokens(Tokenization(language=language, lemmas=lemmas))
    seen = set()
    for entry in iter_wordlist(language):
        match list(tokens.words(entry)):
            case [word] if word not in seen:
                seen.add(word)
                yield word
