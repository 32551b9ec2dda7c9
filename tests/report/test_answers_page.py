"""The page of `dplda ask`: questions with their answers, escaped, and nothing that was not released."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from answer_data import BY_MONTH, BY_TEAM, WORDS, count_table, counts, everything, findings, word_table, words
from full_helpers import full_after
from report_data import HOSTILE, Page, all_runs, run_model, tables

from dplda.base.errors import InputError
from dplda.private.attributes import OTHER
from dplda.report import AllRuns, Wording
from dplda.report.answers_page import write_answers
from dplda.report.pictures import shown
from dplda.runs.indicator_tables import WordTable
from dplda.runs.questions import Findings
from dplda.text.categories import NONE

TODAY = datetime.date(2026, 1, 2)


def page(tmp_path: Path, found: Findings, together: AllRuns | None = None) -> Page:
    path = tmp_path / "answers.html"
    write_answers(found, path, together, date=TODAY)
    return Page(path.read_text(encoding="utf-8"))


def test_each_question_is_a_heading_in_the_users_words_followed_by_its_answer(tmp_path):
    text = page(tmp_path, everything()).text
    places = [text.rindex(question) for question in everything().questions]
    assert places == sorted(places)
    for start, told in zip(
        places, ("Topic 0", "How topics change by month", "300 (", "refund", "times as frequent"), strict=True
    ):
        assert told in text[start:]
    assert "All answers on this page together are (epsilon 1.25, delta 1e-06)-differentially private" in text
    assert "2 January 2026" in text
    assert "NOT PRIVATE" not in text


def test_shares_of_topics_without_groups_are_one_picture(tmp_path, without_charts):
    model = run_model()
    found = tables(model, (2000, 1500, 900))
    whole = replace(found, tables=(found[0].whole(),))
    text = page(tmp_path, findings(("What is it about?", None), ("How much is each?", whole), model=model)).text
    assert text.count("How much of the text each topic is") == 1
    assert "differ by" not in text


def test_a_table_with_many_groups_has_its_combinations_and_no_second_picture_of_another_table(tmp_path, without_charts):
    teams, months = (*map(str, range(9)), OTHER), ("2024-01", "2024-02", OTHER)
    shares = [(0.3, 0.1, 0.6)] * 29 + [(0.8, 0.1, 0.1)]
    crossed = count_table(("team", "month(day)"), (teams, months), shares, [1000.0] * 29 + [3.0])
    by_team = crossed.over(0)
    text = page(tmp_path, findings(("How many?", counts(crossed, by_team)))).text
    assert "Each category by team and month" in text
    assert "Of 29 of 30 combinations, the share can be told, too." in text
    assert re.search(r"\(all others\), \(all others\) 3 \(0 to \d+\) refund 2 \(0 to 12\) too small to tell", text)
    assert "0, 2024-01" in text
    assert "The share of each category by month, summed from the table by team and month" in text
    assert "by team, summed" not in text


def test_hidden_words_are_in_no_picture(tmp_path, without_charts):
    asked = findings(("Which words?", words(word_table())))
    path = tmp_path / "answers.html"
    write_answers(asked, path, date=TODAY)
    hidden = next(each.word for found in word_table().distinctive() for each in found or () if each.certain)
    assert hidden in Page(path.read_text(encoding="utf-8")).text
    write_answers(asked, path, date=TODAY, wording=Wording(hidden=[hidden]))
    text = Page(path.read_text(encoding="utf-8")).text
    assert f" {hidden} " not in text
    assert "1 word was hidden by hand" in text
    with pytest.raises(InputError, match="not on this page"):
        write_answers(asked, path, date=TODAY, wording=Wording(hidden=["nowhere"]))
    with pytest.raises(InputError, match="none to name"):
        write_answers(asked, path, date=TODAY, wording=Wording(names={0: "x"}))


def test_the_page_is_whole_in_itself(tmp_path):
    path = tmp_path / "answers.html"
    write_answers(everything(), path)
    text = path.read_text(encoding="utf-8")
    made = Page(text)
    assert made.scripts == []
    assert not any({"src", "srcset", "action"} & set(attributes) for _, attributes in made.elements)
    targets = [attributes["href"] or "" for _, attributes in made.elements if "href" in attributes]
    assert all(target.startswith("#") for target in targets)
    (policy,) = [each["content"] for _, each in made.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    names = [attributes["id"] for _, attributes in made.elements if attributes.get("id")]
    assert len(set(names)) == len(names)
    assert {target[1:] for target in targets} <= set(names)


def test_bars_say_the_number_of_each_category_and_the_rest_is_told(tmp_path, without_charts):
    text = page(tmp_path, findings(("How many?", counts(count_table())))).text
    assert "refund 300 (290 to 310)" in text
    assert "heat 100 (90 to 110)" in text
    assert "none of these: 600 (590 to 610)" in text
    assert "30.0% (" in text
    assert "documents of at least 3 words: 1,000 (" in text


def test_what_holds_and_what_is_too_small_is_told_in_sentences(tmp_path, without_charts):
    text = page(tmp_path, findings(("How many?", counts(BY_TEAM, BY_MONTH)))).text
    assert re.search(r"category refund is [0-9.]+ to [0-9.]+ points more in cash than elsewhere", text)
    assert re.search(r"2024-02 3 \(0 to \d+\) refund \d+ \(0 to \d+\) too small to tell", text)
    assert "Topic" not in text


def test_certain_words_have_their_lifts_and_no_other_word_is_shown(tmp_path, without_charts):
    text = page(tmp_path, findings(("Which words?", words(word_table())))).text
    (table,) = [word_table()]
    for group, contrasts in zip(table.rows, table.distinctive(), strict=True):
        for each in contrasts or ():
            told = f"{group[0]} {each.word} "
            assert (told in text) == each.certain
    assert "Too small to tell" not in text, "nobody asks for words of all others"


def test_groups_without_certain_words_and_small_ones_are_named(tmp_path, without_charts):
    small = WordTable(
        ("team",),
        (("heat", "cash", "tiny", OTHER),),
        (False,),
        np.array([[20.0, 30, 600], [200, 300, 2000], [2, 1, 0], [0, 0, 0]]),
        np.array([1000.0, 4000.0, 5.0, 0.0]),
        5.0,
        titles=WORDS,
    )
    text = page(tmp_path, findings(("Which?", words(small)))).text
    assert "Too small to tell: tiny." in text
    nothing = page(tmp_path, findings(("Which?", words(word_table(scale=0.5))))).text
    assert "No word is certainly more frequent in a group" in nothing


def test_groups_of_a_category_are_named_by_it(tmp_path, without_charts):
    table = replace(word_table(("category(refund)",), (("no", "yes", OTHER),)), private=(False,))
    text = page(tmp_path, findings(("Which?", words(table)))).text
    assert "refund: yes" in text
    assert "category(" not in text
    assert "found privately" not in text


@pytest.mark.parametrize("kind", [counts, words])
def test_groups_that_were_found_privately_are_said_to_lack_small_ones(tmp_path, kind, without_charts):
    table = replace(BY_TEAM if kind is counts else word_table(), private=(True,))
    told = "The groups by team were found privately: those of too few"
    for unit, what in (("document", "documents"), ("customer", "customers (in parts, if in several groups)")):
        text = page(tmp_path, findings(("Which?", kind(table)), unit=unit)).text
        assert f"{told} {what} are in '{OTHER}'." in " ".join(text.split())


def test_nothing_is_shown_but_what_the_ledger_has_as_released(tmp_path):
    """The page made of the released numbers alone, as plain JSON, is the same."""
    found = everything()
    again = [None if each is None else json.loads(json.dumps(each.released())) for each in found.tables]
    made = tuple(
        each
        and replace(
            type(each).of_released(record, run=each.run, of=each.of, dataset=each.dataset),
            same_documents=each.same_documents,
        )
        for each, record in zip(found.tables, again, strict=True)
    )
    for name, each in (("a.html", found), ("b.html", replace(found, tables=made))):
        write_answers(each, tmp_path / name, date=TODAY)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("word", full_after(3, HOSTILE))
def test_names_questions_groups_and_words_are_escaped(tmp_path, word, without_charts):
    names = (shown(word), "heat", NONE)
    model = run_model(words=[f"{word}{i}" if i else word for i in range(12)])
    team = replace(BY_TEAM, titles=names, groups=((shown(word), "cash", OTHER),))
    found = findings(
        (word, None),
        (f"2 {word}", counts(team, replace(count_table(), titles=names))),
        (f"3 {word}", words(replace(word_table(), titles=(word, "money", "boiler")))),
        model=model,
    )
    made = page(tmp_path, replace(found, run=f"toys-{word}"))
    assert made.scripts == []
    assert "img" not in {tag for tag, _ in made.elements}
    assert "onerror" not in {name for _, attributes in made.elements for name in attributes}
    assert " ".join(shown(word).split()) in made.text or not shown(word).strip()


def test_a_simulated_run_is_stamped(tmp_path, without_charts):
    found = findings(
        ("How many?", counts(count_table())), sound=False, epsilon=float("inf"), reason="NOT PRIVATE: simulated noise"
    )
    made = page(tmp_path, found)
    assert made.title.startswith("NOT PRIVATE: answers about toys")
    assert "NOT PRIVATE: simulated noise. Do not publish this page." in made.text
    assert "differentially private" not in made.text
    assert ("p", {"class": "stamp"}) in made.elements


def test_a_person_is_named_as_the_unit(tmp_path, without_charts):
    text = page(tmp_path, findings(("How many?", counts(count_table())), unit="customer")).text
    assert "customers with a document of at least 3 words" in text
    assert "The documents of one customer share the weight of one" in text


def test_two_groups_that_are_compared_are_in_the_heading(tmp_path, without_charts):
    two = replace(BY_TEAM, by=("between(team)",))
    of_words = replace(word_table(("between(team)",)), private=(False,))
    text = page(tmp_path, findings(("How many?", counts(two)), ("Which?", words(of_words)))).text
    assert "The share of each category between heat and cash" in text
    assert "Words that are more frequent in one group than in the other group, between heat and cash" in text
    of_persons = counts(replace(two, persons=True))
    text = page(tmp_path, findings(("How many?", of_persons), unit="customer")).text
    assert "The share of customers with at least one document in each category, between heat and cash" in text


def test_a_difference_of_no_category_is_told_and_sizes_have_intervals(tmp_path, without_charts):
    """What differs for certain is that documents are in none of the categories."""
    teams = (("heat", "cash", OTHER),)
    shares = [(0.2, 0.1, 0.7), (0.2, 0.1, 0.3), (0.2, 0.1, 0.5)]  # the categories, and none of them
    table = count_table(("team",), teams, shares, [1000.0] * 3)
    assert {table.titles[change.topic] for change in table.changes()} == {NONE}
    text = page(tmp_path, findings(("How many?", counts(table)))).text
    assert f"category {NONE} is" in text
    assert "holds with 95 % probability" not in text
    units = table.units()
    assert f"{units.value[0]:,.0f} ({units.low[0]:,.0f} to {units.high[0]:,.0f})" in text


def test_counts_of_persons_are_told_apart_from_those_of_documents(tmp_path, without_charts):
    of_persons = replace(count_table(), persons=True, rules=("refund: money back",))
    asked = findings(("How many?", counts(count_table())), ("How many people?", counts(of_persons)), unit="customer")
    text = page(tmp_path, asked).text
    assert text.count("Numbers are of customers with at least one such document.") == 1
    assert "How many customers have at least one document in each category" in text
    assert "A customer counts once in each category of at least one of their documents." in text
    assert text.count("In a category is a document with one of its words: refund: money back. ") == 2, "and the numbers"
    long = replace(count_table(), rules=("refund: " + ", ".join(f"word{i}" for i in range(40)),))
    told = page(tmp_path, findings(("How many?", counts(long)))).text
    assert "one of its words (in full with the numbers): refund: word0, word1," in told
    assert told.count("word39") == 1
    assert "A customer in more than 1 category counts less" in text
    assert "Each answer says whether it counts documents, customers with at least one" in " ".join(text.split())
    by_team = page(tmp_path, findings(("How many?", counts(replace(BY_TEAM, persons=True))), unit="customer")).text
    assert "The share of customers with at least one document in each category, by team" in by_team
    assert "In all groups together" not in by_team
    assert "in each group that they have one in" in by_team
    assert "points more in cash than in the other groups together" in by_team
    assert "compared with the other groups together, where a customer counts once in each of them" in by_team
    assert "elsewhere" not in by_team
    by_month = page(tmp_path, findings(("How many?", counts(replace(BY_MONTH, persons=True))), unit="customer")).text
    assert "compared with the other groups" not in by_month, "a month is compared with the one before it"
    of_tickets = replace(BY_TEAM, documents_per_person=4)
    tickets = page(tmp_path, findings(("How many tickets?", counts(of_tickets)), unit="customer")).text
    assert "documents of at least 3 words, of each customer up to 4 in full" in tickets
    least = of_tickets.whole().matches().low[0, of_tickets.titles.index("refund")]
    assert f"In all groups together, with 95 %: refund at least {least:,.0f}" in tickets, "tables count different parts"
    both = replace(of_tickets, by=("desk",)), replace(of_tickets, by=("ward",), totals=of_tickets.totals * 2)
    questions = [(f"How many by {each.by[0]}?", counts(each)) for each in both]
    one_total = page(tmp_path, findings(*questions, unit="customer")).text
    assert one_total.count("In all groups together") == 1, "of several sums that are too small, the largest is told"
    assert f"refund at least {both[1].whole().matches().low[0, of_tickets.titles.index('refund')]:,.0f}" in one_total
    assert "more of them count where they are in several groups, so that tables with groups may count more" in tickets
    assert "The share of documents in each category, by team" in tickets
    texts = page(tmp_path, findings(("How many?", counts(BY_MONTH)), unit="customer")).text
    assert "The share of customers' texts in each category, by month" in texts
    assert "the share of customers' texts in it, in percent" in texts
    assert "percent of the customers" not in texts
    assert "customers (in parts)" in texts
    in_all = page(tmp_path, findings(("?", counts(replace(of_tickets.whole()))), unit="customer")).text
    assert "Documents of a customer with more than 4 may count less. " in in_all
    without = page(tmp_path, findings(("How many?", counts(count_table())), unit="customer")).text
    assert "count in full" not in without
    assert "Numbers are of customers with at least one such document" not in without


def test_all_runs_of_the_ledger_are_told(tmp_path, without_charts):
    found = findings(("How many?", counts(count_table())))
    assert "no ledger knew the run" in page(tmp_path, found).text
    text = page(tmp_path, found, all_runs(3)).text
    assert "the 3 runs recorded under" in text
    assert "the guarantee is <this>" in text


def test_documents_in_many_categories_are_told_to_count_less(tmp_path, without_charts):
    several = replace(count_table(), at_most=1)
    assert "A document in more than 1 category counts less" in page(tmp_path, findings(("?", counts(several)))).text
    whole = replace(count_table(), at_most=2)
    assert "counts less" not in page(tmp_path, findings(("?", counts(whole)))).text


@pytest.mark.parametrize(
    ("changes", "unit", "less"),
    [
        ({"at_most": 2}, "document", ""),
        ({"at_most": 1, "exclusive": True}, "document", ""),  # a question has one answer for each document
        ({"at_most": 2, "persons": True}, "customer", ""),
        ({"at_most": 1}, "document", "the true number of documents is not smaller than these, and may be larger"),
        ({"at_most": 1, "persons": True}, "customer", "the true number of customers is not smaller"),
        ({"at_most": 2, "documents_per_person": 3}, "customer", "the true number of documents is not smaller"),
        (
            {"at_most": 2},
            "customer",
            "the true numbers of documents, and of customers with one of these, are not smaller",
        ),
    ],
)
def test_intervals_are_of_the_true_number_only_where_nothing_counts_less(tmp_path, without_charts, changes, unit, less):
    text = page(tmp_path, findings(("?", counts(replace(count_table(), **changes))), unit=unit)).text
    assert ("contains the true number with 95 %" in text) == ("number (95 %)" in text) == (not less)
    assert ("contains the number as counted here with 95 %" in text) == bool(less)
    assert ("number as counted (95 %)" in text) == bool(less)
    assert less in text
    assert ("Intervals are of the numbers as counted here" in text) == bool(less)
    many = {"document": "documents", "customer": "documents or customers"}[unit]
    assert f"Where some {many} count less, as an answer then says" in text
    over_time = page(tmp_path, findings(("?", counts(replace(BY_MONTH, **changes))), unit=unit)).text
    share = "share as counted here" if less or "persons" in changes else "true share"  # one may be in several groups
    assert f"with a band that contains the {share} with 95 %" in over_time


@pytest.mark.parametrize(("at_most", "less"), [(50, False), (2, True)])
def test_persons_in_all_groups_count_in_full_if_they_may_have_all_answers(tmp_path, without_charts, at_most, less):
    by_team = replace(BY_TEAM, persons=True, at_most=at_most)
    text = page(tmp_path, findings(("?", counts(by_team)), unit="customer")).text
    assert ("counts less" in text) == ("as counted" in text) == less


def test_a_page_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot write the answers"):
        write_answers(findings(("How many?", counts(count_table()))), tmp_path / "none" / "a.html")
