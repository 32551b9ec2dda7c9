"""Word vectors that the user supplies: the words nearest to names of topics, as seed words.

A file of vectors is text in the format of word2vec (a first line with the numbers of words and dimensions) or of GloVe
(without it): a line for each word, with the word and its numbers. It may be compressed or in an archive. It is read
line by line, and only the vectors of the names and the best candidates are kept, so that its size does not matter.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import numpy as np

from dplda.base.errors import InputError
from dplda.text.files import every_line
from dplda.text.records import Defect

N_WORDS = 10  # of a topic
# The least cosine of a seed word and the name. Unrelated directions in d dimensions have cosines of standard deviation
# 1/sqrt(d): 0.4 is 7 of them for 300 dimensions and 4 for 100. Words that belong together have 0.5 to 0.8 there.
LEAST_COSINE = 0.4
_CANDIDATES = 100  # words kept for each name: many are other spellings and forms, which documents are not read as
_MAYBE_MEANT = 100_000  # first words of a file, the most frequent as a rule, that may be meant by an unknown one


def nearest_words(
    names: Sequence[str],
    vectors: str | Path,
    *,
    among: Collection[str] | None = None,
    without: Collection[str] = (),
    spellings: Callable[[Sequence[str]], Mapping[str, str]] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Find seed words for topics by their `names`: the words of the public file `vectors` that are nearest to each.

    A name of several words stands for the mean of their directions. A topic gets at most ten words, in lower case and
    the nearest first, each with a cosine of at least 0.4. A word goes to the one name that it is nearest to. The file
    is word2vec or GloVe text, and may be compressed.

    - `among`: the only words that may be found. None: all.
    - `without`: words that must not be found, such as seed words of other topics.
    - `spellings`: maps those of the given words that documents can contain to their spelling there. None: all can
      occur, as they are.

    Raises `InputError` for a line that is not a word and its numbers, for a name that the file lacks, and for a name
    without any word near it.
    """
    path = Path(vectors).expanduser()
    candidates = _candidates(path, _directions(path, names), among)
    entries = list(dict.fromkeys(word for _, _, word, _ in candidates))
    known = dict(zip(entries, entries, strict=True)) if spellings is None else spellings(entries)
    found: dict[str, list[str]] = {name: [] for name in names}
    seen = set(without)
    for _, _, entry, topic in candidates:
        word = known.get(entry)
        if word is None or word in seen:
            continue
        seen.add(word)
        if len(found[names[topic]]) < N_WORDS:
            found[names[topic]].append(word)
    for name, words in found.items():
        if not words:
            raise InputError(
                f"{path} has no word near topic {name!r} that the run can use. Give words for it, or leave it out."
            )
    return {name: tuple(words) for name, words in found.items()}


def _directions(path: Path, names: Sequence[str]) -> np.ndarray:
    """Return the unit vectors of `names`, (n_names, n_dimensions). Raises `InputError` for words without a vector."""
    parts = [name.lower().split() for name in names]
    if not all(parts):
        raise InputError("a topic that is to be guided needs a name.")
    wanted, found = {word for words in parts for word in words}, dict[str, np.ndarray]()
    for number, entry, fields in _lines(path):
        word = entry.lower()
        if word in wanted and word not in found and (unit := _unit(path, number, fields)) is not None:
            found[word] = unit
            if len(found) == len(wanted):
                break
    for name, words in zip(names, parts, strict=True):
        if missing := [word for word in words if word not in found]:
            raise InputError(_unknown(path, name, missing[0]))
    means = np.array([np.mean([found[word] for word in words], axis=0) for words in parts])
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.finfo(float).tiny))


def _unknown(path: Path, name: str, word: str) -> str:
    """Return the message for a `word` of a `name` that the file lacks."""
    known = list({entry.lower() for _, entry, _ in islice(_lines(path), _MAYBE_MEANT)})
    meant = get_close_matches(word, known, n=1)
    hint = f"Did you mean {meant[0]!r}? If not, give" if meant else "Give"
    return f"{path} has no vector for {word!r} of topic {name!r}. {hint} the topic another name, or words."


def _candidates(path: Path, directions: np.ndarray, among: Collection[str] | None) -> list[tuple[float, int, str, int]]:
    """List (cosine, order in the file, word, topic) of words near `directions`, the largest cosine first.

    A word belongs to the topic with which its cosine is largest, and a topic keeps its `_CANDIDATES` best words.
    """
    allowed = None if among is None else {word.lower(): word for word in among}
    best: list[list[tuple[float, int, str, int]]] = [[] for _ in directions]
    for number, entry, fields in _lines(path):
        word = entry.lower() if allowed is None else allowed.get(entry.lower())
        if word is None or (unit := _unit(path, number, fields)) is None:
            continue
        cosines = directions @ unit
        topic = int(cosines.argmax())
        if cosines[topic] < LEAST_COSINE:
            continue
        keep = heapq.heappush if len(best[topic]) < _CANDIDATES else heapq.heappushpop
        keep(best[topic], (float(cosines[topic]), -number, word, topic))
    return sorted((each for kept in best for each in kept), reverse=True)


def _unit(path: Path, number: int, fields: Sequence[bytes]) -> np.ndarray | None:
    """Return the vector in the `fields` of line `number`, scaled to length 1; None if all its numbers are 0."""
    try:
        vector = np.array(list(map(float, fields)))
    except ValueError:
        raise _bad_line(path, number, len(fields)) from None
    largest = float(np.abs(vector).max())
    if not np.isfinite(largest):
        raise _bad_line(path, number, len(fields))
    if largest == 0:
        return None
    vector /= largest  # so that no square overflows
    return np.asarray(vector / np.linalg.norm(vector))


def _lines(path: Path) -> Iterator[tuple[int, str, list[bytes]]]:
    """Yield the number of each line that has a vector, its word, and the numbers of its vector, not yet read.

    Words are split from numbers at the right, because some files have words with spaces. Raises `InputError` for other
    lines, and if there are fewer than a first line says.
    """
    n_words, n_dimensions, seen = 0, 0, 0
    for number, line in enumerate(every_line(path), start=1):
        if isinstance(line, Defect):
            raise _bad_line(path, number, n_dimensions)
        if not line.strip():
            continue
        if not n_dimensions:
            first = line.split()
            if len(first) == 2 and all(field.isdigit() and len(field) < 12 for field in first):
                n_words, n_dimensions = map(int, first)
                continue
            n_dimensions = len(first) - 1
        word, *fields = line.rsplit(None, n_dimensions)
        if not fields or len(fields) != n_dimensions:
            raise _bad_line(path, number, n_dimensions)
        seen += 1
        yield number, word.decode("utf-8", "replace").strip(), fields
    if not seen or seen < n_words:
        expected = f"{n_words:,} words, as its first line says" if n_words else "words with vectors"
        raise InputError(f"{path} has {seen:,} lines of vectors, not {expected}. Download it again.")


def _bad_line(path: Path, number: int, n_dimensions: int) -> InputError:
    numbers = f"{n_dimensions} numbers" if n_dimensions > 0 else "numbers"
    return InputError(
        f"{path}, line {number}: this is not a word and {numbers}. Vectors are read as text of word2vec or GloVe."
    )
