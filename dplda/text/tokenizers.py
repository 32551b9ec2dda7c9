"""The choice of a tokenizer for a language: spaCy's, phrases of adjacent words, and which words of a list can be found.

spaCy's rule tokenizer splits text at white space and then each piece separately, so that the words of a document are
the words of its pieces. The result depends on the document alone: spaCy's cache of earlier documents can be dropped at
any time, and a result from the cache is verified, because spaCy identifies strings by a 64-bit hash for which anyone
can construct collisions.

The phrases of a document depend on that document alone, too. No phrase is chosen here, by its frequency or otherwise:
all of them are counted, and the vocabulary of a run is chosen from words and phrases alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from threading import local
from typing import Any, Protocol

import spacy
from spacy.lookups import load_lookups
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer
from spacy.vocab import Vocab

from dplda.base.errors import InputError
from dplda.text.asian_languages import SegmentedTokens, finds_lemmas, is_segmented
from dplda.text.reading_options import JOINER, LONGEST_PHRASE, NO_WHITE_SPACE, Tokenization
from dplda.text.words import FastTokens, Token, Tokens, WordRule, rejoin, run_pattern

_PARAGRAPH = re.compile(r"(?>\r\n?|\n)[^\S\r\n]*(?>\r\n?|\n)")  # an empty line
_REMEMBERED, _LONGEST_REMEMBERED = 500_000, 200  # limits of the cache: parts, and characters of a part
_LONGEST_RUN = 10_000  # maximum words of one run; longer ones are cut
_MOST_PIECES = 4_000_000  # maximum words and phrases of a document, which bounds memory
_FOUND_TOKENS = 500_000  # after which spaCy's vocabulary is dropped, to bound memory
_MAX_PIECE = 200  # maximum characters of a piece; longer ones have no words, because affix rules take cubic time
_MAX_PART = 10_000  # maximum characters of one analysis in a language without white space between words
_PART = re.compile(rf".{{1,{_MAX_PART - 1}}}(?:\s|\Z)|.{{1,{_MAX_PART}}}", re.DOTALL)
_UNSEGMENTED = ("bo",)  # languages without white space between words and without a segmenter
_MARKED = ("bn", "gu", "hi", "kn", "ml", "mr", "ne", "sa", "si", "ta", "te", "th")  # written with vowel signs


def find_tokens(tokenization: Tokenization) -> Tokens:
    """Return the tokenizer of `tokenization`. Raises `InputError` if it is not available."""
    language, lemmas, stopwords = tokenization.language, tokenization.lemmas, tokenization.stopwords
    words: OrderedTokens
    if tokenization.tokenizer == "fast":
        words = fast_tokens(language, lemmas, stopwords)
    elif is_segmented(language):
        words = SegmentedTokens(language, word_rule(language, lemmas, stopwords))
    else:
        words = SpacyTokens(language, lemmas, stopwords)
    return words if tokenization.ngrams == 1 else PhraseTokens(words, tokenization.ngrams)


def fast_tokens(language: str = "en", lemmas: bool = False, stopwords: Collection[str] = ()) -> FastTokens:
    """Return the fast tokenizer with spaCy's lists for `language`, and with `stopwords` as further stop words.

    Raises `InputError` if spaCy does not have the language or, with `lemmas`, its lemmas, or if white space does not
    separate its words.
    """
    rules = _language(language)
    if language in NO_WHITE_SPACE:
        raise InputError(
            f"tokenizer 'fast' cannot find the words of language {language!r}, which are not separated by "
            f"white space. Use tokenizer 'spacy'."
        )
    listed = rules.Defaults.tokenizer_exceptions.items()
    exceptions = {run: tuple(part[ORTH] for part in parts) for run, parts in listed}
    return FastTokens(exceptions, word_rule(language, lemmas, stopwords))


def word_rule(language: str, lemmas: bool, stopwords: Collection[str] = ()) -> WordRule:
    """Return the word rule of `language`. Raises `InputError` if spaCy does not have the language or its lemmas."""
    table: Any = {}
    if lemmas and not finds_lemmas(language):
        try:
            import spacy_lookups_data  # noqa: F401  (spaCy finds its tables by itself)
        except ImportError:
            raise InputError("Lemmas need a package. Install it with: pip install 'dplda[lemmas]'") from None
        try:
            table = load_lookups(language, tables=["lemma_lookup"]).get_table("lemma_lookup")
        except (ValueError, KeyError):
            raise InputError(f"There is no table of lemmas for language {language!r}. Leave lemmas out.") from None
    stop_words = {*_language(language).Defaults.stop_words, *stopwords}
    return WordRule(stop_words, table, marks=language in _MARKED, syllables=is_segmented(language))


def _language(language: str) -> Any:
    """spaCy's class of `language`, which holds its word lists and settings."""
    if language in _UNSEGMENTED:
        raise InputError(
            f"language {language!r} does not separate words by white space, and dplda has no segmenter for it. "
            "Count its words with another program, and give the counts (docs/formats.md)."
        )
    try:
        return spacy.util.get_lang_class(language)
    except Exception:
        raise _no_language(language) from None


def _no_language(language: str) -> InputError:
    return InputError(
        f"language {language!r} is not available in spaCy, or needs a package that is not installed. Give a code, such "
        "as en for English. See spacy.io/usage/models#languages."
    )


class SpacyTokens:
    """spaCy's tokenizer of `language`, a code such as ``"en"``; with `lemmas` it finds lemmas instead of words.

    A run of letters and digits is one token ("5g"), unless spaCy's table of exceptions for the language lists it
    ("8pm"). Neither `stopwords`, in lower case, nor the stop words of the language count.

    Raises `InputError` if spaCy does not have the language or its lemmas.
    """

    def __init__(self, language: str = "en", lemmas: bool = False, stopwords: Collection[str] = ()) -> None:
        self._arguments = language, lemmas, stopwords
        self._whole = type(_analyser(language).tokenizer) is not Tokenizer  # its tokens may contain white space
        self._word = word_rule(language, lemmas, stopwords)
        self._exceptions = _language(language).Defaults.tokenizer_exceptions

    def __reduce__(self) -> tuple[type[SpacyTokens], tuple[str, bool, Collection[str]]]:
        """Pickle the arguments only; another process makes its own tokenizer."""
        return SpacyTokens, self._arguments

    def pieces(self, text: str) -> list[str]:
        """Return the parts of `text` between white space.

        In a language whose tokens may contain white space, the pieces are the words of `text`.
        """
        if not self._whole:
            return text.split()
        return [word for part in self.split(text) for word in self._analyse(part) if word]

    def words(self, piece: str) -> list[str]:
        """Return the words of one piece."""
        return [piece] if self._whole else [word for word in self.sequence(piece) if word]

    def split(self, text: str) -> list[str]:
        """Return the parts of `text` that are analysed one by one."""
        return _PART.findall(text) if self._whole else text.split()

    def sequence(self, part: str) -> list[str]:
        """Return the words of `part` in their order; an empty string stands for anything else."""
        return self._analyse(part) if self._whole or len(part) <= _MAX_PIECE else [""]

    def _analyse(self, text: str) -> list[str]:
        """Return the word of each token of `text`; empty for a token that does not count."""
        language = self._arguments[0]
        analyser = _analyser(language)
        tokens = analyser.tokenizer(text)
        spelled = [token.text for token in tokens]
        if tokens.text != text or list(map(len, tokens)) != list(map(len, spelled)):
            # A hash collision with an earlier document replaced a token.
            tokens = _with_own_vocabulary(analyser.tokenizer, language, text)(text)
            spelled = [token.text for token in tokens]
        analyser.tokens += max(1, len(spelled))
        mixed = [run for run in self._word.find_mixed(text, run_pattern()) if run[0] not in self._exceptions]
        if mixed:
            places = (Token(token.idx, token.idx + len(token), token.text) for token in tokens)
            spelled = [token.text for token in rejoin(places, mixed)]
        return list(map(self._word, spelled))


@dataclass
class _Analyser:
    """spaCy's tokenizer of a language, and how many `tokens` it has found."""

    tokenizer: Any
    tokens: int = 0


class _Here(local):
    """The analysers of this thread, by language; no analyser may be used by two threads at a time."""

    def __init__(self) -> None:
        self.made: dict[str, _Analyser] = {}


_here = _Here()


def _analyser(language: str) -> _Analyser:
    """Return the analyser of `language` for this thread; kept, since it takes a tenth of a second to make."""
    made = _here.made.get(language)
    if made is None or made.tokens >= _FOUND_TOKENS:
        made = _here.made[language] = _Analyser(_tokenizer(language))
    return made


def _tokenizer(language: str) -> Any:
    try:
        pipeline = spacy.blank(language)
    except Exception:  # a missing optional package of a language raises any error
        raise _no_language(language) from None
    pipeline.vocab.lex_attr_getters = {}  # lexical attributes take a third of the time, and no word depends on them
    return pipeline.tokenizer


def _with_own_vocabulary(tokenizer: Any, language: str, text: str) -> Any:
    """Return a copy of `tokenizer`, of `language`, with an empty vocabulary, for `text` only.

    Rules for strings that do not occur in `text` are left out, because adding them takes a tenth of a second.
    """
    if type(tokenizer) is not Tokenizer:
        return _tokenizer(language)
    rules = {piece: parts for piece, parts in tokenizer.rules.items() if piece in text}
    searches = ("prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match")
    return Tokenizer(Vocab(), rules, **{name: getattr(tokenizer, name) for name in searches})


class OrderedTokens(Tokens, Protocol):
    """A tokenizer that also knows the order of words, and where other tokens stand between them."""

    def split(self, text: str) -> Iterable[str]:
        """Return the parts of a text, which are read one by one."""

    def sequence(self, part: str) -> Sequence[str]:
        """List the words of a part in order; an empty string stands for a stop word, a number or punctuation."""


class PhraseTokens:
    """The words that `tokens` finds, and the phrases of two to `longest` words in a row.

    A phrase lies within a paragraph, and nothing but white space is between its words.
    """

    def __init__(self, tokens: OrderedTokens, longest: int) -> None:
        self._tokens, self._longest = tokens, longest
        self._seen: dict[str, Sequence[str]] = {}

    def __reduce__(self) -> tuple[type[PhraseTokens], tuple[OrderedTokens, int]]:
        """Pickle the arguments only, without the cache."""
        return PhraseTokens, (self._tokens, self._longest)

    def pieces(self, text: str) -> list[str]:
        """Return the words and phrases of `text`. Raises `ValueError` if there are more than four million."""
        found: list[str] = []
        for run in self._runs(text):
            found += phrases(run, self._longest)
            if len(found) > _MOST_PIECES:
                raise ValueError("too many phrases")
        return found

    def words(self, piece: str) -> list[str]:
        """Return the words of a piece: the piece itself, which is one word or phrase."""
        return [piece]

    def _runs(self, text: str) -> Iterator[list[str]]:
        """Yield the words of `text` in runs of adjacent words; no phrase reaches from one run into the next."""
        for paragraph in _PARAGRAPH.split(text):
            run: list[str] = []
            for word in chain.from_iterable(map(self._sequence, self._tokens.split(paragraph))):
                if word and len(run) < _LONGEST_RUN:
                    run.append(word)
                else:
                    yield run
                    run = [word] if word else []
            yield run

    def _sequence(self, part: str) -> Sequence[str]:
        """Return the words of `part` in their order, from the cache if it is short."""
        if len(part) > _LONGEST_REMEMBERED:
            return self._tokens.sequence(part)
        if len(self._seen) >= _REMEMBERED:
            self._seen = {}
        if part not in self._seen:
            self._seen[part] = self._tokens.sequence(part)
        return self._seen[part]


def phrases(run: Sequence[str], longest: int) -> list[str]:
    """Return the words of `run`, and its phrases of up to `longest` words, joined by an underscore."""
    sizes = range(1, min(longest, len(run)) + 1)
    return [JOINER.join(run[first : first + size]) for size in sizes for first in range(len(run) - size + 1)]


@dataclass(frozen=True)
class ListedWords:
    """The entries of a word list that a tokenizer can find in text, and the others."""

    found: dict[str, str]
    """An entry that can be found, and its spelling in counts: in lower case, a phrase with underscores."""
    reasons: dict[str, str]
    """Another entry, and why no text contains it."""

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words that text can contain, in the order of the list."""
        return tuple(dict.fromkeys(self.found.values()))


def match_words(entries: Iterable[str], tokenization: Tokenization) -> ListedWords:
    """Find which `entries` of a word list the tokenizer of `tokenization` can find in text.

    A word can be found if the tokenizer makes exactly this word of it, in small or capital letters, or if it is the
    lemma of another word; a phrase, if its words can be found. A segmenter, which splits by the context, is given each
    word alone. Raises `InputError` if the tokenizer is not available.
    """
    tokens = find_tokens(replace(tokenization, ngrams=1))
    rule = word_rule(tokenization.language, tokenization.lemmas, tokenization.stopwords)
    plain = replace(rule, lemmas={})
    lemmas = {str(lemma).lower() for lemma in rule.lemmas.values()}

    def words_of(text: str) -> list[str]:
        try:
            return [word for piece in tokens.pieces(text) for word in tokens.words(piece)]
        except Exception:  # as a segmenter may raise for text in another language
            return []

    def is_found(word: str) -> bool:
        forms = (word, word.capitalize(), word.upper())
        return any(words_of(form) == [word] for form in forms) or (word in lemmas and plain(word) == word)

    def reason(words: Sequence[str]) -> str:
        """Return why the phrase of `words` is in no text; empty if it can be."""
        if words and all(map(is_found, words)):
            if len(words) <= tokenization.ngrams:
                return ""
            longest = LONGEST_PHRASE
            return f"needs --ngrams {len(words)}" if len(words) <= longest else f"longer than {longest} words"
        made = [word for part in words for word in words_of(part)]
        if made:
            return f"read as {', '.join(made)}"
        text = " ".join(words)
        if text in rule.stop_words:
            return "a stop word"
        if not any(map(str.isalpha, text)):
            return "without a letter"
        return "one letter" if len(text) == 1 else "no word as CORPUS is read"

    found, reasons = dict[str, str](), dict[str, str]()
    for entry in entries:
        words = entry.lower().replace(JOINER, " ").split()
        if why := reason(words):
            reasons[entry] = why
        else:
            found[entry] = JOINER.join(words)
    return ListedWords(found, reasons)
