"""What the page's charts draw, as the data that page.js reads."""

import math
from collections.abc import Sequence
from typing import Any

from rsbench.core.measures import MEASURES
from rsbench.core.statistics import critical_t
from rsbench.report.cost import prices_of
from rsbench.report.figure import (
    Line,
    against,
    against_cost,
    has_several_features,
    is_wide,
    with_counterparts,
)
from rsbench.report.labels import in_order, swept_axis, units
from rsbench.store.record import Run

#: Names for people, in the order in which the page offers them.
MEASURE_NAMES = {
    "test_error": "test error, %",
    "cumulative_error": "cumulative error, %",
    "online_error": "online error, %",
    "test_loss": "test loss",
    "cumulative_loss": "cumulative loss",
    "online_loss": "online loss",
}


def chart(runs: Sequence[Run], title: str) -> dict[str, Any]:
    """Return a chart of runs: against samples, and against a swept setting if any.

    Returns
    -------
    dict
        The `title`, the `views`, of which one is shown at a time, and which of them is
        shown `first`: what was swept is what the sweep was made for.
    """
    lines = with_counterparts(runs, MEASURES)
    views = [{"name": units(runs), "log": False, "lines": _styled(lines)}]
    swept = swept_axis(runs)
    if swept is not None:
        key, values = swept
        lines = against(runs, values, MEASURES)
        views.append({"name": key, "log": is_wide(values), "lines": _styled(lines)})
    prices = prices_of(runs)
    if prices is not None:
        lines = against_cost(runs, prices, MEASURES)
        views.append({"name": "cost", "log": True, "lines": _styled(lines)})
    return {"title": title, "first": len(views) - 1, "views": views}


def _styled(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return lines with numbers for colours and dashes, which the page chooses."""
    several = has_several_features(lines)
    # By name: a thousand lines are searched through a thousand times otherwise.
    colors = _numbered([line.method for line in lines])
    dashes = _numbered([line.variant(several) for line in lines])
    styled = []
    for line in lines:
        # Standard errors times this are the 95 % interval. One value has none.
        t = 0.0
        if line.repeats > 1:
            t = critical_t(0.95, line.repeats)
        styled.append(
            {
                "label": line.label(several),
                "color": colors[line.method],
                "dash": dashes[line.variant(several)],
                "thin": bool(line.counterpart),
                "x": line.x,
                "t": t,
                "mean": _rounded(line.mean),
                "error": _rounded(line.error),
            }
        )
    return styled


def _numbered(names: Sequence[str]) -> dict[str, int]:
    """Return a number for each name, in the order of their first appearance."""
    return {name: i for i, name in enumerate(in_order(names))}


def _rounded(by_measure: dict[str, list[float]]) -> dict[str, list[float | None]]:
    """Return values with five digits, enough for a screen; None for no number.

    JSON has no NaN, and a browser would not read a file with one.
    """
    found: dict[str, list[float | None]] = {}
    for measure, values in by_measure.items():
        rounded: list[float | None] = []
        for value in values:
            if math.isfinite(value):
                rounded.append(float(f"{value:.5g}"))
            else:
                rounded.append(None)
        found[measure] = rounded
    return found
