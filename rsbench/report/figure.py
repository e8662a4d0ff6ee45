"""Test error against samples, or against whatever else was swept, with error bars."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.files.atomic import write_whole
from rsbench.report.labels import data_label, swept_axis, varying
from rsbench.report.paper import error_at_10
from rsbench.store.record import Run

#: Okabe and Ito's palette, told apart with any colour vision; markers repeat the distinction.
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


@dataclass
class Line:
    """A line of the figure: its colour tells the method, its style what else differs. Values by measure."""

    method: str
    variant: str
    preprocessor: str
    seeds: int
    x: list[float]
    mean: dict[str, list[float]]
    error: dict[str, list[float]]


def draw(runs: list[Run], *paths: Path) -> Path:
    """Draw the runs and save the figure under these names, in the formats of their endings; the first of them."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    axis = swept_axis(runs)
    every = against(runs, axis[1]) if axis else against_samples(runs)
    lines = every[:_MOST_LINES]
    panels = (
        list(dict.fromkeys(line.preprocessor for line in lines))
        if len(lines) > 8
        else [""]
    )
    if len(panels) > 4:
        panels = [""]
    figure = Figure(figsize=(max(8, 1.5 + 4.5 * len(panels)), 5), layout="constrained")
    FigureCanvasAgg(figure)
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        mine = [line for line in lines if not panel or line.preprocessor == panel]
        there = [run for run in runs if not panel or run.info["preprocessor"] == panel]
        _draw_panel(
            axes, mine, there, axis, lines, f"preprocessor {panel}" if panel else ""
        )
    row[0].set_ylabel(f"test error %{_when(runs)}" if axis else "test error %")
    _add_legend(figure, row, len(every))
    seeds = " or ".join(str(n) for n in sorted({run.seeds for run in runs}))
    bars = "1 seed" if seeds == "1" else f"{seeds} seeds, bars: standard error"
    cut = (
        f"; {len(lines)} of {len(every)} lines drawn" if len(every) > len(lines) else ""
    )
    figure.suptitle(_literal(f"{data_label(runs)}, {bars}{cut}"), fontsize="medium")
    for path in paths:
        image = io.BytesIO()
        with rc_context({"svg.hashsalt": "rsbench"}):
            figure.savefig(
                image,
                dpi=150,
                format=path.suffix[1:],
                metadata=_NO_DATE.get(path.suffix),
            )
        write_whole(path, image.getvalue())
    return paths[0]


#: The same runs give the same files.
_NO_DATE: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def _draw_panel(
    axes: Any,
    mine: list[Line],
    runs: list[Run],
    axis: Any,
    lines: list[Line],
    title: str,
) -> None:
    methods = list(dict.fromkeys(line.method for line in lines))
    variants = list(dict.fromkeys(line.variant for line in lines))
    for line in mine:
        i, j = methods.index(line.method), 0 if title else variants.index(line.variant)
        color = _COLORS[i % len(_COLORS)]
        style: dict[str, Any] = {
            "color": color,
            "marker": _MARKERS[i % len(_MARKERS)],
            "linestyle": _STYLES[(i // len(_COLORS) + j) % len(_STYLES)],
            "markerfacecolor": color if j == 0 else "white",
        }
        variant = "" if title else line.variant
        label = _literal(f"{line.method}, {variant}" if variant else line.method)
        error = np.nan_to_num(line.error["test_error"])
        axes.errorbar(
            line.x,
            line.mean["test_error"],
            error,
            label=label,
            markersize=4,
            capsize=2,
            linewidth=1.2,
            **style,
        )
    for run in [] if axis else runs:
        if (cited := error_at_10(run.info)) is not None and run.info[
            "method"
        ] in methods:
            color = _COLORS[methods.index(run.info["method"]) % len(_COLORS)]
            axes.plot(
                10, cited, "x", color=color, markersize=9, markeredgewidth=2, zorder=3
            )
            axes.plot([], [], " ", label="× paper, from its text")
    axes.set_xlabel(
        axis[0] if axis else " / ".join(dict.fromkeys(run.info["unit"] for run in runs))
    )
    if axis and is_wide(axis[1]):
        axes.set_xscale("log")
    axes.set_title(_literal(title), fontsize="small")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Any, row: Any, total: int) -> None:
    """Inside the plot if there is room; else below all panels, each name once."""
    named = {
        label: handle
        for axes in row
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if len(row) == 1 and len(named) <= 8:
        row[0].legend(named.values(), named.keys(), frameon=False, fontsize="small")
        return
    shown = dict(list(named.items())[:_MOST_NAMED])
    title = (
        f"{len(shown)} of {total} runs named"
        if total > len(shown) and len(row) == 1
        else None
    )
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


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are better shown on a logarithmic axis."""
    return min(values) > 0 and max(values) / min(values) >= 50


def _literal(text: str) -> str:
    """Text in which matplotlib finds no mathematics."""
    return text.replace("$", r"\$")


def _when(runs: list[Run]) -> str:
    ends = {(run.steps[-1], run.info["unit"]) for run in runs}
    return " after {} {}".format(*ends.pop()) if len(ends) == 1 else " at the last step"


def against_samples(
    runs: list[Run], measures: Sequence[str] = ("test_error",)
) -> list[Line]:
    """One line per run: measures against the samples learned from."""
    extra = varying(runs)
    several = len({run.info["preprocessor"] for run in runs}) > 1
    lines = []
    for i, run in enumerate(runs):
        words = [run.info["preprocessor"]] if several else []
        words += [f"{key.split('.')[-1]}={values[i]}" for key, values in extra.items()]
        mean = {
            measure: (_scale(measure) * run.mean(measure)).tolist()
            for measure in measures
        }
        error = {
            measure: (_scale(measure) * run.standard_error(measure)).tolist()
            for measure in measures
        }
        about = (
            run.info["method"],
            ", ".join(words),
            run.info["preprocessor"],
            run.seeds,
        )
        lines.append(Line(*about, x=list(run.steps), mean=mean, error=error))
    return lines


def against(
    runs: list[Run], setting: list[float], measures: Sequence[str] = ("test_error",)
) -> list[Line]:
    """One line per method and preprocessor: measures at the last step against the swept setting."""
    several = len({run.info["preprocessor"] for run in runs}) > 1
    lines: dict[tuple[str, str], Line] = {}
    for i in np.argsort(setting, kind="stable"):
        run = runs[i]
        key = (run.info["method"], run.info["preprocessor"] if several else "")
        empty = Line(
            *key,
            run.info["preprocessor"],
            run.seeds,
            [],
            {m: [] for m in measures},
            {m: [] for m in measures},
        )
        line = lines.setdefault(key, empty)
        line.x.append(setting[i])
        line.seeds = min(line.seeds, run.seeds)
        for measure in measures:
            line.mean[measure].append(float(_scale(measure) * run.mean(measure)[-1]))
            line.error[measure].append(
                float(_scale(measure) * run.standard_error(measure)[-1])
            )
    return list(lines.values())


def _scale(measure: str) -> int:
    """Errors are shown in %."""
    return 100 if measure.endswith("error") else 1
