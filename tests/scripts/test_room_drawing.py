"""The picture of the rooms is drawn from the contract that is enforced, and is up to date."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import dplda
from draw_rooms import ROOT, draw, layers


def test_the_committed_picture_shows_the_contract() -> None:
    assert (ROOT / "docs" / "figures" / "rooms.svg").read_text("utf-8") == draw()
    ElementTree.fromstring(draw())


def test_every_folder_and_module_at_the_top_has_a_place() -> None:
    top = Path(dplda.__file__).parent
    rooms = {p.name for p in top.iterdir() if (p / "__init__.py").is_file()} | {p.stem for p in top.glob("*.py")}
    assert {room for layer in layers() for room in layer} == rooms - {"__init__"}
