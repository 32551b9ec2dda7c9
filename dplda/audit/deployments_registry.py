"""The entry (YAML) of a run in OpenDP's deployments registry, tier 3: opendp/deployments-registry-data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dplda.audit.answers import Answers
from dplda.base.characters import without_markup
from dplda.budget.events import at_least
from dplda.report.facts import Facts
from dplda.report.pictures import shown

ASKED = (  # in the order in which the entry needs them
    *("curators", "purpose", "region", "publication_date", "sector", "sources", "authors"),
    *("collection", "preparation", "epsilon_choice", "settings_choice", "audience", "raw_data", "trust"),
    *("other_releases", "later_runs"),
)
_OPEN_DATE = "1900-01-01"  # where the registry requires a date and none was given
_HEAD = """\
Entry of dplda's run {run} for the registry of differential privacy deployments, registry.opendp.org.
Check it with scripts/check.py of the repository opendp/deployments-registry-data, and send it there as a pull request.
"""
_OPEN = """\
Draft: these answers are missing. Write them into a YAML file, and give it with --answers FILE.
"""


def registry_entry(facts: Facts, answers: Answers, title: str = "") -> str:
    """Write the entry of a private run as YAML; its status is Draft while answers are missing, else Pending."""
    missing = answers.missing(ASKED)
    status = "Draft" if missing else "Pending"
    deployment = _deployment(facts, answers, without_markup(shown(title) or facts.title))
    basic = deployment["basic"]
    parts = (basic["name"], "-".join(basic["data_curators"]), basic["publication_date"].split("-")[0])
    # as update_slug.py of the registry computes it
    slug = "-".join(re.sub(r"\W+", "_", part.lower()) for part in parts).replace("_", "-")
    entry = {"url_slug": slug, "status": status, "tier": 3, "deployment": deployment}
    head = _HEAD.format(run=facts.run)
    if missing:
        head += _OPEN + "\n".join(question.line for question in missing)
    first, rest = _yaml(entry).split("\n", 1)  # the registry's own scripts want the slug in the first line
    return "\n".join([first, *(f"# {line}" for line in head.splitlines()), rest])


def _deployment(facts: Facts, answers: Answers, name: str) -> dict[str, Any]:
    quoted = facts.quoted
    basic = {
        "name": name,
        "data_curators": answers.given.get("curators", [answers.text("curators")]),
        "intended_use": answers.text("purpose"),
        "data_product_type": "Machine learning model" if facts.topics is not None else "Summary statistics",
        "data_product_region": answers.text("region"),
        "description": _paragraphs(
            "Answers to questions about the documents, from noisy sums."
            if facts.topics is None
            else "A topic model: groups of words that tend to occur together in documents, and how common each group is"
            f"{', with answers to other questions about the documents' if facts.other_answers else ''}.",
            *facts["released"],
        ),
        "publication_date": answers.given.get("publication_date", _OPEN_DATE),
    }
    if sector := answers.given.get("sector"):
        basic["data_product_sector"] = sector
    return {
        "basic": basic,
        "dp_variant": {
            "variant_name": "Approximate DP",
            "data_domain": _paragraphs(*facts["domain"]),
            "unprotected_quantities": _paragraphs(
                "dplda releases no number that was taken from the documents without noise. Outside the guarantee are:",
                _list(facts["unprotected"]),
            ),
        },
        "privacy_loss": {
            "privacy_unit": facts.unit.one,
            "privacy_unit_details": _paragraphs(*facts["protected"], *facts["neighbours"]),
            "privacy_parameters": {
                "epsilon": float(at_least(quoted.epsilon)),
                "delta": quoted.delta,
                "rho": float(at_least(quoted.rho)),
            },
            "privacy_parameters_details": _paragraphs(
                f"The parameters are those of {quoted.covers}; epsilon and rho are rounded upwards.",
                *facts["strength"],
                *facts["total"],
            ),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": _paragraphs(*facts["trust"]),
            "actors": _paragraphs(*facts["actors"], answers.text("audience"), answers.text("trust")),
            "release_type": "Many releases" if facts.many_releases else "One release",
            "release_type_details": _paragraphs(
                *facts["others"], *facts["duration"], answers.text("other_releases"), answers.text("later_runs")
            ),
            "data_source_type": "Dynamic" if facts.series else "Static",
            "data_source_type_details": _paragraphs(*facts["data"]),
            "access_type": "Non-interactive",
            "access_type_details": _paragraphs(
                "Readers receive files and cannot query the documents. The curator may make more runs within the "
                "total.",
                *facts["against"],
            ),
        },
        "accounting": {
            "post_processing": _list(facts["post_processing"]),
            "composition": _paragraphs(*facts["composition"]),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _paragraphs(
                answers.text("collection"),
                answers.text("preparation"),
                *facts["reading"],
                *facts["chosen"],
                *facts["tuning"],
            ),
            "mechanisms": _paragraphs(
                _list(facts["mechanisms"]),
                *facts["implementation"],
                *facts["side_channels"],
                *facts["made_by"],
                answers.text("raw_data"),
            ),
            "justification": _paragraphs(
                answers.text("epsilon_choice"), answers.text("settings_choice"), *facts["rare"], *facts["verify"]
            ),
        },
        "administrative": {
            "sources": answers.text("sources"),
            "notes": f"Written from run {facts.run} by `dplda report {facts.run} --registry FILE`.",
            "registry_authors": answers.given.get("authors", [answers.text("authors")]),
        },
    }


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _yaml(entry: dict[str, Any]) -> str:
    """Write `entry` without HTML, with texts of several lines as literal blocks, as the registry asks for."""
    import yaml  # slow to import

    class Dumper(yaml.SafeDumper):
        """Writes literal blocks."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", without_markup(value), style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(entry, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
