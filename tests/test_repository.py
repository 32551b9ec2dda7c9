"""The repository keeps its own promises: what a stranger who clones it relies on."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = (
    *("scripts/quickstart", "scripts/smoke", "scripts/test", "scripts/docs", "scripts/prove", "scripts/make_sample"),
    *("scripts/lock", "scripts/build_release", "scripts/bill_of_materials"),
    ".ci/run",
)
BASH = [path for path in (*SCRIPTS, "scripts/environment.sh") if path != "scripts/make_sample"]
PLACES = ("work", "home", "root", "tmp", "Users", "opt", "mnt")  # where one machine or another keeps things
ABSOLUTE = re.compile(rf"(?<![\w.~$}}:/-])/(?:{'|'.join(PLACES)})/")
TEXT = {".py", ".md", ".toml", ".yml", ".json", ".sh", ".cfg", ".txt", ""}
MODULES = sorted((ROOT / "dplda").rglob("*.py"))


def project() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: dict[str, object] = tomllib.load(file)["project"]
    return found


def requirements(*chosen: str) -> list[str]:
    """The dependencies, and those of the `chosen` extras, or of all."""
    facts = project()
    extras = facts["optional-dependencies"]
    assert isinstance(extras, dict)
    assert isinstance(facts["dependencies"], list)
    return [*facts["dependencies"], *(line for extra in chosen or extras for line in extras[extra])]


def repository_files() -> list[Path]:
    """Files under version control, or that would be; the folder itself where git is not there."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listed if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("requirement", requirements())
def test_requirements_have_a_lower_bound_and_nothing_else(requirement: str) -> None:
    assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=\d+(\.\d+)*", requirement)


def imported(folder: str) -> set[str]:
    """Top-level names of the libraries that the modules in a folder import."""
    found: set[str] = set()
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py")]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    own = {
        path.stem
        for place in (".", "scripts", "tests", "tests/helpers", "docs/figures")
        for path in (ROOT / place).iterdir()
    }
    return {name.split(".")[0] for name in found} - own - set(sys.stdlib_module_names)


USERS = [
    *("attack", "cuda", "dask", "documents", "expressions", "keyring", "lemmas", "sklearn"),
    *("chinese", "japanese", "korean", "thai", "wordlists"),
]


@pytest.mark.parametrize(("folder", "extras"), [("dplda", USERS), ("scripts", ["bench"]), ("tests", ["test"])])
def test_what_is_imported_is_declared(folder: str, extras: list[str]) -> None:
    declared = {name for line in requirements(*extras) for name in re.findall(r"[\w-]+", line.split(">")[0])}
    distributions = packages_distributions()  # of what is installed; others are named as they are imported
    missing = {
        name
        for name in imported(folder)
        if not any(
            one == normal or one.startswith(f"{normal}-")  # as in cupy-cuda12x
            for one in declared
            for normal in (found.lower().replace("_", "-") for found in distributions.get(name, [name]))
        )
    }
    assert missing == set()


def test_extras_are_those_documented() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    languages = {"chinese", "japanese", "korean", "thai"}
    assert set(USERS) >= languages
    assert set(extras) == {*USERS, "test", "bench", "docs"}


def test_every_dependency_and_extra_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    always, extras = page.split("## Extras")
    listed = project()["dependencies"]
    assert isinstance(listed, list)
    named = set(re.findall(r"(?m)^\| ([\w-]+) \|", always)) - {"package"}
    assert named == {line.split(">")[0] for line in listed}
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", extras)) == set(USERS)


def test_readme_opens_with_its_purpose_and_exactly_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")
    assert len(opening[0].split("\n\n")[1]) > 100, "the purpose comes first"
    language, *commands = opening[1].strip().splitlines()
    assert language == "sh"
    assert commands == ["scripts/quickstart", "scripts/test"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_executable_and_say_what_they_are(name: str) -> None:
    script = ROOT / name
    assert os.access(script, os.X_OK)
    first, second, *_ = script.read_text(encoding="utf-8").splitlines()
    assert first.startswith("#!/usr/bin/env ")
    assert second.startswith(("# ", '"""'))


@pytest.mark.parametrize("name", BASH)
def test_bash_scripts_parse(name: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_scripts_say_clearly_that_no_python_fits(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    for tool in ("cksum", "dirname"):
        (tmp_path / tool).symlink_to(Path("/usr/bin") / tool)
    result = subprocess.run(
        ["/bin/bash", str(ROOT / "scripts/quickstart")],
        env={"PATH": str(tmp_path), "DPLDA_VENV": str(tmp_path / "venv")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "No Python 3.11 or newer" in result.stderr
    assert not (tmp_path / "venv").exists()


def test_no_file_names_a_place_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in repository_files()
        if path.suffix in TEXT and path.name != "LICENSE"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if ABSOLUTE.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("module", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_module_has_a_docstring_and_a_readable_size(module: Path) -> None:
    source = module.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source)), "every module says what it is for"
    assert source.count("\n") <= 650


def test_citations_of_the_privacy_statement_exist() -> None:
    statement = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"(?m)^#{2,4} (\d+(?:\.\d+)?)", statement))
    rules = set(re.findall(r"(?m)^(\d+)\. ", statement[statement.index("## 8. Rules") :]))
    theorems = set(re.findall(r"\*\*(T\d+)", statement))
    broken = []
    for module in MODULES:
        for citation in re.findall(r"docs/privacy\.md,?\s+([^)\n]*)", module.read_text(encoding="utf-8")):
            named = set(re.findall(r"sections? (\d+(?:\.\d+)?)", citation)) - sections
            named |= set(re.findall(r"rules? (\d+)", citation)) - rules
            named |= set(re.findall(r"\b(T\d+)", citation)) - theorems
            broken += [f"{module.name}: {name}" for name in sorted(named)]
    assert broken == []


def test_package_is_marked_as_typed() -> None:
    assert (ROOT / "dplda" / "py.typed").is_file()


def test_licence_is_the_one_declared() -> None:
    assert project()["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")
