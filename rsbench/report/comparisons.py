"""Differences between methods, seed by seed: a few lines to read, and all pairs as a file."""

import csv
import io
import math

from rsbench.compare import (
    ENOUGH_FOR_WILCOXON,
    MEASURE,
    WHY_CORRECTED,
    Comparison,
    compare,
    compared_step,
)
from rsbench.errors import UserError
from rsbench.report.table import markdown
from rsbench.results import Run

COLUMNS = (
    *("first", "second", "measure", "step", "seeds", "difference", "low", "high", "effect"),
    *("wins", "ties", "losses", "p_t", "p_nadeau_bengio", "p_holm", "p_wilcoxon"),
)


def make_comparisons(runs: list[Run]) -> tuple[str, str | None]:
    """All runs against the first one, in words and numbers; and all pairs as CSV, if they can be compared."""
    try:
        found = compare(runs)
    except UserError as error:
        return f"Not compared seed by seed: {error}.\n", None
    step, seeds = compared_step(runs[0]), runs[0].seeds
    against = [comparison for comparison in found if comparison.first == runs[0].info["label"]]
    simulated = " (SIMULATED data)" if any(run.info["data"].get("simulated") for run in runs) else ""
    lines = [
        f"Difference to {runs[0].info['label']} in cumulative error at {step} {runs[0].info['unit']}, in points, "
        f"seed by seed{simulated}:",
        "",
        *markdown([["method", "difference", "95 % interval", "win/tie/loss", "p"], *map(_row, against)], left=1),
        "",
        f"p: paired t, corrected for {len(found)} pairs (Holm). Interval and p allow for overlapping splits; a win is "
        "a seed with less error.",
        WHY_CORRECTED,
    ]
    if note := wilcoxon_note(seeds):
        lines.append(note)
    return "\n".join(lines) + "\n", _to_csv(found, step, seeds)


def wilcoxon_note(seeds: int) -> str:
    """Why there is no p of Wilcoxon's, if so few seeds could never make it small."""
    if seeds >= ENOUGH_FOR_WILCOXON:
        return ""
    least = 2 ** (1 - seeds)
    return (
        f"Wilcoxon's test with {seeds} seed{'' if seeds == 1 else 's'} cannot go below p = {least:.4g}: "
        "seeds=10 would let it."
    )


def _row(comparison: Comparison) -> list[str]:
    difference = comparison.difference
    # The first is subtracted from, so that a negative number is less error than its.
    low, high = -difference.high, -difference.low
    return [
        comparison.second,
        f"{-100 * difference.mean:+.1f}",
        f"{100 * low:+.1f} to {100 * high:+.1f}" if math.isfinite(low) else "-",
        f"{comparison.losses}/{comparison.ties}/{comparison.wins}",
        p_text(comparison.p_holm),
    ]


def p_text(p: float) -> str:
    """A p value as people write it."""
    return "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _to_csv(found: list[Comparison], step: int, seeds: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for c in found:
        numbers = (c.difference.mean, c.difference.low, c.difference.high, c.effect)
        tests = (c.p_t, c.p_corrected, c.p_holm, "" if c.p_wilcoxon is None else c.p_wilcoxon)
        writer.writerow([c.first, c.second, MEASURE, step, seeds, *numbers, c.wins, c.ties, c.losses, *tests])
    return out.getvalue()
