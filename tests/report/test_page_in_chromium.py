"""The page as a browser shows it: offline, without an error, narrow, dark, printed, and legible."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answer_data import everything, word_table
from report_data import HOSTILE, comparison, full_comparison, outcome, run_model, tables

from dplda.model import TopicModel
from dplda.report import write_report
from dplda.report.answers_page import write_answers

AXE_SCRIPT = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed").AXE_SCRIPT
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.full, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

LUMINANCE = """element => {
  const channels = getComputedStyle(element).fill.match(/[0-9.]+/g).slice(0, 3).map(c => c / 255);
  const [r, g, b] = channels.map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""
OPEN_ALL = "document.querySelectorAll('details').forEach(details => { details.open = true; })"
SIZES = [(width, theme) for width in (390, 1280) for theme in ("light", "dark")]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as tools:
        running = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def show(browser: Any) -> Iterator[Open]:
    """Open a file offline, once for all tests, in a window of `width`; `page.complaints` lists errors and requests."""
    pages: dict[Path, Any] = {}

    def show(path: Path, width: int = 1280, theme: str = "light") -> Any:
        if path not in pages:
            page = pages[path] = browser.new_context(offline=True).new_page()
            page.complaints = []
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda asked: asked.url == path.as_uri() or page.complaints.append(asked.url[:100]))
            page.goto(path.as_uri())
        page = pages[path]
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        return page

    yield show
    for page in pages.values():
        page.context.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    two = [run_model("a"), run_model("b", seed=1)]
    parts: dict[str, tuple[Any, ...]] = {
        "one": ([run_model()],),
        "map": ([run_model(n_topics=9)],),
        "three": ([*two, run_model("c", seed=2)],),
        "many": ([*two, run_model("c", seed=2), run_model("d", seed=3)],),
        "comparison": (two, full_comparison()),
        "once": (two, comparison(outcome("default", 1.0, 0, error=0.1), outcome("config1", 1.0, 0, error=0.3))),
        "noise": ([judged(run_model("n"), ["weak", "noise", "noise"])],),
        "open": ([run_model("o", sound=False, epsilon=math.inf, reason="NOT PRIVATE: simulated noise")],),
        "tables": ([run_model()], None, None, None, None, None, [tables(run_model(), LONELY)]),
        "groups": ([run_model()], None, None, None, None, None, [tables(run_model(), (2000,) * 8, ["desk"])]),
        "twelve": ([run_model()], None, None, None, None, None, [tables(run_model(), (2000,) * 12, ["desk"])]),
        "lots": ([run_model()], None, None, None, None, None, [tables(run_model(), (2000,) * 24, ["desk"])]),
        "hostile": ([run_model("<img src=x onerror=document.title='owned'>", words=HOSTILE)],),
    }
    for name, (models, *rest) in parts.items():
        write_report(models, folder / f"{name}.html", *rest)
    write_answers(everything(), folder / "answers.html")
    return {name: folder / f"{name}.html" for name in (*parts, "answers")}


def judged(model: TopicModel, verdicts: list[str]) -> TopicModel:
    return replace(model, facts=replace(model.facts, verdicts=verdicts))


LONELY = (2000, 1500, 2, 1800, 2, 2, 900, 2, 1500, 1600)  # the fourth and the seventh month are alone
NAMES = ("one", "map", "comparison", "noise", "open", "three", "once", "tables", "groups", "twelve", "lots", "answers")


@pytest.mark.parametrize(("width", "theme"), SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_accessible_and_asks_for_nothing(
    show: Open, files: dict[str, Path], name: str, width: int, theme: str
) -> None:
    """All rules of axe-core, among them contrast by WCAG AA, with everything unfolded."""
    page = show(files[name], width=width, theme=theme)
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run()")["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found] == []
    assert page.complaints == []


@pytest.mark.parametrize(("name", "width"), [("groups", 360), ("groups", 390), ("groups", 1280), ("twelve", 1280)])
def test_the_numbers_of_groups_fit_into_their_cells(show: Open, files: dict[str, Path], name: str, width: int) -> None:
    page = show(files[name], width=width)
    widths = page.evaluate(
        "[...document.querySelectorAll('.heat .number')].map(number =>"
        " [number, number.parentElement].map(element => element.getBoundingClientRect().width))"
    )
    assert len(widths) >= 8
    assert [pair for pair in widths if pair[0] > pair[1]] == []


@pytest.mark.parametrize(
    ("name", "width", "scale"),
    [("groups", 390, False), ("twelve", 390, True), ("twelve", 1280, False), ("lots", 390, True), ("lots", 1280, True)],
)
def test_a_heat_map_has_a_scale_or_numbers_and_fits_the_page(
    show: Open, files: dict[str, Path], name: str, width: int, scale: bool
) -> None:
    page = show(files[name], width=width)
    seen = "name => [...document.querySelectorAll(name)].filter(each => each.getBoundingClientRect().width > 0).length"
    assert (page.evaluate(seen, ".scale") > 0) is scale
    assert (page.evaluate(seen, ".heat .number") > 0) is not scale
    assert page.evaluate("(heat => heat.scrollWidth <= heat.clientWidth)(document.querySelector('div.heat'))")


@pytest.mark.parametrize("name", NAMES)
def test_topics_come_before_privacy_and_both_near_the_top(show: Open, files: dict[str, Path], name: str) -> None:
    page = show(files[name])
    tops = "names => names.map(name => document.querySelector(name).getBoundingClientRect().top + scrollY)"
    assert page.evaluate(tops, ["dl.overview"])[0] < 400
    if name in ("one", "open"):
        places = page.evaluate(tops, [".bars", ".cards", ".tree", "details.specialists"])
        assert places == sorted(places)
        assert places[0] < 900, "topics begin on the first screen"


def test_a_chart_is_drawn_for_the_width_of_the_page(show: Open, files: dict[str, Path]) -> None:
    for width, size in ((390, "narrow"), (1280, "wide")):
        page = show(files["comparison"], width=width)
        shown = page.evaluate(
            "[...document.querySelectorAll('.chart > div')].filter(e => e.checkVisibility())"
            ".map(e => [e.className, e.firstElementChild.getBoundingClientRect().width])"
        )
        assert shown
        assert {name for name, _ in shown} == {f"at-{size}"}
        assert all(abs(drawn - {"narrow": 340, "wide": 720}[size]) < 25 for _, drawn in shown), "text in its own size"


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_lone_months_are_points_that_are_seen(show: Open, files: dict[str, Path], width: int, theme: str) -> None:
    page = show(files["tables"], width=width, theme=theme)
    points = page.evaluate("""[...document.querySelectorAll('#run-1-table-0-0-0 svg')].filter(e => e.checkVisibility())
        .flatMap(svg => [...svg.querySelectorAll('g[clip-path] use')])
        .map(use => use.getBoundingClientRect()).map(box => [box.width, box.height])""")
    ends = [size for size in points if size[1] == 0]  # of the bars
    points = [size for size in points if size[1] > 0]
    assert len(points) == 2 * 3, "two months of each of three topics"
    assert len(ends) == 2 * len(points)
    assert all(min(size) > 2.9 for size in points)


def test_a_desktop_is_used_to_its_width(show: Open, files: dict[str, Path]) -> None:
    """Nowhere but beside headings and short lines is a third of the page empty."""
    page = show(files["tables"], width=1280)
    empty = page.evaluate("""[...document.querySelectorAll('.picture, ul.columns, .cards, div.columns')]
        .filter(e => e.checkVisibility()).map(e => {
            const outer = document.querySelector('main').getBoundingClientRect();
            const right = Math.max(...[...e.children].map(child => child.getBoundingClientRect().right));
            return (outer.right - right) / outer.width;
        })""")
    assert len(empty) >= 5
    assert max(empty) < 0.1


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_every_answer_is_drawn(show: Open, files: dict[str, Path], width: int, theme: str) -> None:
    """A bar for each category, a lone month as a point, a dot and a line for each certain word."""
    page = show(files["answers"], width=width, theme=theme)
    bars = page.evaluate("""[...document.querySelectorAll('#answer-3-answer-0-0-0 .bars li')]
        .map(bar => [bar.querySelector('.stack span'), bar.querySelector('.whisker')]
            .map(e => e.getBoundingClientRect().width))""")
    assert len(bars) == 2, "refund and heat"
    assert bars[0][0] == pytest.approx(3 * bars[1][0], rel=0.05)
    assert min(whisker for _, whisker in bars) > 1
    marks = """name => [...document.querySelectorAll(`${name} svg`)].filter(e => e.checkVisibility())
        .flatMap(svg => [...svg.querySelectorAll('g[clip-path] use')])
        .map(use => use.getBoundingClientRect()).map(box => [box.width, box.height])"""
    lone = page.evaluate(marks, "#answer-4-answer-0-1-0")
    lone = [size for size in lone if size[1] > 0]  # without the ends of their bars
    assert len(lone) == 2 * 2, "the first and the third month of each of two categories"
    table = word_table()
    certain = [each for found in table.distinctive() for each in found or () if each.certain]
    dots = page.evaluate(marks, "#answer-5-answer-0-0")
    assert len(dots) == sum(each.elsewhere.low > 0 for each in certain) > 0, "no dot where the lift may be unbounded"
    assert all(min(size) > 2.9 for size in (*lone, *dots))
    told = page.evaluate("""[...document.querySelectorAll('#answer-5-answer-0-0 svg')].filter(e => e.checkVisibility())
        .flatMap(svg => [...svg.querySelectorAll('text')]).map(text => text.textContent)""")
    assert {each.word for each in certain} <= set(told)


@pytest.mark.parametrize("name", ["comparison", "map", "answers"])
def test_no_text_of_a_chart_leaves_it(show: Open, files: dict[str, Path], name: str) -> None:
    for width in (390, 1280):
        page = show(files[name], width=width)
        page.evaluate(OPEN_ALL)
        outside = page.evaluate("""[...document.querySelectorAll('.chart svg')].filter(e => e.checkVisibility())
            .flatMap(svg => [...svg.querySelectorAll('text')].filter(text => {
                const inner = text.getBoundingClientRect(), outer = svg.getBoundingClientRect();
                return inner.left < outer.left - 2 || inner.right > outer.right + 2
                    || inner.top < outer.top - 2 || inner.bottom > outer.bottom + 2;
            }).map(text => text.textContent))""")
        assert outside == []


@pytest.mark.parametrize("name", ["one", "comparison", "answers"])
def test_a_phone_needs_no_scrolling_sideways(show: Open, files: dict[str, Path], name: str) -> None:
    page = show(files[name], width=360)
    for numbers in page.query_selector_all("details.numbers"):
        numbers.evaluate("details => { details.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    tables = page.evaluate("[...document.querySelectorAll('.grid')].map(grid => grid.scrollWidth - grid.clientWidth)")
    assert max(tables) <= 0
    cells = page.evaluate("[...document.querySelectorAll('.wide td')].map(cell => cell.offsetWidth)")
    assert min(cells) > 250, "a wide table has one block for each row, not slivers of columns"


@pytest.mark.parametrize(("theme", "bright"), [("light", False), ("dark", True)])
def test_text_in_pictures_follows_the_theme(show: Open, files: dict[str, Path], theme: str, bright: bool) -> None:
    page = show(files["comparison"], theme=theme)
    values = page.eval_on_selector_all(".chart text", f"all => all.map({LUMINANCE})")
    assert values
    assert all((value > 0.7) == bright for value in values)


def test_charts_are_printed_wide_and_in_light_colours(show: Open, files: dict[str, Path]) -> None:
    page = show(files["comparison"], theme="dark")
    page.emulate_media(media="print")
    assert page.locator(".chart .at-wide").first.is_visible()
    assert page.locator(".chart .at-narrow").first.is_hidden()
    assert page.eval_on_selector(".chart text", LUMINANCE) < 0.3
    page.emulate_media(media="screen")


def test_hostile_words_do_nothing(show: Open, files: dict[str, Path]) -> None:
    page = show(files["hostile"])
    assert page.title() == "topics of toys (dplda report)"
    assert page.locator("main img, script, main a").count() == 0
    labels = page.locator("#run-1-prevalence .name").all_text_contents()
    assert any("<" in text for text in labels), "markup is shown as it is written"
    assert page.complaints == []


def test_the_policy_stops_what_would_run(show: Open, files: dict[str, Path], tmp_path: Path) -> None:
    text = files["one"].read_text(encoding="utf-8")
    attacked = tmp_path / "attacked.html"
    attacked.write_text(text.replace("</main>", "<script>document.title = 'owned'</script></main>"), encoding="utf-8")
    page = show(attacked)
    assert page.title() != "owned"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)
