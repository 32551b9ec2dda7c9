"""`dplda.fit`: reserves the budget, reads the documents, learns topics and saves the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from dplda.config import DEFAULTS
from dplda.corpus import Corpus
from dplda.errors import InputError, NoisyTopicsWarning
from dplda.lda.verdicts import NOISE
from dplda.ledger import Ledger, new_name
from dplda.model.model_files import release_space, reserve_space
from dplda.model.topic_model import TopicModel
from dplda.prior_topics import PriorTopics
from dplda.progress import Progress
from dplda.recording import ChargedRun, charged_run, statement
from dplda.request import Request, requested
from dplda.run_words import find_words
from dplda.series import numbered


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

    `epsilon` is in nats, for the whole run; `vocabulary` is a public word list (None: that of `corpus`, else words are
    chosen privately);
    `prior` holds topics that are public or released, from which the run starts if they explain the documents;
    `seed_words` maps names of topics to public words that guide them;
    `series` names a dataset that comes in batches, of which `corpus` is the `batch` (None: its name): the run goes on
    from the batch before, or from `prior`, with its topics (docs/every-week.md);
    `split` maps each edge (a place where the placement adds noise, such as ``e8``; docs/placements.md) to its share of
    the budget; `simulate_seed` makes the noise reproducible and the run not private. The model is
    saved in `out`, or in ``models/<run>`` if `models` is set; that of a batch by default in a folder ``models`` beside
    the ledger. `seconds` receives the time of each stage; times are private and must stay on this machine.
    `ledger=False` records nothing and is for simulations. The engine ``dask`` runs passes over the documents on the
    cluster at the address `scheduler`, whose workers must be able to read the corpus' folder. The device ``cuda`` sums
    contributions on this machine's GPU, and ``auto`` does so if there is one; noise is always drawn on the CPU.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends
    anything, except an `InputError` because the model cannot be written. Raises `UnsupportedByData` if the released
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
        models = ledger.path.parent / "models"  # the next batch goes on from it
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
    if request.earlier is not None and not settings.goes_on:
        learned = numbered(learned, words, request.earlier)
    model = TopicModel(
        topics=learned.topics,
        prevalence=learned.prevalence,
        vocabulary=list(words),
        privacy=statement(request),
        parameters=request.parameters()
        | {
            "run": run.id,
            "software": dict(run.software),
            "documents": round(learned.documents),
            "alpha": [float(a) for a in settings.model.alpha0 * learned.prevalence],
            **found.facts,
            **learned.facts,
        },
        counts=learned.counts,
    )
    _warn_of_noise(model)
    return model


def _warn_of_noise(model: TopicModel) -> None:
    noise = [topic for topic, verdict in enumerate(model.verdicts) if verdict == NOISE]
    if noise:
        warnings.warn(
            f"{len(noise)} of {len(model.topics)} topics cannot be told from noise (model.verdicts). Use more "
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
