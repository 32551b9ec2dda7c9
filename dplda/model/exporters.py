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
    writer.writerows([[_guarded(cell) for cell in row] for row in rows])
    return buffer.getvalue()


def _guarded(cell: Any) -> Any:
    """Replace control characters, and put an apostrophe before text that could start a formula.

    Some spreadsheets read full-width signs as plain ones, or skip invisible characters before a sign.
    """
    if not isinstance(cell, str):
        return cell
    text = replace_controls(cell)
    return f"'{text}" if unicodedata.normalize("NFKC", next(visible(text), "")).startswith(_FORMULA_STARTS) else text


def _topics_csv(model: TopicModel) -> str:
    """Return all topics as CSV text, columns ``topic, word, probability, verdict``, most probable words first."""
    ranked = zip(_verdicts(model), model.top_words(len(model.vocabulary)), strict=True)
    rows = (
        (topic, word, float(f"{p:.10g}"), verdict) for topic, (verdict, pairs) in enumerate(ranked) for word, p in pairs
    )
    return csv_text(("topic", "word", "probability", "verdict"), rows)


def _verdicts(model: TopicModel) -> Sequence[str]:
    """Return the verdict on each topic; empty for a model without verdicts."""
    return model.verdicts or [""] * len(model.topics)


def _csv(model: TopicModel, path: Path) -> list[Path]:
    single = path.suffix.lower() == ".csv"
    files = [path, path.with_suffix(".prevalence.csv"), path.with_suffix(".privacy.json")]
    if not single:
        refuse_existing(path)
        path.mkdir()
        files = [path / "topics.csv", path / "prevalence.csv", path / "privacy.json"]
    refuse_existing(*files)
    shares = enumerate(zip(model.prevalence, _verdicts(model), strict=True))
    rows = ((topic, float(f"{p:.10g}"), verdict) for topic, (p, verdict) in shares)
    prevalence = csv_text(("topic", "prevalence", "verdict"), rows)
    for file, text in zip(files, (_topics_csv(model), prevalence, statement_json(model)), strict=True):
        write_atomically(file, text.encode())
    return files


def statement_json(model: TopicModel) -> str:
    """Return the privacy statement as JSON text."""
    return json.dumps(model.privacy.to_json(), indent=2, sort_keys=True, allow_nan=False) + "\n"


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
