"""Public word lists: the most frequent words of a language, and its names of persons.

The most frequent words are for `dplda.fit(..., vocabulary=...)`. A public list saves the share of the budget that
choosing words from the documents costs. It does not contain the words that only your documents use. The lists are made
from the lists of the package `wordfreq`, which count words of Wikipedia, books, subtitles, news and the web up to 2021.

The names are for `dplda.read_corpus(..., stopwords=...)`. They come from the package Faker, which generates invented
persons: some thousand frequent first and last names of each language. English and German names that Faker lacks are
added from mimesis, a package of the same kind. Many names are also words. Such a name stays in the texts if public
figures about the language show that it is used as a word:

- it begins with a small letter in at least `_WRITTEN_SMALL` of its occurrences, by spaCy's table of word probabilities
  (``lexeme_prob``; French has none);
- or its frequency is at least ``10 ** _MORE_FREQUENT`` times its median frequency in other languages, by `wordfreq`.
  Names keep their spelling in other languages, and words do not. This finds German nouns, which have capital letters.

`docs/formats.md` states what the rule gets wrong.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache, reduce
from importlib import resources
from itertools import islice
from operator import getitem
from statistics import median
from typing import Any

from dplda.base.config import plain_number
from dplda.base.errors import InputError
from dplda.text.reading_options import Tokenization

_CODES = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}
_LOCALES = {  # of Faker
    "en": "en_US en_GB en_IE en_IN en_NZ",
    "de": "de_DE de_AT de_CH",
    "fr": "fr_FR fr_BE fr_CA fr_CH",
    "es": "es_ES es_AR es_CL es_CO es_MX",
}
_ADDED = {  # lists of mimesis for names that Faker lacks: Nick and Ken, Krüger and Schulze
    "en": (("en", "names", "male"),),
    "de": (("de", "surnames"), ("de-at", "surnames")),
}
_WRITTEN_SMALL = 0.3
_MORE_FREQUENT = 2.345  # figures of wordfreq have two decimals
N_LISTED = 20_000  # words of general text that every run may release (`general_frequencies`)
_RAREST = 1e-9  # frequency of words that a list of wordfreq lacks
_OTHERS = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "fi", "cs", "tr", "hu", "ro")
_NAMED = re.compile(r"([a-z]+):([0-9]{1,9})")  # the most frequent words of a language
_PARTS = re.compile(r"[^\W\d_]{2,}")
_WITHOUT_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def english(count: int, *, lemmas: bool = False) -> list[str]:
    """Return the `count` most frequent English words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("en", count, lemmas=lemmas)


def german(count: int, *, lemmas: bool = False) -> list[str]:
    """Return the `count` most frequent German words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("de", count, lemmas=lemmas)


def french(count: int, *, lemmas: bool = False) -> list[str]:
    """Return the `count` most frequent French words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("fr", count, lemmas=lemmas)


def spanish(count: int, *, lemmas: bool = False) -> list[str]:
    """Return the `count` most frequent Spanish words that `read_corpus` can find; see `frequent_words`."""
    return frequent_words("es", count, lemmas=lemmas)


def frequent_words(
    language: str, count: int, *, lemmas: bool = False, stopwords: Collection[str] = (), tokenizer: str = ""
) -> list[str]:
    """List the `count` most frequent words of `language`: ``"en"``, ``"de"``, ``"fr"`` or ``"es"``.

    The most frequent come first. Words are spelled as documents are read: in lower case, without stop words and single
    letters. Words with digits are left out, because wordfreq counts ``1st`` and ``5th`` as one word, ``0th``. Set
    `lemmas` if the corpus is read with lemmas; then the list consists of lemmas. Words in `stopwords` are left out.
    Words that `tokenizer` does not find are left out, too; the default is the tokenizer of `read_corpus`. Raises
    `InputError` if wordfreq has fewer words.
    """
    if language not in _CODES.values():
        raise InputError(f"There are word lists for the languages {', '.join(_CODES.values())}, not {language!r}.")
    count = plain_number(count)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"count must be a positive whole number of words, got {count!r}.")
    words = list(islice(_words(Tokenization(language, bool(lemmas), tokenizer, tuple(stopwords))), count))
    if len(words) < count:
        raise InputError(f"The list of language {language!r} has {len(words):,} words. Ask for at most that many.")
    return words


def has_list(language: str) -> bool:
    """Whether there is a list of frequent words of the language with this code."""
    return language in _CODES.values()


@lru_cache(maxsize=4)
def general_frequencies(tokenization: Tokenization) -> Mapping[str, float]:
    """Return the `N_LISTED` most frequent words of the language, as the tokenizer finds them, with their frequencies.

    A frequency is the share of a word among all words of general text, in all forms that are counted as this word.
    """
    from wordfreq import get_frequency_dict

    shares = get_frequency_dict(tokenization.language)
    frequencies = dict[str, float]()
    for word, entry in _entries(replace(tokenization, ngrams=1)):
        if word not in frequencies and len(frequencies) == N_LISTED:
            break
        frequencies[word] = frequencies.get(word, 0.0) + shares[entry]
    return frequencies


def _words(tokenization: Tokenization) -> Iterator[str]:
    """Yield the distinct words of the list."""
    seen = set()
    for word, _ in _entries(tokenization):
        if word not in seen:
            seen.add(word)
            yield word


def _entries(tokenization: Tokenization) -> Iterator[tuple[str, str]]:
    """Yield each entry of the list after the word that the tokenizer finds in it, the most frequent entries first.

    Entries that it splits or drops are left out, and so are those with digits, because each stands for many words, with
    a zero for every digit.
    """
    from wordfreq import iter_wordlist

    from dplda.text.counting import find_tokens

    tokens = find_tokens(tokenization)
    for entry in iter_wordlist(tokenization.language):
        if not any(map(str.isdigit, entry)):
            match list(tokens.words(entry)):
                case [word]:
                    yield word, entry


def names(language: str) -> list[str]:
    """Return first and last names of persons in `language` (``"german"`` or ``"de"``), in lower case and sorted.

    Names that are also common words are left out; the module states the rule. Raises `InputError` for
    another language, and if a package of the extra ``dplda[wordlists]`` is not installed.
    """
    return list(names_of(language_code(language, "list of names")))


def words_named(name: str, tokenization: Tokenization | None) -> list[str]:
    """Return the words of ``LANGUAGE:COUNT``, made as by `tokenization` if it is known; none for any other `name`.

    Raises `InputError` if the documents are of another language.
    """
    named = _NAMED.fullmatch(name)
    if named is None:
        return []
    language = language_code(named[1])
    known = tokenization or Tokenization(language)
    if known.language != language:
        raise InputError(f"the word list {name} is of another language than the documents ({known.language}).")
    return frequent_words(
        language, int(named[2]), lemmas=known.lemmas, stopwords=known.stopwords, tokenizer=known.tokenizer
    )


def listed_words(parameter: str, words: Any) -> tuple[str, ...]:
    """Return the words of a list that was given as `parameter`.

    Raises `InputError` for what is no list, such as ``"english:2000"``, which names a list on the command line.
    """
    if isinstance(words, Iterable) and not isinstance(words, str):
        return tuple(words)
    named = _NAMED.fullmatch(words) if isinstance(words, str) else None
    for language, code in _CODES.items():
        if named and named[1] in (language, code):
            made = f"dplda.wordlists.{language}({int(named[2])})"
            raise InputError(f"{parameter} must be a list of words. In Python, {made} makes that of {words}.")
    raise InputError(
        f"{parameter} must be a list of words, such as dplda.wordlists.english(2000) or, of a file with a word on each "
        "line, open(FILE).read().splitlines()."
    )


def language_code(name: str, kind: str = "word list") -> str:
    """Return the code of the language called `name`, such as ``"en"`` for ``"english"`` or ``"en"``.

    Raises `InputError`, whose message calls the list a `kind`, for another language.
    """
    code = _CODES.get(name, name)
    if code not in _CODES.values():
        raise InputError(
            f"There is no {kind} {name!r}. The lists are {', '.join(_CODES)} (or {', '.join(_CODES.values())}); a file "
            "may have any name."
        )
    return code


@cache
def names_of(language: str) -> tuple[str, ...]:
    """Return the names of `language` (``"en"``, ``"de"``, ``"fr"`` or ``"es"``) that are not common words, sorted.

    They are in lower case, and also spelled without accents and umlauts. Raises `InputError` if a package is missing.
    """
    try:
        listed = set(_listed(language))
        is_word = _word_test(language)
    except ImportError:
        raise InputError("Lists of names need packages. Install them with: pip install 'dplda[wordlists]'") from None
    parts = {part for name in listed for part in _PARTS.findall(name)}
    spelled = parts | set(map(_unaccented, parts))
    if language == "de":
        spelled |= {part.lower().translate(_WITHOUT_UMLAUTS).capitalize() for part in parts}
    return tuple(sorted({name.lower() for name in spelled if not is_word(name)}))


def _listed(language: str) -> Iterator[str]:
    """Yield the names of both packages. Raises `ImportError` if one is missing."""
    from faker import Factory
    from faker.providers import person

    for locale in _LOCALES[language].split():
        made = Factory.create(locale, providers=[person.__name__]).get_providers()
        [provider] = [provider for provider in made if isinstance(provider, person.Provider)]
        for attribute in dir(provider):
            if attribute.startswith(("first_names", "last_names")):
                yield from getattr(provider, attribute)
    for locale, *keys in _ADDED.get(language, ()):
        file = resources.files("mimesis").joinpath("datasets", locale, "person.json")
        yield from reduce(getitem, keys, json.loads(file.read_text(encoding="utf-8")))


def _unaccented(name: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFD", name) if not unicodedata.combining(mark))


def _word_test(language: str) -> Callable[[str], bool]:
    """A function that tells whether a name is also a common word. Raises `ImportError` if a package is missing."""
    import spacy_lookups_data  # noqa: F401  (spaCy finds its tables by itself)
    from wordfreq import get_frequency_dict

    occurrences = _occurrences(language)
    here, others = get_frequency_dict(language), [get_frequency_dict(other) for other in _OTHERS if other != language]

    def is_word(name: str) -> bool:
        small = name.lower()
        n_small, n_capital = occurrences(small), sum(map(occurrences, {name, name.capitalize()} - {small}))
        if n_small and n_small >= _WRITTEN_SMALL * (n_small + n_capital):
            return True
        plain = _unaccented(small)
        abroad = median(math.log10(max(other.get(small, 0.0), other.get(plain, 0.0), _RAREST)) for other in others)
        return math.log10(here.get(small, _RAREST)) >= abroad + _MORE_FREQUENT

    return is_word


def _occurrences(language: str) -> Callable[[str], float]:
    """Return a function that returns the relative frequency of a spelling, in which capital letters count.

    It returns 0 if spaCy has no table ``lexeme_prob`` of `language`.
    """
    from spacy.util import load_language_data, registry

    tables: Mapping[str, Any] = registry.lookups.get(language)
    logarithms = load_language_data(tables["lexeme_prob"]) if "lexeme_prob" in tables else {}
    return lambda spelling: math.exp(logarithms[spelling]) if spelling in logarithms else 0.0
