"""Test error against samples, or against whatever else was swept, with error bars."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.errors import is_number
from rsbench.files import write_whole
from rsbench.paper import error_at_10
from rsbench.report.labels import data_label, varying
from rsbench.results import Run

#: Okabe and Ito's palette, told apart with any colour vision; markers repeat the distinction.
_COLORS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8B7500")
_MARKERS = "os^Dv<>P"
_STYLES = ("-", "--", ":", "-.")


@dataclass
class Line:
    """A line of the figure: its colour tells the method, its style what else differs."""

    method: str
    variant: str
    x: Sequence[float]
    mean: Sequence[float]
    error: Sequence[float]


def draw(runs: list[Run], path: Path) -> Path:
    """Draw the runs and save the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    axis = _swept_axis(runs)
    lines = _against(runs, axis[1]) if axis else _against_samples(runs)
    methods = list(dict.fromkeys(line.method for line in lines))
    variants = list(dict.fromkeys(line.variant for line in lines))
    crowded = len(lines) > 8
    figure = Figure(figsize=(10.5 if crowded else 8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    note = ""
    for line in lines:
        i, j = methods.index(line.method), variants.index(line.variant)
        style: dict[str, Any] = {
            "color": _COLORS[i % len(_COLORS)],
            "marker": _MARKERS[i % len(_MARKERS)],
            "linestyle": _STYLES[j % len(_STYLES)],
            "markerfacecolor": _COLORS[i % len(_COLORS)] if j == 0 else "white",
        }
        label = _literal(f"{line.method}, {line.variant}" if line.variant else line.method)
        axes.errorbar(line.x, line.mean, line.error, label=label, markersize=4, capsize=2, linewidth=1.2, **style)
    for run in [] if axis else runs:
        if (cited := error_at_10(run.info)) is not None:
            color = _COLORS[methods.index(run.info["method"]) % len(_COLORS)]
            axes.plot(10, cited, "x", color=color, markersize=9, markeredgewidth=2, zorder=3)
            note = "× paper, from its text"
    if note:
        axes.plot([], [], " ", label=note)
    axes.set_xlabel(axis[0] if axis else " / ".join(dict.fromkeys(run.info["unit"] for run in runs)))
    if axis and min(axis[1]) > 0 and max(axis[1]) / min(axis[1]) >= 50:
        axes.set_xscale("log")
    axes.set_ylabel(f"test error %{_when(runs)}" if axis else "test error %")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    outside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if crowded else {}
    axes.legend(frameon=False, fontsize="small", **outside)
    seeds = " or ".join(str(n) for n in sorted({run.seeds for run in runs}))
    bars = "1 seed" if seeds == "1" else f"{seeds} seeds, bars: standard error"
    axes.set_title(_literal(f"{data_label(runs)}, {bars}"), fontsize="medium")
    image = io.BytesIO()
    figure.savefig(image, dpi=150, format=path.suffix[1:])
    write_whole(path, image.getvalue())
    return path


def _literal(text: str) -> str:
    """Text in which matplotlib finds no mathematics."""
    return text.replace("$", r"\$")


def _when(runs: list[Run]) -> str:
    ends = {(run.steps[-1], run.info["unit"]) for run in runs}
    return " after {} {}".format(*ends.pop()) if len(ends) == 1 else " at the last step"


def _against_samples(runs: list[Run]) -> list[Line]:
    extra = varying(runs)
    several = len({run.info["preprocessor"] for run in runs}) > 1
    lines = []
    for i, run in enumerate(runs):
        words = [run.info["preprocessor"]] if several else []
        words += [f"{key.split('.')[-1]}={values[i]}" for key, values in extra.items()]
        mean, error = 100 * run.mean("test_error"), 100 * run.standard_error("test_error")
        lines.append(
            Line(run.info["method"], ", ".join(words), run.steps, mean.tolist(), np.nan_to_num(error).tolist())
        )
    return lines


def _swept_axis(runs: list[Run]) -> tuple[str, list[float]] | None:
    """The one numeric setting that was swept, if there is just one."""
    found = varying(runs)
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    return (key, values) if all(map(is_number, values)) else None


def _against(runs: list[Run], setting: list[float]) -> list[Line]:
    """One line per method and preprocessor: test error at the last step against the swept setting."""
    several = len({run.info["preprocessor"] for run in runs}) > 1
    lines: dict[tuple[str, str], Line] = {}
    for i in np.argsort(setting, kind="stable"):
        run = runs[i]
        key = (run.info["method"], run.info["preprocessor"] if several else "")
        line = lines.setdefault(key, Line(*key, [], [], []))
        line.x = [*line.x, setting[i]]
        line.mean = [*line.mean, 100 * run.mean("test_error")[-1]]
        line.error = [*line.error, float(np.nan_to_num(100 * run.standard_error("test_error")[-1]))]
    return list(lines.values())
