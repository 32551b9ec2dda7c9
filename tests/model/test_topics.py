from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from handmade import make_model, with_facts
from scipy import sparse

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts


def changed(model: TopicModel, **fields: object) -> TopicModel:
    return dataclasses.replace(model, **fields)


def test_top_words_are_sorted_by_probability_then_word(model: TopicModel) -> None:
    tied = changed(model, topics=np.full((3, 12), 1 / 12), vocabulary=list("lkjihgfedcba"))
    assert [word for word, _ in tied.top_words(4)[0]] == list("abcd")
    for pairs in model.top_words(12):
        probabilities = [p for _, p in pairs]
        assert probabilities == sorted(probabilities, reverse=True)
        assert math.isclose(sum(probabilities), 1)


def test_a_number_of_words_that_is_none_is_refused(model: TopicModel) -> None:
    for ask in (model.top_words, model.relevant_words, model.to_frame):
        with pytest.raises(InputError, match="number of words must be a whole number, got 'a'"):
            ask("a")  # type: ignore[arg-type]


def test_relevant_words_are_the_topics_own_and_leave_out_what_is_rarer_in_it(model: TopicModel) -> None:
    topics = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.1, 0.0, 0.2, 0.3]])
    own = changed(
        model,
        topics=topics,
        prevalence=np.array([0.5, 0.5]),
        vocabulary=list("abcde"),
        facts=RunFacts(alpha=[0.5, 0.5]),
    )
    listed = own.relevant_words()
    assert [[word for word, _ in words] for words in listed] == [["a", "b", "c"], ["e", "a", "d"]]
    assert listed[1] == [("e", 0.3), ("a", 0.4), ("d", 0.2)]
    assert own.relevant_words(1) == [[("a", 0.4)], [("e", 0.3)]]


def test_asking_for_more_words_than_there_are_gives_all(model: TopicModel) -> None:
    assert [len(pairs) for pairs in model.top_words(1000)] == [12] * 3
    assert model.top_words(0) == [[], [], []]


def test_arrays_of_a_model_cannot_be_changed(model: TopicModel) -> None:
    with pytest.raises(ValueError, match="read-only"):
        model.topics[0, 0] = 1
    given = np.full((3, 12), 1 / 12)
    copy = changed(model, topics=given)
    given[0] = 0
    assert copy.topics[0].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "fields",
    [
        {"topics": np.full((3, 12), 0.1)},
        {"topics": np.full((3, 12), np.nan)},
        {"topics": np.full((3, 11), 1 / 11)},
        {"topics": np.empty((0, 12))},
        {"topics": np.array([[2.0, -1.0] + [0.0] * 10] * 3)},
        {"prevalence": np.array([0.5, 0.5])},
        {"prevalence": np.array([0.5, 0.5, 0.5])},
        {"vocabulary": ["same"] * 12},
        {"vocabulary": [""] + [f"w{j}" for j in range(11)]},
        {"alpha": []},
        {"alpha": [1.0, 1.0]},
        {"alpha": [1.0, 1.0, -0.1]},
        {"alpha": [0.0, 0.0, 0.0]},
        {"alpha": [1.0, 1.0, float("nan")]},
        {"alpha": [1.0, 1.0, "1"]},
        {"verdicts": ["clear", "weak"]},
    ],
)
def test_a_model_whose_parts_do_not_fit_is_refused(model: TopicModel, fields: dict[str, object]) -> None:
    with pytest.raises(InputError):
        changed(model, **fields) if fields.keys() <= vars(model).keys() else with_facts(model, **fields)


@pytest.mark.parametrize("shape", [(4, 11), (12,), (2, 3, 12)])
def test_transform_refuses_counts_of_another_shape(model: TopicModel, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=re.escape(f"(n_documents, 12), got {shape}")):
        model.transform(np.zeros(shape))


def test_transform_takes_dense_and_sparse_alike() -> None:
    model = make_model()
    counts = np.random.default_rng(1).poisson(0.7, (20, 12))
    dense = model.transform(counts)
    np.testing.assert_array_equal(dense, model.transform(sparse.coo_matrix(counts)))
    np.testing.assert_array_equal(dense, model.transform(sparse.csc_array(counts)))
    np.testing.assert_allclose(dense.sum(axis=1), 1)


def test_a_topic_without_prevalence_is_still_a_model_and_can_transform(model: TopicModel) -> None:
    flat = changed(model, prevalence=[0.6, 0.4, 0.0], facts=RunFacts(alpha=[0.6, 0.4, 0.0]))
    proportions = flat.transform(np.vstack([np.zeros(12), np.ones(12)]))
    np.testing.assert_allclose(proportions[0], [0.6, 0.4, 0.0], atol=1e-8)
    assert np.isfinite(proportions).all()


def test_a_frame_has_a_row_for_each_topic_with_its_name(model: TopicModel) -> None:
    frame = model.to_frame()
    assert list(frame.columns) == ["name", "words", "share"]
    assert frame["share"].tolist() == model.prevalence.tolist()
    named = with_facts(
        model,
        verdicts=("clear", "weak", "noise"),
        topic_probabilities=(0.9, 0.5, 0.1),
        topic_names=("Billing", "", ""),
        topic_sentences=("About bills.", "", ""),
    )
    frame = named.to_frame(n_words=2)
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["name"].tolist() == named.titles() == ["Billing", *model.titles()[1:]]
    assert frame.loc[0, "words"] == ", ".join(word for word, _ in model.relevant_words(2)[0])
    assert frame["verdict"].tolist() == ["clear", "weak", "noise"]
    assert frame["real"].tolist() == [0.9, 0.5, 0.1]
    assert frame["sentence"].tolist() == ["About bills.", "", ""]
