"""Topic proportions of single documents, which are exact and NOT PRIVATE.

They are for the owner of the documents: nothing of them is stored in a ledger, a model or a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dplda.base.errors import InputError
from dplda.base.progress import Progress, following
from dplda.model.topic_model import TopicModel
from dplda.runs.charged_query import warn_of_other_words
from dplda.runs.corpus import Corpus, counts_for
from dplda.text.records import TEXT_NAMES


@dataclass(frozen=True, eq=False, repr=False)
class Proportions:
    """Topic proportions of single documents. Exact, NOT PRIVATE: keep them where the documents are.

    numpy takes them as an array (`values`).
    """

    ids: list[str]
    """The ids of the documents, or their numbers from 1, (n_documents,)."""
    values: NDArray[np.float64]
    """The share of each topic in each document, (n_documents, n_topics); rows sum to 1."""
    titles: tuple[str, ...]
    """What stands for each topic (`TopicModel.titles`)."""
    tokens: int
    """The number of words in all documents."""
    unknown_tokens: int
    """How many of them the model does not know; they were left out."""
    known_words: NDArray[np.int64]
    """How many words of each document the model knows, (n_documents,); without any, proportions are the prior's."""
    rows: Sequence[Any]
    """The names of the rows of `to_frame`: those of a pandas column, ids, or numbers, from 0 for texts in memory."""

    private: ClassVar[bool] = False
    warning: ClassVar[str] = "NOT PRIVATE: these proportions are computed from each document exactly, without noise."

    def __repr__(self) -> str:
        share = self.unknown_tokens / self.tokens if self.tokens else 0.0
        shape = f"{len(self.ids)} documents, {len(self.titles)} topics"
        return f"Proportions(NOT PRIVATE: {shape}; {share:.1%} of the words are unknown to the model)"

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each document; each column's name says that it is not private.

        The last column is `known_words`. Raises `InputError` without pandas.
        """
        names = [f"{topic} {title} (not private)" for topic, title in enumerate(self.titles)]
        table = pa.table([*self.values.T, self.known_words], names=[*names, "known words (not private)"])
        try:
            frame = table.to_pandas().set_axis(self.rows).rename_axis("document")
        except ImportError:
            raise InputError("to_frame needs pandas: pip install pandas. `values` is an array.") from None
        frame.attrs["private"] = self.private
        return frame


def infer(model: TopicModel, corpus: Corpus, progress: Progress) -> Proportions:
    """Infer the topic proportions of the documents of `corpus` under the topics of `model`. NOT PRIVATE."""
    counts, ids, unknown, total = counts_for(model.vocabulary, corpus.open(progress))
    known = np.asarray(counts.sum(axis=1), np.int64).ravel()
    return Proportions(ids, model.transform(counts), tuple(model.titles()), total, unknown, known, ids)


def transform(model: TopicModel, documents: Corpus | Iterable[Any], progress: Progress | None = None) -> Proportions:
    """Infer the topic proportions of `documents`, a corpus or texts, under the topics of `model`. NOT PRIVATE.

    Texts are read as the documents of `model` were. Each has a row, also an item that is no text. Warns if a corpus was
    read otherwise than those documents. Raises `InputError` for texts if the model was learned from counts, and for
    what `Corpus.from_texts` refuses.
    """
    if isinstance(documents, Corpus):
        corpus = documents
        warn_of_other_words(model, corpus)
    else:
        corpus = _read_alike(model, documents)
    with following(progress) as shown:
        found = infer(model, corpus, shown)
    numbered = found.ids == [str(number) for number in range(1, len(found) + 1)]
    if isinstance(documents, Corpus) or not numbered:
        return found
    column: Any = documents if hasattr(documents, "iloc") else None  # of pandas
    return replace(found, rows=range(len(found)) if column is None else column.index)


def _with_text(item: Any) -> Any:
    """Return `item` with an empty text in place of what is no text, so that it has a row."""
    if not isinstance(item, Mapping):
        return item if isinstance(item, str) else ""
    no_texts = (name for name in TEXT_NAMES if name in item and not isinstance(item[name], str))
    return {**item, **dict.fromkeys(no_texts, "")}


def _read_alike(model: TopicModel, texts: Iterable[Any]) -> Corpus:
    """Return a corpus of `texts`, with the language, lemmas, tokenizer and phrases of the documents of `model`.

    Stop words need no list: the model does not know them.
    """
    reading = {name: value for name, value in model.facts.reading.items() if name != "stopwords"}
    if not reading:
        raise InputError(
            "this model was learned from counts and does not know how text becomes words. Give counts of its words, or "
            "a corpus that was read in the same way: dplda.read_corpus or Corpus.from_texts, with options."
        )
    if not isinstance(texts, str | bytes | Mapping) and isinstance(texts, Iterable):
        if hasattr(texts, "columns"):
            raise InputError("this is a table. Give a corpus: transform(dplda.read_corpus(table, text_field=...)).")
        each = map(_with_text, texts)  # a row for each item
        texts = list(each) if isinstance(texts, Sized) else each
    return Corpus.from_texts(texts, **reading)
