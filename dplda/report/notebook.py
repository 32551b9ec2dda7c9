"""What a notebook shows of a model: its promise and a card for each topic, like the page of a report.

Styles are in the elements, because notebooks drop style sheets of what they do not trust. Colours are those of the
notebook, or legible on light and dark.
"""

from __future__ import annotations

from dplda.budget.events import at_least
from dplda.model import TopicModel
from dplda.report import page, summary
from dplda.report.promise import unit_of
from dplda.report.wording import Wording, shown_topics

_OPEN = 24  # topics that are shown at once; the others unfold


def html(model: TopicModel) -> str:
    """Return an element of HTML about `model`, without scripts; it contains released numbers only."""
    (topics,) = shown_topics([model], Wording())
    privacy, language = model.privacy, model.facts.language or ""
    cards = page.cards(model, topics, None)
    return page.template("notebook.html.j2").render(
        cards=cards[:_OPEN],
        folded=cards[_OPEN:],
        counted=summary.topics(model),
        text=summary.text([model]),
        warnings=page.warnings_of([model], [""], None),
        groups=page.promises([model], {}),
        epsilon=at_least(privacy.epsilon) if privacy.sound else "",
        delta=f"{privacy.delta:g}",
        unit=unit_of(privacy),
        verdict=summary.verdict([model])[1:],  # the first is about publishing, which the promise says here
        judged=bool(model.verdicts),
        language=language if page.LANGUAGE.fullmatch(language) else "",
    )
