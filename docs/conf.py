"""Configuration of Sphinx. `scripts/docs` builds the site."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

from docutils import nodes

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "extensions")]
os.environ["NUMBA_DISABLE_JIT"] = "1"  # here, so that compiled functions show their signatures; not in executed pages

project = "dplda"
extensions = [
    "sphinx.ext.autodoc",
    "myst_nb",
    "sphinx_copybutton",
    "api_pages",
    "command_options",
    "executed_pages",
    "mathml",
]
exclude_patterns = ["figures"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!dplda\.).*|.*\._\w+")]  # other libraries, and private aliases

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_show_tb = True
nb_merge_streams = True
nb_code_prompt_show = "Show {type}"
nb_code_prompt_hide = "Hide {type}"

default_role = "py:obj"  # a link where the name is known, else code
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "metadata, registry"}  # what SQLAlchemy adds to classes
autodoc_inherit_docstrings = False
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "dplda"
html_math_renderer = "mathml"
html_static_path = ["static", str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")]  # with a mathematical font
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "footer_start": [],
    "footer_end": [],
}


def setup(app):
    """Know the role of matplotlib's docstrings, which figures inherit."""
    app.add_generic_role("mpltype", nodes.literal)
