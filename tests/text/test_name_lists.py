from __future__ import annotations

import sys
from pathlib import Path

import pytest
from full_helpers import full_after

from dplda.base.errors import InputError
from dplda.cli.options import public_words
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text import wordlists
from dplda.text.reading_options import ListName

# The list on which the rule was measured: names that must not stand in topics, and names that are also words. `LOST`
# and `LEFT` are what the rule gets wrong, as docs/formats.md says.
NAMES = {
    "en": "david mike john sarah smith johnson garcia patel kevin steve nick mary jack bill max",
    "de": "weber schulz müller schmidt koch fischer bauer krüger mehmet sabine jürgen uwe götz",
    "fr": "martin durand dupont lefebvre",
    "es": "garcía rodríguez josé luis",
}
WORDS = {
    "en": "will may mark price king long young rose grace hope hill brown",
    "de": "keller schwarz klein lang könig sommer zimmer wolf stein zimmermann mark jung baum",
    "fr": "petit blanc fontaine",
    "es": "flores blanco luz cruz",
}
LEFT = {"en": "jack bill max", "de": "götz", "fr": "", "es": ""}
LOST = {"en": "", "de": "keller wolf stein zimmermann mark baum", "fr": "blanc fontaine", "es": "cruz"}


@pytest.mark.parametrize("language", full_after(1, NAMES))
def test_names_are_told_from_words_as_the_documentation_says(language: str) -> None:
    names = set(wordlists.names(language))
    assert set(NAMES[language].split()) - names == set(LEFT[language].split())
    assert set(WORDS[language].split()) & names == set(LOST[language].split())


@pytest.mark.parametrize(
    ("language", "least"), full_after(1, [("english", 4000), ("german", 4500), ("french", 1500), ("spanish", 2000)])
)
def test_a_list_has_thousands_of_names_in_lower_case_and_in_order(language: str, least: int) -> None:
    names = wordlists.names(language)
    assert len(names) > least
    assert names == sorted({name.lower() for name in names if name.isalpha()})


def test_names_are_also_listed_without_accents_and_umlauts() -> None:
    assert {"müller", "muller", "mueller", "krüger", "krueger"} <= set(wordlists.names("de"))
    assert {"rodríguez", "rodriguez"} <= set(wordlists.names("es"))


def texts(language: str | None = None, **options: object) -> set[str]:
    documents = ["Frau Weber und Mike schreiben an die Verwaltung wegen Zimmer movie und David Smith"] * 3
    corpus = Corpus.from_texts(documents, language=language, **options)  # type: ignore[arg-type]
    return set(corpus.open().words.to_pylist())


def test_names_do_not_count_and_lists_can_be_joined(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("movie\n")
    assert {"weber", "mike", "david", "smith", "movie"} <= texts("de")
    assert texts("de", stopwords="names") & {"weber", "mike", "david", "smith", "zimmer"} == {"smith", "zimmer"}
    lists = (ListName("names:english"), ListName("names:de"), tmp_path / "more.txt", "schreiben")
    assert texts("de", stopwords=lists) & {"weber", "mike", "smith", "movie", "schreiben"} == set()
    assert "weber" in texts("de", stopwords=["names"])  # in a list of words, a word


def test_the_list_is_recorded_with_its_digest(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\nhello\n")
    corpus = read_corpus(tmp_path / "a.csv", stopwords="names", language="en")
    assert corpus.tokenization.stopwords == tuple(wordlists.names("en"))
    assert corpus.reading == read_corpus(tmp_path / "a.csv", stopwords=wordlists.names("english")).reading
    assert corpus.reading["stopwords"].startswith(f"{len(corpus.tokenization.stopwords)} words, sha256 ")


def test_a_public_list_of_frequent_words_leaves_the_stop_words_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\nhello\n")
    plain, without = (
        read_corpus(tmp_path / "a.csv", **options)
        for options in ({}, {"stopwords": "names"})  # type: ignore[misc]
    )
    assert "john" in (public_words("english:500", plain) or [])
    words = public_words("en:500", without)
    assert words is not None
    assert len(words) == 500
    assert not set(words) & set(wordlists.names("en"))


def test_what_there_is_no_list_for_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no list of names 'it'\. The lists are english, .* \(or en, de, fr, es\)"):
        texts("it", stopwords="names")
    with pytest.raises(InputError, match="no list of names 'latin'"):
        texts("de", stopwords="names:latin")
    with pytest.raises(InputError, match=r"nowhere\.txt does not exist"):
        texts("de", stopwords="nowhere.txt")
    for package in ("faker", "mimesis", "spacy_lookups_data", "wordfreq"):
        wordlists.names_of.cache_clear()
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(InputError, match=r"pip install 'dplda\[wordlists\]'"):
                wordlists.names("en")
    wordlists.names_of.cache_clear()
