"""Differences between methods, seed by seed: a few lines to read, and all pairs as a file."""

import csv
import io
import math

from rsbench.core.statistics import (
    ENOUGH_FOR_WILCOXON,
    MEASURE,
    MOST_IN_PAIRS,
    WHY_CORRECTED,
    Comparison,
    compared_step,
    families,
)
from rsbench.errors import UserError
from rsbench.report.collect import Group
from rsbench.report.labels import is_simulated, p_text, signed
from rsbench.report.table import markdown
from rsbench.store.record import Run

COLUMNS = (
    *(
        "first",
        "second",
        "measure",
        "step",
        "seeds",
        "first_minus_second",
        "low",
        "high",
        "effect",
    ),
    *(
        "first_wins",
        "ties",
        "second_wins",
        "p_t",
        "p_nadeau_bengio",
        "p_holm",
        "p_wilcoxon",
    ),
)


def make_comparisons(group: Group) -> tuple[str, str | None]:
    """Runs against the first one of their family, in words and numbers; and all pairs as CSV, if there are any."""
    runs = group.good
    try:
        found = group.comparisons
    except UserError as error:
        return f"Not compared seed by seed: {error}.\n", None
    if not found:
        return "", None
    step, seeds = compared_step(runs[0]), runs[0].seeds
    shown = against_first(runs, found)
    simulated = " (SIMULATED data)" if is_simulated(runs) else ""
    heads = ["method", "against", "difference", "95 % interval", "win/tie/loss", "p"]
    lines = [
        f"Differences in cumulative error at {step} {runs[0].info['unit']}, in points, seed by seed{simulated}; "
        "negative is less error:",
        "",
        *markdown([heads, *map(_row, shown)], left=2),
        "",
    ]
    if seeds > 1:
        lines += [
            f"p: paired t, corrected (Holm) for {family_sizes(runs)}. Interval and p allow for overlapping splits; a "
            "win is a seed with less error.",
            WHY_CORRECTED,
        ]
    if note := wilcoxon_note(seeds):
        lines.append(note)
    return "\n".join(lines) + "\n", _to_csv(found, step, seeds)


def against_first(runs: list[Run], found: list[Comparison]) -> list[Comparison]:
    """The comparisons of each family with its first run."""
    firsts = {family[0] for family in families(runs)}
    return [comparison for comparison in found if comparison.one in firsts]


def family_sizes(runs: list[Run]) -> str:
    """How many tests were corrected together."""
    each = [len(family) for family in families(runs) if len(family) > 1]
    tests = dict.fromkeys(
        n * (n - 1) // 2 if n <= MOST_IN_PAIRS else n - 1 for n in each
    )
    count = " or ".join(map(str, tests))
    what = "pair" if list(tests) == [1] else "pairs"
    where = (
        f"methods on the same features, in each of {len(each)} families"
        if len(each) > 1
        else "methods"
    )
    return f"{count} {what} of {where}"


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
    # The first is subtracted, so that a negative number is less error than its.
    low, high = -comparison.difference.high, -comparison.difference.low
    return [
        comparison.second,
        comparison.first,
        signed(-comparison.difference.mean),
        f"{signed(low)} to {signed(high)}" if math.isfinite(low) else "-",
        f"{comparison.losses}/{comparison.ties}/{comparison.wins}",
        p_text(comparison.p_holm),
    ]


def _to_csv(found: list[Comparison], step: int, seeds: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for c in found:
        numbers = (c.difference.mean, c.difference.low, c.difference.high, c.effect)
        tests = (
            c.p_t,
            c.p_corrected,
            c.p_holm,
            "" if c.p_wilcoxon is None else c.p_wilcoxon,
        )
        names = (_no_formula(c.first), _no_formula(c.second))
        writer.writerow(
            [*names, MEASURE, step, seeds, *numbers, c.wins, c.ties, c.losses, *tests]
        )
    return out.getvalue()


def _no_formula(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in tuple("=+-@") else name
