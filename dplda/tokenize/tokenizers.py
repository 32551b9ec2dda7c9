"""Text to words to counts of a document: spaCy's tokenizers, and a fast one of our own."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import spacy
from numpy.typing import NDArray
from scipy.sparse import csr_array
from spacy.lookups import load_lookups
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer
from spacy.vocab import Vocab

from dplda.errors import InputError
from dplda.tokenize.tokenization import Tokenization

MIN_LETTERS = 2
MAX_LETTERS = 1000  # nothing longer is a word


@dataclass(frozen=True)
class WordRule:
    """The word that a token counts as: lower case or its lemma, if that is of letters alone and no stop word."""

    stop_words: Collection[str]
    lemmas: Mapping[str, str]

    def __call__(self, token: str) -> str:
        """The word, or the empty string."""
        lower = token.lower()
        if not token.isalpha() or lower in self.stop_words:
            return ""
        word = str(self.lemmas.get(lower, lower)).lower()
        fine = MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isalpha() and word not in self.stop_words
        return word if fine else ""


REMEMBERED_PIECES, REMEMBERED_CHARACTERS = 500_000, 1 << 26  # then the memory starts afresh at the next call


class Tokens(Protocol):
    """A tokenizer: a function of its argument alone."""

    def pieces(self, text: str) -> list[str]:
        """The pieces of a document whose words are those of the document."""

    def words(self, piece: str) -> Sequence[str]:
        """The words of one piece, repeated as often as they occur."""


class Counts(NamedTuple):
    """Words (n_words,) and CSR counts (n_documents, n_words) of the texts but those at the places `failed`."""

    words: list[str]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    counts: NDArray[np.int32]
    failed: list[int]


class WordCounter:
    """Counts words as `tokens` finds them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._seen = _Pieces(tokens)

    def count(self, texts: Sequence[str]) -> Counts:
        """Words of `texts` (n_documents,). Order and numbers of words depend on nothing but `texts`."""
        if len(self._seen) >= REMEMBERED_PIECES or self._seen.n_characters >= REMEMBERED_CHARACTERS:
            self._seen = _Pieces(self._tokens)
        pieces, ends, failed = self._pieces(texts)
        words = self._seen.matrix()
        ones = np.ones(len(pieces), np.int32)
        documents = csr_array(
            (ones, np.fromiter(pieces, np.int32, len(pieces)), ends), shape=(len(ends) - 1, words.shape[0])
        )
        counts = documents @ words
        used, indices = _renumbered(counts.indices, words.shape[1])
        names = list(self._seen.words)
        return Counts([names[number] for number in used], counts.indptr, indices, counts.data, failed)

    def _pieces(self, texts: Sequence[str]) -> tuple[list[int], NDArray[np.int32], list[int]]:
        """Numbers of the pieces of all documents, where each document ends, and the places of those that failed."""
        found: list[int] = []
        ends, failed = [0], []
        number = self._seen.__getitem__
        for place, text in enumerate(texts):
            try:
                found += list(map(number, self._tokens.pieces(text)))  # a list: all of a document or nothing
            except Exception:  # whatever goes wrong inside the tokenizer stays with this document
                failed.append(place)
            else:
                ends.append(len(found))
        return found, np.array(ends, np.int32), failed


def _renumbered(numbers: NDArray[np.int32], size: int) -> tuple[list[int], NDArray[np.int32]]:
    """The distinct `numbers` (nnz,) below `size` in the order of their last places, and each one's place among them.

    The numbers themselves tell in which order words were met in earlier texts, and must not be handed on.
    """
    places = np.arange(len(numbers), dtype=np.int32)
    place = np.empty(size, np.int32)
    place[numbers] = places
    used = numbers[place[numbers] == places]
    place[used] = places[: len(used)]
    return used.tolist(), place[numbers]


class _Numbers(dict[str, int]):
    """Numbers names in the order of their first appearance."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class _Pieces(dict[str, int]):
    """Numbers of pieces, and for each the numbers of its words as a row of a CSR matrix."""

    def __init__(self, tokens: Tokens) -> None:
        self.words = _Numbers()
        self.n_characters = 0
        self._tokens = tokens
        self._indptr, self._indices = array("i", [0]), array("i")

    def __missing__(self, piece: str) -> int:
        self._indices.extend([self.words[word] for word in self._tokens.words(piece)])
        self._indptr.append(len(self._indices))
        self.n_characters += len(piece)
        self[piece] = number = len(self)
        return number

    def matrix(self) -> csr_array:
        """How often each word occurs in each piece, (n_pieces, n_words)."""
        ones = np.ones(len(self._indices), np.int32)
        rows = (ones, np.array(self._indices), np.array(self._indptr))
        return csr_array(rows, shape=(len(self), len(self.words)))


MOST_JOINED = 10_000  # parts of one run: an unbounded repetition takes memory for each
_APART = {code: " " for code in range(128) if not re.match(r"[\w']", chr(code))}


class FastTokens:
    """The rule above, with a language's `exceptions` (runs and their parts) and its rule for words.

    Needs nothing of spaCy once it is made, so that other processes need not load it.
    """

    def __init__(self, exceptions: Mapping[str, tuple[str, ...]], word: WordRule) -> None:
        self._exceptions = exceptions
        self._word = word

    def pieces(self, text: str) -> list[str]:
        """Parts of `text` in lower case, none of which ends inside a run."""
        lower = text.lower()
        if lower.isascii():  # most runs are then bare, and few pieces distinct; other text has too many separators
            lower = lower.translate(_APART)
        return lower.split()

    def words(self, piece: str) -> tuple[str, ...]:
        """The words of one piece."""
        runs = _runs().findall(piece.replace("\u2019", "'"))
        parts = (part for run in runs for part in self._exceptions.get(run) or run.split("'"))
        return tuple(word for part in parts if (word := self._word(part)))


@cache
def _runs() -> re.Pattern[str]:
    """Runs joined by apostrophes; a word is not cut at a mark."""
    letters = map(chr, range(sys.maxunicode + 1))
    marks = "".join(letter for letter in letters if unicodedata.category(letter).startswith("M"))
    return re.compile(rf"\w+(?:[{marks}]+\w*|'\w+){{0,{MOST_JOINED}}}")


ANALYSED_PIECES = 500_000  # then spaCy's vocabulary starts afresh, which bounds memory
MAX_PIECE = 200  # characters: a longer piece has no words, because affix rules take cubic time
MAX_PART = 10_000  # characters of a language without white space between words
_PART = re.compile(rf".{{1,{MAX_PART - 1}}}(?:\s|\Z)|.{{1,{MAX_PART}}}", re.DOTALL)
PLAIN = "spacy.Tokenizer.v1"  # of the languages in which white space separates words


class SpacyTokens:
    """spaCy's tokens of `language`, a spaCy code such as ``"en"``, or their lemmas if `lemmas`.

    Raises `InputError` if spaCy has no such language or no table of its lemmas.
    """

    def __init__(self, language: str = "en", lemmas: bool = False) -> None:
        self._asked = language, lemmas
        self._tokenizer = _tokenizer(language)
        self._word = _word_rule(language, lemmas)
        self._whole = type(self._tokenizer) is not Tokenizer  # may join across white space
        self._analysed = 0

    def __reduce__(self) -> tuple[type[SpacyTokens], tuple[str, bool]]:
        """Another process starts afresh."""
        return SpacyTokens, self._asked

    def pieces(self, text: str) -> list[str]:
        """What white space separates in `text`; its words where a language joins across white space."""
        if self._whole:
            return [word for part in _PART.findall(text) for word in self._analyse(part)]
        return text.split()

    def words(self, piece: str) -> list[str]:
        """The words of one piece."""
        if self._whole:
            return [piece]
        return self._analyse(piece) if len(piece) <= MAX_PIECE else []

    def _analyse(self, text: str) -> list[str]:
        if self._analysed >= ANALYSED_PIECES:
            self._tokenizer, self._analysed = _tokenizer(self._asked[0]), 0
        tokens = self._tokenizer(text)
        spelled = [token.text for token in tokens]
        if not _faithful(tokens, spelled, text):  # answer as if nothing was read before
            spelled = [token.text for token in _with_own_vocabulary(self._tokenizer, self._asked[0], text)(text)]
        self._analysed += max(1, len(spelled)) if self._whole else 1
        return [word for token in spelled if (word := self._word(token))]


def find_tokens(tokenization: Tokenization) -> Tokens:
    """The tokenizer that `tokenization` asks for. Raises `InputError` if it cannot be had."""
    make = fast_tokens if tokenization.tokenizer == "fast" else SpacyTokens
    return make(tokenization.language, tokenization.lemmas)


def fast_tokens(language: str = "en", lemmas: bool = False) -> FastTokens:
    """The fast tokenizer with spaCy's lists for `language`.

    Raises `InputError` if spaCy has no such language, or no table of its lemmas and `lemmas` are asked for, or needs
    more than white space to find its words.
    """
    found = _language(language)
    if found.default_config["nlp"]["tokenizer"]["@tokenizers"] != PLAIN:
        raise InputError(
            f"tokenizer 'fast' cannot find the words of language {language!r}, which are not separated by "
            f"white space. Use tokenizer 'spacy'."
        )
    listed = found.Defaults.tokenizer_exceptions.items()
    exceptions = {run: tuple(part[ORTH] for part in parts) for run, parts in listed}
    return FastTokens(exceptions, _word_rule(language, lemmas))


def _faithful(tokens: Any, spelled: list[str], text: str) -> bool:
    """Whether the tokens spell `text`, each of the length it was made with: no other string stood in for one."""
    return bool(tokens.text == text) and list(map(len, tokens)) == list(map(len, spelled))


def _tokenizer(language: str) -> Any:
    try:
        pipeline = spacy.blank(language)
    except Exception:  # whatever a language's optional packages raise when they are missing
        raise _no_language(language) from None
    pipeline.vocab.lex_attr_getters = {}  # a third of the time goes into attributes that no word depends on
    return pipeline.tokenizer


def _with_own_vocabulary(tokenizer: Any, language: str, text: str) -> Any:
    """A tokenizer that cuts `text` as `tokenizer`, of `language`, would if it had read nothing.

    Rules for pieces that are not in `text` cannot apply, and are left out because they take a tenth of a second.
    """
    if type(tokenizer) is not Tokenizer:
        return _tokenizer(language)
    rules = {piece: parts for piece, parts in tokenizer.rules.items() if piece in text}
    searches = ("prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match")
    return Tokenizer(Vocab(), rules, **{name: getattr(tokenizer, name) for name in searches})


def _language(language: str) -> Any:
    """spaCy's lists and settings of `language`."""
    try:
        return spacy.util.get_lang_class(language)
    except Exception:
        raise _no_language(language) from None


def _no_language(language: str) -> InputError:
    return InputError(
        f"language {language!r} is not available in spaCy, or needs a package that is not installed. "
        f"See spacy.io/usage/models#languages."
    )


def _word_rule(language: str, lemmas: bool) -> WordRule:
    return WordRule(_language(language).Defaults.stop_words, _lemma_table(language) if lemmas else {})


def _lemma_table(language: str) -> Any:
    try:
        return load_lookups(language, tables=["lemma_lookup"]).get_table("lemma_lookup")
    except (ValueError, KeyError):
        raise InputError(f"There is no table of lemmas for language {language!r}. Leave lemmas out.") from None
