"""The report's pictures as matplotlib figures, for notebooks, slides and papers. They show released numbers only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import chain
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.private.attributes import OTHER
from dplda.report import run_pictures, table_pictures
from dplda.report.indicator_pictures import certain_words, dots
from dplda.report.pictures import BLUE, COLOURS, INK, STYLE, Bar, Bars, Chart, Heat, percent, quiet, shortened, shown
from dplda.report.pictures import with_interval as told
from dplda.report.wording import ShownTopics, Wording, shown_topics
from dplda.runs.indicator_tables import MORE_CERTAIN, WordTable
from dplda.runs.released_table import ReleasedTable, Tables, shares_in_all

_WIDTH = 10.0  # of a figure, in inches
_ROW, _MARGIN = 0.34, 1.1  # height of a bar, and of what is around the bars
_PANEL_ROW, _PANEL_COLUMNS, _PANEL_MARGIN = 0.23, 3, 0.45  # of the words of a topic
_NAME = 34  # maximum characters of a topic's name beside or above a drawing
_TITLE, _LINE = 88, 0.25  # characters of a line of a title, and the inches that a further line takes
_PART_OF_PANEL = 0.96  # of its width, that a title may take: other resolutions set text a little wider
_ROOM = 60  # characters that fit beside one another below a heat map
_SHADES = LinearSegmentedColormap.from_list("dplda", ["#f5f5f3", BLUE])
_PICTURES = {"shares": "prevalence", "attack": "attack", "budget": "budget", "signal": "signal"}


class Drawing(Figure):
    """A figure that notebooks show as SVG, whose text the browser sets, so that it can be in any script.

    It does not belong to pyplot, so that a notebook shows it once, and nothing has to be closed.
    """

    @quiet()
    def _repr_svg_(self) -> str:
        written = StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # glyphs that matplotlib's font lacks
            self.savefig(written, format="svg")
        return written.getvalue()


def draw_model(model: TopicModel, what: str, tables: Tables | ReleasedTable | None) -> Drawing:
    """Draw the picture `what` of `model`; see `TopicModel.plot`."""
    if what != "words" and what not in _PICTURES:
        raise InputError(f"plot draws {', '.join(('words', *_PICTURES))}, got {what!r}.")
    if tables is not None and what != "shares":
        raise InputError("tables are for plot('shares'). To draw a table itself: tables[0].plot().")
    (topics,) = shown_topics([model], Wording())
    label = model.privacy.warning_label
    if what == "words":
        return _drawing(label, "Words of the topics", *_words(model, topics))
    shares, unit = None, ""
    if tables is not None:
        listed = [tables] if isinstance(tables, ReleasedTable) else list(tables) if isinstance(tables, Tables) else []
        if not listed or any(table.noun != ReleasedTable.noun for table in listed):
            raise InputError("tables must be the result of tabulate, or one of its tables.")
        same = tables.of == model.facts.run if isinstance(tables, Tables) else [*tables.titles] in ([], model.titles())
        if not same or any(table.n_topics != len(model.topics) for table in listed):
            named = "" if isinstance(tables, Tables) else ", or their names have changed: give all tables of their run"
            raise InputError(f"these tables are about the topics of another run{named}.")
        shares = shares_in_all(listed)
        unit = tables.privacy.unit if isinstance(tables, Tables) else model.privacy.unit
        label = label or max(table.warning_label for table in listed)
    for picture in run_pictures.pictures(model, topics, "run", shares):
        if picture.name == f"run-{_PICTURES[what]}" and isinstance(picture.drawing, Bars | Chart):
            of = f": shares {run_pictures.share_of(model, unit)}" if what == "shares" else ""
            return _drawing(label, f"{picture.title}{of}", *_drawn(picture.drawing))
    raise InputError(f"this run did not release the numbers of plot({what!r}).")


def draw_table(table: ReleasedTable) -> Drawing:
    """Draw `table`; see `ReleasedTable.plot`."""
    label = table.warning_label
    if isinstance(table, WordTable):
        found = certain_words(table)
        if not found:
            raise InputError(f"no word is certainly more frequent in a group than {table.others}: {MORE_CERTAIN}.")
        title = f"Words that are more frequent in one group than {table.others}"
        return _drawing(label, title, *_drawn(dots(found, table.others)))
    titles = table.titles or [""] * table.n_topics
    numbered = table.noun == ReleasedTable.noun
    names = {topic: f"{topic} {title}".strip() if numbered else title for topic, title in enumerate(titles)}
    if not table.by:
        value, low, high = (ends[0] for ends in (table.shares().value, table.shares().low, table.shares().high))
        rows = [
            Bar(shown(name), (float(value[topic]),), told(*map(float, (value[topic], low[topic], high[topic]))),
                (float(low[topic]), float(high[topic])))
            for topic, name in names.items()
        ]  # fmt: skip
        of = ": shares of the average unit" if numbered else ""
        return _drawing(label, f"How common the {table.noun} are{of}", *_bars(Bars(rows)))
    if not table_pictures.is_drawn_whole(table):
        raise InputError(
            f"one picture cannot show the table by {shown(table.name)}. Sum it over all but one of them: "
            f"table.over({len(table.by) - 1}).plot() draws it by {shown(table.by[-1])}."
        )
    if table_pictures.tells_nothing(table):
        raise InputError(f"all groups of the table by {shown(table.name)} are too small to tell: nothing to draw.")
    title = table_pictures.heading(table, shown(table.name))
    unit = "" if table.period_axis is None else ", in percent"
    certain, of = len(table.changes()), f"difference {table.since} holds"
    if certain > 1:
        of = f"differences {table.since} hold, all together,"
    line = f"{certain or 'No'} {of} with 95 % probability."
    if table.against_rest and any(rest and tells for rest, tells in zip(table.rest, table.tells.tolist(), strict=True)):
        line += f" Not drawn, but counted {table.others}: {OTHER}."
    if unit:
        line += table_pictures.without_lines(table)
    return _drawing(label, f"{title}{unit}\n{line}", *_drawn(table_pictures.drawing(table, names)))


@quiet()
def _drawing(label: str, title: str, height: float, draw: Callable[[Figure], None]) -> Drawing:
    """Return a figure with a warning `label`, if any, and a `title`, `height` inches high, on which `draw` draws."""
    written = [wrap(line, _TITLE) for line in (f"{label}: {title}" if label else title).split("\n")]
    height += _LINE * sum(len(lines) - 1 for lines in written)
    white = {"figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "auto"}
    with matplotlib.rc_context({**STYLE, **white}):
        figure = Drawing(figsize=(_WIDTH, height), dpi=100, layout="constrained")
        figure.suptitle("\n".join(chain.from_iterable(written)), x=0.01, ha="left")
        draw(figure)
    return figure


def _drawn(drawing: Bars | Heat | Chart) -> tuple[float, Callable[[Figure], None]]:
    """Return the height of a figure of `drawing` in inches, and what draws it."""
    if isinstance(drawing, Chart):
        return drawing.height / 72, drawing.draw_on
    return _bars(drawing) if isinstance(drawing, Bars) else _heat(drawing)


def _bars(drawing: Bars) -> tuple[float, Callable[[Figure], None]]:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        places = np.arange(len(drawing.rows))
        start = np.zeros(len(places))
        for part in range(max((len(bar.parts) for bar in drawing.rows), default=0)):
            lengths = np.array([bar.parts[part] if part < len(bar.parts) else 0.0 for bar in drawing.rows])
            label = drawing.legend[part] if drawing.legend else None
            axes.barh(places, lengths, 0.6, left=start, color=COLOURS[part % len(COLOURS)], label=label)
            start += lengths
        for place, bar in zip(places, drawing.rows, strict=True):
            if bar.interval is not None:
                axes.plot(bar.interval, (place, place), color=INK, linewidth=1.6, solid_capstyle="butt")
            if bar.mark is not None:
                axes.plot((bar.mark, bar.mark), (place - 0.4, place + 0.4), color=INK, linewidth=1.6)
            end = max(start[place], *(bar.interval or (0.0,)), bar.mark or 0.0)
            axes.annotate(bar.value, (end, place), (6, 0), textcoords="offset points", va="center")
        _name_rows(axes, [shortened(bar.label, _NAME) for bar in drawing.rows])
        axes.set(xlim=(0, 1.3 * drawing.end), xticks=[])  # with room for the values
        if drawing.legend:
            figure.legend(loc="outside lower left", ncols=3)

    return _MARGIN + _ROW * len(drawing.rows), draw


def _heat(drawing: Heat) -> tuple[float, Callable[[Figure], None]]:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        strengths = [[np.nan if cell.strength is None else cell.strength for cell in row] for row in drawing.cells]
        shades = axes.pcolormesh(
            np.array(strengths, float), cmap=_SHADES, vmin=0, vmax=1, edgecolor="white", linewidth=2
        )
        if not drawing.printed:
            figure.colorbar(shades, ax=axes, pad=0.02).set_ticks([0, 1], labels=drawing.ends)
        for y, row in enumerate(drawing.cells):
            for x, cell in enumerate(row):
                if drawing.printed or cell.strength is None:
                    light = cell.strength is not None and cell.strength > 0.6
                    colour = "white" if light else INK
                    axes.text(x + 0.5, y + 0.5, cell.text, ha="center", va="center", color=colour, fontsize="small")
        axes.set_xticks(np.arange(len(drawing.columns)) + 0.5, drawing.headers)
        if len(drawing.columns) * max(map(len, drawing.columns), default=0) > _ROOM:
            axes.tick_params(axis="x", labelrotation=90)
        _name_rows(axes, [shortened(name, _NAME) for name in drawing.rows], middle=0.5)

    return _MARGIN + 0.6 + _ROW * len(drawing.rows), draw


def _words(model: TopicModel, topics: ShownTopics) -> tuple[float, Callable[[Figure], None]]:
    """Draw the words of each listed topic as bars on a scale of its own; a mark is a word's share of the whole text."""
    listed = model.listed_topics
    overall = dict(zip(model.vocabulary, (model.prevalence @ model.topics).tolist(), strict=True))
    longest = max(len(topics.words[topic]) for topic in listed)
    columns = min(_PANEL_COLUMNS, len(listed))
    rows = -(-len(listed) // columns)
    with_names = any(map(topics.names.get, listed))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        named = dict[int, tuple[Axes, str, str]]()
        for empty in panels[len(listed) :]:
            empty.set_axis_off()
        for axes, topic in zip(panels, listed, strict=False):
            words, places = topics.words[topic], np.arange(len(topics.words[topic]))
            values = np.array([probability for _, probability in words])
            axes.barh(places, values, 0.7, color=COLOURS[0])
            marks = np.minimum([overall[word] for word, _ in words], values.max())
            axes.plot(marks, places, "|", color=INK, markersize=9, markeredgewidth=1.6)
            _name_rows(axes, [shortened(word) for word, _ in words], size="small")
            axes.set(xticks=[], ylim=(longest - 0.5, -0.5))
            verdict = f", {model.verdicts[topic]}" if model.verdicts else ""
            facts = f"({percent(float(model.prevalence[topic]))}{verdict})"
            named[topic] = axes, shown(topics.names.get(topic, "")), facts
            axes.set_title(f"{topic} {facts}", fontsize="medium", loc="left")
        if with_names:
            _add_names(figure, named)

    return 0.6 + rows * (_PANEL_MARGIN + _PANEL_ROW * (longest + with_names)), draw


def _add_names(figure: Figure, named: Mapping[int, tuple[Axes, str, str]]) -> None:
    """Put the name of each topic into the title of its panel, cut to the width of that, above its other facts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that matplotlib's font lacks
        figure.draw_without_rendering()  # which sets the widths
        for topic, (axes, name, facts) in named.items():
            room = _PART_OF_PANEL * axes.get_window_extent().width
            whole = f"{topic} {name}".strip()
            for longest in range(min(len(whole), _NAME), 0, -1):
                title = axes.set_title(f"{shortened(whole, longest)}\n{facts}", fontsize="medium", loc="left")
                if title.get_window_extent().width <= room:
                    break


def _name_rows(axes: Axes, names: Sequence[str], *, middle: float = 0.0, size: Any = "medium") -> None:
    """Name the rows of `axes`, the first at the top, without lines."""
    axes.set_yticks(np.arange(len(names)) + middle, names, fontsize=size)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
