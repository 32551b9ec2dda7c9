"""One HTML file that opens anywhere, offline: the promise in words, pictures, and the numbers behind them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dplda.comparison.records import Cell, Comparison
from dplda.errors import InputError
from dplda.model import TopicModel
from dplda.model.files import write_atomically
from dplda.privacy.events import PrivacyStatement, at_least
from dplda.report import of_comparison, of_run, of_runs
from dplda.report.compared import NO_NOISE, Method
from dplda.report.pictures import Table, number, percent, shown
from dplda.report.promise import belief_at_most, noise, success_at_most, together

PRIORS = (0.01, 0.1, 0.5)  # what the attacker of the table believed before
CARD_WORDS = 10
OPENED = 3  # up to so many runs are shown in full at once; of more, those that the reader opens
STAMPED_BY_NAME = 4  # runs that a stamp names; more are counted
SHOWN_ELSEWHERE = ("alpha", "core_eigenvalues", "core_noise_level")
SETTING_NAMES = {"documents": "documents (noisy)", "alpha0": "prior, sum of its parameters (alpha0)"}
NOT_PRIVATE, NOT_PROVEN = "NOT PRIVATE", "NOT PROVEN PRIVATE"


def write_report(models: Sequence[TopicModel], path: str | Path, comparison: Comparison | None = None) -> None:
    """Write one self-contained HTML page about `models`, and `comparison` if given, to `path`.

    It holds released numbers only: topics, prevalence, privacy statements and public parameters; of a comparison its
    outcomes, but no seconds if its corpus is private. Raises `InputError` if there is nothing to report, a run
    is named twice, two runs have no word in common, or the file cannot be written.
    """
    if not models and comparison is None:
        raise InputError("a report needs at least one run. List runs with `dplda runs`.")
    try:
        write_atomically(Path(path), render(models, comparison).encode())
    except OSError as error:
        raise InputError(f"cannot write the report to {path}: {error.strerror or error}.") from None


def render(models: Sequence[TopicModel], comparison: Comparison | None = None) -> str:
    """The page as text; parameters and errors are those of `write_report`."""
    names = _names(models, comparison)
    scripts = [_text(get_plotlyjs()), _template_text("draw.js")]
    environment = Environment(
        loader=PackageLoader("dplda.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        title=_title(models, comparison),
        stamps=_stamps(models, names, comparison),
        runs=[_run(model, name, f"run-{i + 1}") for i, (model, name) in enumerate(zip(models, names, strict=True))],
        summary=_summary(models, names),
        together=_together(models),
        across=of_runs.pictures(models, names),
        comparison=_comparison(comparison),
        style=_template_text("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        opened=OPENED,
    )


def _policy(scripts: Sequence[str]) -> str:
    """A content security policy under which these scripts run, and nothing else runs or is fetched."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    rest = "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {rest}"


def _template_text(name: str) -> Markup:
    return _text(files("dplda.report").joinpath("templates", name).read_text(encoding="utf-8"))


def _text(code: str) -> Markup:
    """Code of ours or plotly's, which no template may escape."""
    return Markup(code.replace("\r\n", "\n"))


def _names(models: Sequence[TopicModel], comparison: Comparison | None) -> list[str]:
    """What each run is called: its id, or its cell in the comparison; raises `InputError` if a run comes twice."""
    cells = {outcome.run: outcome.cell for outcome in comparison.outcomes} if comparison else {}
    names = []
    for place, model in enumerate(models, start=1):
        run = str(model.parameters.get("run", f"run {place}"))
        cell = cells.get(run)
        names.append(_cell_name(cell) if cell else run)
    if len(set(names)) < len(names):
        raise InputError("a run is named twice. Name each run once.")
    return [shown(name) for name in names]


def _cell_name(cell: Cell) -> str:
    label = Method(cell.placement, cell.calibration).label
    budget = "" if cell.placement == NO_NOISE else f", epsilon {cell.epsilon:g}"
    return f"{label}{budget}, repeat {cell.repeat + 1}"


def _verdict(privacy: PrivacyStatement) -> str:
    """The stamp of a run without a proven promise; empty for a sound one."""
    if privacy.sound:
        return ""
    return NOT_PRIVATE if privacy.reason.upper().startswith(NOT_PRIVATE) else NOT_PROVEN


def _title(models: Sequence[TopicModel], comparison: Comparison | None) -> str:
    verdicts = {_verdict(model.privacy) for model in models} - {""}
    sound = [model.privacy.sound for model in models] + [o.sound for o in (comparison.outcomes if comparison else ())]
    stamp = ""
    if not all(sound):
        stamp = f"{'with runs ' if any(sound) else ''}{min(verdicts or {NOT_PROVEN}, key=len)}: "
    if comparison:
        return shown(f"{stamp}noise placements on {comparison.corpus}")
    datasets = dict.fromkeys(str(model.parameters.get("dataset", "a dataset")) for model in models)
    return shown(f"{stamp}topics of {', '.join(datasets)}")


def _stamps(models: Sequence[TopicModel], names: Sequence[str], comparison: Comparison | None) -> list[tuple[str, str]]:
    """What must be said in red at the top: a verdict and the reason, each once, with the runs that it is about."""
    about: dict[tuple[str, str], list[str]] = {}
    for model, name in zip(models, names, strict=True):
        if not model.privacy.sound:
            reason = model.privacy.reason or "no proof of its privacy is known"
            plain = reason.removeprefix(NOT_PRIVATE).removeprefix(NOT_PROVEN.lower()).lstrip(": ")
            about.setdefault((_verdict(model.privacy), shown(plain or reason)), []).append(name)
    stamps = [
        (verdict, reason if len(models) == 1 else f"{reason} ({_which(runs, len(models))})")
        for (verdict, reason), runs in about.items()
    ]
    outcomes = comparison.outcomes if comparison else ()
    unproven = sum(not outcome.sound for outcome in outcomes)
    if unproven:
        where = f"{unproven} of the {len(outcomes)} runs compared are of placements without noise or without a proof"
        stamps.append((NOT_PROVEN, f"{where}: their names say so, and the table of all runs"))
    return stamps


def _which(runs: Sequence[str], count: int) -> str:
    named = f": {', '.join(runs)}" if len(runs) <= STAMPED_BY_NAME else ", marked below"
    return f"{len(runs)} of {count} runs{named}"


def _run(model: TopicModel, name: str, prefix: str) -> dict[str, Any]:
    """What the template shows of one run."""
    pictures = {p.name.removeprefix(f"{prefix}-"): p for p in of_run.pictures(model, prefix)}
    return {
        "name": name,
        "prefix": prefix,
        "privacy": model.privacy,
        "verdict": _verdict(model.privacy),
        "epsilon": at_least(model.privacy.epsilon) if model.privacy.sound else "unbounded",
        "unit": shown(model.privacy.unit),
        "beliefs": _beliefs(model.privacy),
        "success": percent(success_at_most(model.privacy), upwards=True),
        "mu": number(noise(model.privacy)[0]),
        "public_words": model.parameters.get("vocabulary") == "public",
        "pictures": pictures,
        "topics": _cards(model),
        "settings": _settings(model.parameters),
    }


def _beliefs(privacy: PrivacyStatement) -> Table:
    after = (belief_at_most(prior, privacy.epsilon, privacy.delta) for prior in PRIORS)
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


def _settings(parameters: Mapping[str, Any]) -> Table:
    named = ((key, value) for key, value in parameters.items() if key not in SHOWN_ELSEWHERE)
    rows = [(shown(SETTING_NAMES.get(key, key.replace("_", " "))), _plain(value)) for key, value in sorted(named)]
    return Table(("setting", "value"), rows)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _summary(models: Sequence[TopicModel], names: Sequence[str]) -> Table:
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
                "yes" if privacy.sound else _verdict(privacy),
                str(len(model.topics)),
                str(p.get("supported_topics", "–")),
            )
        )
    return Table(columns, rows)


def _together(models: Sequence[TopicModel]) -> list[dict[str, str]]:
    """What the sound runs on each dataset spent together, where there are several."""
    groups: dict[tuple[str, str, str], list[PrivacyStatement]] = {}
    for model in models:
        privacy, dataset = model.privacy, model.parameters.get("dataset")
        if privacy.sound and dataset:
            groups.setdefault((str(dataset), privacy.unit, privacy.adjacency), []).append(privacy)
    answers = []
    for (dataset, _, _), statements in groups.items():
        if len(statements) > 1:
            epsilon, delta = together(statements)
            answers.append(
                {
                    "dataset": shown(dataset),
                    "runs": str(len(statements)),
                    "epsilon": at_least(epsilon),
                    "delta": number(delta),
                }
            )
    return answers


def _comparison(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "name": shown(comparison.name),
        "corpus": shown(comparison.corpus),
        "kind": comparison.kind,
        "pictures": of_comparison.pictures(comparison),
        "winners": of_comparison.winners(comparison),
        "outcomes": of_comparison.outcomes(comparison),
        "settings": _settings(comparison.parameters),
    }
