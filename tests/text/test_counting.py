from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dplda
from dplda.text import counting
from dplda.text.counting import Counts, WordCounter, count_words
from dplda.text.reading_options import TOKENIZERS, Tokenization
from dplda.text.records import CountedDocuments, Defect, TextRecord, document_key
from dplda.text.tokenizers import SpacyTokens
from dplda.text.words import FastTokens

RECORDS: list[TextRecord | Defect] = [
    TextRecord(f"d{number}", document_key(number), f"film number{number % 7} actor{'s' * (number % 3)} story")
    for number in range(60)
]


RECORDS[17] = Defect.MALFORMED


RECORDS[30] = Defect.NO_UNIT


FIND_TOKENS = cache(counting.find_tokens)  # made once for all examples


def flat(chunks: list[CountedDocuments]) -> list[tuple[str, bytes, dict[str, int]]]:
    found = []
    for chunk in chunks:
        for row, (name, unit) in enumerate(zip(chunk.ids, chunk.units, strict=True)):
            entries = range(chunk.indptr[row], chunk.indptr[row + 1])
            words = {chunk.words[chunk.indices[entry]]: int(chunk.counts[entry]) for entry in entries}
            found.append((name, unit, words))
    return found


def test_documents_keep_their_order_identity_and_counts() -> None:
    found = flat(list(count_words(RECORDS, Tokenization(), processes=1)))
    assert [name for name, _, _ in found] == [r.id for r in RECORDS if isinstance(r, TextRecord)]
    assert found[0] == ("d0", document_key(0), {"film": 1, "number0": 1, "actor": 1, "story": 1})


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("tokenizer", full_after(1, TOKENIZERS))
def test_chunks_and_processes_change_nothing(processes: int, tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = flat(list(count_words(RECORDS, Tokenization(tokenizer=tokenizer), processes=1)))
    monkeypatch.setattr(counting, "_CHUNK_DOCUMENTS", 4)
    chunks = list(count_words(RECORDS, Tokenization(tokenizer=tokenizer), processes))
    assert len(chunks) > counting._SMALL_CHUNKS
    assert flat(chunks) == expected
    assert sum(chunk.defects.total() for chunk in chunks) == 2


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(deadline=None)
@given(texts=st.lists(st.text(alphabet="abeN't. \u00e9\u2019", max_size=20)), size=st.integers(1, 5))
def test_a_document_has_the_words_it_has_alone(tokenizer: str, texts: list[str], size: int) -> None:
    how = Tokenization(tokenizer=tokenizer)
    records = [TextRecord(str(place), document_key(place), text) for place, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "find_tokens", FIND_TOKENS)
        alone = [flat(list(count_words([record], how))) for record in records]
        patch.setattr(counting, "_CHUNK_DOCUMENTS", size)
        together = flat(list(count_words(records, how, processes=1)))
    assert together == [document for [document] in alone]


def test_no_more_than_a_few_chunks_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_CHUNK_DOCUMENTS", 1)
    taken = []

    def records() -> Iterator[TextRecord | Defect]:
        for record in RECORDS:
            taken.append(record)
            yield record

    chunks = count_words(records(), Tokenization(), processes=2)
    next(chunks)
    assert len(taken) <= counting._SMALL_CHUNKS + 2 * 2 + 1
    chunks.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "tokens"), [("fast", FastTokens), ("spacy", SpacyTokens)])
def test_a_crash_in_the_tokenizer_stays_with_its_document(
    name: str, tokens: type[FastTokens | SpacyTokens], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound, tokenization = tokens.words, Tokenization(tokenizer=name)

    def crashing(self: FastTokens | SpacyTokens, piece: str) -> object:
        if piece == "number3":
            raise MemoryError
        return sound(self, piece)  # type: ignore[arg-type]

    expected = [entry for entry in flat(list(count_words(RECORDS, tokenization))) if int(entry[0][1:]) % 7 != 3]
    monkeypatch.setattr(tokens, "words", crashing)
    chunks = list(count_words(RECORDS, tokenization))
    assert flat(chunks) == expected
    assert chunks[0].defects[Defect.MALFORMED] == 1 + (58 - len(expected))


def test_nothing_in_is_nothing_out() -> None:
    assert list(count_words([], Tokenization())) == []
    [chunk] = count_words([Defect.MALFORMED], Tokenization())
    assert np.array_equal(chunk.indptr, [0])


@pytest.mark.full
def test_a_script_without_a_main_guard_can_use_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from dplda.text import counting\n"
        "from dplda.text.records import TextRecord\n"
        "from dplda.text.reading_options import Tokenization\n"
        "counting._CHUNK_DOCUMENTS = 1\n"
        "records = [TextRecord(str(n), b'u' * 16, 'film story') for n in range(8)]\n"
        "chunks = counting.count_words(records, counting.Tokenization(), processes=2)\n"
        "assert sum(int(chunk.counts.sum()) for chunk in chunks) == 16\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(dplda.__file__).parents[1])}
    command = [sys.executable, "-W", "error::UserWarning", script]
    done = subprocess.run(command, capture_output=True, timeout=120, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("language", "apart"), [("en", False), ("zh", True)])
def test_native_segmenters_read_few_documents_in_another_process_too(monkeypatch, language: str, apart: bool) -> None:
    used = []
    monkeypatch.setattr(counting, "_count_in_pool", lambda *_: used.append("pool") or iter(()))
    list(count_words(RECORDS[:2], Tokenization(language=language), processes=1))
    assert bool(used) == apart


def test_a_worker_says_nothing_whatever_its_native_code_reports() -> None:
    script = "import os; from dplda.text import counting; counting._begin(None); os.write(2, b'words of a document')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


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
