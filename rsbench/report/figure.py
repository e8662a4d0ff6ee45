"""Test error against samples, or against whatever else was swept, with error bars."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.report.labels import data_label, preprocessor, varying
from rsbench.results import Run, write_whole

#: Okabe and Ito's palette, told apart with any colour vision; markers repeat the distinction.
_COLORS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8B7500")
_MARKERS = "os^Dv<>P"


def draw(runs: list[Run], path: Path) -> Path:
    """Draw the runs and save the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axis = _swept_axis(runs)
    lines = _against(runs, axis) if axis else _against_samples(runs)
    for i, (label, x, mean, deviation) in enumerate(lines):
        style: dict[str, Any] = {"color": _COLORS[i % len(_COLORS)], "marker": _MARKERS[i % len(_MARKERS)]}
        axes.errorbar(x, mean, np.nan_to_num(deviation), label=label, markersize=4, capsize=2, linewidth=1.2, **style)
    axes.set_xlabel(axis[0] if axis else _unit(runs))
    if axis and min(axis[1]) > 0 and max(axis[1]) / min(axis[1]) >= 50:
        axes.set_xscale("log")
    axes.set_ylabel("test error %")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", ncols=1 + len(lines) // 12)
    seeds = " or ".join(str(n) for n in sorted({run.seeds for run in runs}))
    axes.set_title(f"{data_label(runs)}, {seeds} seeds, bars: standard error", fontsize="medium")
    image = io.BytesIO()
    figure.savefig(image, dpi=150, format=path.suffix[1:])
    write_whole(path, image.getvalue())
    return path


def _against_samples(runs: list[Run]) -> list[tuple[str, Any, Any, Any]]:
    extra = varying(runs)
    several = len({preprocessor(run) for run in runs}) > 1
    lines = []
    for i, run in enumerate(runs):
        words = [run.info["method"], *([preprocessor(run)] if several else [])]
        words += [f"{key.split('.')[-1]}={values[i]}" for key, values in extra.items()]
        mean, deviation = 100 * run.mean("test_error"), 100 * run.standard_error("test_error")
        lines.append((", ".join(words), run.steps, mean, deviation))
    return lines


def _swept_axis(runs: list[Run]) -> tuple[str, list[float]] | None:
    """The one numeric setting that was swept, if there is just one."""
    found = varying(runs)
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return (key, values) if numeric else None


def _against(runs: list[Run], axis: tuple[str, list[float]]) -> list[tuple[str, Any, Any, Any]]:
    """One line per method and preprocessor: test error at the last step against the swept setting."""
    groups: dict[str, list[tuple[float, float, float]]] = {}
    several = len({preprocessor(run) for run in runs}) > 1
    for run, x in zip(runs, axis[1], strict=True):
        label = f"{run.info['method']}, {preprocessor(run)}" if several else run.info["method"]
        point = (x, 100 * run.mean("test_error")[-1], 100 * run.standard_error("test_error")[-1])
        groups.setdefault(label, []).append(point)
    return [(label, *zip(*sorted(points), strict=True)) for label, points in groups.items()]  # type: ignore[misc]


def _unit(runs: list[Run]) -> str:
    return " / ".join(dict.fromkeys(run.info["unit"] for run in runs))
