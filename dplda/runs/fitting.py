"""`dplda.fit`: reserves the budget, reads the documents, learns topics and saves the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from dplda.base.errors import InputError, NoisyTopicsWarning
from dplda.base.progress import Progress
from dplda.budget import Ledger, new_name
from dplda.learning.settings import DEFAULTS
from dplda.learning.verdicts import NOISE
from dplda.model.prior_topics import PriorTopics
from dplda.model.topic_model import TopicModel, release_space, reserve_space
from dplda.runs.corpus import Corpus
from dplda.runs.recording import ChargedRun, charged_run, statement
from dplda.runs.request import Request, find_words, requested
from dplda.runs.series import numbered


def fit(
    corpus: Corpus,
    dataset: str | None = None,
    n_topics: int | Literal["auto"] = DEFAULTS.model.topics,
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    placement: str = DEFAULTS.model.placement,
    calibration: str = DEFAULTS.model.calibration,
    vocabulary: Sequence[str] | None = None,
    ledger: Ledger | Literal[False] | None = None,
    engine: str = DEFAULTS.execution.engine,
    scheduler: str | None = None,
    device: str = DEFAULTS.execution.device,
    simulate_seed: int | None = None,
    *,
    adjacency: str = DEFAULTS.privacy.adjacency,
    max_vocabulary: int = DEFAULTS.vocabulary.max_vocabulary,
    max_document_frequency: float | None = DEFAULTS.vocabulary.max_document_frequency,
    alpha0: float = DEFAULTS.model.alpha0,
    split: Mapping[str, float] | None = None,
    prior: PriorTopics | None = None,
    seed_words: Mapping[str, Sequence[str]] | None = None,
    series: str | None = None,
    batch: str | None = None,
    out: str | Path | None = None,
    models: str | Path | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> TopicModel:
    """Learn `n_topics` topics of `corpus` under (epsilon, delta) differential privacy per unit.

    - `dataset`: the name whose budget is charged in the ledger (None: the name of the corpus).
    - `n_topics`: a number, or ``auto``: as many as released eigenvalues support.
    - `epsilon` (nats) and `delta`: the guarantee of the whole run.
    - `placement`: where noise is added, one of `PLACEMENTS` (docs/placements.md); ``none`` adds none
      and is not private.
    - `calibration`: ``sound``, or ``published``, the noise as DeCarolis et al. 2020 print it, which is not proven
      private.
    - `vocabulary`: a public word list (None: the list of `corpus`; if it has none, words are chosen privately).
    - `ledger`: the ledger that is charged (None: the default one); False records nothing and is for simulations.
    - `engine`: ``local``, or ``dask``, which runs passes over the documents on the cluster at the address `scheduler`,
      whose workers must be able to read the corpus' folder.
    - `device`: ``cpu``, ``cuda``, which sums contributions on this machine's GPU, or ``auto``, which is ``cuda`` if
      there is a GPU; noise is always drawn on the CPU.
    - `simulate_seed`: makes the noise reproducible and the run not private.
    - `adjacency`: neighbouring corpora differ by one unit that is added or removed (``add-remove``) or replaced by
      another (``replace``).
    - `max_vocabulary`, `max_document_frequency`: the maximum number of words that are chosen privately, and the largest
      share of the documents that may contain such a word (None: 0.1, raised if too few words would be left).
    - `alpha0`: the sum of the parameters of the Dirichlet prior of documents.
    - `split`: maps each edge (a place where the placement adds noise, such as ``e8``; docs/placements.md) to its share
      of the budget (None: the default of the placement).
    - `prior`: public or released topics, from which the run starts if they explain the documents.
    - `seed_words`: maps names of topics to public words that guide them.
    - `series`, `batch`: a dataset that comes in batches, and the batch that `corpus` is (None: the name of `corpus`);
      the run starts from the topics of the previous batch, or from those of `prior` (docs/every-week.md).
    - `out`, `models`: the model is saved in the folder `out`, or in ``<models>/<run>``. Without either, the model of a
      batch is saved in a folder ``models`` beside the ledger, and any other model is not saved.
    - `seconds`: receives the time of each stage; times are private and must stay on this machine.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends anything,
    with one exception: an `InputError` because the model cannot be written. Raises `UnsupportedByData` if the released
    numbers cannot support the request.
    """
    if not isinstance(corpus, Corpus):
        raise InputError(
            f"corpus must be a Corpus, got {type(corpus).__name__}. Make one: read_corpus(path), "
            "Corpus.from_texts(texts), Corpus.from_table(table) or Corpus.from_counts(counts, words)."
        )
    ledger = Ledger() if ledger is None else ledger
    request = requested(
        corpus,
        ledger,
        dataset=dataset,
        series=series,
        batch=batch,
        prior=prior,
        topics=n_topics,
        words=vocabulary,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        simulate_seed=simulate_seed,
        max_vocabulary=max_vocabulary,
        max_document_frequency=max_document_frequency,
        alpha0=alpha0,
        placement=placement,
        calibration=calibration,
        split=split,
        engine=engine,
        scheduler=scheduler,
        device=device,
        seed_words=None if seed_words is None else {name: tuple(words) for name, words in seed_words.items()},
    )
    run = new_name(request.dataset)
    if models is None and request.settings.series is not None and ledger is not False:
        models = ledger.path.parent / "models"  # the next batch continues from it
    folder = Path(out) if out is not None else Path(models) / run if models else None
    if folder is not None:
        reserve_space(folder, request.model_bytes)
    with (
        _released_on_failure(folder),
        charged_run(
            request,
            ledger,
            run,
            request.statistics,
            exact=bool(request.placement.reason),
            progress=progress,
            seconds=seconds,
        ) as charged,
    ):
        model = _learn(request, charged)
        if folder is not None:
            charged.watch.start("save")
            model.save(folder)
        charged.finish(model=str(folder.resolve()) if folder else None)
    return model


def _learn(request: Request, run: ChargedRun) -> TopicModel:
    settings = request.settings
    found = find_words(run.gate, request.public_facts)
    learn = request.placement.learner(settings, found.from_prior)
    rng = np.random.default_rng(settings.privacy.simulate_seed)
    learned = learn(run.gate, found.documents, found.words, settings, rng)
    run.watch.start("model")
    words = learned.words or found.words.words
    if request.earlier is not None and not settings.continues_series:
        learned = numbered(learned, words, request.earlier)
    model = TopicModel(
        topics=learned.topics,
        prevalence=learned.prevalence,
        vocabulary=list(words),
        privacy=statement(request),
        facts=replace(
            request.facts,
            run=run.id,
            software=dict(run.software),
            documents=round(learned.documents),
            alpha=tuple(float(a) for a in settings.model.alpha0 * learned.prevalence),
            **found.facts,
            **learned.facts,
        ),
        counts=learned.counts,
    )
    _warn_of_noise(model)
    return model


def _warn_of_noise(model: TopicModel) -> None:
    noise = [topic for topic, verdict in enumerate(model.verdicts) if verdict == NOISE]
    if noise:
        warnings.warn(
            f"{len(noise)} of {len(model.topics)} topics cannot be distinguished from noise (model.verdicts). Use more "
            "documents, a larger epsilon, fewer topics, or a public vocabulary.",
            NoisyTopicsWarning,
            stacklevel=4,
        )


@contextmanager
def _released_on_failure(folder: Path | None) -> Iterator[None]:
    """Release the disk space reserved for the model if the block fails."""
    try:
        yield
    except BaseException:
        if folder is not None:
            release_space(folder)
        raise
