"""MkDocs hook: convert the formulas of each page to MathML, so that browsers show them without a script or a network."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

# What pymdownx.arithmatex writes with `generic: true` for $...$ and $$...$$.
FORMULA = re.compile(r'class="arithmatex">\\(?:\((?P<inline>.*?)\\\)|\[(?P<display>.*?)\\\])</', re.DOTALL)


def on_page_content(content: str, page: Page, **context: object) -> str:
    """Replace every formula in the HTML `content`. Raises `PluginError` for a command that has no MathML."""

    def render(match: re.Match[str]) -> str:
        kind = "inline" if match["inline"] else "block"
        mathml = convert(html.unescape(match["inline"] or match["display"]), display=kind)
        if unknown := re.search(r"\\[A-Za-z]+", mathml):
            raise PluginError(f"{page.file.src_path}: MathML has no {unknown[0]}")
        return f'class="arithmatex">{mathml}</'

    return FORMULA.sub(render, content)
