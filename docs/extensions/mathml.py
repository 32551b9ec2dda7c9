"""Sphinx extension: formulas as MathML, which browsers show without a script or a network."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

UNKNOWN = re.compile(r"<m\w+[^>]*>(\\[A-Za-z]+)")  # a command that the converter left as it was
BRACKET = re.compile(r"<m[io]>(&#x0(?:2016|007C|27E8|27E9);)</m[io]>")  # bars and angles, as high as the text
FUNCTION = re.compile(r"<m[io]>(exp|ln|log|mod|Pr|tr)</m[io]>")  # with a space on both sides


def mathml(latex: str, display: str) -> str:
    """The formula `latex` as MathML; `display` is "inline" or "block". Raises `ExtensionError` for unknown commands."""
    try:
        drawn = convert(latex, display=display)
    except Exception as error:
        raise ExtensionError(f"cannot draw the formula {latex!r}: {error!r}") from error
    if unknown := UNKNOWN.search(drawn):
        raise ExtensionError(f"unknown command {unknown[1]} in the formula {latex!r}")
    drawn = FUNCTION.sub(r'<mo form="infix" lspace="0.17em" rspace="0.17em">\1</mo>', drawn)
    return BRACKET.sub(r'<mo stretchy="false">\1</mo>', drawn)


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
