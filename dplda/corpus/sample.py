"""The sample corpus: generated, public, readable documents with known themes.

Draws use raw words of PCG64, whose stream NumPy promises never to change, so that a seed names one corpus
on every machine and version.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from dplda.config import Range
from dplda.corpus.sample_words import GENERAL, SENTENCES, THEMES
from dplda.errors import InputError

FloatArray = npt.NDArray[np.float64]
BACKGROUND = 0.2  # share of every theme that is general words
ALPHA = (0.15, 0.14, 0.13, 0.13, 0.12, 0.12, 0.11, 0.10)  # Dirichlet over themes: one or two lead a document
CONTENT = (22, 40)  # fewest and most content words of a document; stop words nearly double its length
LONGEST_SENTENCE = max(SENTENCES)
CORPUS_FILE, THEMES_FILE, README_FILE = "sample.jsonl.gz", "_themes.json", "README.txt"
_DOCUMENTS = Range(low=1, high=10_000_000, unit="documents", integer=True)
_USERS = Range(low=1, high=1_000_000, unit="users", integer=True)
_SEED = Range(low=0, high=2**63 - 1, unit="seed", integer=True)

README = """Sample corpus written by `dplda corpus sample`
==============================================

{corpus}   {n_documents} documents, one JSON object a line: id, user, text
{themes}       the planted themes: for each, the probability of every content word

The text is generated: nobody wrote it and it is about nobody. Each document mixes a few of {n_themes} themes
with words common to all. Words outside {themes} are English stop words. Seed {seed}.

Try: dplda fit {corpus} --text-field text --topics {n_themes}
"""


class Uniforms:
    """Uniform variates in [0, 1) from the raw stream of PCG64."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def draw(self, *shape: int) -> FloatArray:
        """An array of `shape`, 53 random bits each."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    def pick(self, probabilities: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """`n` indices, drawn from `probabilities` by inverting the distribution function."""
        cumulative = np.cumsum(probabilities)
        return np.searchsorted(cumulative / cumulative[-1], self.draw(n), side="right")


def planted_themes() -> tuple[list[str], FloatArray]:
    """The content words, sorted, and the themes' distributions over them: (8, n_words), rows sum to 1."""
    words = sorted(set(GENERAL).union(*THEMES.values()))
    place = {word: i for i, word in enumerate(words)}
    matrix = np.zeros((len(THEMES), len(words)))
    for row, own in zip(matrix, THEMES.values(), strict=True):
        for share, members, flatness in ((1 - BACKGROUND, own, 30.0), (BACKGROUND, GENERAL, 60.0)):
            weights = 1.0 / (np.arange(len(members)) + flatness)
            np.add.at(row, [place[word] for word in members], share * weights / weights.sum())
    return words, matrix


def write_sample(directory: str | Path, n_documents: int = 20_000, n_users: int = 4_000, seed: int = 0) -> Path:
    """Write the corpus, its planted themes and a note into `directory`; returns the path of the corpus file.

    The same numbers give the same bytes once decompressed. Raises `InputError` for a number out of range,
    a file that is already there, or a folder that cannot be written.
    """
    _DOCUMENTS.check("n_documents", n_documents)
    _USERS.check("n_users", n_users)
    _SEED.check("seed", seed)
    folder = Path(directory)
    facts = {"n_documents": n_documents, "n_themes": len(THEMES), "seed": seed}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / CORPUS_FILE).open("xb") as raw:
            _write_documents(raw, n_documents, n_users, seed)
        (folder / THEMES_FILE).write_text(themes_json(), encoding="utf-8")
        note = README.format(corpus=CORPUS_FILE, themes=THEMES_FILE, **facts)
        (folder / README_FILE).write_text(note, encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{folder / CORPUS_FILE} is already there. Remove it or name another folder.") from None
    except OSError as error:
        raise InputError(f"cannot write the sample into {folder}: {error.strerror}.") from None
    return folder / CORPUS_FILE


def themes_json() -> str:
    """The planted themes as JSON: {theme: {word: probability}}, commonest word first."""
    words, matrix = planted_themes()
    tables = {}
    for theme, row in zip(THEMES, matrix, strict=True):
        ranked = sorted((-probability, word) for word, probability in zip(words, row, strict=True) if probability)
        tables[theme] = {word: float(f"{-negative:.8f}") for negative, word in ranked}
    return json.dumps(tables, indent=1) + "\n"


def _write_documents(raw: BinaryIO, n_documents: int, n_users: int, seed: int) -> None:
    # No file name and no time in the gzip header: the bytes depend on the seed alone.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as packed:
        for record in sample_documents(n_documents, n_users, seed):
            packed.write((json.dumps(record) + "\n").encode())


def sample_documents(n_documents: int, n_users: int, seed: int) -> Iterator[dict[str, str]]:
    """The documents of the corpus in order: id, user and text.

    How many documents a user has falls off as one over rank: some write much, most write little.
    """
    uniforms = Uniforms(seed)
    words, matrix = planted_themes()
    users = uniforms.pick(1.0 / (np.arange(n_users) + 30.0), n_documents)
    low, high = CONTENT
    sizes = low + np.floor(uniforms.draw(n_documents) * (high - low + 1)).astype(np.int64)
    gammas = gammaincinv(np.array(ALPHA), uniforms.draw(n_documents, len(ALPHA)))
    for number, (user, size, gamma) in enumerate(zip(users, sizes, gammas, strict=True)):
        content = [words[i] for i in uniforms.pick(gamma @ matrix, int(size))]
        text = " ".join(_sentences(content, uniforms))
        yield {"id": f"doc{number:06d}", "user": f"user{user:05d}", "text": text}


def _sentences(content: list[str], uniforms: Uniforms) -> Iterator[str]:
    """Set the words of `content`, in order, in sentences."""
    at = 0
    while at < len(content):
        length, choice = uniforms.draw(2)
        n_slots = min(3 + int(length * (LONGEST_SENTENCE - 2)), len(content) - at)
        frames = SENTENCES[n_slots]
        yield frames[int(choice * len(frames))].format(*content[at : at + n_slots])
        at += n_slots
