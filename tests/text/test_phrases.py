import pickle
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text import tokenizers
from dplda.text.counting import WordCounter
from dplda.text.reading_options import TOKENIZERS, Tokenization
from dplda.text.tokenizers import PhraseTokens, find_tokens, phrases

TOKENS = {name: find_tokens(Tokenization(tokenizer=name, ngrams=2)) for name in TOKENIZERS}
TEXT = st.text(alphabet="abc xyz\n.,:2'-1\u2019é\t", max_size=40)


def words_of(text: str, tokenizer: str = "spacy", **more: object) -> Counter[str]:
    by = find_tokens(Tokenization(tokenizer=tokenizer, **more)) if more else TOKENS[tokenizer]
    return Counter(word for piece in by.pieces(text) for word in by.words(piece))


def phrases_of(text: str, tokenizer: str = "spacy", **more: object) -> set[str]:
    return {word for word in words_of(text, tokenizer, **more) if "_" in word}


def test_phrases_of_a_run() -> None:
    assert phrases(["a", "b", "c"], 2) == ["a", "b", "c", "a_b", "b_c"]
    assert phrases(["a", "b", "c"], 5) == ["a", "b", "c", "a_b", "b_c", "a_b_c"]
    assert phrases([], 2) == []


@pytest.mark.parametrize("n_words", [1, 9, 10, 11, 25, 100])
def test_a_long_run_is_cut_and_a_document_of_too_many_phrases_fails_alone(monkeypatch, n_words: int) -> None:
    monkeypatch.setattr(tokenizers, "_LONGEST_RUN", 10)
    monkeypatch.setattr(tokenizers, "_MOST_PIECES", 50)
    by = find_tokens(Tokenization(tokenizer="fast", ngrams=2))
    assert WordCounter(by).count(["tea\n\n" * 60]).failed == [0], "however short the paragraphs"
    counts = WordCounter(by).count(["tea cup", "tea " * n_words, "cup tea"])
    assert counts.failed == ([1] if n_words > 30 else [])
    if n_words <= 30:
        n_phrases = n_words - 1 - (n_words - 1) // 10
        assert Counter(by.pieces("tea " * n_words)) == Counter({"tea": n_words, "tea_tea": n_phrases})


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_adjacent_words_are_a_phrase_and_count_as_words_too(tokenizer: str) -> None:
    found = words_of("Climate change hurts. The climate\nchange", tokenizer)
    assert found == {"climate": 2, "change": 2, "hurts": 1, "climate_change": 2, "change_hurts": 1}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize(
    "between", [". ", ", ", " the ", " 7 ", "-", " (", "\n\n", "\r\n\r\n", "\n \t\n", " x ", "/", "'s "]
)
def test_a_phrase_spans_nothing_but_white_space(tokenizer: str, between: str) -> None:
    assert phrases_of(f"climate{between}change", tokenizer) == set()
    assert words_of(f"climate{between}change", tokenizer).keys() == {"climate", "change"}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("between", [" ", "\n", "\r\n", "\t", "  "])
def test_a_line_that_is_wrapped_does_not_end_a_phrase(tokenizer: str, between: str) -> None:
    assert phrases_of(f"climate{between}change", tokenizer) == {"climate_change"}


def test_users_stop_words_end_a_phrase_and_lemmas_form_it() -> None:
    assert phrases_of("climate bla change", ngrams=2, stopwords=("bla",)) == set()
    assert phrases_of("climate changes", ngrams=2, lemmas=True) == {"climate_change"}
    assert phrases_of("deep learning models", ngrams=3) == {"deep_learning", "learning_models", "deep_learning_models"}


def test_segmented_languages_have_phrases() -> None:
    assert "北京_天安门" in phrases_of("北京天安门，电影", language="zh", ngrams=2)
    assert phrases_of("电影，足球", language="zh", ngrams=2) == set()


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(deadline=None)
@given(text=TEXT)
def test_the_words_are_those_without_phrases(tokenizer: str, text: str) -> None:
    found = words_of(text, tokenizer)
    assert {word: n for word, n in found.items() if "_" not in word} == words_of(text, tokenizer, ngrams=1)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(deadline=None)
@given(text=TEXT, earlier=st.lists(TEXT, max_size=3))
def test_earlier_documents_change_no_phrase(tokenizer: str, text: str, earlier: list[str]) -> None:
    alone = words_of(text, tokenizer, ngrams=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizers, "_REMEMBERED", 2)
        counts = WordCounter(TOKENS[tokenizer]).count([*earlier, text])
    first, last = counts.indptr[-2], counts.indptr[-1]
    entries = zip(counts.indices[first:last], counts.counts[first:last], strict=True)
    assert {counts.words[index]: count for index, count in entries} == alone


def test_the_cache_is_bounded_and_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "_REMEMBERED", 3)
    by = find_tokens(Tokenization(tokenizer="fast", ngrams=2))
    assert isinstance(by, PhraseTokens)
    by.pieces("one two three four five six seven " + "x" * 500)
    assert len(by._seen) <= 3
    assert pickle.loads(pickle.dumps(by))._seen == {}


@pytest.mark.parametrize("ngrams", [0, 6, 2.0, "2"])
def test_lengths_that_do_not_exist_are_refused(ngrams: object) -> None:
    with pytest.raises(InputError, match=r"ngrams must be a whole number from 1 to 5 \(words\), got"):
        Tokenization(ngrams=ngrams)


def test_stores_know_their_phrases_and_others_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("climate change")
    corpus = read_corpus(tmp_path / "texts", ngrams=2)
    store = corpus.write(tmp_path / "store")
    assert set(store.dictionary) == {"climate", "change", "climate_change"}
    assert store.reading == corpus.reading == {"language": "en", "lemmas": False, "tokenizer": "fast", "ngrams": 2}
    assert "ngrams" not in read_corpus(tmp_path / "texts", ngrams=1).reading
    assert (corpus.is_text, read_corpus(tmp_path / "store").is_text) == (True, False)
    assert not Corpus.from_counts([[1, 2]], ["a", "b"]).is_text
    assert Corpus.from_texts(["climate change"]).is_text
    with pytest.raises(InputError, match=r"ngrams works on text, and .* is a prepared store"):
        read_corpus(tmp_path / "store", ngrams=2)
