"""Methods against their counterparts and among each other: tables, and all as CSV."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rsbench.core.statistics import shared_by_draws
from rsbench.core.told import Told
from rsbench.core.worth import Worth
from rsbench.report.claims import Claims, MethodClaim
from rsbench.report.collect import Group
from rsbench.report.comparisons import JUDGED_UNDER, Comparison, Family, Kind, to_row
from rsbench.report.cost import CostTable, cost_table
from rsbench.report.labels import NONE, is_simulated, p_text, signed
from rsbench.report.table import (
    TUNED,
    by_track,
    is_tuned,
    line_after,
    markdown,
    names,
    tuned_apart,
)
from rsbench.report.units import Repeats, repeats_of
from rsbench.report.worth_text import interval_text, k_text, saved_text
from rsbench.store.record import Run
from rsbench.store.run_info import CounterpartKind

if TYPE_CHECKING:
    import pandas as pd

#: Where variances come from, by what a difference is averaged over.
WHY = {
    Repeats.SEEDS: (
        "Seeds draw their splits from the same samples, so that a plain paired test "
        "would be too sure: variances are widened, after Nadeau and Bengio, by the "
        "ratio of test to training samples. They are rather too wide than too narrow."
    ),
    Repeats.DRAWS: "The unit is the draw of classes, its seeds averaged.",
    Repeats.FIXED_TEST: (
        "All seeds are tested on the same samples: variances have a part for which "
        "samples are learned from and one for which samples are tested on."
    ),
}

#: Beside that, where draws are of the same few classes.
SHARED = "Draws share some of their classes, by which variances are widened."
NOT_WIDENED = (
    "Draws of more than half of the classes share most of them, so that nothing is "
    "said of other classes, and variances are not widened."
)


@dataclass(frozen=True)
class Judged:
    """What tables say of a run: its place in its track, and against its counterpart.

    A cell with nothing to say has a dash.
    """

    rank: str = NONE
    counterpart: str = NONE
    difference: str = NONE
    interval: str = NONE
    p: str = NONE
    worth: str = NONE


def judged(run: Run, shown: Claims | None) -> Judged:
    """Return what tables say of a run.

    Parameters
    ----------
    run : Run
        A run of a group.
    shown : Claims or None
        What the group's runs show, if anything.
    """
    if shown is None:
        return Judged()
    rank = rank_text(shown.ranks.get(run))
    claim = shown.of(run)
    if claim is None or claim.difference is None:
        return Judged(rank)
    gain = claim.difference
    return Judged(
        rank=rank,
        counterpart=counterpart_name(claim),
        difference=signed(gain.estimate.mean),
        interval=interval_of(gain),
        p=p_text(gain.p),
        worth=worth_text(claim),
    )


def rank_text(places: tuple[int, int] | None) -> str:
    """Return the places that a run may have, such as "1–3"."""
    if places is None:
        return NONE
    first, last = places
    if first == last:
        return str(first)
    return f"{first}–{last}"


def counterpart_name(claim: MethodClaim) -> str:
    """Return what a method is compared with, as a table names it."""
    if claim.stand_in is None:
        return "itself, without"
    if claim.kind is CounterpartKind.SUBSTITUTE:
        return f"{claim.stand_in} (in its stead)"
    return claim.stand_in


def interval_of(comparison: Comparison) -> str:
    """Return a difference's interval in points; a dash where nobody knows it."""
    interval = comparison.difference
    if math.isinf(interval.low):
        return NONE
    return f"{signed(interval.low)} to {signed(interval.high)}"


def worth_text(claim: MethodClaim) -> str:
    """Return what annotations are worth, in labels a sample or labels saved a class."""
    worth = claim.worth
    if worth is None or math.isnan(worth.k):
        return NONE
    return worth_cell(claim.run.info.told, worth)


def worth_cell(told: Told, worth: Worth) -> str:
    """Return a worth as tables show it: class votes have no price per sample."""
    if told is Told.CLASS_VOTES:
        return f"saves {saved_text(worth)}"
    return f"{k_text(worth)} {interval_text(worth)}"


def worth_title(shown: Claims, told: Told = Told.VOTES) -> str:
    """Return the title of the column of worths, with the samples it is asked at."""
    title = "worth"
    if told is Told.CLASS_VOTES:
        title = "labels saved"
    for claim in shown.methods:
        if claim.worth is not None:
            return f"{title} @{claim.worth.n}"
    return title


def make_comparisons(group: Group) -> str:
    """Return ranks, and methods against their counterparts; then settings of a method.

    Nothing if there is nothing to compare.
    """
    problem = group.not_compared
    if problem is not None:
        # A single run is no mistake that anybody has to be told of.
        if len(group.good) < 2:
            return ""
        return f"Not compared seed by seed: {problem}.\n"
    found = group.comparisons
    if group.claims is None or not found:
        return ""
    first = group.good[0]
    simulated = ""
    if is_simulated(group.good):
        simulated = " (SIMULATED data)"
    lines = [
        f"Judged by cumulative error at {first.judged_step} {first.info.unit}"
        f"{simulated}: ranks among methods told the same; differences to counterparts, "
        "the same without annotations, in points, negative is less error:",
        "",
    ]
    for part in tuned_apart(by_track(group.good)):
        if is_tuned(part[0]) and len(part) < len(group.good):
            lines += [f"{TUNED}:", ""]
        lines += [*_judged_table(part, group.claims), ""]
    settings = against_first(found, Kind.SETTINGS)
    if settings:
        lines += [*markdown(_shown(settings), left=2), ""]
    lines += notes(group)
    cost = cost_table(group.claims)
    if cost is not None:
        lines += ["", cost.caption, "", *markdown(_frame(cost), left=1)]
    return "\n".join(lines) + "\n"


def _frame(cost: CostTable) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(cost.rows, columns=cost.header)


def _judged_table(members: Sequence[Run], shown: Claims) -> list[str]:
    """Return a row for each run that is judged."""
    runs = []
    for run in members:
        # Other controls answer other questions, in sentences of their own.
        if run.info.control in (None, *JUDGED_UNDER):
            runs.append(run)
    table = names(runs)
    left = len(table.columns)
    cells = [judged(run, shown) for run in runs]
    table["rank"] = [each.rank for each in cells]
    if shown.methods:
        table["counterpart"] = [each.counterpart for each in cells]
        table["difference"] = [each.difference for each in cells]
        table["95 % interval"] = [each.interval for each in cells]
        table["p"] = [each.p for each in cells]
        table[worth_title(shown)] = [each.worth for each in cells]
    return markdown(table, left, line_after(runs))


def notes(group: Group) -> list[str]:
    """Return how p values were corrected, and where variances come from."""
    if not any(comparison.is_judged for comparison in group.comparisons):
        return []
    told = [f"p: two-sided, corrected (Holm) for {family_sizes(group.comparisons)}."]
    first = group.good[0]
    repeats = repeats_of(first)
    why = WHY[repeats]
    drawn = first.info.data.drawn
    if repeats is Repeats.DRAWS and drawn is not None:
        if shared_by_draws(drawn.classes, drawn.of) > 0:
            why = f"{why} {SHARED}"
        else:
            why = f"{why} {NOT_WIDENED}"
    told.append(why)
    return told


def family_sizes(found: Sequence[Comparison]) -> str:
    """Return how many comparisons each family has, in words."""
    sizes: dict[Family, int] = {}
    for comparison in found:
        sizes[comparison.family] = comparison.of
    told = []
    for family, size in sizes.items():
        pairs = "pairs"
        if size == 1:
            pairs = "pair"
        told.append(f"{size} {pairs} {_family_text(family)}")
    return "; ".join(told)


def _family_text(family: Family) -> str:
    """Return what the comparisons of a family are."""
    told = ""
    if family.track is not None:
        told = family.track.text
    texts = {
        Kind.COUNTERPART: "of methods with their counterparts",
        Kind.TRACK: f"of methods told {told}",
        Kind.NOTHING: f"of methods told {told} with others told nothing",
        Kind.CONTROL: f"of the control {family.control}",
        Kind.SETTINGS: "of settings of one method",
    }
    text = texts[family.kind]
    if family.kind is not Kind.CONTROL and family.control is not None:
        return f"{text}, under {family.control}"
    return text


def against_first(found: Sequence[Comparison], kind: Kind) -> list[Comparison]:
    """Return the comparisons of a kind with the first run of each family."""
    # All pairs are in comparisons.csv; these are as many as a person reads.
    seen: set[Run] = set()
    shown = []
    for comparison in found:
        if comparison.family.kind is kind and comparison.one not in seen:
            shown.append(comparison)
            seen.add(comparison.two)
    return shown


def _shown(found: Sequence[Comparison]) -> "pd.DataFrame":
    """Return comparisons as the text shows them.

    The first run is subtracted, so that a negative number is less error than its.
    """
    import pandas as pd

    rows = []
    for c in found:
        interval = NONE
        if math.isfinite(c.difference.low):
            interval = f"{signed(-c.difference.high)} to {signed(-c.difference.low)}"
        rows.append(
            {
                "setting": c.second,
                "against": c.first,
                "difference": signed(-c.estimate.mean),
                "95 % interval": interval,
                "win/tie/loss": f"{c.losses}/{c.ties}/{c.wins}",
                "p": p_text(c.p),
            }
        )
    return pd.DataFrame(rows)


def pairs_csv(found: Sequence[Comparison]) -> str:
    """Return comparisons as a CSV file; numbers that are unknown are `nan`.

    A comparison that has no track or control has an empty cell.
    """
    rows = [to_row(comparison) for comparison in found]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([_no_formula(value) for value in row.values()])
    return out.getvalue()


def _no_formula(value: str | float | None) -> str | float | None:
    """Return a value that no spreadsheet takes for a formula.

    A method may come from a plugin, whose name could run something when opened.
    """
    if isinstance(value, str) and value[:1] in tuple("=+-@"):
        return f"'{value}"
    return value
