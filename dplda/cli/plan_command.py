"""`dplda plan`: what to expect from a budget, before any data is read. See `dplda.runs.forecast`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dplda.budget.events import Stage
from dplda.cli.console import print_json, say, table
from dplda.cli.options import (
    fit_option,
    fit_options,
    json_option,
    public_words,
)
from dplda.learning.placements.registry import DEFAULT
from dplda.learning.settings import LISTED
from dplda.runs.fit_options import FitOptions

if TYPE_CHECKING:
    from dplda.runs.forecast import Forecast, ForecastInputs, PriorForecast, ReferenceCorpus

_SIGNALS = {  # the unit of each stage's noise and signal
    Stage.VOCABULARY: "documents that contain the rarest word",
    Stage.FREQUENCY: "documents that contain the rarest word",
    Stage.SIZE: "documents",
    Stage.MEAN: "length of the mean",
    Stage.SUBSPACE: "eigenvalue of the last topic (second moment)",
    Stage.CORE: "that eigenvalue, within the noisy subspace",
    Stage.TENSOR: "eigenvalue of a topic (third moment)",
    Stage.REFINE: "count of a word that is 1% of its topic",
}


@click.command()
@click.option("--documents", type=int, required=True, metavar="N", help="Approximate number of documents.")
@click.option(
    "--vocabulary",
    metavar="FILE|LANGUAGE:COUNT|N",
    help="A public word list, as for fit; or a number N, the same as --max-vocabulary N.",
)
@click.option(
    "--public-vocabulary",
    is_flag=True,
    help="Assume a public list of --max-vocabulary words [words are chosen privately; see --words].",
)
@fit_options("words", "max_vocabulary", "max_document_frequency", "alpha0")
@fit_option("placement", help="Only `default` can be planned.")
@fit_options("n_topics", "epsilon", "delta", "adjacency")
@click.option("--prior", is_flag=True, help="Also forecast a fit with a prior from public text on the same subject.")
@click.option("--details", is_flag=True, help="Also show the noise and signal of each stage.")
@json_option
def plan(
    documents: int,
    vocabulary: str | None,
    public_vocabulary: bool,
    prior: bool,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Forecast how many topics of `dplda fit` will stand out from the noise, from public numbers alone.

    No document is read, nothing is spent and nothing is written. If the privacy unit is a person, give the number of
    people as --documents.
    """
    if options["placement"] != DEFAULT:
        raise click.UsageError("plan forecasts the default placement only. Leave --placement out.")
    if vocabulary is not None:
        public_vocabulary = public_vocabulary or not vocabulary.isdecimal()
        options["max_vocabulary"] = (
            int(vocabulary) if vocabulary.isdecimal() else len(public_words(vocabulary, None) or ())
        )
    settings = FitOptions(**options).settings()
    from dplda.runs.forecast import REFERENCE_CORPORA, ForecastInputs

    inputs = ForecastInputs(settings, documents, public_vocabulary)
    forecasts = [(kind, inputs.forecast(kind)) for kind in REFERENCE_CORPORA]
    if as_json:
        print_json(_record(inputs, forecasts) | ({"prior": asdict(_prior(inputs))} if prior else {}))
    else:
        _tell(inputs, forecasts, details=details, prior=_prior(inputs) if prior else None)


def _prior(inputs: ForecastInputs) -> PriorForecast:
    from dplda.runs.forecast import forecast_prior

    if inputs.settings.model.topics == "auto":
        raise click.UsageError("--prior needs a number of topics. Give --topics a number.")
    return forecast_prior(inputs.settings, inputs.documents, public_vocabulary=inputs.public_vocabulary)


def _record(inputs: ForecastInputs, forecasts: Sequence[tuple[ReferenceCorpus, Forecast]]) -> dict[str, Any]:
    """Return the JSON output."""
    from dplda.runs.forecast import least_documents, least_epsilon

    settings, shares = inputs.settings, inputs.shares
    return {
        "documents": inputs.documents,
        "vocabulary": settings.vocabulary.max_vocabulary,
        "public_vocabulary": inputs.public_vocabulary,
        "topics": settings.model.topics,
        "epsilon": settings.privacy.epsilon,
        "delta": settings.privacy.delta,
        "adjacency": settings.privacy.adjacency,
        "unit": "document",
        "forecasts": [
            {
                "corpus": kind.name,
                "words": expected.words,
                "supported_topics": expected.supported,
                "core_eigenvalues": expected.eigenvalues,
                "word_power": expected.word_power,
                "stages": [
                    {
                        "stage": stage.name,
                        "share": shares[stage.name],
                        "noise_multiplier": stage.multiplier,
                        "noise": stage.noise,
                        "signal": stage.signal,
                    }
                    for stage in expected.stages
                ],
                "enough": {"epsilon": least_epsilon(inputs, kind), "documents": least_documents(inputs, kind)},
            }
            for kind, expected in forecasts
        ],
    }


def _tell(
    inputs: ForecastInputs,
    forecasts: Sequence[tuple[ReferenceCorpus, Forecast]],
    *,
    details: bool,
    prior: PriorForecast | None,
) -> None:
    """Print the forecasts as readable text, with `details` also the noise of each stage."""
    settings = inputs.settings
    privacy = settings.privacy
    changed = "added or removed" if privacy.adjacency == "add-remove" else "replaced"
    say(
        f"A fit would be (epsilon {privacy.epsilon:g}, delta {privacy.delta:g})-differentially private for one "
        f"document, {changed}.",
        style="green",
    )
    say(_words(inputs, forecasts[0][1]))
    for kind, expected in forecasts:
        about = f"If the texts are about {kind.name}, as {kind.example}"
        say(f"{about}: {_topics(inputs, expected)}; {_enough(inputs, kind)}.")
    if any(expected.from_pairs for _, expected in forecasts):
        say("A run on so few documents learns from pairs of words; for it, the forecast of topics is cautious.")
    if prior is not None:
        say(_with_prior(inputs, forecasts, prior))
    say(
        "Real results are usually between the two: plan with the smaller number of topics. Texts that repeat their "
        "words, such as forms and form letters, do better than both. A topic that survives stands out from the noise "
        "when topics are sought, but may be called weak or noise in the end: of 12 topics that would all survive in "
        "25,000 film reviews at epsilon 3, 3 or 4 were called noise."
    )
    say("One document is taken to be one unit: where people are protected, give their number as --documents.")
    if not details:
        return
    columns = ("stage", "budget", "multiplier", *(kind.name for kind, _ in forecasts), "noise / signal of")
    table(columns, _rows(inputs, [expected for _, expected in forecasts]), wide=columns[-1])
    say(_rules([expected for _, expected in forecasts]))


def _with_prior(
    inputs: ForecastInputs, forecasts: Sequence[tuple[ReferenceCorpus, Forecast]], prior: PriorForecast
) -> str:
    """Return what a prior would give, and whether to look for one."""
    if inputs.documents < prior.least_documents:
        return (
            "With public text about the same things (--prior of fit): for so few documents, the test whether it is may "
            f"say no though it is. It says yes nearly always from about {prior.least_documents:,} on."
        )
    needed = min(expected.supported for _, expected in forecasts) < inputs.most_topics
    advice = "Recommended" if needed else "Not needed, but it would cost little"
    clear = (
        "all topics would stand out from the noise"
        if prior.least_share < 1 / (4 * inputs.most_topics)
        else (f"topics with at least {prior.least_share:.1%} of the text would stand out from the noise")
    )
    return (
        f"With public text about the same things (--prior of fit): {clear}, with the words of the public text, and no "
        f"word list is needed. {advice}; if the text is about something else, it costs 3 to 12% of the budget."
    )


def _rows(inputs: ForecastInputs, forecasts: Sequence[Forecast]) -> list[tuple[str, ...]]:
    """Make a row for each stage: its noise and signal for each reference corpus. All forecasts have the same stages."""
    shares = inputs.shares
    return [
        (
            stages[0].name,
            f"{shares[stages[0].name]:.1%}",
            f"{stages[0].multiplier:.3g}",
            *(f"{_short(stage.noise)} / {_short(stage.signal)}" for stage in stages),
            _SIGNALS[stages[0].name],
        )
        for stages in zip(*(expected.stages for expected in forecasts), strict=True)
    ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _words(inputs: ForecastInputs, expected: Forecast) -> str:
    from dplda.runs.forecast import units_needed

    if inputs.public_vocabulary:
        listed = inputs.settings.vocabulary.max_vocabulary
        if expected.words < listed:
            return f"Words: of the {listed:,} on the public list, the {expected.words:,} most frequent."
        return f"Words: all {expected.words:,}, from the public list."
    needed = _short(units_needed(inputs.events, inputs.settings.privacy.adjacency) or 0.0)
    if inputs.settings.vocabulary.words == LISTED:
        return (
            f"Words: the {expected.words:,} that characterise the documents most, compared with general text. A word "
            f"outside the list of general text has an even chance to be released if about {needed} documents use it."
        )
    return (
        f"Words: chosen privately. One that about {needed} documents use has an even chance to be released; in typical "
        f"text, about {expected.words:,} words are used by so many."
    )


def _topics(inputs: ForecastInputs, expected: Forecast) -> str:
    """Return a phrase on how many of the requested topics survive."""
    most = inputs.most_topics
    upper = "at most " if inputs.settings.model.topics == "auto" else ""
    surviving = min(expected.supported, most)
    if surviving == 0:
        return (
            "no topic survives" if len(expected.stages) > 2 else f"too few words for {most} topics, the run would end"
        )
    return f"about {surviving} of {upper}{most} topics survive" if surviving < most else f"all {most} topics survive"


def _enough(inputs: ForecastInputs, kind: ReferenceCorpus) -> str:
    """Return a phrase on the least epsilon, or the least number of documents, at which all topics survive."""
    from dplda.runs.enough import rounded_up
    from dplda.runs.forecast import least_documents, least_epsilon

    epsilon, documents = least_epsilon(inputs, kind), least_documents(inputs, kind)
    ways = [] if epsilon is None else [f"epsilon {rounded_up(epsilon)}"]
    ways += [] if documents is None else [f"{rounded_up(documents)} documents"]
    return (
        f"about {' or '.join(ways)} would be enough for all {inputs.most_topics}"
        if ways
        else f"no allowed epsilon is enough for all {inputs.most_topics}"
    )


def _rules(forecasts: Sequence[Forecast]) -> str:
    """A sentence on what follows fixed rules: the division of the budget, the quantiles of clips, and word weights."""
    from dplda.learning.placements.default import MEAN_QUANTILE
    from dplda.learning.placements.stages import HIGH_QUANTILE, LOW_QUANTILE, REFINE_QUANTILE

    powers = sorted({f"{expected.word_power:.2f}" for expected in forecasts if len(expected.stages) > 2})
    scaled = f"; words weigh frequency^-{' to -'.join(powers)} in the refinement" if powers else ""
    return (
        "Set by fixed rules: the budget is divided as in the table; clips are at quantiles of the norms of what units "
        f"contribute (mean {MEAN_QUANTILE:.0%}, subspace {LOW_QUANTILE:.0%}, core and tensor {LOW_QUANTILE:.0%} to "
        f"{HIGH_QUANTILE:.0%}, depending on the previous stage, refinement {REFINE_QUANTILE:.0%}){scaled}."
    )
