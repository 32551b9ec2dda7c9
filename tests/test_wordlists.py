from __future__ import annotations

from pathlib import Path

import pytest
from full_helpers import full_after

from dplda.base.errors import InputError
from dplda.cli.options import public_words
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text import wordlists
from dplda.text.reading_options import TOKENIZERS, Tokenization
from dplda.text.tokenizers import find_tokens, word_rule

LISTS = {"en": wordlists.english, "de": wordlists.german, "fr": wordlists.french, "es": wordlists.spanish}


@pytest.mark.parametrize("lemmas", [pytest.param(False, marks=pytest.mark.full), True])
@pytest.mark.parametrize("language", full_after(1, LISTS))
def test_every_word_is_found_as_it_is_spelled(language: str, lemmas: bool) -> None:
    words = LISTS[language](1000, lemmas=lemmas)
    assert len(set(words)) == 1000
    rule = word_rule(language, False)
    assert [word for word in words if rule(word) != word] == []
    if not lemmas:
        tokens = find_tokens(Tokenization(language=language))
        assert [word for word in words if list(tokens.words(word)) != [word]] == []


def test_lemmas_replace_the_words_that_they_are_lemmas_of() -> None:
    assert {"movie", "movies"} <= set(wordlists.english(5000))
    assert {"movie", "movies"} & set(wordlists.english(5000, lemmas=True)) == {"movie"}


def test_the_most_frequent_words_come_first() -> None:
    assert wordlists.english(500) == wordlists.english(2000)[:500]
    assert wordlists.english(10)[:2] == ["like", "time"]


def test_no_entry_that_stands_for_numbers_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [word for word in wordlists.english(30_000) if any(map(str.isdigit, word))]
    monkeypatch.setattr("wordfreq.iter_wordlist", lambda language: iter(["0th", "000s", "00km", "film", "km"]))
    for tokenizer in TOKENIZERS:
        assert wordlists.frequent_words("en", 2, tokenizer=tokenizer) == ["film", "km"]


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_counts_that_are_none_are_refused(count: int) -> None:
    with pytest.raises(InputError, match="count must be a positive whole number"):
        wordlists.english(count)


def test_what_there_is_no_list_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("wordfreq.iter_wordlist", lambda language: iter(["the", "film", "movie"]))
        with pytest.raises(InputError, match="has 2 words"):
            wordlists.english(3)
    with pytest.raises(InputError, match="en, de, fr, es, not 'it'"):
        wordlists.frequent_words("it", 10)


def corpus_of(folder: Path, **reading: bool | str) -> Corpus:
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts" / "a.txt").write_text("movies and stars")
    return read_corpus(folder / "texts", **reading)  # type: ignore[misc]


def test_the_command_line_names_a_list_spelled_as_the_corpus_is_read(tmp_path: Path) -> None:
    assert public_words("english:300", corpus_of(tmp_path)) == wordlists.english(300)
    lemmas = public_words("english:300", corpus_of(tmp_path, lemmas=True))
    assert lemmas == wordlists.english(300, lemmas=True) != wordlists.english(300)
    counts = Corpus.from_counts([[1, 2]], ["a", "b"])
    assert public_words("german:20", counts) == wordlists.german(20)
    with pytest.raises(InputError, match=r"german:20 is of another language than the documents \(en\)"):
        public_words("german:20", corpus_of(tmp_path))
    with pytest.raises(InputError, match=r"no word list 'latin'\. The lists are english, german, french, spanish"):
        public_words("latin:20", corpus_of(tmp_path))


def test_any_other_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("english:300").write_text("one\n")
    assert public_words("./english:300", None) == public_words(str(Path.cwd() / "english:300"), None) == ["one"]
    assert public_words(None, None) is None
    with pytest.raises(InputError):
        public_words("english", None)


def test_a_list_has_the_words_that_the_tokenizer_of_the_corpus_finds() -> None:
    fast, spacy = (wordlists.frequent_words("en", 30_000, tokenizer=name) for name in ("fast", "spacy"))
    assert wordlists.frequent_words("en", 30_000) == fast
    assert set(fast) - set(spacy)
    for words, tokenizer in ((fast, "fast"), (spacy, "spacy")):
        tokens = find_tokens(Tokenization(tokenizer=tokenizer))
        assert all(list(tokens.words(word)) == [word] for word in words)
