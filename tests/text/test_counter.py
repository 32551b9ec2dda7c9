from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dplda.text import counting
from dplda.text.counting import Counts, WordCounter


class Letters:
    """Splits at spaces; the words of a piece are its letters, doubled. Raises on an exclamation mark."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def pieces(self, text: str) -> list[str]:
        return text.split()

    def words(self, piece: str) -> list[str]:
        if "!" in piece:
            raise MemoryError
        self.asked.append(piece)
        return [2 * letter for letter in piece if letter.isalpha()]


TEXTS = st.lists(st.text(alphabet="abcdef 12!", max_size=12), max_size=8)


def rows(counts: Counts) -> list[dict[str, int]]:
    """{word: occurrences} of each document."""
    found = []
    for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        entries = zip(counts.indices[first:last].tolist(), counts.counts[first:last].tolist(), strict=True)
        found.append({counts.words[word]: count for word, count in entries})
    return found


def plainly(text: str) -> Counter[str]:
    """The words of one document."""
    return Counter(2 * letter for letter in text if letter.isalpha())


@given(TEXTS)
@example(["ab c! d", "e"])
def test_counts_are_those_of_one_document_after_the_other(texts: list[str]) -> None:
    counts = WordCounter(Letters()).count(texts)
    assert rows(counts) == [plainly(text) for text in texts if "!" not in text]
    assert counts.failed == [place for place, text in enumerate(texts) if "!" in text]
    assert sorted(counts.words) == sorted({word for row in rows(counts) for word in row})


@given(TEXTS, TEXTS)
def test_earlier_documents_change_nothing_not_even_the_order_of_words(earlier: list[str], texts: list[str]) -> None:
    used = WordCounter(Letters())
    used.count(earlier)
    found, fresh = used.count(texts), WordCounter(Letters()).count(texts)
    assert (found.words, found.failed) == (fresh.words, fresh.failed)
    for ours, theirs in ((found.indptr, fresh.indptr), (found.indices, fresh.indices), (found.counts, fresh.counts)):
        assert ours.tolist() == theirs.tolist()


def test_a_piece_is_asked_once_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Letters()
    used = WordCounter(letters)
    used.count(["ab cd ab", "cd"])
    used.count(["cd ab"])
    assert letters.asked == ["ab", "cd"]
    monkeypatch.setattr(counting, "_REMEMBERED_PIECES", 2)
    assert rows(used.count(["ab"])) == [{"aa": 1, "bb": 1}]
    assert letters.asked == ["ab", "cd", "ab"]


def test_what_is_remembered_is_bounded_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_REMEMBERED_CHARACTERS", 1000)
    counted = WordCounter(Letters())
    for _ in range(3):
        remembered = counted._seen
        counted.count(["a" * 2000])
    assert counted._seen is not remembered
    assert counted._seen.n_characters == 2000


def test_no_documents_have_no_words() -> None:
    counts = WordCounter(Letters()).count([])
    assert (counts.words, counts.indptr.tolist(), counts.indices.tolist(), counts.failed) == ([], [0], [], [])
