"""The schema of OpenDP's deployments registry, and the fields of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dplda.audit.deployments_registry import _OPEN_DATE

SCHEMA = Path(__file__).parents[1] / "audit" / "registry_schema" / "deployments-schema.yaml"


def complaints(text: str) -> list[str]:
    """What the schema has against an entry, as the registry's own check asks it."""
    import jsonschema  # takes seconds

    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(yaml.safe_load(text))]


def fields(entry: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of each field."""
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from fields(value, f"{path}/{name}")
        else:
            yield f"{path}/{name}", value


def filled(text: str) -> list[str]:
    """The fields that are complete without any answer."""
    found = fields(yaml.safe_load(text))
    return [path for path, value in found if "TO BE FILLED IN" not in str(value) and value != _OPEN_DATE]
