"""The summary at the top of a report: what it is about, how many topics it shows, and what may be done with it."""

from __future__ import annotations

from collections.abc import Sequence

from dplda.budget.comparisons import Comparison
from dplda.model import TopicModel
from dplda.model.run_facts import USEFUL, VERDICTS
from dplda.report.comparison_pictures import methods, winners
from dplda.report.pictures import shown
from dplda.report.promise import size

_LEAST_WORDS = 50  # of a run whose topics may be called useful


def topics(model: TopicModel, *, among_others: bool = False) -> str:
    """Count the topics of `model` that are shown, with their verdicts: ``19 of 20 (15 clear, 4 weak; ...)``.

    If the page has others beside it, `among_others`, the number of units is told, too.
    """
    shown_topics, total = len(model.listed_topics), len(model.topics)
    told = str(total) if shown_topics == total else f"{shown_topics} of {total}"
    counts = {name: model.verdicts.count(name) for name in VERDICTS if name in model.verdicts}
    sure = ", ".join(f"{count} {name}" for name, count in counts.items())
    sure += f"; {model.facts.n_given} given" * bool(sure and model.facts.n_given)
    left_out = "" if shown_topics == total else "; those called noise are not shown"
    told = f"{told} ({sure}{left_out})" if sure else told
    number = size(model)[0] if among_others else ""
    return f"{told}, from {number}" if number else told


def text(models: Sequence[TopicModel]) -> list[str]:
    """Name the datasets of `models`; of one model also the number of units, and why that number is inexact.

    Several runs on one dataset may have read different documents: the number of each is told with its topics.
    """
    names = [shown("a dataset" if model.facts.dataset is None else model.facts.dataset) for model in models]
    if len(models) == 1 and (told := size(models[0]))[0]:
        return [f"{names[0]}: {told[0]}. {told[1]}".rstrip()]
    return list(dict.fromkeys(names))


def verdict(models: Sequence[TopicModel], *, apart: bool = False) -> list[str]:
    """Say whether the topics of `models` may be published, and whether they are of use.

    With `apart`, the page also has answers of other runs that its promise does not cover. Topics that come from a prior
    are judged apart from those that were learned without one, and runs of different use apart from each other.
    """
    private = [model.privacy.sound for model in models]
    except_others = ", except for those of other runs, whose own guarantee is told beside them" if apart else ""
    public = (
        f"The promise covers every number on this page that was taken from the text{except_others}."
        if all(private)
        else "Do not publish: without a privacy guarantee, topics give away what is in the text."
        if not any(private)
        else f"Do not publish as a whole: {private.count(False)} of the {len(private)} runs have no privacy guarantee."
    )
    alike: dict[tuple[bool, str], dict[int, TopicModel]] = {}  # runs of the same use have one sentence
    for number, model in enumerate(models, start=1):
        if model.verdicts:
            use = _use([model]).partition(":")[0]
            alike.setdefault((not model.facts.prior_used, use), {})[number] = model
    judged = [group for _, group in sorted(alike.items(), key=lambda each: each[0][0])]
    names = [f"Run{'s' * (len(group) > 1)} {', '.join(map(str, group))}: " for group in judged]
    return [
        public,
        *(name * (len(judged) > 1) + _use([*group.values()]) for name, group in zip(names, judged, strict=True)),
    ]


def _use(judged: Sequence[TopicModel]) -> str:
    """Say whether the topics of these models are of use; either all of them come from a prior, or none."""
    clear = sum(model.verdicts.count("clear") for model in judged)
    total = sum(len(model.verdicts) for model in judged)
    if judged[0].facts.prior_used:
        given = sum(len(model.given) for model in judged)
        found = sum(chance or 0.0 for model in judged for chance in model.probabilities)
        known = all(model.probabilities for model in judged)
        if given == total:
            return "Use the topics with care: the topics were given, and are there whatever the text contains."
        some = f"about {found:.0f} of the {total - given}" if known else "some of them"
        besides = f", besides {given} that the author gave" if given else ""
        return (
            f"Use the topics with care: the topics come from the prior{besides}. An ordinary fit of the text, "
            f"without noise, would find {some}{' that were chosen' * bool(given)}; no released number tells which."
        )
    are, them = ("is", "it") if clear == 1 else ("are", "them")
    told = f"{clear} of {total} topics {are} clear: an ordinary fit, without noise, would probably find {them}, too."
    words = min(len(model.vocabulary) for model in judged)
    if words < _LEAST_WORDS and clear:
        return f"Use the topics with care: {told} But the text is seen through {words} words only."
    if clear >= USEFUL * sum(model.topics_of_run for model in judged):  # merging topics makes none clearer
        return f"The topics are useful: {told}"
    if clear:
        return f"Use the topics with care: only {told}"
    if all(verdict == "noise" for model in judged for verdict in model.verdicts):
        return (
            f"The topics are not useful: all {total} are noise, and an ordinary fit would probably find none of them."
        )
    return (
        f"Take the topics as hints: none of the {total} topics is clear. Of none is it sure enough that an ordinary "
        "fit, without noise, would find it."
    )


def grid(comparison: Comparison) -> str:
    """Say what a comparison tried, such as ``3 placements at 2 budgets, 5 times``."""
    cells = [outcome.cell for outcome in comparison.outcomes]
    placements = len(methods(comparison))
    budgets = len({cell.epsilon for cell in cells})
    times = max((cell.repeat for cell in cells), default=0) + 1
    return (
        f"{placements} placement{'s' * (placements != 1)} at {budgets} budget{'s' * (budgets != 1)}, "
        f"{'once' if times == 1 else f'{times} times'}"
    )


def best(comparison: Comparison) -> list[str]:
    """Say which placement is best by each measure: ``Error of the topics: default is best at every epsilon.``"""
    told = []
    for measure, table in winners(comparison):
        names = list(dict.fromkeys(row[table.columns.index("best")] for row in table.rows))
        which = f"{names[0]} is best at every epsilon" if len(names) == 1 else "the best placement depends on epsilon"
        told.append(f"{measure.title}: {which}.")
    return told
