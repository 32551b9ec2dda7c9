"""The same texts under two names are charged together, whatever way their words were made (docs/privacy.md, 9.8)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from ledger_helpers import WHOLE, gaussian, sample, spend

from dplda import Corpus
from dplda.base.errors import BudgetRefused
from dplda.budget import Ledger
from dplda.budget.sketches import Fingerprint
from dplda.private.store.fingerprint import fingerprint
from dplda.text.records import text_code

NOUNS = ["letters", "invoices", "heaters", "payments", "refunds", "pipes", "radiators", "banks", "meters", "valves"]
PLAIN: dict[str, Any] = {"tokenizer": "fast"}
OTHER_READINGS: dict[str, dict[str, Any]] = {
    "lemmas": {"lemmas": True},
    "phrases": {"ngrams": 2},
    "stop words": {"stopwords": ["wrote"]},
    "another language": {"language": "de"},
}


def texts_of(seed: int, n: int = 300) -> list[str]:
    rng = random.Random(seed)
    return [f"Café {rng.random():.6f}, wrote by e-mail: {' '.join(rng.choices(NOUNS, k=9))}." for _ in range(n)]


TEXTS = texts_of(1)


def of(ledger: Ledger, texts: list[str], **reading: Any) -> Fingerprint:
    return fingerprint(Corpus.from_texts(texts, **{**PLAIN, **reading}).open(), ledger.key)


@pytest.mark.parametrize("reading", OTHER_READINGS)
def test_texts_that_were_read_in_another_way_share_one_budget(ledger, reading):
    first, second = of(ledger, TEXTS), of(ledger, TEXTS[:100], **OTHER_READINGS[reading])
    assert not first.sketch.overlaps(second.sketch), "their words do not show it"
    spend(ledger, "first", first, events=[gaussian(mu_squared=0.6 * WHOLE)])
    with pytest.raises(BudgetRefused, match="Dataset 'second' cannot pay"):
        spend(ledger, "second", second, events=[gaussian(mu_squared=0.6 * WHOLE)])
    spend(ledger, "second", second, events=[gaussian(mu_squared=0.4 * WHOLE)])
    assert ledger.dataset("first").linked == ("first", "second")
    assert Ledger(ledger.path).verify().ok


def test_white_space_line_ends_and_forms_of_accents_make_no_other_text(ledger):
    copies = [text.replace(" ", "\r\n ").replace("é", "e\u0301") + "\n" for text in TEXTS]
    assert list(map(text_code, copies)) == list(map(text_code, TEXTS))
    assert text_code("Cafe\u2009\u0301") == text_code("Café"), "white space parts no accent from its letter"
    spend(ledger, "first", of(ledger, TEXTS))
    spend(ledger, "second", of(ledger, copies, ngrams=2))
    assert ledger.dataset("first").linked == ("first", "second")


def test_words_show_what_texts_do_not_and_a_third_reading_is_linked_to_both(ledger):
    """The second corpus has the words of the first one and other texts; the third has the texts of the second."""
    marked = [text.replace(",", ";") for text in TEXTS]
    first, second, third = of(ledger, TEXTS), of(ledger, marked), of(ledger, marked, ngrams=2)
    assert first.code == second.code
    assert first.texts.code != second.texts.code == third.texts.code
    for name, documents in (("first", first), ("second", second), ("third", third)):
        spend(ledger, name, documents, events=[gaussian(mu_squared=1.0)])
    assert ledger.dataset("first").linked == ("first", "second", "third")


def test_other_texts_and_counts_are_linked_to_nothing(ledger):
    spend(ledger, "first", of(ledger, TEXTS))
    spend(ledger, "other", of(ledger, texts_of(2)))
    counts = Corpus.from_counts(np.eye(3, dtype=int) * 4, ["a", "b", "c"])
    spend(ledger, "counts", fingerprint(counts.open(), ledger.key))
    assert of(ledger, TEXTS).texts is not None
    assert fingerprint(counts.open(), ledger.key).texts is None
    assert {record.name: record.linked for record in ledger.datasets()} == {
        name: (name,) for name in ("first", "other", "counts")
    }


def test_an_ineligible_text_changes_neither_code_nor_sketch_of_the_texts(ledger):
    plain, more = of(ledger, TEXTS).texts, of(ledger, [*TEXTS, "too short", "", "1 2 3 4"]).texts
    assert plain.code == more.code
    assert np.array_equal(plain.sketch.hashes, more.sketch.hashes)


def test_texts_keep_their_units_whatever_way_they_are_read(ledger):
    def people(size: int, **reading: Any) -> Fingerprint:
        rows = [{"text": text, "who": f"p{i // size}"} for i, text in enumerate(TEXTS)]
        return of(ledger, rows, text_field="text", unit_field="who", **reading)

    spend(ledger, "first", people(3), unit="who")
    spend(ledger, "same", people(3, ngrams=2), unit="who")
    with pytest.raises(BudgetRefused, match="groups them otherwise"):
        spend(ledger, "others", people(5, ngrams=2), unit="who")


def test_batches_that_hold_one_text_are_counted_by_texts_too(ledger):
    """Words of two ways of reading, which a series refuses, and would not count."""
    texts = Fingerprint("texts", sample(range(500)))
    first, second = (Fingerprint(f"{start}", sample(range(start, start + 500)), texts=texts) for start in (1000, 2000))
    spend(ledger, "series", first, batch="one")
    with pytest.raises(BudgetRefused, match="most documents of a batch of series 'series' would be in 2"):
        spend(ledger, "series", second, batch="two")


def test_a_store_keeps_the_fingerprint_of_its_texts(tmp_path, ledger):
    corpus = Corpus.from_texts(TEXTS, **PLAIN)
    store = corpus.write(tmp_path / "store", key=ledger.key)
    assert (tmp_path / "store" / "fingerprint.json").exists()
    kept, made = fingerprint(store, ledger.key), of(ledger, TEXTS)
    assert kept.texts is not None
    assert made.texts is not None
    assert (kept.texts.code, kept.texts.sketch.to_text()) == (made.texts.code, made.texts.sketch.to_text())


def test_a_process_tells_once_of_shared_documents_and_names_the_line_of_the_caller(tmp_path) -> None:
    import warnings

    import dplda
    from dplda.base.errors import SharedDocumentsWarning

    ledger = dplda.Ledger(tmp_path / "once.db")
    corpus = dplda.Corpus.from_texts([f"red apples and pears number{i % 7}" for i in range(300)], name="first")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("first", "second", "second"):
            dplda.count(corpus, {"fruit": ["apples"]}, epsilon=0.1, dataset=name, ledger=ledger)
    (told,) = [each for each in caught if each.category is SharedDocumentsWarning]
    assert told.filename == __file__
    assert "first" in str(told.message)
