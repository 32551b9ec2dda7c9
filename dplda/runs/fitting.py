"""`dplda.fit`: plans a run from its options, carries it out, and returns the model.

`PrivateLDA` ends here, too; the command (`dplda.cli.fit_command`) shows seed words of the plan before it carries the
plan out. The way of a fit:

1. `FitOptions` holds what the user asks for. `plan_fit` adds what the ledger decides (the place in a series) and what
   the tokenizer decides (which public words documents can contain), finds seed words for names of topics, and checks
   all of it as `FitSettings`.
2. `plan_topics` calibrates the shares that the placement states for its stages: these are the events of the `Run`.
3. `Run.execute` reserves them, reads the documents, calls `learn` with the gate, and saves the model.
4. `learn` finds the words (`find_words`), lets the placement learn topics from what the gate releases, and makes the
   model with the facts of the run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from dplda.base.errors import InputError, NoisyTopicsWarning, warn
from dplda.budget import Ledger, new_name
from dplda.budget.accountant import calibrate, exact_events
from dplda.learning.model_size import most_topics
from dplda.learning.placements import from_prior, registry
from dplda.learning.placements.registry import NO_NOISE
from dplda.learning.settings import FitSettings, ModelSettings, VocabularySettings
from dplda.learning.verdicts import CLEAR, NOISE
from dplda.model.prior_topics import PriorTopics
from dplda.model.run_facts import RunFacts
from dplda.model.topic_model import TopicModel
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.fit_options import FitOptions, spread_options
from dplda.runs.run import OpenRun, Run
from dplda.runs.series import Place, find_place, renumber_topics
from dplda.runs.words import choose_way_of_words, find_seed_words, find_words, usable_words, warn_of_prior_words
from dplda.text.wordlists import listed_words


def fit_with(corpus: Corpus, options: FitOptions) -> TopicModel:
    """Learn topics of `corpus` under (epsilon, delta) differential privacy per unit.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends any of
    the budget, with one exception: an `InputError` because the model cannot be written. Reports count a run that
    was refused after reading, since they do not say how runs ended. Raises `UnsupportedByData` if the released numbers
    cannot support the request.
    """
    check_corpus(corpus)
    places: dict[str, object] = {"out": options.out, "models": options.models}
    for name, given in places.items():
        if not isinstance(given, str | os.PathLike | None):
            # anything else might be the texts, in the place of another argument
            told = repr(given) if isinstance(given, int | bytes) else f"a {type(given).__name__}"
            raise InputError(f"{name} must be the path of a folder, got {told}.")
    ledger = Ledger() if options.ledger is None else options.ledger
    run = plan_fit(corpus, ledger, options)
    models = options.models
    if models is None and run.batch is not None and ledger is not False:
        models = ledger.path.parent / "models"  # the next batch continues from it
    folder = Path(options.out) if options.out is not None else Path(models) / run.id if models else None
    return run.execute_warned(ledger, folder=folder, progress=options.progress, seconds=options.seconds)


fit = spread_options(fit_with, FitOptions, "fit")


def plan_fit(corpus: Corpus, ledger: Ledger | Literal[False], options: FitOptions) -> Run[TopicModel]:
    """Plan the fit of `corpus` that the `options` ask for; nothing is spent or read.

    Public words that the documents cannot contain are left out, with a warning (`dplda.runs.words`). Raises
    `InputError` for settings that are out of range or contradict each other.
    """
    private = options.simulate_seed is None and options.placement != NO_NOISE
    if not isinstance(options.prior, PriorTopics | None):
        raise InputError(
            f"prior must be prior topics, got {type(options.prior).__name__}. Public text gives them by "
            "dplda.public_prior(corpus), a saved model by dplda.released_prior(model)."
        )
    place = find_place(
        corpus,
        ledger,
        dataset=options.dataset,
        series=options.series,
        batch=options.batch,
        prior=options.prior,
        private=private,
    )
    topics = place.topics(options.n_topics)
    words = options.vocabulary if options.vocabulary is not None else corpus.public_vocabulary
    if words is not None:
        listed = VocabularySettings(public=listed_words("vocabulary", words)).public or ()
        needed = 0 if options.placement == NO_NOISE else ModelSettings(topics=topics).words_needed
        words = usable_words(corpus.tokenization, listed, needed)
    if place.prior is not None:
        warn_of_prior_words(corpus.tokenization, place.prior)
    guided = options.guided
    if options.vectors is not None and options.progress is not None:
        options.progress.start("read word vectors")
    among = _words_of_run(words, place)
    settings = options.settings(
        topics=topics,
        public=words,
        seed_words=guided and find_seed_words(corpus.tokenization, guided, options.vectors, among),
        prior=place.prior,
        series=place.series,
        batch=place.batch,
    )
    return plan_topics(corpus, settings, place.dataset, place.earlier)


def _words_of_run(public: Sequence[str] | None, place: Place) -> set[str] | None:
    """Return the words that are known both from a `public` list and from a prior; None if there is neither.

    The topics of an earlier batch do not count, because the words of a series may change.
    """
    prior = place.prior
    of_batch = place.series is not None and prior is not None and prior.counts is not None
    listed = [set(words) for words in (public, None if prior is None or of_batch else prior.words) if words is not None]
    return set.intersection(*listed) if listed else None


def plan_topics(
    corpus: Corpus, settings: FitSettings, dataset: str, earlier: TopicModel | None = None
) -> Run[TopicModel]:
    """Plan the fit of `corpus` with these `settings`, charged to `dataset`.

    `earlier` is the model of the previous batch, if the run is on a batch of a series. Raises `InputError` for settings
    that the placement does not support.
    """
    settings = choose_way_of_words(corpus, settings)
    model, privacy, prior = settings.model, settings.privacy, settings.prior
    if prior is not None and prior.places & corpus.places:
        raise InputError(
            "the prior was learned without noise from files of CORPUS: its topics would give them away. Give other "
            "text that is public as the prior."
        )
    placement = registry.find(model.placement, model.calibration)
    shares = placement.plan(settings)
    events = exact_events(shares) if placement.reason else calibrate(shares, privacy.epsilon, privacy.delta)
    facts = RunFacts(**corpus.reading, **settings.to_json(), dataset=dataset)

    def learn(run: OpenRun) -> TopicModel:
        """Find words and learn topics from what the gate releases, and make the model."""
        found = find_words(run.gate, settings, events, corpus, private=not placement.reason)
        algorithm = placement.learner(settings, found.from_prior)
        rng = np.random.default_rng(privacy.simulate_seed)
        learned = algorithm(run.gate, found.documents, found.words, settings, rng)
        run.watch.start("model")
        words = learned.words or found.words.words
        if earlier is not None and not settings.continues_series:
            learned = renumber_topics(learned, words, earlier)
        result = TopicModel(
            topics=learned.topics,
            prevalence=learned.prevalence,
            vocabulary=tuple(words),
            privacy=run.privacy,
            facts=replace(
                facts,
                run=run.id,
                software=dict(run.software),
                documents=round(learned.documents),
                alpha=tuple(float(a) for a in settings.model.alpha0 * learned.prevalence),
                **found.facts,
                **learned.facts,
            ),
            counts=learned.counts,
        )
        noise = [topic for topic, verdict in enumerate(result.verdicts) if verdict == NOISE]
        if result.facts.unseen_seeds:
            warn(result.facts.about_unseen_seeds, NoisyTopicsWarning)
        if noise:
            named = [result.topic_names[topic] for topic in noise if topic in result.topic_names]
            seeds = f" Among them are topics with seed words: {', '.join(named)}." if named else ""
            clear, n_topics = result.verdicts.count(CLEAR), len(result.topics)
            warn(
                f"{len(noise)} of {n_topics} topics cannot be distinguished from noise, and {clear or 'none'} of the "
                f"{n_topics} {'are' if clear > 1 else 'is'} clear (model.verdicts).{seeds} Use "
                "more documents, a larger epsilon, or fewer topics.",
                NoisyTopicsWarning,
            )
        return result

    vocabulary = settings.vocabulary
    n_words = vocabulary.max_vocabulary if vocabulary.public is None else len(vocabulary.public)
    return Run(
        id=new_name(dataset),
        corpus=corpus,
        dataset=dataset,
        batch=settings.batch,
        privacy=privacy,
        execution=settings.execution,
        events=events,
        statistics=placement.statistics + (() if prior is None else from_prior.STATISTICS),
        parameters=facts.to_json(),
        learn=learn,
        reason=placement.reason or privacy.reason,
        exact=bool(placement.reason),
        fit=settings,
        most_bytes=(1 << 20) + 16 * most_topics(settings) * (n_words + 1) + 400 * n_words,
    )
