"""MkDocs hook: commands of pages, and notebooks, are run when the documentation is built, and their output is shown."""

from __future__ import annotations

import gzip
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

PAGES = ("little-text.md", "guided-topics.md", "every-week.md", "groups-and-time.md")
# The files that the pages name: how many documents of the sample corpus each holds.
FILES = {
    **{"tickets.jsonl": 1000, "june.jsonl": 3000, "forum.jsonl": 3000, "posts.jsonl": 4000, "letters.jsonl": 8000},
    **{f"week-{week}.jsonl": 4000 for week in (31, 32, 33)},
}
# The exit status of a run whose noise was too large for its data, which chance decides, and how often it is tried.
UNSUPPORTED, TRIES = 4, 3
COMMANDS = re.compile(r"^```sh\n(?P<lines>.*?)^```\n", re.DOTALL | re.MULTILINE)
NOTEBOOK = re.compile(r'<div class="notebook" data-file="(?P<file>[a-z]+\.ipynb)"></div>')
YAML = re.compile(r"^```yaml\n(?P<text>.*?)^```\n", re.DOTALL | re.MULTILINE)

folder = Path()


def on_pre_build(config: MkDocsConfig) -> None:
    """Make a folder with the files that the pages name."""
    global folder
    folder = Path(tempfile.mkdtemp(prefix="dplda-docs-"))
    run(f"dplda corpus sample sample --documents {sum(FILES.values())}")
    with gzip.open(folder / "sample" / "sample.jsonl.gz", "rt", encoding="utf-8") as lines:
        for name, documents in FILES.items():
            (folder / name).write_text("".join(next(lines) for _ in range(documents)), encoding="utf-8")


def on_page_markdown(markdown: str, page: Page, **context: object) -> str:
    """Run the commands of the page, and put what they print below them. Raises `PluginError` if one fails."""
    if page.file.src_path not in PAGES:
        return markdown
    for text in YAML.finditer(markdown):
        (folder / "topics.yaml").write_text(text["text"], encoding="utf-8")

    def shown(block: re.Match[str]) -> str:
        printed = html.escape("".join(run(line) for line in block["lines"].splitlines()))
        summary = "<summary>What they print, on generated text</summary>"
        return f"{block[0]}\n<details>{summary}<pre>{printed}</pre></details>\n"

    return COMMANDS.sub(shown, markdown)


def on_page_content(content: str, page: Page, **context: object) -> str:
    """Put the executed notebook in place of its mark. Raises `PluginError` if a cell fails."""
    return NOTEBOOK.sub(lambda mark: executed(Path(__file__).parent / "notebooks" / mark["file"]), content)


def executed(file: Path) -> str:
    """The notebook `file` with the results of its cells, as HTML."""
    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    try:
        client.execute(env=os.environ | places("notebook.db"))
    except CellExecutionError as error:
        raise PluginError(f"{file.name}: {str(error)[-800:]}") from None
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "alt" in cell.metadata and "image/png" in output.get("data", {}):
                output.metadata["image/png"] = {"alt": cell.metadata["alt"]}
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    return f'<div class="notebook">{body}</div>'


def on_post_build(config: MkDocsConfig) -> None:
    """Remove the folder."""
    shutil.rmtree(folder)


def run(command: str) -> str:
    """What `command` prints on standard output. Raises `PluginError` if it fails."""
    words = command.split()
    program = str(Path(sys.executable).with_name(words[0]))
    environment = os.environ | places("ledger.db")
    for _ in range(TRIES):
        done = subprocess.run([program, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != UNSUPPORTED:
            break
    if done.returncode:
        raise PluginError(f"{command}: exit status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def places(ledger: str) -> dict[str, str]:
    """Environment variables that keep everything in the folder."""
    return {"DPLDA_LEDGER": str(folder / ledger), "DPLDA_CACHE": str(folder / "cache"), "COLUMNS": "110"}
