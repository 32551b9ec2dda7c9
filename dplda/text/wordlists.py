"""Public word lists: the most frequent words of a language, and its names of persons.

The most frequent words are for `dplda.fit(..., vocabulary=...)`. A public list saves the share of the budget that
choosing words from the documents costs. It does not contain the words that only your documents use. The lists are made
from the lists of the package `wordfreq`, which count words of Wikipedia, books, subtitles, news and the web up to 2021.

The names are for `dplda.read_corpus(..., stopwords=...)`. They come from `dplda.text.name_lists`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from dplda.base.errors import InputError
from dplda.text.name_lists import names_of
from dplda.text.reading_options import Tokenization

__all__ = ["english", "french", "frequent_words", "german", "language_code", "names", "spanish"]

_CODES = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}


def english(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent English words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("en", count, lemmas=lemmas)


def german(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent German words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("de", count, lemmas=lemmas)


def french(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent French words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("fr", count, lemmas=lemmas)


def spanish(count: int, *, lemmas: bool = False) -> list[str]:
    """The `count` most frequent Spanish words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("es", count, lemmas=lemmas)


def frequent_words(
    language: str, count: int, *, lemmas: bool = False, stopwords: Collection[str] = (), tokenizer: str = ""
) -> list[str]:
    """The `count` most frequent words of `language` (``"en"``, ``"de"``, ``"fr"`` or ``"es"``), most frequent first.

    They are spelled as documents are read: in lower case, without stop words and single letters. Words with digits are
    left out, because wordfreq counts ``1st`` and ``5th`` as one word, ``0th``. Set `lemmas` if the corpus is read with
    lemmas; then the list consists of lemmas. Words in `stopwords` are left out. Words that `tokenizer` does not find
    are left out, too; the default is the tokenizer of `read_corpus`. Raises `InputError` if the package wordfreq is not
    installed, or has fewer words.
    """
    if language not in _CODES.values():
        raise InputError(f"There are word lists for the languages {', '.join(_CODES.values())}, not {language!r}.")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"count must be a positive whole number of words, got {count!r}.")
    words = list(islice(_words(Tokenization(language, bool(lemmas), tokenizer, tuple(stopwords))), count))
    if len(words) < count:
        raise InputError(f"The list of language {language!r} has {len(words):,} words. Ask for at most that many.")
    return words


def names(language: str) -> list[str]:
    """First and last names of persons in `language` (``"german"`` or ``"de"``), in lower case and sorted.

    Names that are also common words are left out; `dplda.text.name_lists` states the rule. Raises `InputError` for
    another language, and if a package of the extra ``dplda[wordlists]`` is not installed.
    """
    return list(names_of(_code(language, "list of names")))


def language_code(name: str) -> str:
    """The code of the language called `name`, such as ``"en"`` for ``"english"`` or ``"en"``. Raises `InputError`."""
    return _code(name, "word list")


def _code(name: str, kind: str) -> str:
    code = _CODES.get(name, name)
    if code not in _CODES.values():
        raise InputError(
            f"There is no {kind} {name!r}. The lists are {', '.join(_CODES)} (or {', '.join(_CODES.values())}); a file "
            "may have any name."
        )
    return code


def _words(tokenization: Tokenization) -> Iterator[str]:
    """The distinct words of the list, as the tokenizer finds them; what it splits or drops is left out.

    Entries with digits are left out as well, because each stands for many words, with a zero for every digit.
    """
    from dplda.text.pool import find_tokens

    try:
        from wordfreq import iter_wordlist
    except ImportError:
        raise InputError("Word lists need a package. Install it with: pip install 'dplda[wordlists]'") from None
    tokens = find_tokens(tokenization)
    seen = set()
    for entry in iter_wordlist(tokenization.language):
        if any(map(str.isdigit, entry)):
            continue
        match list(tokens.words(entry)):
            case [word] if word not in seen:
                seen.add(word)
                yield word
