"""What a notebook shows of a model: nothing but text and inline styles, whatever its words are."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from answer_data import BY_MONTH, BY_TEAM, count_table, counts, word_table, words
from handmade import make_model, with_facts
from report_data import HOSTILE, Page, run_model, tables

from dplda.learning.coherence import Coherence, Prediction
from dplda.learning.estimates import Estimates
from dplda.model import TopicModel
from dplda.report.table_pictures import certain_differences
from dplda.runs.counting import counted_in, what_counts
from dplda.runs.evaluation import Evaluation
from dplda.runs.indicator_tables import OWN_WORDS, WEIGHED
from dplda.runs.released_table import Tables
from dplda.text.categories import NONE


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
    assert "2 of 3 (1 clear, 1 weak, 1 noise; those called noise are not shown), of toys: about 5,000 documents" in text
    assert re.search(r"is right at most 5\d\.\d% of the time", text)
    assert "this run alone (epsilon 1, delta 1e-06, for one document)" in text
    assert re.search(r"Billing topic 0 \d+\.\d% of the words; clear \(97%\)", text)
    assert "Topic 1" in text
    assert "Topic 2" not in text
    assert "An ordinary fit, without noise and with the 2,000 most frequent words, would probably find a clear" in text
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


@pytest.mark.parametrize(
    ("found", "titles"),
    [
        (tables(run_model(), (2000, 1500, 900)), ["How topics change by month"]),
        (
            counts(count_table(), BY_TEAM, BY_MONTH),
            [
                "How common the categories are, counted in documents",
                "How categories differ by team, counted in documents",
                "How categories change by month, counted in documents",
            ],
        ),
        (
            words(word_table()),
            ["Words that seem more frequent in one group than elsewhere, by team, and which are certainly so"],
        ),
    ],
)
def test_a_result_shows_all_of_its_tables_with_titles_and_its_guarantee(found: Tables, titles: list[str]) -> None:
    html = found._repr_html_()
    assert html is not None
    assert [title for title in titles if html.index(title)] == titles
    assert all(table._repr_html_() in html for table in found)
    assert "may reveal what epsilon 1, delta" in Page(html).text
    private = replace(found, tables=tuple(replace(table, private=(True,) * len(table.by)) for table in found))
    text = " ".join(Page(private._repr_html_()).text.split())
    assert text.count("found privately: those of too few documents are in") == sum(bool(table.by) for table in found)


@pytest.mark.parametrize(
    ("kind", "told", "column"),
    [
        (
            {"persons": True},
            "counted in movies A movie in more than 1 category counts less, in each of them and in the number of all "
            "movies. Counted are movies",
            "units",
        ),
        (
            {"documents_per_person": 2},
            "counted in documents of movies Of documents in more than 1 category",
            "documents",
        ),
        ({}, "counted in shares of movies' texts A document in more than 1 category counts less", "units"),
    ],
)
def test_counts_of_persons_of_documents_and_of_shares_of_texts_are_told_apart(kind, told, column) -> None:
    privacy = replace(run_model().privacy, unit="movie")
    four = count_table(shares=((0.3, 0.1, 0.2, 0.4),), names=("acting", "bad", "great", NONE))
    found = replace(counts(replace(four, **kind)), privacy=privacy)
    text = re.sub(r"(?s)<table.*?</table>", "", found._repr_html_())
    text = " ".join(Page(text).text.split())
    assert told in text
    assert f"Counted are {counted_in(found[0], 'movie')}.{what_counts(found[0], 'movie')}" in text
    assert f"<th>{column}_low</th>" in found._repr_html_()
    assert column in found[0].to_frame().columns, "the display has the names of the frame"


def test_words_and_tables_of_topics_say_what_they_count() -> None:
    assert WEIGHED in Page(words(word_table())._repr_html_()).text
    of_category = replace(word_table(), by=("category(refund)",))
    assert OWN_WORDS in Page(words(of_category)._repr_html_()).text
    text = Page(tables(run_model(), (2000, 1500, 900))._repr_html_()).text
    assert re.search(r"Counted are about [\d,]+ documents with at least 3 known words\.", text)
    named = replace(BY_TEAM, totals=BY_TEAM.totals * 100, counts=BY_TEAM.counts * 100)
    assert certain_differences(named, dict(enumerate(named.titles))) in Page(counts(named)._repr_html_()).text


def test_a_result_without_a_guarantee_is_stamped_and_hostile_names_stay_text() -> None:
    privacy = replace(run_model().privacy, sound=False, epsilon=math.inf, reason=f"NOT PRIVATE: {HOSTILE[1]}")
    groups = ((HOSTILE[0], HOSTILE[2], "(all others)"),)
    found = counts(replace(BY_TEAM, by=(HOSTILE[1],), groups=groups, titles=(*HOSTILE[:2], "(none)")))
    page = Page(replace(found, privacy=privacy)._repr_html_())
    assert page.text.startswith(f"NOT PRIVATE: {HOSTILE[1]}. Do not publish these numbers.")
    assert "may reveal" not in page.text
    assert not {tag for tag, _ in page.elements} & {"script", "img", "b2"}


def test_an_evaluation_shows_its_measures_and_each_topic() -> None:
    def one(value: float) -> Estimates[float]:
        return Estimates(value, value - 0.125, value + 0.125)

    npmi = Estimates(np.array([0.25, 0.5]), np.array([0.1, 0.2]), np.array([0.3, 0.75]))
    prediction = Prediction(perplexity=one(300.0), gain=one(1.5))
    found = Evaluation("run", "of", (0, 3), Coherence(npmi, one(0.375), one(0.625)), prediction, run_model().privacy)
    text = Page(found._repr_html_()).text
    assert "coherence (NPMI) 0.375 0.25 0.5" in text
    assert "perplexity 300 299.9 300.1" in text
    assert "3 0.5 0.2 0.75" in text
    assert "may reveal what epsilon 1, delta 1e-06 allows" in text
