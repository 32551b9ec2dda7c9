"""What a notebook shows of a model: nothing but text and inline styles, whatever its words are."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from handmade import make_model, with_facts
from report_data import HOSTILE, Page, run_model

from dplda.model import TopicModel


def shown(model: TopicModel) -> Page:
    return Page(model._repr_html_())


def test_a_model_shows_its_promise_and_a_card_for_each_listed_topic() -> None:
    model = with_facts(
        run_model(),
        verdicts=("clear", "weak", "noise"),
        topic_probabilities=(0.97, 0.6, 0.1),
        topic_names=("Billing", "", ""),
    )
    text = shown(model).text
    assert "2 of 3 (1 clear, 1 weak, 1 noise; those called noise are not shown), of toys: about 100 documents" in text
    assert re.search(r"is right at most 5\d\.\d% of the time", text)
    assert "this run alone (epsilon 1, delta 1e-06, for one document)" in text
    assert re.search(r"Billing topic 0 \d+\.\d% of the words; clear \(97%\)", text)
    assert "Topic 1" in text
    assert "Topic 2" not in text
    assert all(word in text for word, _ in model.relevant_words(10)[0])


def test_a_model_without_a_guarantee_is_stamped() -> None:
    model = run_model(sound=False, epsilon=math.inf, reason="NOT PRIVATE: simulated noise")
    text = shown(model).text
    assert text.startswith("NOT PRIVATE: simulated noise. Do not publish these topics.")
    assert "Promise" not in text
    assert "NOT PROVEN PRIVATE" in shown(run_model(sound=False, reason="no proof")).text


def test_hostile_words_names_and_facts_stay_text() -> None:
    hostile = with_facts(
        run_model(words=HOSTILE, sound=False, reason=HOSTILE[0], unit=HOSTILE[1]),
        topic_names=tuple(HOSTILE[:3]),
        dataset=HOSTILE[1],
        language='"><script>',
    )
    plain = with_facts(run_model(sound=False, reason="none", unit="author"), topic_names=("a", "b", "c"))
    assert [tag for tag, _ in shown(hostile).elements] == [tag for tag, _ in shown(plain).elements]
    assert HOSTILE[1] in shown(hostile).text
    assert "{{ 7 * 7 }}" in shown(hostile).text
    hostile._repr_html_().encode()


def test_all_styles_are_in_the_elements_and_nothing_is_fetched_or_run() -> None:
    page = shown(run_model(words=HOSTILE))
    assert {name for _, attributes in page.elements for name in attributes} <= {"style", "lang", "aria-hidden"}
    assert not {tag for tag, _ in page.elements} & {"script", "style", "link", "img", "a", "iframe"}
    styles = " ".join(attributes.get("style") or "" for _, attributes in page.elements)
    assert "url(" not in styles
    colours = set(re.findall("(?<!-)color: ([^;]*)", styles))
    assert not colours, "text has the colour of the notebook, light or dark"


def test_the_rest_of_many_topics_unfolds() -> None:
    page = shown(make_model(30, 40))
    assert "6 more topics" in page.text
    assert [tag for tag, _ in page.elements].count("details") == 1
    assert "Topic 29" in page.text


def test_a_word_that_markup_changes_would_be_lost(model: TopicModel) -> None:
    renamed = replace(model, vocabulary=["<b>&amp;</b>", *model.vocabulary[1:]])
    assert "<b>&amp;</b>" in shown(renamed).text
