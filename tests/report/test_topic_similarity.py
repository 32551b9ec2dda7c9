from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from handmade import make_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist, squareform

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.topic_groups import SAME, _matching, contrast, hellinger
from dplda.report.comparison_of_runs import pictures
from dplda.report.wording import Wording, shown_topics

seeds = st.integers(0, 10_000)


def drawn(seed: int, n_topics: int = 5, n_words: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.3), n_topics)


def with_topics(model: TopicModel, topics: np.ndarray, vocabulary: list[str]) -> TopicModel:
    k = len(topics)
    facts = replace(model.facts, alpha=(0.3,) * k)
    return replace(model, topics=topics, vocabulary=vocabulary, prevalence=np.full(k, 1 / k), facts=facts)


@given(seeds)
def test_hellinger_is_the_scaled_distance_of_square_roots(seed: int) -> None:
    topics = drawn(seed)
    expected = squareform(pdist(np.sqrt(topics))) / np.sqrt(2)
    assert hellinger(topics, topics) == pytest.approx(expected, abs=1e-7)
    assert hellinger(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == 1


def test_the_same_topics_in_another_order_over_words_in_another_order_agree_fully() -> None:
    model = make_model(4, 12)
    topics, words = np.array([2, 0, 3, 1]), np.random.default_rng(1).permutation(12)
    other = with_topics(model, model.topics[topics][:, words], [model.vocabulary[w] for w in words])
    model = with_topics(model, model.topics, model.vocabulary)
    matched = contrast(model, other)
    assert matched.agreement == pytest.approx(1, abs=0.01)
    assert sorted((pair.first, int(topics[pair.second])) for pair in matched.pairs) == [(i, i) for i in range(4)]
    assert matched.unclear == matched.only == ((), ())


@given(seeds, seeds, st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_the_matching_is_the_best_of_all(one: int, other: int, k: int, l: int) -> None:  # noqa: E741
    base = make_model()
    words = [f"w{j}" for j in range(9)]
    first, second = with_topics(base, drawn(one, k), words), with_topics(base, drawn(other, l), words)
    matched = contrast(first, second)
    small, large = sorted((k, l))
    assert len({pair.first for pair in matched.pairs}) == len({pair.second for pair in matched.pairs}) == small
    values = np.maximum(matched.correlations if k <= l else matched.correlations.T, 0)
    chosen = [values[range(small), list(p)] for p in itertools.permutations(range(large), small)]
    best, rest = max((row[row >= SAME].sum(), row[row < SAME].sum()) for row in chosen)
    assert sum(pair.correlation for pair in matched.same) == pytest.approx(best)
    assert sum(max(pair.correlation, 0) for pair in matched.pairs) == pytest.approx(best + rest, abs=1e-4)

    listed = [
        {getattr(p, name) for p in (*matched.same, *matched.only[i], *matched.unclear[i])}
        for i, name in enumerate(("first", "second"))
    ]
    assert listed == [set(range(k)), set(range(l))], "each topic is somewhere"


def test_a_pair_that_is_not_alike_takes_no_partner_from_one_that_is() -> None:
    """.67 alone is better than .56 with .3: a topic of the other run is like one of them only, the nearer one."""
    weights = np.array([[0.67, 0.3], [0.56, 0.0]])
    assert linear_sum_assignment(weights, maximize=True)[1].tolist() == [1, 0], "by the sum of all pairs"
    assert _matching(weights) == [(0, 0), (1, 1)]


def planted(themes: Sequence[int], seed: int, **facts: object) -> TopicModel:
    """A run that found some of six themes, of twenty words each, in a list of its own of most of these words."""
    random = np.random.default_rng(seed)
    words = [f"w{j}" for j in range(120) if random.random() < 0.7]
    rows = np.array([[9.0 if int(w[1:]) // 20 == theme else 0.3 for w in words] for theme in themes])
    rows *= random.uniform(0.5, 1.5, rows.shape)
    model = with_topics(make_model(), rows / rows.sum(axis=1, keepdims=True), words)
    return replace(model, facts=replace(model.facts, **facts))


def test_a_word_list_of_a_run_of_its_own_decides_nothing() -> None:
    """Each list lacks a third of the words of every theme: before, that alone made topics different."""
    first, second = planted(range(6), 1), planted(range(6), 2)
    compared = contrast(first, second)
    assert len(compared.words) < 0.8 * len(first.vocabulary)
    assert {(pair.first, pair.second) for pair in compared.same} == {(i, i) for i in range(6)}
    again = contrast(first, second)
    assert np.array_equal(compared.correlations, again.correlations), "the same result every time"


def test_only_models_are_compared() -> None:
    with pytest.raises(InputError, match="takes two models"):
        contrast(planted(range(2), 1), "a")  # type: ignore[arg-type]


def test_a_topic_is_only_in_one_run_if_noise_hardly_explains_that() -> None:
    sure = {"topic_probabilities": (0.9,) * 6, "verdicts": ("clear",) * 6}
    all_six, four = planted(range(6), 4, **sure), planted((0, 1, 2, 3, 0, 1), 3, **sure)
    compared = contrast(all_six, four)
    assert {pair.first for pair in compared.only[0]} == {4, 5}
    assert compared.only[1] == ()
    assert repr(compared).startswith(
        "ComparedTopics(4 the same; only in the first 2, in the second 0; unclear 0 and 2;"
    )
    frame = compared.to_frame()
    assert list(frame.found) == ["in both"] * 4 + ["only in the first"] * 2 + ["unclear, in the second"] * 2
    assert frame.first_name[5] == all_six.titles()[frame["first"][5]]
    assert compared.too_few_words == ""
    renamed = replace(four, vocabulary=[w if i % 3 == 0 else f"other {w}" for i, w in enumerate(four.vocabulary)])
    few = contrast(all_six, renamed)
    assert (few.same, few.only) == ((), ((), ())), "chance decides over so few words"
    assert few.too_few_words.startswith(f"The runs share only {len(few.words)} words, too few to tell")
    assert len(few.unclear[0]) == 6
    vague = replace(four, facts=replace(four.facts, topic_probabilities=(0.1,) * 6, verdicts=("weak",) * 6))
    assert contrast(all_six, vague).only == ((), ()), "a run of mostly noise may lack any topic"
    merged = replace(all_six, facts=replace(all_six.facts, topic_probabilities=None, placement="ours"))
    assert contrast(merged, four).only == ((), ()), "a merged run does not know how sure its topics are"
    of_prior = replace(four, facts=replace(four.facts, prior_used=True))
    compared = contrast(all_six, of_prior)
    assert compared.only == ((), ()), "its prior may have no such topic"
    assert compared.never_only.startswith("The topics of the second run come from its prior, and may say nothing of a")
    doubtful = replace(all_six, facts=replace(all_six.facts, topic_probabilities=(0.9,) * 5 + (0.2,)))
    compared = contrast(doubtful, four)
    assert {pair.first for pair in compared.only[0]} == {4}
    assert {pair.first for pair in compared.unclear[0]} == {5}


def test_no_topic_is_only_in_the_run_with_more_topics() -> None:
    """Two fits of the same documents with 8 and 12 topics said so of a topic that the smaller one blended."""
    sure = {"topic_probabilities": (0.9,) * 6, "verdicts": ("clear",) * 6}
    fewer = {"topic_probabilities": (0.9,) * 4, "verdicts": ("clear",) * 4}
    six, four = planted(range(6), 4, **sure), planted((0, 1, 2, 3), 3, **fewer)
    said = "The first run has 6 topics and the second one only 4, which may blend what the first tells apart: no topic"
    compared, turned = contrast(six, four), contrast(four, six)
    assert compared.only == turned.only == ((), ())
    assert {pair.first for pair in compared.unclear[0]} == {pair.second for pair in turned.unclear[1]} == {4, 5}
    assert list(compared.to_frame().found) == ["in both"] * 4 + ["unclear, in the first"] * 2
    assert compared.never_only == f"{said} is called only in the first."
    assert turned.never_only.startswith("The second run has 6 topics and the first one only 4, which may blend")
    (picture,) = pictures([six, four], ["A", "B"], shown_topics([six, four], Wording()))
    assert "Only in" not in picture.note
    assert picture.note.endswith(compared.never_only)
    assert [row[1] for row in picture.table.rows] == ["both"] * 4 + ["A"] * 2
    lacking, other = planted((0, 0, 1, 2), 4, **fewer), planted((0, 1, 3), 3)
    assert [pair.second for pair in contrast(lacking, other).only[1]] == [2], "not even the larger run has it"


def test_topics_called_noise_are_not_matched_but_are_not_absent_either() -> None:
    model = planted(range(6), 1, verdicts=("clear",) * 5 + ("noise",))
    compared = contrast(model, planted(range(6), 2))
    assert compared.topics[0] == (0, 1, 2, 3, 4)
    assert all(pair.first != 5 for pair in (*compared.pairs, *compared.unclear[0]))
    (lonely,) = compared.unclear[1]
    assert lonely.second == 5
    assert lonely.first in compared.topics[0], "the nearest of the listed topics"
    assert compared.only == ((), ()), "the other run has it, and calls it noise"
    for one in (model, planted(range(6), 1)):
        models = [one, planted(range(6), 2)]
        (picture,) = pictures(models, ["A", "B"], shown_topics(models, Wording()))
        assert ("called noise are not compared; one of them may be the better match" in picture.note) == (one is model)


def test_a_topic_that_only_looks_like_one_called_noise_is_unclear_and_beside_a_listed_one() -> None:
    sure = {"topic_probabilities": (0.9,) * 6, "verdicts": ("clear",) * 6}
    noise = {"topic_probabilities": (0.9,) * 6, "verdicts": ("clear",) * 5 + ("noise",)}
    compared = contrast(planted(range(6), 1, **sure), planted(range(6), 2, **noise))
    (pair,) = compared.unclear[0]
    assert (pair.first, pair.second in compared.topics[1]) == (5, True)
    assert pair.correlation < 0.5
    assert compared.only == ((), ()), "its like is in the other run, and called noise there"


def test_runs_without_a_common_word_are_refused_in_words_that_name_none() -> None:
    base = make_model()
    first, second = (with_topics(base, drawn(1, 2, 3), words) for words in (["ape", "bee", "cat"], ["x", "y", "z"]))
    with pytest.raises(InputError, match="no word in common") as refused:
        contrast(first, second)
    assert not any(word in str(refused.value).split() for word in (*first.vocabulary, *second.vocabulary))


def test_a_topic_near_one_that_is_matched_already_is_not_put_down_to_noise() -> None:
    first, second = planted((0, 0, 1, 2), 1), planted((0, 1, 2, 3), 2)
    compared = contrast(first, second)
    (near,) = compared.unclear[0]
    assert near.correlation >= 0.5
    (picture,) = pictures([first, second], ["A", "B"], shown_topics([first, second], Wording()))
    told = picture.note.split("In A, and partly like a topic of the other run, which may blend several: ")[1]
    titles = [f"{topic} {title}" for topic, title in enumerate(first.titles())]
    assert told.startswith(f"{titles[near.first]} (“0 {second.titles()[0]}”, {near.correlation:.2f}).")
    assert "in yours, which are often shorter, topics that are alike have less in common" in picture.note
    assert "where noise or other topics may hide it" not in picture.note


def test_a_cell_without_a_topic_has_a_dash_that_is_explained() -> None:
    models = [planted(range(k), seed) for seed, k in enumerate((3, 3, 2), start=1)]
    (_, found) = pictures(models, ["A", "B", "C"], shown_topics(models, Wording()))
    told = [cell.told for row in found.drawing.cells for cell in row if cell.text == "–"]
    assert told == ["the other run has fewer topics"]
    assert found.note.endswith("A dash: the other run has fewer topics, and none is left to match.")
    (_, found) = pictures(models[:1] * 3, ["A", "B", "C"], shown_topics(models[:1] * 3, Wording()))
    assert "A dash" not in found.note


def test_runs_with_few_common_words_have_question_marks_beside_others() -> None:
    first, second, few = planted(range(6), 1), planted(range(6), 2), planted(range(6), 3)
    few = replace(few, vocabulary=[w if i % 4 == 0 else f"other {w}" for i, w in enumerate(few.vocabulary)])
    models = (few, first, second)
    agreement, matched = pictures(models, ["few", "first", "second"], shown_topics(models, Wording()))
    assert agreement.table.rows[0][1:] == ("1.00", "?", "?")
    assert "?" not in agreement.table.rows[1][2:]
    assert matched.note.startswith("Rows are topics of run 2")
    assert {row[1] for row in matched.table.rows} == {"?"}
    assert "A question mark: runs 1 and 2, 1 and 3 have too few words in common to tell." in matched.note


def test_agreement_with_topics_that_were_known_before_is_said_to_be_none() -> None:
    models = [planted(range(6), seed) for seed in (1, 2, 3)]
    models[2] = replace(models[2], facts=replace(models[2].facts, prior_used=True))
    for number in (2, 3):
        shown = models[-number:]
        drawn = pictures(shown, ["A", "B", "C"][-number:], shown_topics(shown, Wording()))
        assert all("The topics of C are those of a prior, known before" in picture.note for picture in drawn)
        assert not any("seed words" in picture.note for picture in drawn)
    models[1] = replace(models[1], facts=replace(models[1].facts, seed_words={"pets": ("cat",)}))
    (picture,) = pictures(models[:2], ["A", "B"], shown_topics(models[:2], Wording()))
    assert "Some topics of B have names that were given with seed words" in picture.note
    plain = [models[0], planted(range(6), 2)]
    assert "prior" not in pictures(plain, ["A", "B"], shown_topics(plain, Wording()))[0].note
