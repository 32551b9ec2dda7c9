"""What to expect of a fit over a corpus of about so many units, in words, for `dplda check` and dry runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dplda.cli.check_command import Report
    from dplda.learning.settings import FitSettings

_PUBLIC_TEXT = "public text about the same things (`dplda fit --prior`; `dplda prior draft` has some written)"
_WITH_PRIOR = ("--prior", "PUBLIC.jsonl", "--public-prior")


def tell_expected(
    report: Report,
    settings: FitSettings | None = None,
    typed: Callable[[int | None, float | None], str] | None = None,
    without: Sequence[str] = (),
) -> list[str]:
    """Say in `report` what to expect of a run with `settings` over its corpus.

    If they are None, they are the settings that are most likely to give topics, and are returned as options of the
    command. Nothing is said of a corpus of unknown size. `typed` says how another number of topics or another epsilon
    is typed, None standing for one that stays; by default, as options. With `without`, the run also answers questions
    that need no topics, and these need them.
    """
    from dplda.runs.advice import (
        USUAL,
        advise,
        clearer,
        enough_for_prior,
        judge,
        propose,
        supported_topics,
        typed_options,
    )
    from dplda.runs.enough import COUNTS_OF_PERSONS, rounded_up

    typed = typed or typed_options
    n_units, unit = report.n_units, report.unit
    if not n_units:
        return []
    best = propose(n_units) if settings is None else advise(n_units, settings)
    given = best if settings is None else judge(settings, n_units)
    with_prior = settings is not None and settings.prior is not None
    if with_prior and given.prior_helps:
        return []
    proposed = [] if (best.topics, best.epsilon) == USUAL else shlex.split(best.options)
    number = f"{about(n_units)} {'documents' if unit is None else f'different values of {unit!r}'}"
    asked = f"{'--topics auto' if given.automatic else f'{given.topics} topics'} at epsilon {given.epsilon:.3g}"
    most = "topics" if given.automatic else f"of {given.topics}"
    fewer = best.topics if given.topics > best.topics else None
    larger = best.epsilon if given.epsilon < best.epsilon else None
    affordable = ", if so much is left," if larger else ""
    helps = [f"{typed(fewer, larger)}{affordable} instead"] if best.ends_with_topics and (fewer or larger) else []
    supported = 0 if settings is None or given.likely else supported_topics(settings, n_units)
    if supported:
        all_of_them = "which would all stand out if the texts are about many subjects"
        helps += [f"{typed(supported, None)} at this epsilon, {all_of_them}"]
    helps += [_PUBLIC_TEXT] if given.prior_helps and not with_prior else []
    if given.least_units and not given.automatic:
        many, one = map(rounded_up, given.least_units)
        helps += [
            f"about {many} of them if the texts are about many subjects, {one} if they are about one, for all "
            f"{given.topics} to stand out from the noise"
        ]
    if not given.ends_with_topics:
        ends = "counting them, having spent a thousandth of its budget"
        if not given.enough_words:
            ends = "it has chosen words, because so few of them are frequent enough"
        told = f"Do not run this: about {number} are too few for {asked}, and a run probably ends after {ends}."
        if with_prior and settings is not None and enough_for_prior(settings, n_units):
            told = (
                f"About {number} are few for the test of the prior: it may say no though the prior is about the same "
                f"things. Then the run ends, because they are too few for {asked} without a prior, having spent up to "
                "an eighth of its budget."
            )
        if without:
            told = (
                f"There will probably be no answer to {' and '.join(map(repr, without))}: about {number} are too few "
                f"for {asked}. The other questions are answered, and charged. (Words of groups need no topics with a "
                "`vocabulary` of their own, such as english:2000.)"
            )
        report.remarks.append(
            f"{told} What helps: {'; or '.join(helps)}.{'' if unit is None else f' {COUNTS_OF_PERSONS}'}"
        )
        report.condition = "Once there is enough text"
        if settings is None and given.prior_helps:
            report.condition, proposed = "Once there is public text, PUBLIC.jsonl", [*proposed, *_WITH_PRIOR]
    elif not given.likely:
        report.remarks.append(
            f"About {number} are few for {asked}. The run ends with topics, but even if the texts are about many "
            f"subjects, only about {given.surviving} {most} would stand out from the noise, and about "
            f"{given.surviving_in_one} if they are about one. What helps: "
            f"{'; or '.join(helps)}. {given.verdicts}"
        )
        report.condition = "If hints are enough"
    elif given.automatic:
        report.remarks.append(
            f"Of about {number}, --topics auto would find about {given.surviving} topics if the texts are about many "
            f"subjects, about {given.surviving_in_one} if they are about one. {given.verdicts}"
        )
    elif proposed and settings is None:
        report.remarks.append(
            f"For about {number}, {asked} are most likely to give topics: about {given.surviving} of them would stand "
            f"out from the noise if the texts are about many subjects, about {given.surviving_in_one} if they are "
            "about one. One that "
            f"stands out may still be called weak or noise. {given.verdicts} `dplda plan` forecasts other settings. "
            "With public text (--prior) you may ask for more topics or spend less."
        )
    else:
        better = None if given.some_clear or with_prior or settings is None else clearer(n_units, settings)
        hint = "" if better is None else f" With {typed(better.topics, better.epsilon)}, some would be called clear."
        report.remarks.append(f"About {number}, {asked}: {given.verdicts[:1].lower()}{given.verdicts[1:]}{hint}")
    return proposed if settings is None else []


def tell_unit(report: Report, column: str, n_units: int | None) -> None:
    """Say in `report` what to expect if each of the `n_units` different values of `column` is protected."""
    from dplda.runs.advice import propose

    if not n_units:
        return
    best = propose(n_units)
    part = "all" if best.surviving == best.topics else f"about {best.surviving} of"
    expected = (
        f"{part} {best.topics} topics would stand out at epsilon {best.epsilon:g} if the texts are about many "
        f"subjects, about {best.surviving_in_one} if they are about one. --unit-field {shlex.quote(column)} says more"
    )
    if not best.ends_with_topics:
        expected = f"they are too few for topics{', except those of public text (--prior)' * best.prior_helps}"
    report.remarks.append(f"Column {column!r} has about {about(n_units)} different values. As units, {expected}.")


def about(number: int) -> str:
    """Format `number` with two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"
