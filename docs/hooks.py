"""MkDocs hooks: formulas drawn as SVG, which every browser shows without a script or a network; ids of headings."""

from __future__ import annotations

import html
import re

import ziamath
from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

# What pymdownx.arithmatex writes with `generic: true` for $...$ and $$...$$, and the punctuation after it.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>(?P<punctuation>[,.;:)]*)', re.DOTALL
)
BRACKET = re.compile(r"<m[io]>(&#x0(?:2016|007C|27E8|27E9);)</m[io]>")  # bars and angles, as high as the text
SYMBOL = re.compile(r'<symbol id="(?P<id>[^"]*)".*?</symbol>', re.DOTALL)
FONT_SIZE = 16  # pixels, that of the theme's text


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set how headings become ids."""
    config.mdx_configs["toc"] = {"slugify": heading_id}
    return config


def heading_id(heading: str, separator: str) -> str:
    """The id of a heading. It does not begin with a digit, because the theme's scripts use ids in CSS selectors."""
    slug = slugify(heading, separator)
    return f"section{separator}{slug}" if slug[:1].isdigit() else slug


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
        mathml = BRACKET.sub(r'<mo stretchy="false">\1</mo>', mathml)
        drawing = ziamath.Math(mathml, size=FONT_SIZE)
        label = f'role="img" aria-label="{html.escape(latex)}" style="vertical-align: {drawing.getyofst():.2f}px"'
        svg = SYMBOL.sub(collect, drawing.svg()).replace("<svg ", f"<svg {label} ", 1)
        return f'<{formula["tag"]} class="formula">{svg}{formula["punctuation"]}</{formula["tag"]}>'

    content = FORMULA.sub(draw, content)
    if glyphs:
        content += f'<svg width="0" height="0" aria-hidden="true">{"".join(glyphs.values())}</svg>'
    return content
