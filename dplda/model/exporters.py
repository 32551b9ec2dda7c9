"""Export of a released model to other tools. Exports contain released numbers only."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dplda.base.characters import replace_controls, visible
from dplda.base.errors import InputError
from dplda.model.topic_model import TopicModel, refuse_existing, write_atomically

_FORMULA_STARTS = ("=", "+", "-", "@")
_GENSIM_PARTS = ("", ".state", ".id2word", ".expElogbeta.npy", ".state.sstats.npy")


def export(model: TopicModel, target: str, destination: str | Path) -> list[Path]:
    """Write `model` for `target`, a key of `EXPORTERS`, to `destination`; returns the files written.

    ``csv`` writes a folder with ``topics.csv`` and ``prevalence.csv``; if `destination` ends in ``.csv``, it writes
    that file and one that ends in ``.prevalence.csv``. ``json`` and ``pyldavis`` write one file. ``gensim`` writes the
    file for ``gensim.models.LdaModel.load`` and gensim's companion files. JSON files contain the privacy statement; for
    other files it is in a file that ends in ``privacy.json``. Raises `InputError` for an unknown target, and for a
    destination that exists or cannot be written.
    """
    if target not in EXPORTERS:
        raise InputError(f"export kind must be one of {', '.join(EXPORTERS)}, got {target!r}.")
    path = Path(destination)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return EXPORTERS[target](model, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a CSV table whose text cells no spreadsheet reads as formulas (OWASP: CSV injection)."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_guard(cell) for cell in row])
    return buffer.getvalue()


def _guard(cell: Any) -> Any:
    """Replace control characters, and put an apostrophe before text that could start a formula.

    Some spreadsheets read full-width signs as plain ones, or skip invisible characters before a sign.
    """
    if not isinstance(cell, str):
        return cell
    text = replace_controls(cell)
    first = unicodedata.normalize("NFKC", next(visible(text), ""))
    return f"'{text}" if first.startswith(_FORMULA_STARTS) else text


def _csv(model: TopicModel, path: Path) -> list[Path]:
    if path.suffix.lower() == ".csv":
        files = [path, path.with_suffix(".prevalence.csv"), path.with_suffix(".privacy.json")]
    else:
        refuse_existing(path)
        path.mkdir()
        files = [path / "topics.csv", path / "prevalence.csv", path / "privacy.json"]
    refuse_existing(*files)

    verdicts = model.verdicts or [""] * len(model.topics)
    words, shares = [], []
    for topic, ranked in enumerate(model.top_words(len(model.vocabulary))):
        words += [(topic, word, float(f"{p:.10g}"), verdicts[topic]) for word, p in ranked]
        shares.append((topic, float(f"{model.prevalence[topic]:.10g}"), verdicts[topic]))
    texts = (
        csv_text(("topic", "word", "probability", "verdict"), words),
        csv_text(("topic", "prevalence", "verdict"), shares),
        statement_json(model),
    )
    for file, text in zip(files, texts, strict=True):
        write_atomically(file, text.encode())
    return files


def statement_json(model: TopicModel, besides: str = "") -> str:
    """Return the privacy statement as JSON text, with what is exported `besides` that the run did not release."""
    plain = model.privacy.to_json() | ({"besides": besides} if besides else {})
    return json.dumps(plain, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _write_json(path: Path, record: dict[str, Any]) -> list[Path]:
    refuse_existing(path)
    write_atomically(path, (json.dumps(record, sort_keys=True, allow_nan=False) + "\n").encode())
    return [path]


def _json(model: TopicModel, path: Path) -> list[Path]:
    record = {
        "parameters": model.facts.to_json(),
        "prevalence": model.prevalence.tolist(),
        "privacy": model.privacy.to_json(),
        "topics": model.topics.tolist(),
        "vocabulary": model.vocabulary,
    }
    return _write_json(path, record)


def _pyldavis(model: TopicModel, path: Path) -> list[Path]:
    """Write arguments for ``pyLDAvis.prepare``, with a single pseudo-document, because real lengths are private."""
    if path.suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"pyldavis writes JSON, from which pyLDAvis makes the page. Name it {path.with_suffix('.json')}."
        )
    record = {
        "about": (
            "Keyword arguments for pyLDAvis.prepare, from the released model. The corpus is one "
            "pseudo-document whose proportions are the topics' prevalence: lengths, word frequencies and "
            "proportions of real documents are private and not here. Frequencies are per million."
        ),
        "prepare": {
            "doc_lengths": [1_000_000],
            "doc_topic_dists": [model.prevalence.tolist()],
            "sort_topics": False,
            "term_frequency": (1e6 * (model.prevalence @ model.topics)).tolist(),
            "topic_term_dists": model.topics.tolist(),
            "vocab": model.vocabulary,
        },
        "privacy": model.privacy.to_json(),
        "pseudo_document": True,
    }
    return _write_json(path, record)


def _gensim(model: TopicModel, path: Path) -> list[Path]:
    """Write an untrained LdaModel whose state reproduces the topics."""
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    statement = Path(f"{path}.privacy.json")
    refuse_existing(statement, *(Path(f"{path}{part}") for part in _GENSIM_PARTS))
    n_topics, n_words = model.topics.shape
    words = Dictionary()
    words.token2id = {word: j for j, word in enumerate(model.vocabulary)}
    words.id2token = dict(enumerate(model.vocabulary))
    eta = 1e-9  # gensim adds its prior to the state; this one is too small to change the topics
    tool = LdaModel(num_topics=n_topics, id2word=words, alpha=model.alpha, eta=eta, dtype=np.float64, random_state=0)
    # Large pseudo-counts: gensim infers with exp E[log topics], which tends to the topics themselves.
    tool.state.sstats = 1e6 * n_words * np.array(model.topics)
    tool.sync_state()
    tool.save(str(path))
    write_atomically(statement, statement_json(model).encode())
    written = {statement.name, *(f"{path.name}{part}" for part in _GENSIM_PARTS)}
    return sorted(file for file in path.parent.iterdir() if file.name in written)


EXPORTERS: dict[str, Callable[[TopicModel, Path], list[Path]]] = {
    "gensim": _gensim,
    "csv": _csv,
    "json": _json,
    "pyldavis": _pyldavis,
}
