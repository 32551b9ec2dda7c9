"""The threat model names tests that exist, and a row for every rule."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def functions(module: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", MODEL)
    assert len(named) > 30
    assert len(named) == MODEL.count("::"), "each is written so that it can be looked up"
    missing = [(module, name) for module, name in named if name not in functions(ROOT / module)]
    assert missing == []


def test_every_rule_has_its_row() -> None:
    statement = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    section = statement[statement.index("## 8. Rules") : statement.index("## 9.")]
    rules = set(re.findall(r"(?m)^(\d+)\. ", section))
    table = MODEL[MODEL.index("## The rules around the theorems") : MODEL.index("## From a file to units")]
    assert rules == set(re.findall(r"(?m)^\| (\d+) \|", table))


def test_every_attack_on_a_rule_is_in_the_threat_model() -> None:
    attacks = functions(ROOT / "tests" / "trust" / "test_rules.py")
    assert [name for name in attacks if name.startswith("test_") and name not in MODEL] == []
