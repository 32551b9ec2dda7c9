"""Prior topics from public text, which is fitted without noise once and kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from dplda.base.errors import InputError, SharedDocumentsWarning, UnsupportedByData, warn
from dplda.base.progress import Progress, following
from dplda.budget import Ledger
from dplda.budget.database import default_path
from dplda.learning.placements.registry import NO_NOISE
from dplda.model import topic_model
from dplda.model.prior_topics import PriorTopics, public_source
from dplda.model.topic_model import TopicModel
from dplda.private.store.count_store import CountStore
from dplda.private.store.fingerprint import document_codes, fingerprint
from dplda.private.store.preparation import cache_root
from dplda.runs.corpus import Corpus
from dplda.runs.declared_public import known_texts
from dplda.runs.fitting import fit
from dplda.text.wordlists import listed_words

MOST_TOPICS, DOCUMENTS_PER_TOPIC = 80, 25
_VERSION = 1  # raised when the same text gives other topics, so that kept ones are not used
_KEY = hashlib.sha256(b"dplda public prior").digest()  # no secret: the documents are public


def public_prior(
    corpus: Corpus,
    vocabulary: Sequence[str] | None = None,
    *,
    cache: str | Path | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> PriorTopics:
    """Learn prior topics from `corpus`, which you declare public: nothing in it is protected.

    The corpus is fitted without noise, with a topic for every 25 documents, at most 80 topics. The topics are kept in
    `cache`, so that the same text is fitted once. `vocabulary` limits the words; None takes the most frequent ones of
    the corpus.

    Raises `BudgetRefused` if the `ledger` (the default one if None, and if it exists) has a bounded budget for the name
    of `corpus` or read its files under one, and warns if it knows ten of the texts to be private.
    """
    words = corpus.public_vocabulary if vocabulary is None else listed_words("vocabulary", vocabulary)
    if ledger is None and os.path.exists(default_path()):
        ledger = Ledger()
    if ledger is not None:
        ledger.check_not_private(corpus.name or "", corpus.places)
    with following(progress) as shown:
        store = corpus.open(_OfPrior(shown), key=_KEY)
    if ledger is not None and (note := known_texts(_count_known(store, ledger), "give other text as the prior")):
        warn(f"Prior (exact, not for publication): {note}", SharedDocumentsWarning)
    n_documents = sum(int(np.count_nonzero(block.is_eligible())) for block in store.blocks())
    n_topics = min(MOST_TOPICS, n_documents // DOCUMENTS_PER_TOPIC)
    if n_topics < 2:
        raise InputError(
            f"the public corpus has {n_documents} documents of three words or more, and prior topics need "
            f"{2 * DOCUMENTS_PER_TOPIC}. Give more public text, or leave the prior out."
        )
    # The name is a hash of everything that decides the fit.
    decided = [_VERSION, fingerprint(store, _KEY).code, words, MOST_TOPICS, DOCUMENTS_PER_TOPIC]
    name = hashlib.sha256(json.dumps(decided).encode()).hexdigest()[:32]
    folder = cache_root(cache) / "priors" / name
    model = _load_kept(folder, name)
    if model is None:
        try:
            with following(progress) as shown:
                fitted = fit(
                    corpus,
                    vocabulary=words,
                    n_topics=n_topics,
                    placement=NO_NOISE,
                    ledger=False,
                    simulate_seed=0,
                    progress=_OfPrior(shown),
                )
        except UnsupportedByData:
            raise InputError(
                f"no {n_topics} prior topics can be learned from public corpus {corpus.name}: its documents have too "
                "few different words in common. Give public text with more different words, or leave the prior out. "
                "Nothing was spent."
            ) from None
        model = replace(fitted, facts=replace(fitted.facts, prior_cache=name))
        _keep(model, folder)
    source = public_source(corpus.name)
    return PriorTopics(model.topics, tuple(model.vocabulary), source, True, places=corpus.places)


def _count_known(store: CountStore, ledger: Ledger) -> int:
    """Return how many documents of `store` are known to `ledger` to be private. Private."""
    private, words = ledger.private_documents(), store.dictionary
    if not len(private):
        return 0
    codes = (document_codes(words, b.indptr, b.words, b.counts, ledger.key) for b in store.blocks())
    return sum(int(np.isin(each, private, kind="sort").sum()) for each in codes)


class _OfPrior:
    """Passes progress on, with names of stages that tell them from those of the run that is charged."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.advance, self.estimate = progress.advance, progress.estimate

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage` of the public text."""
        self._progress.start(f"prior text: {stage}", total)


def _load_kept(folder: Path, name: str) -> TopicModel | None:
    """Return the model in `folder`, if it is whole and of this `name`. Otherwise None, and the folder is removed."""
    try:
        model = topic_model.load(folder)
    except InputError:
        model = None
    if model is not None and model.facts.prior_cache == name:
        return model
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _keep(model: TopicModel, folder: Path) -> None:
    """Save `model` in `folder` whole or not at all; another process may have done so already."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        raise InputError(
            f"Cannot write to {folder.parent}: {error.strerror}. Set DPLDA_CACHE to another folder."
        ) from None
    try:
        model.save(made)
        with suppress(OSError):
            os.replace(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
