"""What is advised for a number of units is what the forecast and the rule of enough units say."""

from __future__ import annotations

import pytest

from dplda.cli.check_command import Report
from dplda.cli.expectations import tell_expected
from dplda.learning.settings import DEFAULTS
from dplda.runs.advice import USUAL, advise, clearer, judge, supported_topics
from dplda.runs.enough import probably_enough
from dplda.runs.fit_options import FitOptions
from dplda.runs.forecast import ForecastInputs


@pytest.mark.parametrize("units", [1, 60, 300, 700, 1500, 3000, 10_000, 1_000_000])
def test_what_is_advised_is_what_is_said_to_be_enough(units):
    advice = advise(units)
    settings = FitOptions(n_topics=advice.topics, epsilon=advice.epsilon).settings()
    assert judge(settings, units) == advice
    assert advice.ends_with_topics == probably_enough(settings, ForecastInputs(settings, units).events, units)
    assert advice.options == f"--topics {advice.topics} --epsilon {advice.epsilon:g}"


def test_more_units_are_advised_more_topics_for_a_smaller_epsilon():
    advised = [advise(units) for units in (50, 300, 700, 3000, 20_000)]
    assert [advice.topics for advice in advised] == [5, 5, 5, 8, 20]
    assert [advice.ends_with_topics for advice in advised] == [False, False, True, True, True]
    assert [advice.likely for advice in advised] == [False, False, False, True, True]
    assert [advice.prior_helps for advice in advised] == [False, True, True, True, True]
    assert (advised[-1].topics, advised[-1].epsilon) == USUAL


def test_fewer_topics_that_all_stand_out_are_found_at_the_same_epsilon():
    asked = FitOptions(n_topics=20, epsilon=2).settings()
    found = supported_topics(asked, 3000)
    fewer, more = (judge(FitOptions(n_topics=topics, epsilon=2).settings(), 3000) for topics in (found, found + 1))
    assert fewer.surviving == found > 1
    assert more.surviving <= found
    assert supported_topics(asked, 100) == 0
    assert supported_topics(FitOptions(n_topics="auto").settings(), 3000) == 0
    guided = FitOptions(n_topics=20, seed_words={"money": ["refund"]}).settings()
    assert supported_topics(guided, 3000) == 0


def test_a_first_batch_is_judged_by_words_above_a_threshold_and_advised_what_gives_them():
    batch = FitOptions(n_topics=8, words="private").settings(series="weekly", batch="w1")
    judged, by_itself = judge(batch, 1900), judge(FitOptions(n_topics=8).settings(), 1900)
    assert (judged.enough_words, judged.ends_with_topics) == (False, False)
    assert probably_enough(batch, ForecastInputs(batch, 1900).events, 1900), "the size alone does not end the run"
    assert (by_itself.enough_words, by_itself.ends_with_topics) == (True, True)
    advised = advise(1900, batch)
    again = FitOptions(n_topics=advised.topics, epsilon=advised.epsilon, words="private")
    assert judge(again.settings(series="weekly", batch="w1"), 1900) == advised


def test_topics_that_are_too_many_are_not_likely():
    few, many = (judge(FitOptions(n_topics=topics, epsilon=4.0).settings(), 3000) for topics in (8, 40))
    assert few.likely
    assert not many.likely
    assert many.ends_with_topics


def test_settings_that_give_clearer_topics_are_named_where_the_usual_ones_give_hints():
    found = [clearer(units) for units in (3000, 7600, 20_000)]
    assert found[0] is None
    assert (found[1].topics, found[1].epsilon) == (8, 4.0)
    assert (found[2].topics, found[2].epsilon) == USUAL
    for units, proposed in ((7600, ["--topics", "8", "--epsilon", "4"]), (20_000, [])):
        assert tell_expected(Report(n_units=units)) == proposed
        given = Report(n_units=units)
        tell_expected(given, DEFAULTS)
        hint = "With --topics 8 --epsilon 4, some would be called clear."
        assert (hint in " ".join(given.remarks)) == bool(proposed)
