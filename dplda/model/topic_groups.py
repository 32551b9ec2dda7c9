"""Groups of topics: a hierarchy by Hellinger distance, topics merged into one, and topics that two models share.

All of it is free of charge.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

from dplda.base.distributions import on_words
from dplda.base.errors import InputError
from dplda.base.frames import frame_of
from dplda.budget.events import NOT_PRIVATE
from dplda.model.run_facts import Verdict
from dplda.model.topic_model import TopicModel

SAME = 0.5  # least correlation at which topics of two models are the same
_LEFTOVER = 1e-6  # weight of other correlations in the matching: only topics that no alike pair has are matched by them
APART = 0.3  # below this correlation with all topics of the other model, a topic is called absent there ...
_PROBABLE = 0.4  # ... if its own probability is at least this,
_FINDS = 0.3  # ... the mean probability of the other model's topics at least this, and the words of both so many:
_FEWEST_WORDS = 100  # if these are fewer than half of one model's, chance decides (docs/design-log.md)
_DOCUMENTS, _LENGTH = 500, 60  # generated from each model to compare topics, and their words
_UNSEEN = 1e-9  # probability, before normalisation, of a word that a topic lacks
_LEAST_ALPHA = 1e-3  # so that generated documents have finite proportions


def hellinger(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Hellinger distances of distributions over the same words, in [0, 1]: sqrt(1 - sum sqrt(p q)).

    `first` is (a, n_words), `second` (b, n_words) and the result (a, b).
    """
    overlap = np.sqrt(first) @ np.sqrt(second).T
    return np.asarray(np.sqrt(np.clip(1 - overlap, 0.0, 1.0)))


def plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Place n points in a plane by their `distances` (n, n), by classical multidimensional scaling (Torgerson 1952).

    Returns the points (n, 2), around the origin, and the share of the variance that the plane keeps, from 0 to 1. Of
    the two directions of each axis, the one with the larger farthest coordinate is positive.
    """
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    kept = np.maximum(values[::-1][:2], 0.0)
    points = vectors[:, ::-1][:, :2] * np.sqrt(kept)
    farthest = points[np.abs(points).argmax(axis=0), (0, 1)]
    whole = np.maximum(values, 0.0).sum()
    return points * np.where(farthest < 0, -1.0, 1.0), float(kept.sum() / whole) if whole else 1.0


@dataclass(frozen=True, eq=False)
class TopicTree:
    """A hierarchy of some topics of a model."""

    topics: tuple[int, ...]
    """Their numbers in the model."""
    merges: NDArray[np.float64]
    """SciPy's linkage, (len(topics) - 1, 4)."""

    def groups(self, count: int | None = None) -> list[tuple[int, ...]]:
        """Return the topics in `count` groups, near ones next to each other.

        By default there are about as many groups as the square root of the number of topics. Raises `InputError` for a
        wrong number.
        """
        count = round(math.sqrt(len(self.topics))) if count is None else count
        if not 1 <= count <= len(self.topics):
            raise InputError(f"topics can be in 1 to {len(self.topics)} groups, got {count}.")
        if len(self.topics) == 1:
            return [self.topics]
        rising = self.merges.copy()
        rising[:, 2] = np.arange(1, len(rising) + 1)  # no two are equal: every number of groups exists
        labels = fcluster(rising, count, criterion="maxclust")
        found: dict[int, list[int]] = {}
        for leaf in leaves_list(self.merges):
            found.setdefault(int(labels[leaf]), []).append(self.topics[leaf])
        return [tuple(group) for group in found.values()]


def topic_tree(model: TopicModel, topics: Sequence[int] | None = None) -> TopicTree:
    """Return the hierarchy of `topics`, by default the listed ones (`TopicModel.listed_topics`).

    By Ward's method on Hellinger distances. Up to a constant factor, these are Euclidean distances between the square
    roots of probabilities.
    """
    chosen = tuple(model.listed_topics if topics is None else topics)
    roots = np.sqrt(model.topics[list(chosen)])
    merges = linkage(roots, "ward", optimal_ordering=True) if len(chosen) > 1 else np.zeros((0, 4))
    return TopicTree(chosen, np.asarray(merges))


def merge_topics(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """Merge the topics of each of `groups` into one, which gets the number of the group's first topic.

    A merged topic is the average of its topics by prevalence, and its share is the sum of their shares. Later topics
    get smaller numbers, so that there are no gaps; the fact ``merged`` lists which topics of the run each topic
    contains. Its name is ``A + B`` if a person named all its topics, else it has none. Its verdict is ``"weak"``, since
    nothing tells whether an ordinary fit would find the mixture, or ``"noise"`` if all its topics are noise.

    Raises `InputError` for groups that overlap, or that name topics which do not exist.
    """
    n = len(model.topics)
    named = [topic for group in groups for topic in group]
    wrong = next((topic for topic in named if not 0 <= topic < n), None)
    twice = next((topic for topic in named if named.count(topic) > 1), None)
    problem = ""
    if wrong is not None:
        problem = f"{wrong} is no topic; they are 0 to {n - 1}"
    elif twice is not None:
        problem = f"{twice} is named twice"
    elif any(len(group) < 2 for group in groups):
        problem = "a single topic cannot be merged"
    if problem:
        raise InputError(f"{problem}. Give two or more different topics to merge, with commas, such as 3,7.")
    into = {topic: min(group) for group in groups for topic in group}
    parts = [[t for t in range(n) if into.get(t, t) == first] for first in range(n) if into.get(first, first) == first]
    weights = np.maximum(model.prevalence, 1e-12)
    topics = np.array([np.average(model.topics[part], axis=0, weights=weights[part]) for part in parts])
    prevalence = np.array([model.prevalence[part].sum() for part in parts])
    verdicts = model.facts.verdicts
    of_run = model.facts.merged or tuple((topic,) for topic in range(n))
    made = {topics[0] for topics in model.facts.made_names or () if len(topics) == 1}
    names = [_joined_name(model.topic_names, made, part) for part in parts]
    facts = replace(
        model.facts,
        alpha=tuple(float(model.alpha[part].sum()) for part in parts),
        verdicts=verdicts and tuple(_merged_verdict([verdicts[topic] for topic in part]) for part in parts),
        topic_names=model.facts.topic_names and tuple(names),
        topic_sentences=model.facts.topic_sentences
        and tuple(model.facts.topic_sentences[part[0]] if len(part) == 1 else "" for part in parts),
        topic_probabilities=None,
        word_probabilities=None,
        given=model.facts.given and tuple(all(model.facts.given[topic] for topic in part) for part in parts),
        merged=tuple(tuple(sorted(topic for each in part for topic in of_run[each])) for part in parts),
        group_labels=(),
        made_names=tuple((place,) for place, part in enumerate(parts) if len(part) == 1 and part[0] in made),
    )
    return replace(model, topics=topics, prevalence=prevalence, facts=facts, counts=None)


def _joined_name(names: Mapping[int, str], made: Collection[int], part: Sequence[int]) -> str:
    """Return the name of a topic, or those of several joined; empty unless a person gave each of several."""
    if len(part) > 1 and not all(topic in names and topic not in made for topic in part):
        return ""
    return " + ".join(dict.fromkeys(names.get(topic, "") for topic in part))


def _merged_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a topic that is made of topics with these `verdicts`, or is the only one."""
    return verdicts[0] if len(verdicts) == 1 or set(verdicts) == {"noise"} else "weak"


def words_of_group(model: TopicModel, group: Sequence[int], n: int) -> list[str]:
    """Return the `n` most relevant words of the topics of `group` taken together."""
    if len(group) == 1:
        return [word for word, _ in model.relevant_words(n)[group[0]]]
    together = merge_topics(model, [group])
    return [word for word, _ in together.relevant_words(n)[min(group)]]


@dataclass(frozen=True)
class TopicPair:
    """A topic of one model, and the topic of another that it is compared with."""

    first: int
    second: int
    correlation: float
    """The correlation of their shares in documents, in [-1, 1]."""

    @property
    def topics(self) -> tuple[int, int]:
        """The topic of the first model and that of the second."""
        return self.first, self.second


@dataclass(frozen=True, eq=False)
class ComparedTopics:
    """The listed topics of two models, compared by the documents that they would collect.

    The documents are generated: half of them from each model, over the words that both have. Two topics are the same if
    their shares in these documents correlate, as in the definition of a real topic (`dplda.learning.verdicts`).
    """

    topics: tuple[tuple[int, ...], tuple[int, ...]]
    """The listed topics of each model."""
    words: tuple[str, ...]
    """The words that both models have."""
    correlations: NDArray[np.float64]
    """The correlation of every two topics, (k_first, k_second), also of those that are called noise."""
    pairs: tuple[TopicPair, ...]
    """Listed topics matched one to one, so that the sum of the correlations of alike topics is largest, then that of
    the others."""
    titles: tuple[tuple[str, ...], tuple[str, ...]]
    """What stands for each topic of both models (`TopicModel.titles`)."""
    only: tuple[tuple[TopicPair, ...], tuple[TopicPair, ...]] = ((), ())
    """Topics that only one model has, each with the topic of the other that is nearest: noise hardly explains them.

    There are none of a model with more topics than the other, which may blend what the first one tells apart, and none
    if the other has topics of a prior, which may say nothing of a part of its text.
    """
    warning_label: str = ""
    """What marks it if one of the models has no proven guarantee (`PrivacyStatement.warning_label`)."""
    too_few_words: str = ""
    """Says that `words` are too few to tell which topics are the same; empty if they are enough."""
    never_only: str = ""
    """Says of which of the models no topic is in `only`, and why; empty if some may be of both."""

    def __repr__(self) -> str:
        only, unclear = [len(found) for found in self.only], [len(found) for found in self.unclear]
        label = f"{self.warning_label}: " if self.warning_label else ""
        return (
            f"ComparedTopics({label}{len(self.same)} the same; only in the first {only[0]}, in the second {only[1]}; "
            f"unclear {unclear[0]} and {unclear[1]}; {len(self.words):,} words)"
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each topic: those in both models, in one alone, and unclear ones.

        The columns are ``found``, ``first`` and ``second`` (numbers of topics), ``first_name``, ``second_name`` and
        ``correlation``; the topic of the other model is the nearest one. The columns' name is the `warning_label`, if
        there is one. Raises `InputError` without pandas.
        """
        import pyarrow as pa

        parts = (("in both", self.same), *zip(("only in the first", "only in the second"), self.only, strict=True))
        parts += tuple(zip(("unclear, in the first", "unclear, in the second"), self.unclear, strict=True))
        rows = [(found, pair) for found, pairs in parts for pair in pairs]
        columns = {
            "found": [found for found, _ in rows],
            "first": [pair.first for _, pair in rows],
            "second": [pair.second for _, pair in rows],
            "first_name": [self.titles[0][pair.first] for _, pair in rows],
            "second_name": [self.titles[1][pair.second] for _, pair in rows],
            "correlation": [pair.correlation for _, pair in rows],
        }
        return frame_of(pa.table(columns), self.warning_label, "`same` and `only` are tuples.")

    @property
    def same(self) -> tuple[TopicPair, ...]:
        """The matched topics that are the same; none where the models share too few words to tell."""
        return () if self.too_few_words else tuple(pair for pair in self.pairs if pair.correlation >= SAME)

    @property
    def unclear(self) -> tuple[tuple[TopicPair, ...], tuple[TopicPair, ...]]:
        """All other topics of each model, each with the nearest topic of the other model.

        The other run may lack them because of its noise alone, or because it has fewer topics.
        """
        known = (
            {pair.first for pair in (*self.same, *self.only[0])},
            {pair.second for pair in (*self.same, *self.only[1])},
        )
        return (
            tuple(pair for pair in self.nearest(0) if pair.first not in known[0]),
            tuple(pair for pair in self.nearest(1) if pair.second not in known[1]),
        )

    @property
    def agreement(self) -> float:
        """The mean correlation of the matched topics."""
        return float(np.mean([pair.correlation for pair in self.pairs]))

    def nearest(self, side: int) -> list[TopicPair]:
        """Return each listed topic of the model `side`, 0 or 1, with the listed topic of the other most correlated."""
        first, second = self.topics
        if side == 0:
            places = [(topic, max(second, key=lambda j: self.correlations[topic, j])) for topic in first]
        else:
            places = [(max(first, key=lambda i: self.correlations[i, topic]), topic) for topic in second]
        return [TopicPair(i, j, float(self.correlations[i, j])) for i, j in places]


def contrast(first: TopicModel, second: TopicModel) -> ComparedTopics:
    """Compare the listed topics of two models over the words that both have.

    The result is the same in every call. Pairs are sorted by the larger prevalence of their two topics, largest first.
    Raises `InputError` for what is no model, and if the models have no word in common.
    """
    if not (isinstance(first, TopicModel) and isinstance(second, TopicModel)):
        raise InputError("contrast takes two models, such as two results of dplda.fit or dplda.load.")
    words = tuple(sorted(set(first.vocabulary) & set(second.vocabulary)))
    if not words:
        raise InputError(
            "two of these runs have no word in common, so their topics cannot be compared. "
            "Compare runs on the same kind of text, or report each run by itself."
        )
    listed = tuple(first.listed_topics), tuple(second.listed_topics)
    correlations = _correlations(first, second, words)
    places = _matching(correlations[np.ix_(*listed)])
    matched = [(listed[0][row], listed[1][column]) for row, column in places]
    pairs = [TopicPair(i, j, float(correlations[i, j])) for i, j in matched]
    pairs.sort(key=lambda pair: -max(first.prevalence[pair.first], second.prevalence[pair.second]))
    labels = first.privacy.warning_label, second.privacy.warning_label
    never = []
    if len(first.topics) != len(second.topics):
        (least, small), (larger, large) = sorted([(len(first.topics), "first"), (len(second.topics), "second")])
        never.append(
            f"The {large} run has {larger} topics and the {small} one only {least}, which may blend what the {large} "
            f"tells apart: no topic is called only in the {large}."
        )
    for model, one, other in ((first, "first", "second"), (second, "second", "first")):
        if model.facts.prior_used:
            never.append(
                f"The topics of the {one} run come from its prior, and may say nothing of a part of its text: no topic "
                f"is called only in the {other}."
            )
    most, few = max(len(first.vocabulary), len(second.vocabulary)), ""
    if len(words) < min(_FEWEST_WORDS, most / 2):
        few = (
            f"The runs share only {len(words)} words, too few to tell which topics both have: a single frequent word "
            "may make two of them look alike."
        )
    compared = ComparedTopics(
        listed,
        words,
        correlations,
        tuple(pairs),
        (tuple(first.titles()), tuple(second.titles())),
        warning_label=NOT_PRIVATE if NOT_PRIVATE in labels else max(labels),
        too_few_words=few,
        never_only=" ".join(never),
    )
    if compared.too_few_words:
        return compared
    largest = correlations.max(axis=1), correlations.max(axis=0)
    only = (
        tuple(pair for pair in compared.nearest(0) if _surely_absent(largest[0], pair.first, first, second)),
        tuple(pair for pair in compared.nearest(1) if _surely_absent(largest[1], pair.second, second, first)),
    )
    return replace(compared, only=only)


def _matching(correlations: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Match rows and columns one to one: the sum of those from `SAME` on is largest, then that of the others."""
    from scipy.optimize import linear_sum_assignment  # SciPy takes long to load

    weights = np.maximum(correlations, 0.0)
    weights[weights < SAME] *= _LEFTOVER  # they take no partner from pairs that are alike
    return [(int(row), int(column)) for row, column in zip(*linear_sum_assignment(weights, maximize=True), strict=True)]


def _surely_absent(largest: NDArray[np.float64], topic: int, model: TopicModel, other: TopicModel) -> bool:
    """Whether noise hardly explains that `other` has no `topic` of `model`.

    `largest` has the largest correlation of each topic of `model` with any topic of `other`, also with those that are
    called noise there: a topic that one of these looks like is in that run, too. A model with fewer topics than
    `model` may lack one because it blends several, and one with topics of a prior because the prior has none like it.

    Of 277 topics this probable, in 23 pairs of runs on the same text, 2 were called absent (docs/design-log.md). Runs
    whose own topics are mostly noise were not measured, nor were models that do not know how probable their topics are:
    of them, nothing is called absent.
    """
    if len(other.topics) < len(model.topics) or other.facts.prior_used:
        return False
    surely_there = (model.probabilities[topic] or 0.0) >= _PROBABLE if model.probabilities else not _is_noisy(model)
    probable = [chance for chance in other.probabilities if chance is not None]
    finds_topics = float(np.mean(probable)) >= _FINDS if probable else not _is_noisy(other)
    return surely_there and finds_topics and float(largest[topic]) < APART


def _is_noisy(model: TopicModel) -> bool:
    """Whether the topics were learned under noise; a merged model does not know how probable they are, either."""
    return model.facts.placement not in (None, "none")


def _correlations(first: TopicModel, second: TopicModel, words: Sequence[str]) -> NDArray[np.float64]:
    """Correlate the shares of all topics of two models in generated documents of `words`, (n_first, n_second)."""
    from dplda.model.inference import posterior_mean  # it loads Numba

    random = np.random.default_rng(0)  # of documents that nobody wrote: the result shall be the same every time
    over_words = []
    for model in (first, second):
        kept = on_words(model.topics, model.vocabulary, words) + _UNSEEN
        over_words.append(kept / kept.sum(axis=1, keepdims=True))
    alphas = first.alpha, second.alpha
    documents = sparse.vstack(
        [_documents(topics, alpha, random) for topics, alpha in zip(over_words, alphas, strict=True)], format="csr"
    )
    shares = [posterior_mean(topics, alpha, documents) for topics, alpha in zip(over_words, alphas, strict=True)]
    centred = [each - each.mean(axis=0) for each in shares]
    units = [each / np.maximum(np.linalg.norm(each, axis=0), 1e-300) for each in centred]
    return np.asarray(np.clip(units[0].T @ units[1], -1.0, 1.0))


def _documents(
    topics: NDArray[np.float64], alpha: NDArray[np.float64], random: np.random.Generator
) -> sparse.csr_matrix:
    """Generate `_DOCUMENTS` documents of `_LENGTH` words from LDA with `topics` (k, n_words), as counts."""
    mixtures = random.dirichlet(np.maximum(alpha, _LEAST_ALPHA), _DOCUMENTS)
    from_topic = random.multinomial(_LENGTH, mixtures)  # the number of words of each document from each topic
    rows = [np.repeat(np.arange(_DOCUMENTS), counts) for counts in from_topic.T]
    drawn = [random.choice(topics.shape[1], len(row), p=topic) for row, topic in zip(rows, topics, strict=True)]
    places = np.concatenate(rows), np.concatenate(drawn)
    shape = _DOCUMENTS, topics.shape[1]
    return sparse.csr_matrix((np.ones(_DOCUMENTS * _LENGTH), places), shape=shape)
