"""The page as a browser shows it: drawn offline without an error, read by hovering, narrow, dark and printed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from full_helpers import full_after
from report_data import HOSTILE, full_comparison, run_model

from dplda.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

DRAWN = ".plot .main-svg"
SETTLED = """() => {
  const width = element => element.getBoundingClientRect().width;
  const drawn = [...document.querySelectorAll(".js-plotly-plot")].filter(plot => plot.checkVisibility());
  return drawn.every(plot => Math.abs(width(plot) - width(plot.querySelector(".main-svg"))) < 1);
}"""  # every picture has taken the width of its place
LUMINANCE = """element => {
  const channels = getComputedStyle(element).fill.match(/[0-9.]+/g).slice(0, 3).map(c => c / 255);
  const [r, g, b] = channels.map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""

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
            page.wait_for_selector(DRAWN)
        page = pages[path]
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(SETTLED)
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
        "many": ([*two, run_model("c", seed=2), run_model("d", seed=3)],),
        "comparison": (two, full_comparison()),
        "hostile": ([run_model("<img src=x onerror=document.title='owned'>", words=HOSTILE)],),
    }
    for name, (models, *rest) in parts.items():
        write_report(models, folder / f"{name}.html", *rest)
    return {name: folder / f"{name}.html" for name in parts}


def drawn(page: Any) -> list[str]:
    return [plot.get_attribute("id") for plot in page.query_selector_all(".plot.js-plotly-plot")]


@pytest.mark.parametrize(("name", "pictures"), full_after(1, [("one", 1), ("many", 2), ("comparison", 4)]))
def test_every_picture_in_sight_is_drawn_without_an_error_or_a_request(
    show: Open, files: dict[str, Path], name: str, pictures: int
) -> None:
    page = show(files[name])
    assert len(drawn(page)) == pictures
    assert page.complaints == []


def test_a_folded_run_is_drawn_when_it_is_opened(show: Open, files: dict[str, Path]) -> None:
    page = show(files["many"])
    before = drawn(page)
    page.locator("details.run > summary").nth(1).click()
    page.wait_for_selector("#run-2-prevalence .main-svg")
    assert drawn(page) == [*before, "run-2-prevalence"]
    page.locator("details.run[open] details.specialists > summary").click()
    page.wait_for_selector("#run-2-signal .main-svg")
    opened = ["prevalence", "attack", "map", "budget", "signal"]
    assert drawn(page) == [*before, *(f"run-2-{name}" for name in opened)]
    assert page.locator("#run-2-map").bounding_box()["width"] > 800
    assert page.complaints == []


WIDTHS = """() => [...document.querySelectorAll("details.specialists .plot")].map(plot =>
    plot.getBoundingClientRect().width - plot.querySelector(".main-svg").getBoundingClientRect().width)"""


def test_pictures_for_specialists_take_their_width_when_opened_and_opened_again(
    show: Open, files: dict[str, Path]
) -> None:
    page = show(files["one"])
    fold = page.locator("details.specialists > summary")
    assert page.locator("details.specialists .main-svg").count() == 0
    fold.click()
    page.wait_for_selector("#run-1-signal .main-svg")
    page.wait_for_function(SETTLED)
    assert page.evaluate(WIDTHS) == pytest.approx([0, 0, 0, 0], abs=1)
    fold.click()
    show(files["one"], width=500)
    fold.click()
    page.wait_for_function(SETTLED)
    assert page.evaluate(WIDTHS) == pytest.approx([0, 0, 0, 0], abs=1)
    assert page.locator("#run-1-map").bounding_box()["width"] < 500
    assert page.complaints == []


def test_no_button_covers_a_picture(show: Open, files: dict[str, Path]) -> None:
    page = show(files["one"], width=390)
    page.locator("#run-1-prevalence").hover()
    assert page.locator(".modebar-btn").count() == 0


def hover(page: Any, plot: str, x: float, y: float) -> str:
    """The hover label at data coordinates (x, y) of `plot`."""
    page.locator(f"#{plot}").scroll_into_view_if_needed()
    place = page.evaluate(
        """([plot, x, y]) => {
            const layout = document.getElementById(plot)._fullLayout;
            const box = document.querySelector(`#${plot} .nsewdrag`).getBoundingClientRect();
            return [box.x + layout.xaxis.d2p(x), box.y + layout.yaxis.d2p(y)];
        }""",
        [plot, x, y],
    )
    page.mouse.move(place[0] - 3, place[1])
    page.mouse.move(place[0], place[1], steps=3)
    page.wait_for_selector(f"#{plot} .hovertext")
    return " ".join(page.locator(f"#{plot} .hovertext").all_text_contents())


def test_hovering_shows_the_value_behind_a_bar(show: Open, files: dict[str, Path]) -> None:
    share = float(run_model().prevalence[1])
    assert f"{share:.2%} of the words" in hover(show(files["one"]), "run-1-prevalence", share / 2, 1)


def test_hovering_shows_the_value_behind_a_point_of_a_comparison(show: Open, files: dict[str, Path]) -> None:
    errors = [o.error for o in full_comparison().outcomes if o.cell.placement == "default" and o.cell.epsilon == 1.0]
    mean = sum(errors) / len(errors)
    text = hover(show(files["comparison"]), "utility-error", 1.0, mean)
    assert f"epsilon 1: {mean:.4g}" in text
    assert "2 of 2 runs" in text
    assert "default" in text


def test_hovering_shows_the_similarity_of_two_topics(show: Open, files: dict[str, Path]) -> None:
    assert "similarity 0." in hover(show(files["comparison"]), "matched-topics", 0, 0)


@pytest.mark.parametrize("name", ["one", "comparison"])
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
    for text in (".xtick text", ".ytick text", ".legendtext", ".xtitle"):
        values = page.eval_on_selector_all(f".plot {text}", f"all => all.map({LUMINANCE})")
        assert values
        assert all((value > 0.7) == bright for value in values), text


def test_pictures_shrink_to_the_paper_and_grow_back(show: Open, files: dict[str, Path]) -> None:
    page = show(files["one"])
    width = "document.querySelector('#run-1-prevalence .main-svg').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(width) == 640
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(width) == before > 640


@pytest.mark.full
def test_hostile_words_do_nothing(show: Open, files: dict[str, Path]) -> None:
    page = show(files["hostile"])
    page.wait_for_timeout(200)
    assert page.title() == "topics of toys (dplda report)"
    assert page.locator("main img, main script:not([type]), .plot a").count() == 0
    labels = page.locator("#run-1-prevalence .ytick").all_text_contents()
    assert any("<" in text for text in labels), "markup is shown as it is written"
    assert page.complaints == []


@pytest.mark.full
def test_the_policy_stops_what_would_run(show: Open, files: dict[str, Path], tmp_path: Path) -> None:
    text = files["one"].read_text(encoding="utf-8")
    attacked = tmp_path / "attacked.html"
    attacked.write_text(text.replace("</main>", "<script>document.title = 'owned'</script></main>"), encoding="utf-8")
    page = show(attacked)
    assert page.title() != "owned"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)
