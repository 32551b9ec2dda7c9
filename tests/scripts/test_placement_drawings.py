"""What is drawn of a placement is what it asks: each question once, each noised edge, and no way past the gate."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

import draw_placements
from dplda.learning.placements import registry
from draw_placements import BOX, GRAPHS, HEIGHT

SVG = "{http://www.w3.org/2000/svg}"


def test_every_private_placement_is_drawn():
    assert set(GRAPHS) == set(registry.PRIVATE)


@pytest.mark.parametrize("name", GRAPHS)
def test_noised_edges_are_named_and_every_question_is_told(name):
    graph = GRAPHS[name]
    draw_placements.check(name, graph)
    texts = [text.text for text in ElementTree.fromstring(draw_placements.draw(graph)).iter(f"{SVG}text")]
    noised = [text for text in texts if text.endswith("+ N(0, ·)")]
    assert {edge for text in noised for edge in re.findall(r"e\d|power", text)} == set(
        registry.find(name, "sound").split
    )
    assert len(noised) == sum(bool(arrow.stages) for arrow in graph.arrows)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"stages": ()}, "is drawn"),
        ({"stages": ("moment", "moment")}, "is drawn"),
        ({"edges": ("e4",)}, "has noise on"),
        ({"target": "E3"}, "must carry noise outwards"),
    ],
)
def test_a_picture_that_tells_another_story_is_refused(changed, told):
    graph = GRAPHS["config2"]
    arrows = tuple(replace(arrow, **changed) if "moment" in arrow.stages else arrow for arrow in graph.arrows)
    with pytest.raises(ValueError, match=told):
        draw_placements.check("config2", replace(graph, arrows=arrows))


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps_or_leaves_the_picture(name):
    graph = GRAPHS[name]
    (width, height), middles = graph.size, [graph.at(node) for node in graph.nodes]
    for number, (x, y) in enumerate(middles):
        assert BOX / 2 <= x <= width - BOX / 2
        assert HEIGHT / 2 <= y <= height - HEIGHT / 2
        assert all(abs(x - a) >= BOX or abs(y - b) >= HEIGHT for a, b in middles[:number])
        assert (x > graph.gate) == list(graph.nodes.values())[number].released
    for node in graph.nodes.values():
        assert max(len(line) for line in node.text.split("\n")) * 7.4 < BOX


def test_figures_of_the_documentation_are_up_to_date(tmp_path, pytestconfig):
    draw_placements.write(tmp_path)
    kept = pytestconfig.rootpath / "docs" / "figures"
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text(encoding="utf-8") for path in kept.glob("placement-*.svg")}
