"""Groups of topics add up, and merged topics are what their documents would say of them together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dplda
from dplda.base.errors import InputError
from dplda.model.run_facts import RunFacts
from dplda.model.topic_groups import hellinger, merge_topics, plane, topic_tree, words_of_group


def model_of(topics, prevalence, **facts):
    topics = np.array(topics, float)
    return dplda.TopicModel(
        topics=topics,
        prevalence=np.array(prevalence, float),
        vocabulary=[f"w{i}" for i in range(topics.shape[1])],
        privacy=dplda.PrivacyStatement(
            epsilon=1.0, delta=1e-6, unit="document", adjacency="add-remove", sound=True, events=()
        ),
        facts=RunFacts(alpha=(1.0,) * len(topics), **facts),
    )


PAIRS = [[0.5, 0.4, 0.1, 0, 0, 0], [0, 0, 0.1, 0.5, 0.4, 0], [0.4, 0.5, 0.1, 0, 0, 0], [0, 0, 0, 0.4, 0.5, 0.1]]
MODEL = model_of(PAIRS, [0.4, 0.3, 0.2, 0.1])


def test_points_of_a_plane_get_their_distances_back():
    given = np.random.default_rng(0).normal(size=(7, 2))
    distances = np.linalg.norm(given[:, None] - given, axis=2)
    points, kept = plane(distances)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points, axis=2), distances, atol=1e-9)
    assert kept == pytest.approx(1)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    assert (points[np.abs(points).argmax(axis=0), (0, 1)] > 0).all()


def test_points_that_are_equally_far_apart_lose_most_of_their_distances_and_equal_ones_lose_nothing():
    assert plane(1.0 - np.eye(9))[1] == pytest.approx(2 / 8)
    points, kept = plane(np.zeros((9, 9)))
    assert kept == 1
    assert not points.any()


def test_near_topics_are_in_one_group_and_every_number_of_groups_exists():
    tree = topic_tree(MODEL)
    assert sorted(map(sorted, tree.groups(2))) == [[0, 2], [1, 3]]
    for count in range(1, 5):
        groups = tree.groups(count)
        assert len(groups) == count
        assert sorted(topic for group in groups for topic in group) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="1 to 4 groups, got 5"):
        tree.groups(5)
    assert topic_tree(MODEL, [2]).groups(1) == [(2,)]


def test_equal_topics_can_be_cut_into_any_number_of_groups():
    tree = topic_tree(model_of([[0.5, 0.5]] * 5, [0.2] * 5))
    assert [len(tree.groups(count)) for count in range(1, 6)] == [1, 2, 3, 4, 5]


def test_a_cut_refines_the_one_before():
    rng = np.random.default_rng(0)
    tree = topic_tree(model_of(rng.dirichlet(np.full(30, 0.2), size=12), np.full(12, 1 / 12)))
    for count in range(1, 12):
        coarse, fine = tree.groups(count), tree.groups(count + 1)
        assert all(any(set(part) <= set(group) for group in coarse) for part in fine)


def test_merged_topics_keep_the_words_of_the_whole_and_add_their_shares():
    together = merge_topics(MODEL, [[2, 0]])
    assert together.prevalence == pytest.approx([0.6, 0.3, 0.1])
    assert together.topics[0] == pytest.approx((2 * np.array(PAIRS[0]) + np.array(PAIRS[2])) / 3)
    assert together.prevalence @ together.topics == pytest.approx(MODEL.prevalence @ MODEL.topics)
    assert together.facts.merged == ((0, 2), (1,), (3,))
    assert together.alpha.sum() == pytest.approx(MODEL.alpha.sum())
    assert together.privacy == MODEL.privacy
    assert words_of_group(MODEL, (0, 2), 2) == ["w0", "w1"]


def test_names_of_merged_topics_are_joined():
    named = model_of(PAIRS, [0.25] * 4, topic_names=["a", "b", "c", "d"])
    assert list(merge_topics(named, [[3, 1]]).topic_names.values()) == ["a", "b + d", "c"]


MIXTURE = "merged by hand count as weak: nothing tells whether an ordinary fit would find the mixture."


@pytest.mark.parametrize(
    ("group", "verdicts", "told"),
    [
        ([0, 1], ("weak", "noise", "noise"), True),  # of clear ones, too
        ([1, 2], ("clear", "weak", "noise"), True),
        ([2, 3], ("clear", "clear", "noise"), False),
    ],
)
def test_a_merged_topic_is_weak_or_noise_if_all_its_topics_are(group, verdicts, told):
    judged = model_of(PAIRS, [0.25] * 4, verdicts=["clear", "clear", "noise", "noise"], topic_probabilities=[0.5] * 4)
    together = merge_topics(judged, [group])
    assert together.verdicts == verdicts
    assert (MIXTURE in together.facts.about_verdicts) == told
    assert "percentage" not in together.facts.about_verdicts
    assert (judged.topics_of_run, together.topics_of_run, len(together.topics)) == (4, 4, 3)
    guided = replace(judged, facts=replace(judged.facts, seed_words={"football": ("yards",)}))
    assert "names that were given (football): such a topic may be of a wider subject" in guided.facts.about_verdicts
    assert judged.facts.about_verdicts.startswith("A percentage is the probability that it would: clear from 60%")


def test_a_merged_topic_is_given_if_all_its_topics_are():
    judged = model_of(PAIRS, [0.25] * 4, verdicts=["weak"] * 4, given=[True, True, False, False])
    assert merge_topics(judged, [[0, 1]]).given == {0}
    assert merge_topics(judged, [[1, 2]]).given == {0}
    assert merge_topics(judged, [[0, 2], [1, 3]]).given == set()


@pytest.mark.parametrize("groups", [[[1]], [[0, 4]], [[0, 1], [1, 2]], [[-1, 2]], [[0, 0]]])
def test_groups_that_make_no_sense_are_refused(groups):
    with pytest.raises(InputError, match="3,7"):
        merge_topics(MODEL, groups)


def test_hellinger_distances_are_between_0_and_1():
    assert hellinger(MODEL.topics, MODEL.topics).diagonal() == pytest.approx(np.zeros(4), abs=1e-7)
    assert hellinger(np.eye(2), np.eye(2))[0, 1] == 1.0
