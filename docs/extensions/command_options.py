"""Sphinx directive `options`: a table of a command's options from its own help.

In the Markdown source it is a block with `dplda COMMAND --help`, which the repository's host shows as that command.
Options that many commands share are left out: the page describes them once.
"""

from __future__ import annotations

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dplda.cli.main import cli
from dplda.cli.options import READING_NAMES

SHARED = {*READING_NAMES, "ledger_path", "as_json", "quiet"} - {"group_fields"}


class Options(SphinxDirective):  # type: ignore[misc]  # Sphinx is not typed here
    """The options of the command that the block names."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each option."""
        name, *words = " ".join(self.content).split()
        if name != "dplda" or words.pop() != "--help":
            raise self.error("an options block contains `dplda COMMAND --help`")
        command: click.Command = cli
        context = click.Context(cli, info_name=name, **cli.context_settings)
        for word in words:
            found = command.get_command(context, word) if isinstance(command, click.Group) else None
            if found is None:
                raise self.error(f"dplda has no command {' '.join(words)}")
            command, context = found, click.Context(found, info_name=word, parent=context, **found.context_settings)
        options = [
            option for option in command.params if isinstance(option, click.Option) and option.name not in SHARED
        ]
        return [table([record for option in options if (record := option.get_help_record(context))])]


def table(rows: list[tuple[str, str]]) -> nodes.table:
    """A table of options and their meaning."""
    body = nodes.tbody("", *(row(nodes.literal("", option), *inline(text)) for option, text in rows))
    head = nodes.thead("", row(nodes.Text("option"), nodes.Text("meaning [default]")))
    columns = [nodes.colspec(colwidth=width) for width in (1, 2)]
    return nodes.table("", nodes.tgroup("", *columns, head, body, cols=2))


def row(option: nodes.Node, *meaning: nodes.Node) -> nodes.row:
    """A row of two cells."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in ([option], meaning)))


def inline(text: str) -> list[nodes.Node]:
    """The text with options, and what stands between backticks, as code."""
    parts = re.split(r"`([^`]*)`|(--[a-z][a-z-]*)", text)  # of three parts in turn, the first is no code
    return [nodes.literal("", part) if i % 3 else nodes.Text(part) for i, part in enumerate(parts) if part]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("options", Options)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
