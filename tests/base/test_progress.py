"""Who is told of progress if nobody was named: a notebook, and what it keeps of that."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from dplda.base.progress import NoProgress, following


class Notebook:
    """A stand-in for what shows a kernel's pages; `shown` are the states of the line below the cell."""

    def __init__(self, *, broken: bool = False) -> None:
        self.shown: list[dict[str, str]] = []
        self.lines = set[str]()
        self.broken = broken

    def publish(self, page: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        if self.broken:
            raise OSError("the browser is gone")
        assert update == bool(self.shown)
        self.shown.append(page)
        self.lines.add(transient["display_id"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    return install(monkeypatch, Notebook())


def install(monkeypatch: pytest.MonkeyPatch, notebook: Notebook, **shell: Any) -> Notebook:
    shell = shell or {"kernel": object()}
    found = SimpleNamespace(display_pub=notebook, **shell)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))
    return notebook


def test_a_notebook_shows_stages_without_amounts_and_keeps_nothing(notebook: Notebook) -> None:
    with following(None) as progress:
        progress.start("read <b>", 1234)
        for _ in range(1234):
            progress.advance()
        progress.start("core")
        progress.estimate(0.5)
        progress.advance(7)
    pages = [page["text/html"] for page in notebook.shown]
    assert "read &lt;b&gt; …" in pages[0]
    assert "width: 0%" in pages[0]
    assert any("width: 100%" in page for page in pages)
    assert not any("1234" in page or "1,234" in page for page in pages)
    assert len(pages) < 30, "a bar moves in twentieths"
    assert "core …" in pages[-2]
    assert "width: 50%" in pages[-2]
    assert notebook.shown[-1] == {"text/html": "", "text/plain": ""}
    assert len(notebook.lines) == 1


def test_the_line_goes_if_the_run_fails(notebook: Notebook) -> None:
    with suppress(ValueError), following(None) as progress:
        progress.start("read")
        raise ValueError
    assert len(notebook.shown) == 2
    assert notebook.shown[-1] == {"text/html": "", "text/plain": ""}


def test_a_run_goes_on_if_its_bar_cannot_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Notebook(broken=True))
    with following(None) as progress:
        progress.start("read", 2)
        progress.advance(2)


def test_only_kernels_show_a_bar_and_a_given_reporter_replaces_it(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = NoProgress()
    with following(given) as progress:
        assert progress is given
    install(monkeypatch, notebook, terminal=True)  # IPython in a terminal
    with following(None) as progress:
        assert isinstance(progress, NoProgress)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with following(None) as progress:
        assert isinstance(progress, NoProgress)
    assert notebook.shown == []
