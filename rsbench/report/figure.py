"""Test error against samples, or against whatever else was swept, with error bars."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.files.atomic import write_atomic
from rsbench.report.comparisons import counterparts
from rsbench.report.cost import Prices, costs, prices_of
from rsbench.report.labels import (
    data_label,
    in_order,
    repeats_text,
    swept_axis,
    units,
    varying,
)
from rsbench.report.paper import error_at_10
from rsbench.store.record import Run

#: Okabe and Ito's palette, told apart with any colour vision; markers repeat it.
_COLORS = (
    "#000000",
    "#E69F00",
    "#0072B2",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8B7500",
)
_MARKERS = "os^Dv<>P"
_STYLES = ("-", "--", ":", "-.")

#: A legend names so many lines, and a figure draws no more of them.
_MOST_LINES = 60
_MOST_NAMED = 24

#: A legend of so many names leaves the lines beside it visible.
_MOST_INSIDE = 8

#: With more lines than these, each kind of features has a panel of its own.
_MOST_IN_ONE_PANEL = 8
_MOST_PANELS = 4

#: The same runs give the same files, whenever they are drawn.
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@dataclass
class Line:
    """A line of a figure, with its values by measure.

    Parameters
    ----------
    method : str
        The method, with its control; tells the colour.
    features : str
        The preprocessor.
    settings : str
        What else tells the line from others, if anything.
    repeats : int
        How many values each point is the mean of: draws if there are several, or seeds.
    x : list of float
        Where the points are.
    mean, error : dict of lists
        By measure, means and standard errors; errors in %.
    counterpart : str
        Of a counterpart that is no run of the sweep, its name; it has the colour of its
        method.
    run : Run, optional
        The run that it shows, if it is one alone.
    """

    method: str
    features: str
    settings: str
    repeats: int
    x: list[float] = field(default_factory=list)
    mean: dict[str, list[float]] = field(default_factory=dict)
    error: dict[str, list[float]] = field(default_factory=dict)
    counterpart: str = ""
    run: Run | None = None

    def variant(self, several_features: bool) -> str:
        """Return what tells it from other lines of its method.

        Features do so only where there are several of them.
        """
        words = []
        if several_features:
            words.append(self.features)
        if self.settings:
            words.append(self.settings)
        return ", ".join(words)

    def label(self, several_features: bool) -> str:
        """Return what a legend calls it."""
        variant = self.variant(several_features)
        name = self.counterpart or self.method
        if not variant:
            return name
        return f"{name}, {variant}"


@dataclass(frozen=True)
class _Axis:
    """What a figure draws lines against."""

    name: str
    is_swept: bool
    is_log: bool


def has_several_features(lines: Sequence[Line]) -> bool:
    """Tell whether lines differ in their features."""
    return len({line.features for line in lines}) > 1


def draw(runs: Sequence[Run], *paths: Path) -> Path:
    """Draw the runs and save the figure, in the formats of the names' endings.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs.
    *paths : Path
        Files to write, such as `curves.png` and `curves.pdf`.

    Returns
    -------
    Path
        The first of the names.
    """
    # Drawn once, however many files are wanted.
    endings = [path.suffix[1:] for path in paths]
    images = render(runs, endings)
    for path, ending in zip(paths, endings, strict=True):
        write_atomic(path, images[ending])
    return paths[0]


def render(runs: Sequence[Run], endings: Sequence[str]) -> dict[str, bytes]:
    """Return the figure of the runs in these formats, such as "png"."""
    figure = _figure(runs)
    return {ending: _image(figure, ending) for ending in endings}


def _figure(runs: Sequence[Run]) -> Any:
    """Return the runs' lines as a figure of matplotlib's, in one panel or several."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    error_name = "test error %"
    swept = swept_axis(runs)
    prices = prices_of(runs)
    papers = False
    if prices is not None:
        axis = _Axis(f"cost: {prices.words}", is_swept=False, is_log=True)
        every = against_cost(runs, prices)
    elif swept is None:
        axis = _Axis(units(runs), is_swept=False, is_log=False)
        every = with_counterparts(runs)
        papers = True
    else:
        key, values = swept
        axis = _Axis(key, is_swept=True, is_log=is_wide(values))
        every = against(runs, values)
        # A point is a run's last step, which no axis shows.
        error_name = f"{error_name}{_when(runs)}"
    lines = every[:_MOST_LINES]
    panels = _panels(lines)
    width = max(8, 1.5 + 4.5 * len(panels))
    figure = Figure(figsize=(width, 5), layout="constrained")
    # A canvas of its own, so that no backend with a window is looked for.
    FigureCanvasAgg(figure)
    # One scale for all panels, or they could not be compared at a glance.
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        _draw_panel(axes, lines, panel)
        if papers:
            _mark_the_papers(axes, lines, _runs_of(panel, runs))
        _set_up_axes(axes, axis, panel)
    row[0].set_ylabel(error_name)
    _add_legend(figure, row, len(every))
    title = _title(runs, len(lines), len(every))
    figure.suptitle(_literal(title), fontsize="medium")
    return figure


def _panels(lines: Sequence[Line]) -> list[str | None]:
    """Return the features of each panel; None is a panel for all of them."""
    features = in_order([line.features for line in lines])
    if len(lines) <= _MOST_IN_ONE_PANEL or len(features) > _MOST_PANELS:
        return [None]
    return features


def _runs_of(panel: str | None, runs: Sequence[Run]) -> list[Run]:
    """Return the runs whose features a panel shows."""
    return [run for run in runs if panel in (None, run.info.features)]


def _draw_panel(axes: Any, lines: Sequence[Line], panel: str | None) -> None:
    """Draw the lines of a panel; a method has the same colour in all of them.

    Of two lines of one method, the second is dashed and its markers are hollow.
    """
    several = panel is None and has_several_features(lines)
    # Of all lines, not the panel's alone: looks are the same in each panel.
    methods = in_order([line.method for line in lines])
    variants = in_order([line.variant(several) for line in lines])
    for line in lines:
        if panel not in (None, line.features):
            continue
        i = methods.index(line.method)
        j = variants.index(line.variant(several))
        color = _COLORS[i % len(_COLORS)]
        fill = "white"
        if j == 0:
            fill = color
        # Methods that come by the same colour again differ in their style at least.
        style = _STYLES[(i // len(_COLORS) + j) % len(_STYLES)]
        if line.counterpart:
            axes.plot(
                line.x,
                line.mean["test_error"],
                label=_literal(line.label(several)),
                color=color,
                linestyle="--",
                linewidth=0.8,
            )
            continue
        axes.errorbar(
            line.x,
            line.mean["test_error"],
            np.nan_to_num(line.error["test_error"]),  # a single seed has none
            label=_literal(line.label(several)),
            color=color,
            marker=_MARKERS[i % len(_MARKERS)],
            linestyle=style,
            markerfacecolor=fill,
            markersize=4,
            capsize=2,
            linewidth=1.2,
        )


def _mark_the_papers(axes: Any, lines: Sequence[Line], runs: Sequence[Run]) -> None:
    """Mark the test errors at 10 samples per class that the paper's text has."""
    # The same colours as their lines have.
    methods = in_order([line.method for line in lines])
    for run in runs:
        cited = error_at_10(run.info)
        if cited is None or run.info.variant not in methods:
            continue
        color = _COLORS[methods.index(run.info.variant) % len(_COLORS)]
        axes.plot(
            10, cited, "x", color=color, markersize=9, markeredgewidth=2, zorder=3
        )
        # An entry for the legend, drawn nowhere.
        axes.plot([], [], " ", label="× paper, from its text")


def _set_up_axes(axes: Any, axis: _Axis, panel: str | None) -> None:
    axes.set_xlabel(axis.name)
    if axis.is_log:
        axes.set_xscale("log")
    if panel is not None:
        axes.set_title(_literal(f"preprocessor {panel}"), fontsize="small")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Any, row: Any, total: int) -> None:
    """Put a legend inside the plot if there is room; else below, each name once."""
    named: dict[str, Any] = {}
    for axes in row:
        handles, labels = axes.get_legend_handles_labels()
        named.update(zip(labels, handles, strict=True))
    if len(row) == 1 and len(named) <= _MOST_INSIDE:
        row[0].legend(named.values(), named.keys(), frameon=False, fontsize="small")
        return
    shown = dict(list(named.items())[:_MOST_NAMED])
    title = None
    if total > len(shown) and len(row) == 1:
        title = f"{len(shown)} of {total} runs named"
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=min(5, 1 + len(row) * 2),
        frameon=False,
        fontsize="small",
        title=title,
        title_fontsize="small",
    )


def _title(runs: Sequence[Run], drawn: int, total: int) -> str:
    """Return the data, the seeds, and what was left out to keep it readable."""
    bars = " or ".join(in_order([repeats_text(run) for run in runs]))
    if any(_repeats(run) > 1 for run in runs):
        bars = f"{bars}, bars: standard error"
    title = f"{data_label(runs)}, {bars}"
    if total > drawn:
        title = f"{title}; {drawn} of {total} lines drawn"
    return title


def _image(figure: Any, ending: str) -> bytes:
    from matplotlib import rc_context

    image = io.BytesIO()
    # Without a salt of ours, the ids in an SVG are random.
    with rc_context({"svg.hashsalt": "rsbench"}):
        figure.savefig(image, dpi=150, format=ending, metadata=_NO_DATE.get(ending))
    return image.getvalue()


def is_wide(values: Sequence[float]) -> bool:
    """Tell whether values are better shown on a logarithmic axis.

    A grid of C by factors of ten is; one of 5, 10, …, 25 samples is not.
    """
    return min(values) > 0 and max(values) / min(values) >= 50


def _literal(text: str) -> str:
    """Return text in which matplotlib finds no mathematics."""
    return text.replace("$", r"\$")


def _when(runs: Sequence[Run]) -> str:
    """Return at which step runs end, in words."""
    ends = {(run.steps[-1], run.info.unit) for run in runs}
    if len(ends) > 1:
        return " at the last step"
    ((step, unit),) = ends
    return f" after {step} {unit}"


def against_samples(
    runs: Sequence[Run], measures: Sequence[str] = ("test_error",)
) -> list[Line]:
    """Return one line per run: measures against the samples learned from."""
    extra = varying(runs)
    lines = []
    for i, run in enumerate(runs):
        settings = []
        for key, values in extra.items():
            _, _, parameter = key.rpartition(".")
            settings.append(f"{parameter}={values[i]}")
        lines.append(_line(run, run, ", ".join(settings), measures))
    return lines


def with_counterparts(
    runs: Sequence[Run], measures: Sequence[str] = ("test_error",)
) -> list[Line]:
    """Return one line per run, and after them those of counterparts.

    Each counterpart that is no run of the sweep is there once, however many methods
    share it.
    """
    lines = against_samples(runs, measures)
    in_sweep = set(runs)
    for run, counterpart in counterparts(runs).items():
        if counterpart in in_sweep or run.info.control is not None:
            continue
        in_sweep.add(counterpart)
        line = _line(run, counterpart, "", measures)
        line.counterpart = f"{counterpart.info.method} (counterpart)"
        lines.append(line)
    return lines


def against_cost(
    runs: Sequence[Run], prices: Prices, measures: Sequence[str] = ("test_error",)
) -> list[Line]:
    """Return the lines of runs and their counterparts against what they cost."""
    lines = with_counterparts(runs, measures)
    for line in lines:
        if line.run is not None:
            line.x = costs(line.run, prices)
    return lines


def _line(of: Run, run: Run, settings: str, measures: Sequence[str]) -> Line:
    """Return a run's line, with the colour and features of a method."""
    line = Line(
        of.info.variant,
        of.info.features,
        settings,
        _repeats(run),
        x=list(map(float, run.steps)),
        run=run,
    )
    for measure in measures:
        scale = _scale(measure)
        line.mean[measure] = (scale * run.mean(measure)).tolist()
        line.error[measure] = (scale * run.standard_error(measure)).tolist()
    return line


def _repeats(run: Run) -> int:
    """Return how many values a run's standard errors rest on."""
    if run.n_draws > 1:
        return run.n_draws
    return run.n_seeds


def against(
    runs: Sequence[Run],
    setting: Sequence[float],
    measures: Sequence[str] = ("test_error",),
) -> list[Line]:
    """Return one line per method and features: measures against a swept setting.

    Measures are those at the last step.
    """
    lines: dict[tuple[str, str], Line] = {}
    # Lines go from left to right, in whatever order the sweep went.
    for i in np.argsort(setting, kind="stable"):
        run = runs[i]
        key = (run.info.variant, run.info.features)
        if key not in lines:
            lines[key] = Line(*key, settings="", repeats=_repeats(run))
        line = lines[key]
        line.x.append(setting[i])
        # Intervals of the whole line are by the fewest repeats of its points.
        line.repeats = min(line.repeats, _repeats(run))
        for measure in measures:
            scale = _scale(measure)
            mean = float(scale * run.mean(measure)[-1])
            error = float(scale * run.standard_error(measure)[-1])
            line.mean.setdefault(measure, []).append(mean)
            line.error.setdefault(measure, []).append(error)
    return list(lines.values())


def _scale(measure: str) -> int:
    """Return 100 for errors, which are shown in %."""
    if measure.endswith("_error"):
        return 100
    return 1
