from __future__ import annotations

from pathlib import Path

import pytest

from dplda.learning.settings import FitSettings


def test_defaults_are_those_of_a_fit(dplda) -> None:
    record = dplda("plan", "--documents", 50_000, "--json").json
    names = ("topics", "epsilon", "delta", "adjacency")
    fit = FitSettings().to_json()
    assert {name: record[name] for name in names} == {name: fit[name] for name in names}
    assert (record["documents"], record["vocabulary"], record["public_vocabulary"]) == (50_000, 2000, False)
    assert record["unit"] == "document"


def test_json_tells_of_each_stage_and_of_what_is_enough(dplda) -> None:
    record = dplda("plan", "--documents", 50_000, "--public-vocabulary", "--epsilon", 1, "--json").json
    assert [forecast["corpus"] for forecast in record["forecasts"]] == ["one subject", "many subjects"]
    for forecast in record["forecasts"]:
        stages = forecast["stages"]
        assert [stage["stage"] for stage in stages] == [
            *("size", "frequency", "mean", "subspace", "core", "tensor", "refine")
        ]
        assert set(stages[0]) == {"stage", "share", "noise_multiplier", "noise", "signal"}
        assert sum(stage["share"] for stage in stages) == pytest.approx(1)
        assert forecast["words"] == 1183  # as many as the noise supports
        assert set(forecast["enough"]) == {"epsilon", "documents"}


def test_people_read_what_is_private_the_table_and_plain_sentences(dplda) -> None:
    asked = ("plan", "--documents", 30_000, "--epsilon", 1, "--topics", 30, "--words", "private")
    answer = dplda(*asked, "--details")
    lines = answer.out.splitlines()
    plain = dplda(*asked).out.splitlines()
    assert plain == lines[: len(plain)]
    assert len(plain) == 6
    assert "for one document, added or removed" in lines[0]
    assert "epsilon 1, delta 1e-06" in lines[0]
    assert [line.split()[0] for line in lines[7:14]] == [
        *("size", "vocabulary", "mean", "subspace", "core", "tensor", "refine")
    ]
    for expected in (
        "of 30 topics survive; about epsilon",
        "documents would be enough for all 30.",
        "has an even chance to be released; in typical text, about",
        "Set by fixed rules:",
        "may be called weak or noise in the end",
        "one unit",
    ):
        assert expected in answer.out
    assert "replaced" in dplda("plan", "--documents", 30_000, "--adjacency", "replace").out


def test_from_how_many_documents_a_word_has_an_even_chance_follows_from_topics_delta_and_neighbours(dplda) -> None:
    """The numbers are in docs/choosing-epsilon.md."""
    for options, needed in (
        (("--topics", 8), 259),
        (("--topics", 8, "--delta", 1e-8), 331),
        (("--topics", 20), 309),
        (("--topics", "auto", "--delta", 1e-8), 395),
        (("--topics", 8, "--words", "private"), 259),
        (("--topics", 8, "--adjacency", "replace"), 371),
    ):
        out = dplda("plan", "--documents", 4000, "--epsilon", 4, *options).out
        assert f"about {needed} documents use" in out
        assert "has an even chance to be released" in out


def test_enough_for_all_topics_is_said_to_be_enough(dplda) -> None:
    out = dplda("plan", "--documents", 10_000_000, "--topics", 5).out
    assert out.count("all 5 topics survive") == 2
    assert "of at most 40 topics" in dplda("plan", "--documents", 20_000, "--topics", "auto").out


def test_too_little_is_said_to_be_too_little(dplda) -> None:
    answer = dplda("plan", "--documents", 500, "--epsilon", 0.5, "--words", "private")
    assert answer.status == 0
    assert "too few words" in answer.out
    none = dplda("plan", "--documents", 100, "--epsilon", 0.5, "--public-vocabulary").out
    assert "no topic survives" in none


def test_nothing_is_written(dplda, home: Path) -> None:
    dplda("plan", "--documents", 1000)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--documents", 0], "documents must be a whole number in [1, 1e+12] (documents), got 0."),
        (
            ["--documents", 9, "--epsilon", 0],
            "epsilon must be a number in [0.001, 100] (nats, total for the run), got 0",
        ),
        (
            ["--documents", 9, "--topics", 0],
            "topics must be a whole number in [1, 500] (topics; in Python, n_topics or n_components) or 'auto', got 0.",
        ),
        (["--documents", 9, "--topics", 9, "--vocabulary", 5], "topics must not exceed the number of words"),
        (["--documents", 9, "--topics", "many"], "neither a whole number nor auto"),
        ([], "Missing option '--documents'"),
    ],
)
def test_bad_numbers_are_refused_in_one_line(dplda, given: list[object], message: str) -> None:
    answer = dplda("plan", *given)
    assert answer.status == 2
    assert message in answer.err
    assert (answer.out, answer.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (100, "for so few documents, the test whether it is may say no though it is."),
        (600, "topics with at least 2.3% of the text would stand out"),
        (2000, "all topics would stand out from the noise, with the words of the public text"),
        (2000, "no word list is needed. Recommended;"),
        (200_000, "Not needed, but it would cost little;"),
    ],
)
def test_what_a_prior_would_give_and_whether_to_look_for_one(dplda, documents, said):
    assert said in dplda("plan", "--documents", documents, "--epsilon", 1, "--prior").out


def test_json_tells_of_a_prior_only_if_asked(dplda):
    given = ("plan", "--documents", 600, "--epsilon", 1, "--json")
    assert dplda(*given, "--prior").json["prior"]["least_documents"] == 503
    assert "prior" not in dplda(*given).json


def test_a_forecast_with_a_prior_needs_a_number_of_topics(dplda):
    answer = dplda("plan", "--documents", 2000, "--topics", "auto", "--prior")
    assert (answer.status, answer.out) == (2, "")
    assert "--prior needs a number of topics" in answer.err
