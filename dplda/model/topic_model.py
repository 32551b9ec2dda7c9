"""A released model, which holds nothing private, and its folder.

A folder has `model.json` and `topics.npz`, without pickles and timestamps, written wholly or not at all. Its disk space
is reserved before any budget is spent, so that a full disk costs no budget.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplda.base.distributions import check_simplex, check_words, frozen
from dplda.base.errors import InputError, SharedDocumentsWarning, warn
from dplda.base.frames import frame_of
from dplda.base.lazy import load_name
from dplda.base.progress import Progress
from dplda.budget.events import PrivacyStatement
from dplda.model.prior_topics import CountSums, ReleasedCounts
from dplda.model.run_facts import RunFacts

TEXT_FILE, _ARRAY_FILE = "model.json", "topics.npz"
_TOPICS = ("topics", "prevalence")  # arrays of each model
_COUNTS = ("counts", "counts_variance", "counts_weight", "frequencies", "frequencies_std")  # of some
_RESERVED = ".reserved-space"
_FORMAT, _FORMAT_VERSION = "dplda-model", 1
_BLOCK = 1 << 20  # bytes
_PROBABILITY_WEIGHT = 0.6  # of a word's log probability in its relevance; the rest is that of its lift
_LEAST_PRIOR = 1e-9  # minimum of each topic's prior parameter, as a share of their sum


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicModel:
    """A released topic model. Raises `InputError` if its fields are inconsistent."""

    topics: NDArray[np.float64]
    """``(n_topics, n_words)``; each row is a distribution over `vocabulary`."""
    prevalence: NDArray[np.float64]
    """The share of each topic, ``(n_topics,)``; they sum to 1."""
    vocabulary: tuple[str, ...]
    privacy: PrivacyStatement
    """The guarantee."""
    facts: RunFacts
    """The public settings of the run, and what else it released."""
    counts: ReleasedCounts | None = None
    """The released counts that the topics were estimated from, if the run released any."""

    def __post_init__(self) -> None:
        topics = frozen(self.topics)
        prevalence = frozen(self.prevalence)
        words = tuple(self.vocabulary)
        check_words("vocabulary", words)
        if topics.ndim != 2 or topics.shape[1] != len(words) or not topics.size:
            raise InputError(f"topics must have one column per word, got {topics.shape} for {len(words)} words.")
        check_simplex("topics", topics)
        if prevalence.shape != (len(topics),):
            raise InputError(f"prevalence must have shape ({len(topics)},), got {prevalence.shape}.")
        check_simplex("prevalence", prevalence)
        self.facts.check_topics(len(topics))
        if self.counts is not None and self.counts.sums.total.T.shape != topics.shape:
            raise InputError("the released counts must have a row for each word and a column for each topic.")
        object.__setattr__(self, "topics", topics)
        object.__setattr__(self, "prevalence", prevalence)
        object.__setattr__(self, "vocabulary", words)

    def __repr__(self) -> str:
        """A one-line summary without the arrays."""
        promise = self.privacy.warning_label or f"epsilon={self.privacy.epsilon:g}"
        return f"TopicModel({len(self.topics)} topics, {len(self.vocabulary)} words, {promise})"

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The Dirichlet prior of topic proportions, ``(n_topics,)``, positive.

        A released prevalence of 0 becomes a negligible positive prior, because inference divides by it.
        """
        alpha: NDArray[np.float64] = np.array(self.facts.alpha, dtype=np.float64)
        alpha[alpha == 0] = _LEAST_PRIOR * alpha.sum()
        return alpha

    @property
    def verdicts(self) -> tuple[str, ...]:
        """How probable it is that each topic is real (`probabilities`): ``"clear"``, ``"weak"`` or ``"noise"``.

        From released numbers alone, see `dplda.learning.verdicts`. Empty if the run gave none. A topic that was merged
        by hand is ``"weak"``, or ``"noise"`` if all its topics were.
        """
        return self.facts.verdicts or ()

    @property
    def probabilities(self) -> tuple[float | None, ...]:
        """The probability that each topic is real; empty if not known, and None of a topic that was `given`.

        A topic is real if an ordinary fit of the same texts, without noise and with the 2,000 most frequent words, has
        a topic that collects the same documents. From released numbers alone, see `dplda.learning.verdicts`.
        """
        return self.facts.topic_probabilities or ()

    @property
    def word_probabilities(self) -> tuple[Mapping[str, float], ...]:
        """The first ten words of each topic, each with the probability that it would be among them without noise.

        This is the probability that the same fit without noise has the word among the ten most probable ones of this
        topic or, if the topic is not real, of the most similar topic. Empty if the probabilities are not known.
        """
        return self.facts.word_probabilities or ()

    @property
    def topic_names(self) -> dict[int, str]:
        """The names of topics, by their number: those of seed words, and those that `dplda label` gave."""
        return {topic: name for topic, name in enumerate(self.facts.topic_names or ()) if name}

    @property
    def given(self) -> frozenset[int]:
        """The guided topics of a run with a prior: seed words gave them, and the run did not choose them."""
        return frozenset(topic for topic, given in enumerate(self.facts.given or ()) if given)

    def how_sure(self, topic: int, written: str = " {:.0%}") -> str:
        """Return what follows the verdict of `topic`: its probability as it is `written`, or that it was given.

        Empty if neither is known.
        """
        chance = self.probabilities[topic] if self.probabilities else None
        return ", given" if topic in self.given else "" if chance is None else written.format(chance)

    @property
    def topic_sentences(self) -> dict[int, str]:
        """The sentences about topics that `dplda label` gave, by the number of the topic; empty if there are none."""
        return {topic: sentence for topic, sentence in enumerate(self.facts.topic_sentences or ()) if sentence}

    @property
    def topics_of_run(self) -> int:
        """The number of topics that the run learned; there are fewer here if some were merged by hand."""
        return len(self.topics) if self.facts.merged is None else sum(map(len, self.facts.merged))

    @property
    def listed_topics(self) -> list[int]:
        """The numbers of the topics to show: those with a verdict other than ``"noise"``, or all if there are none."""
        kept = [topic for topic, verdict in enumerate(self.verdicts) if verdict != "noise"]
        return kept or list(range(len(self.topics)))

    def top_words(self, n: int = 10) -> list[list[tuple[str, float]]]:
        """Return the `n` most probable words of each topic and their probabilities; ties are in alphabetical order."""
        return self._first_words(self.topics, n)

    def relevant_words(self, n: int = 10, weight: float = _PROBABILITY_WEIGHT) -> list[list[tuple[str, float]]]:
        """Return the `n` most relevant words of each topic with their probabilities, as reports list them.

        Relevance (Sievert and Shirley 2014) is w log p + (1 - w) log(p / q) for the `weight` w in [0, 1]. Here p is a
        word's probability in the topic, and q its probability in the text as a whole. Words with p < q, or p = 0, are
        left out. Raises `InputError` for another weight.
        """
        if not 0 <= weight <= 1:
            raise InputError(f"weight must be a number in [0, 1], got {weight!r}.")
        overall = self.prevalence @ self.topics
        listed = (self.topics > 0) & (self.topics >= overall * (1 - 1e-9))  # whatever the rounding of `overall`
        with np.errstate(divide="ignore", invalid="ignore"):
            relevance = np.log(self.topics) - (1 - weight) * np.log(overall)
        return self._first_words(np.where(listed, relevance, -np.inf), n)

    def _first_words(self, scores: NDArray[np.float64], n: int) -> list[list[tuple[str, float]]]:
        if not isinstance(n, int | np.integer):
            raise InputError(f"the number of words must be a whole number, got {n!r}.")
        alphabetical = np.argsort(np.argsort(np.array(self.vocabulary, dtype=object)))
        chosen = [np.lexsort((alphabetical, -row))[: max(n, 0)] for row in scores]
        rows = zip(self.topics, scores, chosen, strict=True)
        return [
            [(self.vocabulary[w], float(row[w])) for w in order if score[w] > -np.inf] for row, score, order in rows
        ]

    def titles(self, n: int = 3) -> list[str]:
        """Return what stands for each topic where there is little room: its name, or its `n` most relevant words."""
        words = [", ".join(word for word, _ in ranked) for ranked in self.relevant_words(n)]
        return [self.topic_names.get(topic) or listed for topic, listed in enumerate(words)]

    def to_frame(self, n_words: int = 10) -> Any:
        """Return a pandas data frame with a row for each topic, those called noise among them.

        Its index is the number of the topic. Its columns are ``name`` (as in `titles`), ``words`` (the `n_words` most
        relevant ones), ``share`` (of the words; tables have that of the average unit) and, where they are known,
        ``verdict``, ``real`` (as in `probabilities`) and ``sentence``. Of a model that is not private, the columns'
        name says so. Raises `InputError` without pandas.
        """
        import pyarrow as pa  # it makes frames, so that pandas is needed by those who ask for one

        numbers = range(len(self.topics))
        columns: dict[str, Any] = {
            "topic": list(numbers),
            "name": self.titles(),
            "words": [", ".join(word for word, _ in words) for words in self.relevant_words(n_words)],
            "share": self.prevalence.tolist(),
        }
        if self.verdicts:
            columns["verdict"] = list(self.verdicts)
        if self.probabilities:
            columns["real"] = list(self.probabilities)
        if sentences := self.topic_sentences:
            columns["sentence"] = [sentences.get(topic, "") for topic in numbers]
        return frame_of(pa.table(columns), self.privacy.warning_label, "top_words gives lists.").set_index("topic")

    def plot(self, what: str = "words", tables: Any = None) -> Any:
        """Draw one of the report's pictures of the listed topics, as a matplotlib figure that notebooks show.

        `what` is ``"words"`` (the words of each topic), ``"shares"`` (what share of the words each topic is),
        ``"attack"`` (what the best attack can find), ``"budget"`` (what each stage of the run spent) or ``"signal"``
        (noise against signal). With `tables`, the result of `tabulate`, shares are those of the average unit that was
        tabulated, which are other numbers, and have intervals; tables have a `plot` of their own.
        ``model.plot().savefig("words.pdf")`` writes a file. Raises `InputError` for another name, and for a picture
        whose numbers the run did not release.
        """
        # The report imports models, and not the other way round: it is imported when it is called.
        return load_name("dplda.report.figures", "draw_model")(self, what, tables)

    def _repr_html_(self) -> str:
        """Show the promise and a card for each topic, in a notebook."""
        page: str = load_name("dplda.report.notebook", "html")(self)
        return page

    def transform(self, documents: Any, *, progress: Progress | None = None) -> Any:
        """Infer the topic proportions of single documents. The result is exact: NOT PRIVATE, for the documents' owner.

        `documents` is one of

        - a `Corpus`, or texts (an iterable of strings or of records, as in `Corpus.from_texts`), which are read as the
          documents of this model were. The result is `dplda.runs.proportions.Proportions`, which says that it is not
          private. Words that the model does not know are left out.
        - counts, ``(n_documents, n_words)``, dense or scipy sparse, in the order of `vocabulary`. The result is an
          array, ``(n_documents, n_topics)``.

        Proportions are the posterior mean under fixed topics by variational inference (Blei, Ng and Jordan 2003,
        section 5.2). A document without a word of the model gets the prior mean. Their means differ from the shares of
        `tabulate`, which have no such prior, by up to five points (docs/groups-and-time.md). Raises `InputError` for a
        wrong shape, for negative or non-finite counts, and for what `Corpus.from_texts` refuses.
        """
        if not _are_counts(documents):
            return load_name("dplda.runs.proportions", "transform")(self, documents, progress)
        from scipy import sparse  # imported here, as numba is, so that the command line starts fast

        from dplda.model.inference import posterior_mean

        matrix = documents if sparse.issparse(documents) else _numbers(documents)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.vocabulary):
            raise InputError(
                f"counts must have shape (n_documents, {len(self.vocabulary)}), got {matrix.shape}. "
                "Give one column per word of the model's vocabulary, in its order."
            )
        return posterior_mean(self.topics, self.alpha, sparse.csr_matrix(matrix, dtype=np.float64))

    def tabulate(self, corpus: Any, by: str | Sequence[str] = (), **options: Any) -> Any:
        """Tabulate topics of `corpus` by group and period, charged to its budget: see `dplda.tabulate`."""
        # It reads documents and charges a ledger, and models import neither: it is imported when it is called.
        return load_name("dplda.runs.tabulation", "tabulate")(self, corpus, by, **options)

    def evaluate(self, corpus: Any, **options: Any) -> Any:
        """Measure coherence, perplexity and gain in `corpus`, charged to its budget: see `dplda.evaluate`."""
        return load_name("dplda.runs.evaluation", "evaluate")(self, corpus, **options)

    def examples(self, corpus: Any, each: int = 3, **options: Any) -> Any:
        """Choose texts of a public `corpus` that show what topics are about: see `dplda.runs.examples.examples`.

        Warns (`SharedDocumentsWarning`) if the ledger knows some of the texts from corpora with a bounded budget.
        """
        found = load_name("dplda.runs.examples", "examples")(self, corpus, each, **options)
        for note in found.notes:
            warn(f"Examples (exact, not for publication): {note}", SharedDocumentsWarning)
        return found

    def save(self, directory: str | Path) -> None:
        """Write the model into a new or empty folder. Raises `InputError` on failure."""
        save(self, directory)


def _are_counts(documents: Any) -> bool:
    """Whether `documents` is a matrix of numbers, rather than a corpus or texts."""
    n_axes = getattr(documents, "ndim", None)
    if n_axes is not None:  # an array, a sparse matrix, or a table or column of pandas
        return n_axes != 1 or getattr(getattr(documents, "dtype", None), "kind", "") in "biufc"
    rows = isinstance(documents, list | tuple) and len(documents) > 0
    return rows and not any(item is None or isinstance(item, str | Mapping) for item in documents)


def _numbers(counts: Any) -> NDArray[np.float64]:
    """Return `counts` as an array. Raises `InputError`, which quotes nothing, for what holds no numbers."""
    try:
        return np.asarray(counts, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "counts must be numbers, with a row for each document. Give the texts of a table as a corpus: "
            "transform(dplda.read_corpus(table, text_field=...))."
        ) from None


def save(model: TopicModel, directory: str | Path) -> None:
    """Write `model` into `directory`, which is new or contains only reserved space (`reserve_space`).

    Raises `InputError` if it cannot be written.
    """
    if not isinstance(directory, str | os.PathLike):
        raise InputError(f"directory must be the path of a new or empty folder, got {directory!r}.")
    folder = Path(directory)
    _prepare_folder(folder)
    saved = {"topics": model.topics, "prevalence": model.prevalence}
    if model.counts is not None:
        counts, sums = model.counts, model.counts.sums
        released = sums.total, sums.variance, np.array(sums.weight), counts.frequencies, counts.frequency_std
        saved |= dict(zip(_COUNTS, released, strict=True))
    arrays = io.BytesIO()
    np.savez(arrays, allow_pickle=False, **saved)
    record = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "arrays_sha256": hashlib.sha256(arrays.getvalue()).hexdigest(),
        "vocabulary": model.vocabulary,
        "privacy": model.privacy.to_json(),
        "parameters": model.facts.to_json(),
    }
    try:
        (folder / _RESERVED).unlink(missing_ok=True)
        write_atomically(folder / _ARRAY_FILE, arrays.getvalue())
        write_atomically(folder / TEXT_FILE, _to_json(record))  # last: a folder that has it is complete
    except OSError as error:
        raise InputError(
            f"cannot write the model into {folder}: {error.strerror or error}. Free some space or check "
            "the folder's permissions, then save again. (After a fit: what the run charged stays spent.)"
        ) from None


def save_facts(model: TopicModel, directory: str | Path) -> None:
    """Replace the facts of the model saved in `directory` by the facts of `model`, which has the same arrays.

    Raises `InputError` if they cannot be written.
    """
    path = Path(directory) / TEXT_FILE
    try:
        record = _parse(Path(directory), path.read_bytes()) | {"parameters": model.facts.to_json()}
        write_atomically(path, _to_json(record))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None


def _to_json(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def load(directory: str | Path) -> TopicModel:
    """Read a model written by `save`. Every field is checked and no code in the files is run.

    Raises `InputError` if the folder is missing, incomplete, altered or not a model.
    """
    folder = Path(directory)
    if not os.path.isfile(folder / TEXT_FILE):
        raise InputError(f"{folder} is not a model folder (no {TEXT_FILE}). List runs with `dplda runs` (Ledger.runs).")
    try:
        raw = (folder / TEXT_FILE).read_bytes()
        arrays = (folder / _ARRAY_FILE).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the model in {folder}: {error.strerror or error}.") from None
    record = _parse(folder, raw)
    if hashlib.sha256(arrays).hexdigest() != record.get("arrays_sha256"):
        _corrupt(folder, f"{_ARRAY_FILE} does not match {TEXT_FILE}")
    saved = _read_arrays(folder, arrays)
    try:
        counts = None
        if _COUNTS[0] in saved:
            total, variance, weight, frequencies, frequency_std = (saved[name] for name in _COUNTS)
            counts = ReleasedCounts(CountSums(total, variance, weight.item()), frequencies, frequency_std)
        return TopicModel(
            topics=saved["topics"],
            prevalence=saved["prevalence"],
            counts=counts,
            vocabulary=tuple(_expect(record["vocabulary"], list)),
            privacy=_read_statement(_expect(record["privacy"], dict)),
            facts=RunFacts.from_json(_expect(record["parameters"], dict)),
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        _corrupt(folder, error if isinstance(error, InputError) else "fields are missing or of the wrong type")


def reserve_space(directory: str | Path, n_bytes: int) -> None:
    """Create the model folder and allocate `n_bytes` of disk in it; `save` releases them.

    Raises `InputError` if the folder holds other files or cannot be created, or if the disk is full; a folder created
    here is then removed.
    """
    folder = Path(directory)
    is_new = not os.path.exists(folder)
    _prepare_folder(folder)
    try:
        _allocate(folder / _RESERVED, n_bytes)
    except OSError as error:
        if is_new:
            release_space(folder)
        else:
            (folder / _RESERVED).unlink(missing_ok=True)
        megabytes = -(-n_bytes // 10**6)
        raise InputError(
            f"cannot set aside {megabytes} MB for the model in {folder}: {error.strerror or error}. "
            "Nothing was spent. Free some space or choose another folder (--out; in Python, out=)."
        ) from None


def release_space(directory: str | Path) -> None:
    """Release reserved space after a run without a model, and remove an empty folder. Never raises."""
    folder = Path(directory)
    with contextlib.suppress(OSError):
        (folder / _RESERVED).unlink(missing_ok=True)
        folder.rmdir()


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write `content` to a temporary file, sync it and rename it to `path`. Raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def refuse_existing(*paths: Path) -> None:
    """Raise `InputError` if one of `paths` exists."""
    for path in paths:
        if os.path.exists(path):
            raise InputError(f"{path} exists already. Choose another destination or remove it first.")


def _prepare_folder(folder: Path) -> None:
    """Create `folder`, or raise `InputError` if it exists and contains anything but reserved space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = any(entry.name != _RESERVED for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot create the model folder {folder}: {error.strerror or error}.") from None
    if foreign:
        raise InputError(
            f"{folder} is not empty. Choose a new folder (--out; in Python, out= of fit, or the path of save), or "
            "remove it first."
        )


def _allocate(path: Path, n_bytes: int) -> None:
    """Create the file `path` with `n_bytes` allocated on disk."""
    with path.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(n_bytes, 1))
        except AttributeError:  # missing on some platforms: write zeros instead
            for start in range(0, n_bytes, _BLOCK):
                file.write(bytes(min(_BLOCK, n_bytes - start)))
        file.flush()
        os.fsync(file.fileno())


def _parse(folder: Path, raw: bytes) -> dict[str, Any]:
    """Parse `model.json` and check its format and version."""
    try:
        record: dict[str, Any] = _expect(json.loads(raw, parse_constant=_no_constant), dict)
        json.dumps(record, ensure_ascii=False).encode()  # refuses lone surrogates, which no file can hold
    except (ValueError, TypeError, RecursionError):
        _corrupt(folder, f"{TEXT_FILE} is not the JSON of a model")
    if record.get("format") != _FORMAT:
        _corrupt(folder, f"{TEXT_FILE} was not written by dplda")
    if record.get("format_version") != _FORMAT_VERSION:
        raise InputError(
            f"the model in {folder} is not of format version {_FORMAT_VERSION}, which this dplda reads. "
            "Use the dplda that wrote it."
        )
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _read_arrays(folder: Path, content: bytes) -> dict[str, NDArray[Any]]:
    """Read topics, prevalence and, if there are any, counts from the `content` of the file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > len(content):
                raise ValueError("compressed, which `save` never does")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            names = _TOPICS + (_COUNTS if _COUNTS[0] in file else ())
            found = {name: file[name] for name in names}
    except (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile):
        _corrupt(folder, f"{_ARRAY_FILE} does not hold the arrays of a model")
    if any(array.dtype != np.float64 for array in found.values()):
        _corrupt(folder, f"{_ARRAY_FILE} must hold 64-bit floating point arrays")
    return found


def _read_statement(record: dict[str, Any]) -> PrivacyStatement:
    """Read a privacy statement. Raises `KeyError`, `TypeError` or `ValueError` if it is none."""
    for text in (record["unit"], record["adjacency"], record.get("reason", "")):
        _expect(text, str)
    _expect(record["sound"], bool)
    statement = PrivacyStatement.from_json(record)
    for number in (statement.epsilon, statement.delta):
        _expect(number, (int, float))
    if statement.epsilon < 0 or not 0 <= statement.delta < 1:
        raise ValueError("epsilon or delta out of range")
    return statement


def _expect(value: Any, expected: type | tuple[type, ...]) -> Any:
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise TypeError("wrong type")
    return value


def _corrupt(folder: Path, why: object) -> NoReturn:
    raise InputError(
        f"the model in {folder} cannot be used: {str(why).rstrip('.')}. Fetch a fresh copy of the folder."
    ) from None
