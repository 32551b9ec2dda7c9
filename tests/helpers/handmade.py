"""Models made by hand, for tests of everything that only needs a finished model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dplda.budget.events import Event, PrivacyStatement
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts

STATEMENT = PrivacyStatement(
    epsilon=1.25,
    delta=1e-6,
    unit="document",
    adjacency="add-remove",
    sound=True,
    events=(Event(stage="size", noise_multiplier=8.0), Event(stage="clip", mechanism="pure", epsilon=0.1)),
)


def make_model(n_topics: int = 3, n_words: int = 12, seed: int = 0) -> TopicModel:
    """A random model whose words are w000, w001 ..."""
    random = np.random.default_rng(seed)
    return TopicModel(
        topics=random.dirichlet(np.full(n_words, 0.2), n_topics),
        prevalence=np.sort(random.dirichlet(np.full(n_topics, 5.0)))[::-1],
        vocabulary=[f"w{j:03d}" for j in range(n_words)],
        privacy=STATEMENT,
        facts=RunFacts(run="toy-aaaaaa", alpha=(0.3,) * n_topics, alpha0=0.3 * n_topics, documents=100),
    )


def with_facts(model: TopicModel, **facts: Any) -> TopicModel:
    """`model` with these facts in addition."""
    return replace(model, facts=replace(model.facts, **facts))
