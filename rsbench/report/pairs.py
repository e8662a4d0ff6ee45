"""Differences between methods, seed by seed: a few to read, and all of them as CSV."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rsbench.core.statistics import ENOUGH_FOR_WILCOXON
from rsbench.errors import UserError
from rsbench.report.collect import Group
from rsbench.report.comparisons import (
    MOST_IN_PAIRS,
    Comparison,
    compared_step,
    families,
    to_frame,
)
from rsbench.report.labels import in_order, is_simulated, p_text, plural, signed
from rsbench.report.table import markdown
from rsbench.store.record import Run

if TYPE_CHECKING:
    import pandas as pd

WHY_CORRECTED = (
    "Seeds draw their splits from the same samples, so the plain paired t test is too "
    "sure; Nadeau and Bengio's correction widens it by the ratio of test to training "
    "samples."
)


def make_comparisons(group: Group) -> str:
    """Return runs against the first one of their family, in words and numbers.

    Nothing if there are none to compare.
    """
    runs = group.good
    try:
        found = group.comparisons
    except UserError as error:
        return f"Not compared seed by seed: {error}.\n"
    if not found:
        return ""
    simulated = ""
    if is_simulated(runs):
        simulated = " (SIMULATED data)"
    lines = [
        f"Differences in cumulative error at {compared_step(runs[0])} "
        f"{runs[0].info.unit}, in points, seed by seed{simulated}; negative is less "
        "error:",
        "",
        *markdown(_shown(against_first(runs, found)), left=2),
        "",
    ]
    n_seeds = runs[0].n_seeds
    if n_seeds > 1:
        lines.append(
            f"p: paired t, corrected (Holm) for {family_sizes(runs)}. Interval and p "
            "allow for overlapping splits; a win is a seed with less error."
        )
        lines.append(WHY_CORRECTED)
    if n_seeds < ENOUGH_FOR_WILCOXON:
        lines.append(wilcoxon_note(n_seeds))
    return "\n".join(lines) + "\n"


def against_first(runs: Sequence[Run], found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons of each family with its first run."""
    # All pairs are in comparisons.csv; these are as many as a person reads.
    firsts = {family[0] for family in families(runs)}
    return [comparison for comparison in found if comparison.one in firsts]


def family_sizes(runs: Sequence[Run]) -> str:
    """Return how many tests were corrected together, in words."""
    several = [family for family in families(runs) if len(family) > 1]
    tests = in_order([_tests(len(family)) for family in several])
    count = " or ".join(map(str, tests))
    pairs = "pairs"
    if tests == [1]:
        pairs = "pair"
    what = "methods"
    if all(_is_of_one_method(family) for family in several):
        what = "settings"
    if len(several) == 1:
        return f"{count} {pairs} of {what}"
    return (
        f"{count} {pairs} of {what} on the same features, in each of {len(several)} "
        "families"
    )


def _tests(n: int) -> int:
    """Return how many tests a family of n runs has."""
    # Then each is compared with the first alone.
    if n > MOST_IN_PAIRS:
        return n - 1
    return n * (n - 1) // 2


def _is_of_one_method(family: Sequence[Run]) -> bool:
    """Tell whether a family compares the settings of one method."""
    return len({run.info.variant for run in family}) == 1


def wilcoxon_note(seeds: int) -> str:
    """Return why so few seeds have no p of Wilcoxon's."""
    # Even where all seeds agree, signs that are all the same have this probability.
    least = 2 ** (1 - seeds)
    return (
        f"Wilcoxon's test with {plural(seeds, 'seed')} cannot go below "
        f"p = {least:.4g}: seeds=10 would let it."
    )


def _shown(found: Sequence[Comparison]) -> "pd.DataFrame":
    """Return comparisons as the text shows them.

    The first run is subtracted, so that a negative number is less error than its.
    """
    import pandas as pd

    return pd.DataFrame([_shown_row(comparison) for comparison in found])


def _shown_row(c: Comparison) -> dict[str, str]:
    interval = "-"
    if math.isfinite(c.difference.low):
        interval = f"{signed(-c.difference.high)} to {signed(-c.difference.low)}"
    return {
        "method": c.second,
        "against": c.first,
        "difference": signed(-c.difference.mean),
        "95 % interval": interval,
        "win/tie/loss": f"{c.losses}/{c.ties}/{c.wins}",
        "p": p_text(c.p_holm),
    }


def pairs_csv(found: Sequence[Comparison]) -> str:
    """Return comparisons as a CSV file.

    A p of Wilcoxon's that so few seeds cannot have is left empty; other numbers that
    could not be computed are `nan`.
    """
    table = to_frame(found)
    for column in ("first", "second"):
        table[column] = table[column].map(_no_formula)
    given = table["p_wilcoxon"].astype(object)
    table["p_wilcoxon"] = given.where(given.notna(), "")
    return table.to_csv(index=False, lineterminator="\n", na_rep="nan")


def _no_formula(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula.

    A method may come from a plugin, whose name could run something when opened.
    """
    if name[:1] in tuple("=+-@"):
        return f"'{name}"
    return name
