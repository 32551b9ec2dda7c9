"""Text and tables of the page's sections: each run, the runs side by side, and a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dplda.accounting.events import PrivacyStatement, at_least
from dplda.comparison.records import Comparison
from dplda.model import TopicModel
from dplda.report import attack_bounds, comparison_page, run_page
from dplda.report.compared import Method
from dplda.report.pictures import Table, number, percent, shown

PRIORS = (0.01, 0.1, 0.5)  # what the attacker of the table believed before
CARD_WORDS = 10
SHOWN_ELSEWHERE = ("alpha", "core_eigenvalues", "core_noise_level", "published")
SETTING_NAMES = {"alpha0": "prior, sum of its parameters (alpha0)"}
NOT_PRIVATE, NOT_PROVEN = "NOT PRIVATE", "NOT PROVEN PRIVATE"


def verdict(privacy: PrivacyStatement) -> str:
    """The stamp of a run without a proven promise; empty for a sound one."""
    if privacy.sound:
        return ""
    return NOT_PRIVATE if privacy.reason.upper().startswith(NOT_PRIVATE) else NOT_PROVEN


def run_section(model: TopicModel, name: str, prefix: str) -> dict[str, Any]:
    """What the template shows of one run."""
    pictures = {p.name.removeprefix(f"{prefix}-"): p for p in run_page.pictures(model, prefix)}
    return {
        "name": name,
        "dataset": shown(model.parameters.get("dataset", "")),
        "prefix": prefix,
        "privacy": model.privacy,
        "verdict": verdict(model.privacy),
        "epsilon": at_least(model.privacy.epsilon) if model.privacy.sound else "unbounded",
        "unit": shown(model.privacy.unit),
        "beliefs": _beliefs(model.privacy),
        "success": percent(attack_bounds.success_at_most(model.privacy), upwards=True),
        "mu": number(attack_bounds.noise(model.privacy)[0]),
        "public_words": model.parameters.get("vocabulary") == "public",
        "pictures": pictures,
        "topics": _cards(model),
        "edges": _edges(model.parameters),
        "settings": _settings(model.parameters, "documents (noisy)" if model.privacy.sound else "documents"),
    }


def summary(models: Sequence[TopicModel], names: Sequence[str]) -> Table:
    """The runs side by side."""
    columns = ("run", "dataset", "placement", "epsilon", "delta", "unit", "adjacency", "private", "topics", "supported")
    rows = []
    for place, (model, name) in enumerate(zip(models, names, strict=True), start=1):
        p, privacy = model.parameters, model.privacy
        method = Method(str(p.get("placement", "–")), str(p.get("calibration", "sound"))).label
        rows.append(
            (
                f"{place} {name}",
                shown(p.get("dataset", "–")),
                shown(method),
                at_least(privacy.epsilon) if privacy.sound else "unbounded",
                number(privacy.delta),
                shown(privacy.unit),
                shown(privacy.adjacency),
                "yes" if privacy.sound else verdict(privacy),
                str(len(model.topics)),
                shown(p.get("supported_topics", "–")),
            )
        )
    return Table(columns, rows)


def spent_together(models: Sequence[TopicModel]) -> list[dict[str, str]]:
    """What the sound runs on each dataset spent together, where there are several."""
    groups: dict[tuple[str, str, str], list[PrivacyStatement]] = {}
    for model in models:
        privacy, dataset = model.privacy, model.parameters.get("dataset")
        if privacy.sound and dataset:
            groups.setdefault((str(dataset), privacy.unit, privacy.adjacency), []).append(privacy)
    answers = []
    for (dataset, _, _), statements in groups.items():
        if len(statements) > 1:
            epsilon, delta = attack_bounds.together(statements)
            answers.append(
                {
                    "dataset": shown(dataset),
                    "runs": str(len(statements)),
                    "epsilon": at_least(epsilon),
                    "delta": number(delta),
                }
            )
    return answers


def comparison_section(comparison: Comparison | None) -> dict[str, Any] | None:
    """What the template shows of a comparison."""
    if comparison is None:
        return None
    return {
        "name": shown(comparison.name),
        "corpus": shown(comparison.corpus),
        "kind": comparison.kind,
        "pictures": comparison_page.pictures(comparison),
        "winners": comparison_page.winners(comparison),
        "outcomes": comparison_page.outcomes(comparison),
        "settings": _settings(comparison.parameters),
    }


def _beliefs(privacy: PrivacyStatement) -> Table:
    after = (attack_bounds.belief_at_most(prior, privacy.epsilon, privacy.delta) for prior in PRIORS)
    rows = [(f"{prior:.0%}", percent(most, upwards=True)) for prior, most in zip(PRIORS, after, strict=True)]
    return Table(("believed before", "can believe after, at most"), rows)


def _cards(model: TopicModel) -> list[dict[str, Any]]:
    """Each topic's most probable words, with bars in percent of the longest, and where the whole text would end."""
    top = model.top_words(CARD_WORDS)
    longest = max(words[0][1] for words in top)
    overall = dict(zip(model.vocabulary, (model.prevalence @ model.topics).tolist(), strict=True))
    return [
        {
            "prevalence": percent(float(model.prevalence[topic])),
            "words": [
                {
                    "word": shown(word),
                    "probability": percent(probability),
                    "width": f"{100 * probability / longest:.2f}%",
                    "overall": f"{min(100 * overall[word] / longest, 100):.2f}%",
                }
                for word, probability in words
            ],
        }
        for topic, words in enumerate(top)
    ]


def _settings(parameters: Mapping[str, Any], documents: str = "documents") -> Table:
    names = {**SETTING_NAMES, "documents": documents}
    named = ((key, value) for key, value in parameters.items() if key not in SHOWN_ELSEWHERE)
    rows = [(shown(names.get(key, key.replace("_", " "))), _plain(value)) for key, value in sorted(named)]
    return Table(("setting", "value"), rows)


def _edges(parameters: Mapping[str, Any]) -> Table | None:
    """What was added on each edge of the paper's graph, of a run with the paper's own calibration."""
    edges = parameters.get("published")
    if not isinstance(edges, dict) or not edges or not all(isinstance(noise, dict) for noise in edges.values()):
        return None
    columns = list(dict.fromkeys(name for noise in edges.values() for name in noise))
    rows = [(shown(edge), *(_plain(noise.get(name, "–")) for name in columns)) for edge, noise in edges.items()]
    return Table(("edge", *map(shown, columns)), rows)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
