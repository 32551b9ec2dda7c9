"""`dplda search`: the topics of all saved runs that list a word."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from handmade import STATEMENT, make_model, with_facts

from dplda.model import TopicModel

WORDS = ["refund", "refunds", "money", "credit_card", "heating", "boiler"]


def about(*rows: list[float], run: str = "shop-aaaaaa") -> TopicModel:
    """A model whose topics have these weights of `WORDS`."""
    topics = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    model = make_model(len(rows), len(WORDS))
    return with_facts(
        replace(model, topics=topics, vocabulary=WORDS, prevalence=np.full(len(rows), 1 / len(rows))), run=run
    )


@pytest.fixture
def shop(home: Path) -> TopicModel:
    """A model in the folder `models`, of no run in the ledger."""
    model = about([9, 5, 7, 1, 0, 0], [0, 0, 4, 9, 0, 0], [0, 0, 0, 0, 9, 8])
    model.save(home / "models" / "shop")
    return model


def found(record: dict) -> list[tuple[int, dict[str, int]]]:
    return [(each["topic"], each["ranks"]) for each in record["topics"]]


def test_a_word_is_found_with_its_place_among_the_words_of_the_topic(dplda, shop: TopicModel) -> None:
    record = dplda("search", "money", "--json").json
    places = [[word for word, _ in ranked].index("money") + 1 for ranked in shop.relevant_words(30)[:2]]
    assert sorted(found(record)) == [(topic, {"money": place}) for topic, place in enumerate(places)]
    assert record["topics"][0]["words"] == [w for w, _ in shop.relevant_words(6)[record["topics"][0]["topic"]]]


def test_the_beginning_of_a_word_capital_letters_and_phrases_are_found(dplda, shop: TopicModel) -> None:
    assert [set(ranks) for _, ranks in found(dplda("search", "refund", "--json").json)] == [{"refund"}]
    assert [set(ranks) for _, ranks in found(dplda("search", "REFUND*", "--json").json)] == [{"refund", "refunds"}]
    assert [set(ranks) for _, ranks in found(dplda("search", "Credit  card", "--json").json)] == [{"credit_card"}]
    assert found(dplda("search", "card", "--json").json) == []


def test_topics_with_more_of_the_words_come_first_then_those_that_list_them_earlier(dplda, shop: TopicModel) -> None:
    assert [topic for topic, _ in found(dplda("search", "money", "refunds", "heating", "--json").json)] == [0, 2, 1]


def test_runs_of_the_ledger_and_models_of_the_folder_are_each_searched_once(
    dplda, saved: str, shop: TopicModel, model: TopicModel, home: Path
) -> None:
    word = model.relevant_words(1)[0][0][0]
    record = dplda("search", word, "money", "--json").json
    assert record["models"] == 2
    assert {each["name"] for each in record["topics"]} == {saved, "models/shop"}
    out = dplda("search", word).out
    assert saved in out
    assert f"dplda topics {saved}" in out


def test_only_the_first_words_of_a_topic_are_searched(dplda, shop: TopicModel) -> None:
    last = shop.relevant_words(30)[2][-1][0]
    assert found(dplda("search", last, "--top", 1, "--json").json) == []
    assert [topic for topic, _ in found(dplda("search", last, "--top", 2, "--json").json)] == [2]


@pytest.mark.parametrize(
    ("asked", "told", "untold"),
    [
        (("zebra", "gnu"), "No run has it among its words: the texts may use it too seldom", "begin like it"),
        (("heat",), "Words that begin like it are known: dplda search 'heat*'", "--top"),
        (
            ("boiler", "--top", 1),
            "It is among the words of a run, but not among the first words of a topic: --top N searches more",
            "too seldom",
        ),
    ],
)
def test_nothing_found_is_no_failure_and_what_it_means_is_told(dplda, shop: TopicModel, asked, told, untold) -> None:
    answer = dplda("search", *asked)
    assert (answer.status, answer.err, answer.out.count("\n")) == (0, "", 2)
    assert f"has {asked[0]!r}" in answer.out
    assert told in answer.out
    assert untold not in answer.out


def test_no_models_at_all_is_one_line_and_makes_no_ledger(dplda, home: Path) -> None:
    answer = dplda("search", "zebra")
    assert (answer.status, answer.out.count("\n")) == (0, 1)
    assert "dplda fit" in answer.out
    assert list(home.iterdir()) == []


def test_topics_called_noise_are_searched_on_request(dplda, home: Path) -> None:
    model = about([9, 5, 7, 1, 0, 0], [0, 0, 4, 9, 0, 0])
    with_facts(model, verdicts=("clear", "noise"), topic_probabilities=(0.9, 0.01)).save(home / "models" / "m")
    assert [topic for topic, _ in found(dplda("search", "credit_card", "--json").json)] == []
    told = "Not listed: 1 topic called noise has one of these words (--all)."
    assert told in dplda("search", "credit_card").out
    assert told in dplda("search", "money", "credit_card").out
    assert "Not listed" not in dplda("search", "credit_card", "--all").out
    (hit,) = dplda("search", "credit_card", "--all", "--json").json["topics"]
    assert (hit["topic"], hit["verdict"], hit["real"]) == (1, "noise", 0.01)


def test_a_run_that_is_not_private_is_marked(dplda, home: Path) -> None:
    exact = replace(STATEMENT, sound=False, epsilon=float("inf"), reason="NOT PRIVATE: no noise")
    replace(about([1] * 6), privacy=exact).save(home / "models" / "exact")
    assert "NOT PRIVATE: models/exact" in dplda("search", "money").out
    assert dplda("search", "money", "--json").json["topics"][0]["private"] is False


def test_a_model_that_is_gone_or_damaged_is_counted_and_the_rest_is_searched(dplda, saved, shop, home: Path) -> None:
    shutil.rmtree(home / "models" / "saved")
    (home / "models" / "broken").mkdir()
    (home / "models" / "broken" / "model.json").write_text("{")
    answer = dplda("search", "money", "--json")
    assert answer.json["models"] == 1
    assert answer.err.startswith("2 saved models could not be searched")


@pytest.mark.parametrize("word", ["", " ", "*"])
def test_an_empty_word_is_refused(dplda, word: str) -> None:
    answer = dplda("search", "money", word)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
