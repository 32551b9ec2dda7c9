"""MkDocs hook: draws the formulas of a page as SVG, so that every browser shows them without a script or a network."""

from __future__ import annotations

import html
import re

import ziamath
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

# What pymdownx.arithmatex writes with `generic: true` for $...$ and $$...$$, and the punctuation behind it.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>(?P<punctuation>[,.;:)]*)', re.DOTALL
)
SYMBOL = re.compile(r'<symbol id="(?P<id>[^"]*)".*?</symbol>', re.DOTALL)
FONT_SIZE = 16  # pixels, that of the theme's text


def on_page_content(content: str, page: Page, **context: object) -> str:
    """Replace every formula in the HTML `content`. Raises `PluginError` for a LaTeX command that is not known."""
    glyphs: dict[str, str] = {}  # the outline of each glyph, once for the page

    def collect(symbol: re.Match[str]) -> str:
        glyphs[symbol["id"]] = symbol[0]
        return ""

    def draw(formula: re.Match[str]) -> str:
        latex, inline = html.unescape(formula["latex"]).strip(), formula["tag"] == "span"
        mathml = convert(latex, display="inline" if inline else "block")
        if unknown := re.search(r"\\[A-Za-z]+", mathml):
            raise PluginError(f"{page.file.src_path}: {unknown[0]} is not known")
        mathml = re.sub(r"<mo>(?=&#x02016;|&#x0007C;)", '<mo stretchy="false">', mathml)  # bars of norms and values
        drawing = ziamath.Math(mathml, size=FONT_SIZE)
        label = f'role="img" aria-label="{html.escape(latex)}" style="vertical-align: {drawing.getyofst():.2f}px"'
        svg = SYMBOL.sub(collect, drawing.svg()).replace("<svg ", f"<svg {label} ", 1)
        return f'<{formula["tag"]} class="formula">{svg}{formula["punctuation"]}</{formula["tag"]}>'

    content = FORMULA.sub(draw, content)
    if glyphs:
        content += f'<svg width="0" height="0" aria-hidden="true">{"".join(glyphs.values())}</svg>'
    return content
