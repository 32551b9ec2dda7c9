"""What a notebook shows: of a model, its promise and a card for each topic, like a report; of other results, tables.

Styles are in the elements, because notebooks drop style sheets of what they do not trust. Colours are those of the
notebook, or legible on light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dplda.budget.events import PrivacyStatement, at_least
from dplda.learning.estimates import Estimates
from dplda.model import TopicModel
from dplda.report import indicator_pictures, page, summary
from dplda.report.pictures import Table, shown
from dplda.report.promise import unit_of
from dplda.report.table_pictures import category_of, certain_differences, heading, in_words, told_counted, told_private
from dplda.report.wording import Wording, intervals_cover, shown_topics
from dplda.runs.counting import counted_as
from dplda.runs.evaluation import Evaluation
from dplda.runs.indicator_tables import OWN_WORDS, WEIGHED, CountTable, WordTable
from dplda.runs.released_table import ReleasedTable, Tables

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
        about_verdicts=model.facts.about_verdicts,
        language=language if page.LANGUAGE.fullmatch(language) else "",
    )


def tables_html(tables: Tables) -> str | None:
    """Return all `tables` with their titles and what they reveal together; None without pandas."""
    parts = [table._repr_html_() for table in tables]
    titled = [
        (_title(each, tables), Markup(part), _notes(each, tables.privacy.unit))
        for each, part in zip(tables, parts, strict=True)
        if part
    ]
    if len(titled) < len(parts):
        return None
    return _result(titled, _stamp(tables.privacy), _revealed(tables.privacy, "these tables together", tables))


def evaluation_html(found: Evaluation) -> str:
    """Return the measures of all topics, the coherence of each, and what they reveal."""
    measures = {
        "coherence (NPMI)": found.coherence.mean,
        "coherence (C_v)": found.coherence.c_v,
        "perplexity": found.prediction.perplexity,
        "gain (nats a token)": found.prediction.gain,
    }
    npmi = found.coherence.topics
    of_topics = [
        (str(topic), *_ends(Estimates(*(float(end[place]) for end in (npmi.value, npmi.low, npmi.high)))))
        for place, topic in enumerate(found.topics)
    ]
    interval = ("value", "low (95 %)", "high (95 %)")
    of_all = [(name, *_ends(measure)) for name, measure in measures.items()]
    tables = [
        (
            "Quality of the topics",
            Table(("", *interval), of_all),
            f"Coherence is that of the {len(found.topics)} listed topics; perplexity and gain are those of all topics.",
        ),
        ("Coherence (NPMI) of each topic", Table(("topic", *interval), of_topics), ""),
    ]
    return _result(tables, _stamp(found.privacy), _revealed(found.privacy, "this evaluation"))


def _result(tables: Sequence[tuple[str, Table | Markup, str]], warnings: Sequence[str], told: Sequence[str]) -> str:
    """Return `tables`, each with its title and what is to be known about its numbers."""
    return page.template("notebook_result.html.j2").render(tables=tables, warnings=warnings, told=told)


def _title(table: ReleasedTable, tables: Tables) -> str:
    by = in_words(table, tables)
    if isinstance(table, WordTable):
        return f"Words that seem more frequent in one group than {table.others}, by {by}, and which are certainly so"
    title = heading(table, by) if table.by else f"How common the {table.noun} are"
    if isinstance(table, CountTable):
        title += f", counted in {shown(counted_as(table, tables.privacy.unit))}"
    return title


def _notes(table: ReleasedTable, unit: str) -> str:
    """Say what the numbers of `table` are of, and which groups it may lack, as the terminal and the report do."""
    private = told_private(table, unit)
    if isinstance(table, WordTable):
        return f"{private}{WEIGHED} {OWN_WORDS}" if any(map(category_of, table.by)) else f"{private}{WEIGHED}"
    if isinstance(table, CountTable):
        counted = indicator_pictures.told_counted(table, unit)
    else:
        counted = told_counted(table, unit)
    titles = table.titles or map(str, range(table.n_topics))
    compared = f" {certain_differences(table, dict(enumerate(titles)))}" if table.differences()[0] else ""
    return f"{private}{counted}{compared}"


def _stamp(privacy: PrivacyStatement) -> list[str]:
    label = privacy.warning_label
    return [f"{label}: {page.reason_of(privacy)}. Do not publish these numbers."] if label else []


def _revealed(privacy: PrivacyStatement, what: str, tables: Tables | None = None) -> list[str]:
    if not privacy.sound:
        return []
    epsilon = f"epsilon {at_least(privacy.epsilon)}, delta {privacy.delta:g}"
    return [
        f"Of one {shown(privacy.unit)}, {what} may reveal what {epsilon} allows, and no more. "
        f"{intervals_cover(tables or ())}"
    ]


def _ends(found: Estimates[float]) -> tuple[str, str, str]:
    return f"{found.value:.4g}", f"{found.low:.4g}", f"{found.high:.4g}"
