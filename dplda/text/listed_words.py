"""Which words of a public list a tokenizer can find in text. Depends on the list and the tokenizer alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from dplda.text.counting import Tokens
from dplda.text.phrases import JOINER
from dplda.text.reading_options import LONGEST_PHRASE, Tokenization
from dplda.text.tokenizers import find_tokens, word_rule


@dataclass(frozen=True)
class ListedWords:
    """The entries of a word list that a tokenizer can find in text, and the others.

    `found` maps each of the former to its spelling in counts: in lower case, a phrase with underscores. `reasons` says
    of each of the others why no text contains it.
    """

    found: dict[str, str]
    reasons: dict[str, str]

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words that text can contain, in the order of the list."""
        return tuple(dict.fromkeys(self.found.values()))


def match_words(entries: Iterable[str], tokenization: Tokenization) -> ListedWords:
    """Which of the `entries` of a word list the tokenizer of `tokenization` can find in text.

    A word can be found if the tokenizer makes exactly this word of it, in small or capital letters, or if it is the
    lemma of another word; a phrase, if its words can be found. A segmenter, which splits by the context, is given each
    word alone. Raises `InputError` if the tokenizer is not available.
    """
    tokens = find_tokens(replace(tokenization, ngrams=1))
    rule = word_rule(tokenization.language, tokenization.lemmas, tokenization.stopwords)
    plain = replace(rule, lemmas={})
    lemmas = {str(lemma).lower() for lemma in rule.lemmas.values()}

    def is_found(word: str) -> bool:
        forms = (word, word.capitalize(), word.upper())
        return any(_made(tokens, form) == [word] for form in forms) or (word in lemmas and plain(word) == word)

    def reason(words: Sequence[str]) -> str:
        """Why the phrase of `words` is in no text; empty if it can be."""
        if words and all(map(is_found, words)):
            return "" if len(words) <= tokenization.ngrams else _why_no_phrase(len(words))
        made = [word for part in words for word in _made(tokens, part)]
        return f"read as {', '.join(made)}" if made else _why_no_word(" ".join(words), rule.stop_words)

    found, reasons = dict[str, str](), dict[str, str]()
    for entry in entries:
        words = entry.lower().replace(JOINER, " ").split()
        if why := reason(words):
            reasons[entry] = why
        else:
            found[entry] = JOINER.join(words)
    return ListedWords(found, reasons)


def _made(tokens: Tokens, text: str) -> list[str]:
    """The words of `text`; none if the tokenizer fails, as a segmenter in another language may."""
    try:
        return [word for piece in tokens.pieces(text) for word in tokens.words(piece)]
    except Exception:
        return []


def _why_no_phrase(n_words: int) -> str:
    return f"needs --ngrams {n_words}" if n_words <= LONGEST_PHRASE else f"longer than {LONGEST_PHRASE} words"


def _why_no_word(text: str, stop_words: Collection[str]) -> str:
    if text in stop_words:
        return "a stop word"
    if not any(map(str.isalpha, text)):
        return "without a letter"
    return "one letter" if len(text) == 1 else "no word as CORPUS is read"
