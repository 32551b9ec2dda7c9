"""Representative texts for each topic: public texts, which may be shown, or private ones, for their holder's eyes.

Public texts under released topics cost no budget (docs/privacy.md, T1). To leave out a text that the ledger knows would
tell whoever has the public texts that it is in a private corpus. Therefore the choice does not depend on what the
ledger knows (`dplda.runs.declared_public`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dplda.base.characters import one_line
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress, Progress
from dplda.budget import Ledger
from dplda.budget.ledger import usual_ledger
from dplda.model.examples import LONGEST, Example, Examples
from dplda.model.topic_model import TopicModel
from dplda.private.store.fingerprint import document_codes
from dplda.runs.charged_query import warn_of_other_words
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.declared_public import known_texts
from dplda.text.counting import Counts, WordCounter, find_tokens
from dplda.text.records import Defect, TextRecord

EACH = 3  # texts for each topic
_CHUNK = 2048  # texts that are counted together
_LEAST_SHARE = 0.5  # of a text's known words that belong to the topic
_LEAST_WORDS, _LEAST_KNOWN = 5, 0.2  # words that the model knows: their number, and their share of all words
RULE = "at least five words that the topics know, which are at least a fifth of its words"  # the same in words


def examples(
    model: TopicModel,
    corpus: Corpus,
    each: int = EACH,
    *,
    ledger: Ledger | None = None,
    local: bool = False,
    progress: Progress | None = None,
) -> Examples:
    """Choose the texts of `corpus`, which you declare public, that show best what the topics of `model` are about.

    Each listed topic gets at most `each` texts that have at least half of their words from it, by inferred proportions,
    those with the largest share first. The notes of the result say if the `ledger` (the default one if None) knows ten
    of the texts to be private. With `local`, `corpus` is private, and the result is for its holder's eyes only.

    Raises `BudgetRefused` if the ledger has a bounded budget for the name of `corpus` or read its files under one, and
    `InputError` for a corpus of counts.
    """
    check_corpus(corpus)
    tokenization = corpus.tokenization
    if tokenization is None:
        raise InputError("examples are texts, and this corpus holds counts. Give the texts themselves.")
    warn_of_other_words(model, corpus)
    key, private = b"", np.zeros(0, np.uint64)
    if not local:
        ledger = usual_ledger(ledger)
        ledger.check_not_private(corpus.name or "", corpus.places)
        key, private = ledger.key, ledger.private_documents()
    defects = Counter[Defect]()
    texts = _readable(corpus.raw_texts(), defects)
    watch, counter = progress or NoProgress(), WordCounter(find_tokens(tokenization))
    watch.start("read")
    best = {topic: _Best(each) for topic in model.listed_topics}
    n_known = n_texts = n_unknown = 0
    while chunk := list(islice(texts, _CHUNK)):
        counts = counter.count([record.text for record in chunk])
        failed = set(counts.failed)
        records = [record for place, record in enumerate(chunk) if place not in failed]
        defects[Defect.MALFORMED] += len(failed)
        if len(private):
            codes = document_codes(counts.words, counts.indptr, counts.indices, counts.counts, key)
            n_known += int(np.isin(codes, private, kind="sort").sum())
        shares, enough = _shares(model, counts)
        n_unknown += int((~enough).sum())
        n_texts += len(records)
        for topic, chosen in best.items():
            for place in np.flatnonzero(shares[:, topic] >= _LEAST_SHARE):
                chosen.offer(float(shares[place, topic]), records[place])
        watch.advance(len(chunk))
    if not n_texts:
        raise InputError(
            "the corpus has no text that can be read. Check the column of the text: --text-field (text_field)."
        )
    notes = tuple(
        filter(None, [known_texts(n_known, "show these examples to nobody, and delete what was saved of them")])
    )
    found = {topic: chosen.examples() for topic, chosen in best.items()}
    source = corpus.name or "a corpus without a name"
    left_out = _told(defects, source)
    return Examples(found, source, n_texts, n_unknown, private=local, left_out=left_out, notes=notes)


def _readable(records: Iterable[TextRecord | Defect], defects: Counter[Defect]) -> Iterator[TextRecord]:
    """Yield those of `records` that have a text, and count the `defects` of the others."""
    for record in records:
        if isinstance(record, Defect):
            defects[record] += 1
        else:
            yield record


def _told(defects: Counter[Defect], source: str) -> str:
    """Say how many records of `source` were left out for which `defects`; empty if none were."""
    total, why = defects.total(), [f"{defect.value} ({defects[defect]:,})" for defect in Defect if defects[defect]]
    records = "1 record was" if total == 1 else f"{total:,} records were"
    return f"Of {source}, {records} left out: {', '.join(why)}." if total else ""


def _shares(model: TopicModel, counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the share of each topic in each text, (n_texts, n_topics), and whether the model knows enough of the text.

    Shares are 0 where it does not.
    """
    column = {word: j for j, word in enumerate(model.vocabulary)}
    columns = np.array([column.get(word, -1) for word in counts.words], np.int64)
    every = sparse.csr_matrix(
        (counts.counts, counts.indices, counts.indptr), shape=(len(counts.indptr) - 1, len(counts.words))
    )
    chosen = np.flatnonzero(columns >= 0)
    place = sparse.csr_matrix(
        (np.ones(len(chosen), np.int64), (chosen, columns[chosen])), shape=(len(counts.words), len(model.vocabulary))
    )
    known = sparse.csr_matrix(every @ place)
    n_words, n_known = (np.asarray(each.sum(axis=1)).ravel() for each in (every, known))
    enough = (n_known >= _LEAST_WORDS) & (n_known >= _LEAST_KNOWN * n_words)
    return np.where(enough[:, None], model.transform(known), 0.0), enough


class _Best:
    """The texts with the largest shares, at most `most`, each distinct text once; of equal shares the first ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, int, Example]] = []  # a heap, the least at its top
        self._texts = Counter[str]()
        self._offered = 0

    def offer(self, share: float, record: TextRecord) -> None:
        """Keep `record` if it is among the best."""
        self._offered += 1
        if self._most < 1 or (len(self._kept) == self._most and share <= self._kept[0][0]):
            return
        text = _beginning(record.text)
        if not text or self._texts[text]:
            return
        self._texts[text] += 1
        entry = (share, -self._offered, Example(text, share, one_line(record.id, LONGEST)))
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        else:
            self._texts[heapq.heapreplace(self._kept, entry)[2].text] -= 1

    def examples(self) -> tuple[Example, ...]:
        """Return the texts, the largest share first."""
        return tuple(example for _, _, example in sorted(self._kept, reverse=True))


def _beginning(text: str) -> str:
    """Return `text` as one line, cut behind a word."""
    line = one_line(text, LONGEST + 1)
    if len(line) <= LONGEST:
        return line
    kept, _, _ = line[: LONGEST - 1].rpartition(" ")
    return (kept.rstrip(" ,") or line[: LONGEST - 1]) + "…"
