"""The options of a fit are declared once, and `dplda.fit`, `PrivateLDA` and the command follow the declaration."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest

import dplda
from dplda.base.config import ExecutionSettings, PrivacySettings
from dplda.base.errors import InputError
from dplda.cli.fit_command import fit as command
from dplda.learning.settings import DEFAULTS, FitSettings, ModelSettings, VocabularySettings
from dplda.model.run_facts import RunFacts
from dplda.runs import fitting
from dplda.runs.fit_options import COMMAND, OPTIONS, FitOptions

DEFAULT_OF = {name: option.default for name, option in OPTIONS.items()}
SETTINGS = {
    each.name
    for group in (PrivacySettings, VocabularySettings, ModelSettings, ExecutionSettings)
    for each in fields(group)
}


def defaults_of(function: object) -> dict[str, object]:
    return {each.name: each.default for each in inspect.signature(function).parameters.values()}


def test_fit_takes_the_declared_options_and_documents_each() -> None:
    parameters = defaults_of(dplda.fit)
    assert parameters.pop("corpus") is inspect.Parameter.empty
    assert parameters == DEFAULT_OF
    for name in OPTIONS:
        assert f"\n- `{name}` (" in dplda.fit.__doc__
    with pytest.raises(TypeError, match="'colour'"):
        dplda.fit(None, colour="red")  # type: ignore[call-arg]


def test_the_estimator_has_the_declared_options() -> None:
    estimator = dplda.PrivateLDA()
    assert set(estimator.get_params()) == {*OPTIONS, "n_components", "public_vocabulary"} - {"n_topics"}
    assert all(getattr(estimator, name) == DEFAULT_OF[name] for name in OPTIONS if name != "n_topics")
    assert estimator.n_components is None


def test_the_command_has_the_declared_options_with_their_help_and_defaults() -> None:
    shown = {each.name: each for each in command.params if isinstance(each, click.Option)}
    for name in COMMAND:
        assert shown[name].help == OPTIONS[name].help
        assert shown[name].default == DEFAULT_OF[name]


def test_every_setting_of_a_fit_is_an_option() -> None:
    other = {"topics": "n_topics", "public": "vocabulary"}
    forgotten = {other.get(name, name) for name in SETTINGS} - set(OPTIONS)
    assert not forgotten, f"FitOptions in dplda/runs/fit_options.py lacks {forgotten}: nobody can choose that setting"
    assert FitOptions().settings() == DEFAULTS
    chosen = FitOptions(n_topics=7, vocabulary=["a", "b", "c", "d", "e", "f", "g"], epsilon=3.0, device="auto")
    assert chosen.settings() == FitSettings.of(topics=7, public=tuple("abcdefg"), epsilon=3.0, device="auto")


def test_numbers_of_numpy_are_numbers_and_become_those_of_python() -> None:
    given = {"n_topics": np.int64(3), "epsilon": np.float32(3), "delta": np.float64(1e-6), "alpha0": np.int8(1)}
    settings = FitOptions(**given, max_vocabulary=np.uint16(50), simulate_seed=np.int32(0)).settings()  # type: ignore[arg-type]
    assert settings == FitSettings.of(topics=3, epsilon=3, delta=1e-6, alpha0=1, max_vocabulary=50, simulate_seed=0)
    json.dumps(settings.to_json())  # refuses those of NumPy
    split = {edge: np.float32(part) for edge, part in {"e6": 0.5, "e8": 0.5}.items()}
    assert FitOptions(placement="config2", split=split).settings().to_json()["split"] == {"e6": 0.5, "e8": 0.5}  # type: ignore[arg-type]
    privacy = PrivacySettings(epsilon=np.float32(2), delta=np.float64(1e-6))  # type: ignore[arg-type]
    assert (type(privacy.epsilon), type(privacy.delta)) == (float, float)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("topics", "the number of topics is n_topics"),
        ("k", "the number of topics is n_topics"),
        ("eps", "the privacy budget is epsilon"),
        ("seed", "there is simulate_seed"),
        ("placment", "did you mean 'placement'?"),
        ("stopwords", "say how text is read where it is: dplda.read_corpus, Corpus.from_texts"),
    ],
)
def test_an_option_by_another_name_is_refused_with_the_right_one(name: str, hint: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{name}': .*{re.escape(hint)}$"):
        dplda.fit(None, **{name: 5})  # type: ignore[arg-type]


def test_a_wrong_number_of_topics_is_told_that_there_is_auto() -> None:
    with pytest.raises(
        InputError,
        match=r"^topics must be a whole number in .*in Python, n_topics or n_components\) or 'auto', got 'ten'\.$",
    ):
        FitOptions(n_topics="ten").settings()  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [np.bool_(True), True, np.float64(3), np.array(3), "3", np.int64(0)])
def test_what_is_no_whole_number_of_topics_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^topics must be a whole number in \[1, 500\]"):
        FitOptions(n_topics=wrong).settings()  # type: ignore[arg-type]


def test_every_setting_that_decides_what_is_learned_is_a_fact_of_the_run() -> None:
    settings = SETTINGS - {each.name for each in fields(ExecutionSettings)} - {"public"}
    forgotten = settings - {each.name for each in fields(RunFacts)}
    assert not forgotten, f"no run can be planned until RunFacts in dplda/model/run_facts.py has a field {forgotten}"


def test_every_option_is_a_setting_or_an_argument_that_a_fit_reads() -> None:
    arguments = set(re.findall(r"\boptions\.(\w+)", inspect.getsource(fitting)))
    ignored = set(OPTIONS) - SETTINGS - arguments
    assert not ignored, f"ModelSettings in dplda/learning/settings.py lacks {ignored}: the option is ignored"


def test_every_setting_is_read_where_topics_are_learned() -> None:
    declared = {"settings.py", "fit_options.py", "run_facts.py"}
    modules = [path for path in Path(dplda.__file__).parent.rglob("*.py") if path.name not in declared]
    read = set(re.findall(r"\.(\w+)", "\n".join(path.read_text(encoding="utf-8") for path in modules)))
    assert not SETTINGS - read, f"no code reads settings.model.NAME, where NAME is {SETTINGS - read}: it has no effect"


@pytest.mark.parametrize("name", OPTIONS)
def test_every_number_has_a_range(name: str) -> None:
    option = OPTIONS[name]
    annotation = str(next(each.type for each in fields(FitOptions) if each.name == name))
    if name in COMMAND and option.default is None and re.fullmatch("(int|float) [|] None", annotation):
        assert option.kind in (int, float), f"FitOptions in dplda/runs/fit_options.py has no kind= for {name}"
    if {int, float} & {option.kind, type(option.default)}:
        assert option.range is not None, f"RANGES in dplda/base/config.py has no range of {name}: nothing checks it"


@pytest.mark.parametrize("name", OPTIONS)
def test_a_value_that_is_not_allowed_is_refused(name: str) -> None:
    option = OPTIONS[name]
    if option.range is None and not option.choices:
        return
    for value in ["other"] if option.choices else [option.range.low - 1, option.range.high * 2, "many"]:
        with pytest.raises(InputError, match=f"{name.removeprefix('n_')} must be"):
            FitOptions(**{name: value}).settings()


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (
            {"vocabulary": "en:500"},
            "vocabulary must be a list of words. In Python, dplda.wordlists.english(500) makes ",
        ),
        ({"vocabulary": "words.txt"}, "vocabulary must be a list of words, such as dplda.wordlists.english(2000) or, "),
        ({"vocabulary": 7}, "vocabulary must be a list of words"),
        ({"seed_words": {"money": "refund"}}, "seed_words must be lists of words, such as {'money': "),
        ({"seed_words": {"money": 7}}, "seed_words must be lists of words"),
    ],
)
def test_a_text_is_no_list_of_words(option: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        FitOptions(**option).settings()  # type: ignore[arg-type]
    corpus = dplda.Corpus.from_texts(["three short words"] * 9, name="c")
    with pytest.raises(InputError, match=re.escape(told)):
        dplda.fit(corpus, ledger=False, simulate_seed=0, **option)


@pytest.mark.parametrize(
    ("given", "named", "told"),
    [
        (
            (),
            {"n_components": 5},
            "fit() got an unexpected keyword argument 'n_components': the number of topics is n_t",
        ),
        ((), {"random_state": 0}, "noise from a known seed is not private"),
        ((5,), {}, "the second argument is the name of the dataset. Write n_topics=5."),
        ((), {"progress": True}, "progress must be an object with the methods of a Progress, got True."),
        ((), {"models": 3}, "models must be the path of a folder, got 3."),
        ((), {"models": ["a private text"]}, "models must be the path of a folder, got a list."),
        ((), {"out": b"m"}, "out must be the path of a folder, got b'm'."),
        ((), {"ledger": "x.db"}, "ledger must be a Ledger, such as dplda.Ledger('x.db'), or False to simulate."),
    ],
)
def test_a_wrong_argument_is_one_line_that_names_the_right_one(
    given: tuple[object, ...], named: dict[str, object], told: str
) -> None:
    corpus = dplda.Corpus.from_texts(["three short words"] * 9, name="c")
    with pytest.raises((TypeError, InputError), match=re.escape(told)):
        dplda.fit(corpus, *given, **named)


def test_a_model_and_a_corpus_in_the_wrong_order_are_told() -> None:
    corpus = dplda.Corpus.from_texts(["three short words"] * 9, name="c")
    with pytest.raises(InputError, match="evaluate takes a model and then a corpus, got Corpus first"):
        dplda.evaluate(corpus, corpus)
    with pytest.raises(TypeError, match="'n_topics': the number of topics is n_components"):
        dplda.PrivateLDA(n_topics=5)
