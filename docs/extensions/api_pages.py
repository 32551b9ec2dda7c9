"""Sphinx extension: a page for each package, from its docstrings, and a check that no public name is missing."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pkgutil import walk_packages
from types import ModuleType

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import dplda

FOLDER = "api"
COLUMNS = re.compile(r"\s*\S.*?\S? {2,}\S")  # the first line of a list in columns: a symbol and what it means
BAR = re.compile(r"(`[^`]*`)|\|")
COMMAND_LINE = "dplda.cli"  # which the page of the commands describes


def write_pages(app: Sphinx) -> None:
    """Write the page of each package, where it changed."""
    folder = app.srcdir / FOLDER
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{name}.rst": page(modules) for name, modules in packages().items()}
    for path in set(folder.iterdir()) - set(pages):
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def packages() -> dict[str, list[ModuleType]]:
    """Each package with its modules; `dplda` itself has those that are in no other package."""
    found: dict[str, list[ModuleType]] = {"dplda": []}
    for entry in walk_packages(dplda.__path__, "dplda."):
        if entry.name.startswith(COMMAND_LINE) or entry.name.endswith(".__main__"):
            continue
        module = import_module(entry.name)
        if entry.ispkg:
            found[entry.name] = [module]
        else:
            found[entry.name.rpartition(".")[0]].append(module)
    return found


def page(modules: list[ModuleType]) -> str:
    """The page of one package. A name that a package exports is described there, and not in its module again."""
    package = modules[0] if hasattr(modules[0], "__path__") else dplda
    blocks = [heading(package.__name__, "=")]
    first = {id(value) for value in exported(dplda).values()} if package is not dplda else set()
    names = {name: value for name, value in exported(package).items() if id(value) not in first}
    described = first | {id(value) for value in exported(package).values()}
    if package is not dplda:
        blocks += [f".. automodule:: {package.__name__}", *entries(package, names)]
    for module in modules:
        own = {name: value for name, value in defined(module).items() if id(value) not in described}
        if own and module is not package:
            blocks += [heading(module.__name__.removeprefix("dplda."), "-"), f".. automodule:: {module.__name__}"]
            if (
                module.__name__.rpartition(".")[2] in names
            ):  # as in dplda.private.statistics.core, a module and its function
                blocks[-1] += "\n   :no-index:"
            blocks += entries(module, own)
    return "\n\n".join(blocks) + "\n"


def heading(text: str, underline: str) -> str:
    """A heading in reStructuredText."""
    return f"{text}\n{underline * len(text)}"


def entries(module: ModuleType, names: dict[str, object]) -> Iterator[str]:
    """The directives of names of `module`; constants share one."""
    constants = []
    for name, value in names.items():
        if inspect.isclass(value):
            yield f".. autoclass:: {module.__name__}.{name}\n   :members:\n   :undoc-members:"
        elif inspect.isroutine(value) or hasattr(value, "__wrapped__"):
            yield f".. autofunction:: {module.__name__}.{name}"
        else:
            constants.append(name)
    if constants:
        signatures = "\n             ".join(constants)
        yield f".. py:currentmodule:: {module.__name__}\n\n.. py:data:: {signatures}"


def exported(module: ModuleType) -> dict[str, object]:
    """The names in `__all__` of a package, except modules, with what they mean."""
    names = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {name: value for name, value in names.items() if not isinstance(value, ModuleType)}  # which have pages


def defined(module: ModuleType) -> dict[str, object]:
    """The public names that a module defines, in its order."""
    names: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return {name: getattr(module, name) for name in dict.fromkeys(names) if not name.startswith("_")}


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of every public name that no page describes."""
    objects = env.domains.python_domain.objects
    modules = [dplda, *(module for package in packages().values() for module in package)]
    described, public = set(), {}
    for module in modules:
        for name, value in {**defined(module), **exported(module)}.items():
            full = f"{module.__name__}.{name}"
            public[full] = value
            if full in objects:
                described.add(id(value))
    for full in [full for full, value in public.items() if full not in objects and id(value) not in described]:
        logging.getLogger(__name__).warning("%s is described on no page", full, type="api")


def as_restructured_text(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Keep lists in columns as they are typed, and bars of norms, in the docstring `lines`."""
    paragraphs = [list(group) for blank, group in groupby(lines, key=lambda line: not line.strip()) if not blank]
    lines.clear()
    for paragraph in paragraphs:
        if COLUMNS.match(paragraph[0]):
            lines += ["::", "", *(f"    {line}" for line in paragraph), ""]
        else:
            lines += [*BAR.sub(lambda bar: bar[1] or r"\|", "\n".join(paragraph)).split("\n"), ""]


def as_code(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """Show what the default role does not know as code without a link."""
    return content if node["reftype"] == "obj" else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before the first page is read, and check when all have been read."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("env-check-consistency", check)
    app.connect("missing-reference", as_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
