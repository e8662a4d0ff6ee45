"""The tables of the page: what stands in which cell; templates turn them into HTML."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.core.told import Told, Track
from rsbench.core.worth import Worth
from rsbench.report.claims import Claims, ControlClaim, MethodClaim, is_at_end
from rsbench.report.collect import Group
from rsbench.report.comparisons import JUDGED_UNDER, Comparison
from rsbench.report.cost import cost_table
from rsbench.report.findings import CONTROLS, points
from rsbench.report.labels import (
    NONE,
    PER_CLASS,
    brief,
    flatten,
    in_order,
    p_text,
    repeats_text,
    settings_among,
    signed,
    tracks_among,
)
from rsbench.report.pairs import (
    counterpart_name,
    interval_of,
    rank_text,
    worth_text,
    worth_title,
)
from rsbench.report.paper import not_in_the_paper
from rsbench.report.table import (
    TABLED,
    TUNED,
    Results,
    by_track,
    is_tuned,
    names,
    results,
    tuned_apart,
)
from rsbench.report.worth_text import interval_text, k_text, saved_text
from rsbench.store.record import Run

#: A page lists so many comparisons.
_MOST_PAIRS = 300

#: A worth, or its inverse, beyond this is drawn at the edge.
_WIDEST = 32.0

#: Errors of each class are shown for so many runs, the first ones, and so many classes.
_MOST_BY_CLASS = 60
_CLASSES_SHOWN = 400

#: A longer table scrolls within the page.
_TALL = 40


@dataclass(frozen=True)
class Range:
    """A number with its interval, drawn: places in % of a cell's width.

    Parameters
    ----------
    low, high : float
        The ends of the interval.
    at : float
        The number.
    one : float
        Where nothing is gained.
    is_open : bool
        Whether the interval goes on beyond what was measured.
    """

    low: float
    high: float
    at: float
    one: float
    is_open: bool


@dataclass(frozen=True)
class Cell:
    """A table's cell.

    Parameters
    ----------
    text : str
        What it says.
    sort : float, optional
        What it is sorted by, if not its text.
    look : str
        Its class, `best` or `worse`, if it stands out.
    heat : float, optional
        How warm its background is, from 0 to 1.
    range : Range, optional
        What is drawn above its text.
    """

    text: str
    sort: float | None = None
    look: str = ""
    heat: float | None = None
    range: Range | None = None


#: A cell with nothing to show.
_EMPTY = Cell(NONE)


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Parameters
    ----------
    header : list of str
        Titles of the columns.
    rows : list of lists of Cell
        The cells.
    caption : str
        What it shows, in a sentence.
    text : int
        So many of the first columns are text, the others numbers.
    minor : int
        So many of the first columns are left out on a phone.
    scrolls : bool
        Whether it scrolls within the page, however long it is.
    """

    header: list[str]
    rows: list[list[Cell]]
    caption: str = ""
    text: int = 1
    minor: int = 0
    scrolls: bool = False

    @property
    def is_tall(self) -> bool:
        """Whether it scrolls within the page."""
        return self.scrolls or len(self.rows) > _TALL

    @property
    def is_sortable(self) -> bool:
        """Whether its columns have titles to click on."""
        return any(self.header)

    @property
    def kinds(self) -> list[str]:
        """The class of each column: `minor`, `text`, or none for numbers."""
        found = []
        for j in range(len(self.header)):
            if j < self.minor:
                found.append("minor")
            elif j < self.text:
                found.append("text")
            else:
                found.append("")
        return found


def _number(value: float | None, form: str) -> Cell:
    """Return a number in a format, or a dash."""
    if value is None or not math.isfinite(value):
        return _EMPTY
    return Cell(f"{value:{form}}", float(value))


def _numbers(values: Iterable[float], form: str) -> list[Cell]:
    return [_number(value, form) for value in values]


def leaderboards(group: Group) -> list[Table]:
    """Return a group's errors, a table for each track, the lowest error first."""
    found = []
    for part in tuned_apart(group.runs):
        for track in tracks_among(part):
            runs = [run for run in part if run.info.track == track]
            found.append(_track(group, track, runs))
    return found


def _track(group: Group, track: Track, runs: Sequence[Run]) -> Table:
    """Return the runs of one track with their ranks, and against counterparts."""
    errors, _ = TABLED
    found = results(runs, errors)
    about = names(runs)
    # All rows share it, but for the samples that class votes are counted over.
    told = in_order(list(about.pop("told")))
    # By title, a cell for each run, in the order of the runs.
    columns: dict[str, list[Cell]] = {}
    for name, values in about.items():
        columns[str(name)] = [Cell(brief(value)) for value in values]
    for step in found.mean:
        columns[f"@{step}"] = _mean_cells(found, step)
    if track.samples is not Told.NOTHING and group.claims is not None:
        columns |= _against_counterparts(runs, group.claims)
    if found.has_paper:
        for step in found.mean:
            figures = found.paper[step]
            gaps = found.mean[step] - figures
            columns[f"paper @{step}"] = _numbers(figures, "g")
            columns[f"difference @{step}"] = _numbers(gaps, f"+.{errors.digits}f")
    judged_step = runs[0].judged_step
    # Controls answer other questions than which method is best: they come last.
    answers = [run.info.control not in (None, *JUDGED_UNDER) for run in runs]
    order = np.lexsort([found.mean[judged_step].to_numpy(), answers])
    rows = []
    for i in order:
        row = [_rank_cell(group.claims, runs[i])]
        for cells in columns.values():
            row.append(cells[i])
        rows.append(row)
    opening = "Told"
    if is_tuned(runs[0]):
        opening = f"{TUNED}, told"
    caption = (
        f"{opening} {' or '.join(told)}: {errors.title}, mean ± standard error, the "
        f"lowest at {judged_step} first. Rank: the places a method may have in this "
        "track."
    )
    below = not_in_the_paper([run.info for run in group.runs])
    others = []
    for run, is_other in zip(group.runs, below, strict=True):
        if is_other and run in runs:
            others.append(run.info.method)
    if others:
        caption = f"{caption} Not in the paper: {', '.join(in_order(others))}."
    text = 1 + len(about.columns)
    return Table(["rank", *columns], rows, caption, text=text, minor=1)


def _rank_cell(shown: Claims | None, run: Run) -> Cell:
    """Return the places that a run may have in its track."""
    places = None
    if shown is not None:
        places = shown.ranks.get(run)
    if places is None:
        return _EMPTY
    first, last = places
    return Cell(rank_text(places), first + last / 1000)


def _against_counterparts(runs: Sequence[Run], shown: Claims) -> dict[str, list[Cell]]:
    """Return columns on what runs gain over their counterparts."""
    claims = [shown.of(run) for run in runs]
    counterparts = []
    for claim in claims:
        if claim is not None and claim.difference is not None:
            counterparts.append(counterpart_name(claim))
    columns: dict[str, list[Cell]] = {}
    against = "against its counterpart"
    if len(set(counterparts)) == 1:  # which needs no column then
        against = f"against {counterparts[0]}"
    elif counterparts:
        columns["counterpart"] = [_counterpart_cell(claim) for claim in claims]
    columns[f"{against} [95 %]"] = [_gain_cell(claim) for claim in claims]
    columns["p"] = [_gain_p_cell(claim) for claim in claims]
    columns[worth_title(shown, runs[0].info.told)] = [
        _worth_cell(claim) for claim in claims
    ]
    return columns


def _counterpart_cell(claim: MethodClaim | None) -> Cell:
    if claim is None:
        return _EMPTY
    return Cell(counterpart_name(claim))


def _gain_cell(claim: MethodClaim | None) -> Cell:
    """Return a method's difference to its counterpart, coloured if it is clear."""
    if claim is None or claim.difference is None:
        return _EMPTY
    gain = claim.difference
    return Cell(points(gain), gain.estimate.mean, _look(gain))


def _gain_p_cell(claim: MethodClaim | None) -> Cell:
    if claim is None or claim.difference is None:
        return _EMPTY
    return _p_cell(claim.difference.p)


def _worth_cell(claim: MethodClaim | None) -> Cell:
    if claim is None or claim.worth is None or math.isnan(claim.worth.k):
        return _EMPTY
    if claim.run.info.told is Told.CLASS_VOTES:
        return Cell(saved_text(claim.worth), claim.worth.labels_saved)
    return Cell(worth_text(claim), claim.worth.k)


def _look(comparison: Comparison) -> str:
    """Return the class of a cell whose difference is clear."""
    if comparison.is_clearly_less:
        return "best"
    if comparison.is_clearly_more:
        return "worse"
    return ""


def _interval_cell(comparison: Comparison) -> Cell:
    low = comparison.difference.low
    if not math.isfinite(low):
        return _EMPTY
    return Cell(interval_of(comparison), low)


def _p_cell(p: float) -> Cell:
    if math.isnan(p):
        return _EMPTY
    return Cell(p_text(p), p)


def _mean_cells(found: Results, step: int) -> list[Cell]:
    """Return each run's mean and standard error at a step."""
    cells = []
    shown = zip(found.mean[step], found.text[step], found.best[step], strict=True)
    for mean, text, is_best in shown:
        sort = None
        if math.isfinite(mean):
            sort = float(mean)
        look = ""
        if is_best:
            look = "best"
        cells.append(Cell(text, sort, look))
    return cells


def losses(runs: Sequence[Run]) -> Table:
    """Return the losses of runs, the lowest marked among those on the same scale."""
    _, shown = TABLED
    runs = by_track(runs)
    found = results(runs, shown)
    about = names(runs)
    columns: dict[str, list[Cell]] = {}
    for name, values in about.items():
        columns[str(name)] = [Cell(brief(value)) for value in values]
    for step in found.mean:
        columns[f"@{step}"] = _mean_cells(found, step)
    if found.has_paper:
        for step in found.mean:
            columns[f"paper @{step}"] = _numbers(found.paper[step], "g")
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    caption = (
        f"{shown.title.capitalize()}, mean ± standard error. The lowest stands out "
        "among methods told the same whose scores are on the same scale; others are "
        "not to be compared."
    )
    return Table(list(columns), rows, caption, text=len(about.columns))


def worths(shown: Claims) -> Table | None:
    """Return what an annotated sample is worth in labels, drawn with its interval.

    A row for each method that is told votes; None where there is none.
    """
    claims = _with_worths(shown, Told.VOTES)
    if not claims:
        return None
    scale = _Scale(claims)
    asked = [worth.n for worth in claims[0].worths]
    header = ["method"]
    for worth in claims[0].worths:
        header.append(f"n = {worth.n} (≤ {worth.largest:.3g})")
    header.append(f"price @{asked[-1]}")
    rows = []
    for claim in claims:
        row = [Cell(claim.run.info.label)]
        for worth in claim.worths:
            text = f"{k_text(worth)} {interval_text(worth)}"
            row.append(Cell(text, worth.k, range=scale.range(worth)))
        row.append(_price_cell(claim, claim.worths[-1]))
        rows.append(row)
    unit = claims[0].run.info.unit
    caption = (
        f"An annotated sample is worth k labels: with n {unit}, annotated, a method "
        f"errs as much as its counterpart with k times as many {unit}, not annotated. "
        "k with its 95 % interval, on a logarithmic scale; the line is k = 1, worth "
        "nothing; ≤: the largest k that could be measured. An annotation that costs "
        "less than k - 1 labels, the break-even price, pays."
    )
    return Table(header, rows, caption)


def costs(shown: Claims | None) -> Table | None:
    """Return what methods gain for the same money; None where no prices are given."""
    found = cost_table(shown)
    if found is None:
        return None
    rows = []
    for row in found.rows:
        rows.append([Cell(text) for text in row])
    return Table(found.header, rows, found.caption)


def _with_worths(shown: Claims, track: Told) -> list[MethodClaim]:
    found = []
    for claim in shown.methods:
        if claim.run.info.told is track and claim.worths:
            found.append(claim)
    return found


def _price_cell(claim: MethodClaim, worth: Worth) -> Cell:
    """Return an annotation's break-even price in labels."""
    if math.isnan(worth.k):
        return _EMPTY
    # As the sentences have it: an interval that holds one says neither.
    if worth.contains(1):
        return Cell("open")
    if worth.k <= 1:
        return Cell("none pays", 0.0)
    more = ""
    if not worth.k_reached:
        more = "> "
    price = claim.price(worth)
    return Cell(f"{more}{price:.1f}", price)


class _Scale:
    """Where a worth is drawn, from 0 to 100 %, the same for all of a table."""

    def __init__(self, claims: Sequence[MethodClaim]):
        # Wide enough that a worth of one is never at the edge.
        lows = [0.5]
        highs = [2.0]
        for claim in claims:
            for worth in claim.worths:
                lows.append(worth.low)
                highs.append(worth.high)
        self.low = max(min(lows), 1 / _WIDEST)
        self.high = min(max(highs), _WIDEST)

    def place(self, k: float) -> float:
        """Return where a worth is, in % of the width."""
        inside = min(max(k, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return round(100 * share, 1)

    def range(self, worth: Worth) -> Range | None:
        """Return a worth and its interval as the page draws them."""
        if math.isnan(worth.k):
            return None
        return Range(
            low=self.place(min(worth.low, worth.k)),
            high=self.place(max(worth.high, worth.k)),
            at=self.place(worth.k),
            one=self.place(1),
            is_open=not worth.low_reached or not worth.high_reached,
        )


def saved(shown: Claims) -> Table | None:
    """Return the labels that class votes save per class; they have no price a sample.

    None where no method is told class votes.
    """
    claims = _with_worths(shown, Told.CLASS_VOTES)
    if not claims:
        return None
    header = ["method"]
    for worth in claims[0].worths:
        header.append(f"n = {worth.n} (≤ {worth.n * (worth.largest - 1):.0f})")
    rows = []
    for claim in claims:
        row = [Cell(claim.run.info.label)]
        for worth in claim.worths:
            row.append(Cell(saved_text(worth), worth.labels_saved))
        rows.append(row)
    labels = "Labels"
    if claims[0].run.info.unit == PER_CLASS:
        labels = "Labels per class"
    caption = (
        f"Class votes have no price per sample. {labels} that they save: how many more "
        "the counterpart needs for the same error, with the 95 % interval; "
        "≤: the most that could be measured."
    )
    return Table(header, rows, caption)


def controls(found: Sequence[ControlClaim]) -> Table:
    """Return what each control changes, against its method and its counterpart."""
    header = [
        "control",
        "of",
        "against itself",
        "p",
        "against the counterpart",
        "p",
    ]
    rows = []
    for claim in found:
        name = claim.run.info.control or ""
        row = [Cell(CONTROLS.get(name, name)), Cell(claim.method.info.label)]
        for comparison in (claim.to_itself, claim.to_counterpart):
            row += _changed(comparison)
        rows.append(row)
    caption = (
        "What each control does to the error, in points, with the 95 % interval. p is "
        "corrected for all comparisons of the control; colours go by it."
    )
    return Table(header, rows, caption, text=2)


def _changed(comparison: Comparison | None) -> list[Cell]:
    """Return a difference and its p."""
    if comparison is None:
        return [_EMPTY, _EMPTY]
    mean = comparison.estimate.mean
    return [
        Cell(points(comparison), mean, _look(comparison)),
        _p_cell(comparison.p),
    ]


def pairs(group: Group) -> Table:
    """Return comparisons of all families, as many as a page can show."""
    header = [
        "one",
        "against",
        "family",
        "difference",
        "95 % interval",
        "win / tie / loss",
        "p",
        "corrected for",
    ]
    rows = []
    for c in group.comparisons[:_MOST_PAIRS]:
        family = " ".join(filter(None, [c.family.kind.value, c.family.control]))
        rows.append(
            [
                Cell(c.first),
                Cell(c.second),
                Cell(family),
                Cell(signed(c.estimate.mean), c.estimate.mean, _look(c)),
                _interval_cell(c),
                Cell(f"{c.wins} / {c.ties} / {c.losses}", c.wins),
                _p_cell(c.p),
                Cell(str(c.of), c.of),
            ]
        )
    first = group.good[0]
    caption = (
        f"Differences in cumulative error at {first.judged_step} {first.info.unit}, in "
        "points; negative is less error, and a win a seed with less error. Each pair "
        "has one p, corrected (Holm) for its family."
    )
    if len(group.comparisons) > _MOST_PAIRS:
        caption = (
            f"{caption} The first {_MOST_PAIRS} of {len(group.comparisons)}; "
            "comparisons.csv has all."
        )
    return Table(header, rows, caption, text=3, scrolls=True)


def by_class(runs: Sequence[Run]) -> Table | None:
    """Return each class's error at the end, a column per run, the hardest class first.

    None where no record has them; an error where one is damaged.
    """
    shown = []
    for run in runs[:_MOST_BY_CLASS]:
        errors = run.per_class()
        if errors:
            shown.append((run, errors))
    by_name: dict[str, list[float]] = {}
    for _, errors in shown:
        for name, (_, error) in errors.items():
            by_name.setdefault(name, []).append(error)
    if not by_name:
        return None
    # Classes are ranked by the mean over runs, not by any one of them.
    mean = {name: float(np.mean(found)) for name, found in by_name.items()}
    hardest_first = sorted(mean, key=lambda name: -mean[name])
    rows = []
    for name in hardest_first[:_CLASSES_SHOWN]:
        row = [Cell(name), Cell(f"{100 * mean[name]:.0f}", mean[name])]
        for _, errors in shown:
            if name in errors:
                _, error = errors[name]
                row.append(Cell(f"{100 * error:.0f}", error, heat=error))
            else:
                row.append(_EMPTY)
        rows.append(row)
    caption = (
        "Test error of each class at the last step, in %, pooled over seeds; hardest "
        "first."
    )
    if len(runs) > len(shown):
        caption = f"{caption} The first {len(shown)} of {len(runs)} runs."
    header = ["class", "all"]
    for run, _ in shown:
        header.append(run.info.label)
    return Table(header, rows, caption, scrolls=True)


def bounds(runs: Sequence[Run]) -> Table | None:
    """Return the paper's bound of each run that has one."""
    rows = []
    for run in runs:
        bound = run.info.bound
        if bound:  # learners that are not linear, or take votes, have none
            printed = _number(bound.get("as_printed"), ".1f")
            ratio = _number(bound.get("scale_free_ratio"), ".3f")
            rows.append([Cell(run.info.label), printed, ratio])
    if not rows:
        return None
    caption = (
        "The paper's generalisation bound for the samples learned from, as printed, "
        "δ = 0.05. It has slips (√‖x‖ is not homogeneous, theorem and proof differ by "
        "a factor of 2, the empirical loss is a sum, and scaling relevance down "
        "improves it for free), so no conclusion is rested on it. The ratio, with "
        "relevance scaled to at most 1, has no scale."
    )
    return Table(["method", "bound as printed", "max |r∘x| / max |x|"], rows, caption)


def provenance(runs: Sequence[Run]) -> Table:
    """Return versions, data and plugins that runs were made with.

    Each once: most runs of a report share all of them.
    """
    about: list[tuple[str, str]] = []
    for run in runs:
        about.append(("git commit", run.info.git_commit or NONE))
    for run in runs:
        about += run.info.versions.items()
    for run in runs:
        data = run.info.data
        name = data.label
        if data.simulated:
            name = f"{name} (SIMULATED)"
        about.append(("data", f"{name}, sha256 {data.identity[:16]}"))
    for run in runs:
        for plugin in run.info.plugins:
            version = plugin.version or ""
            told = f"{version} sha256 {plugin.sha256[:16]}"
            about.append((f"plugin {plugin.plugin}", told))
    rows = []
    for name, value in in_order(about):
        rows.append([Cell(name), Cell(value)])
    return Table(["", ""], rows, "Versions and data, by content.", text=2)


def settings(runs: Sequence[Run]) -> tuple[Table, Table]:
    """Return the settings that all runs share, and each run with those it does not."""
    shared = []
    own = {}
    for key, values in settings_among(runs, missing=NONE).items():
        shown = [brief(value) for value in values]
        if len(set(shown)) == 1:
            shared.append([Cell(key), Cell(shown[0])])
        else:
            own[key] = shown
    header = ["run", "repeats", "seconds", "fingerprint", "tuned", *own]
    rows = []
    for i, run in enumerate(runs):
        row = [
            Cell(run.info.label),
            Cell(repeats_text(run)),
            _number(run.info.seconds, ".1f"),
            Cell(run.info.fingerprint[:16]),
            Cell(_tuned(run)),
        ]
        for shown in own.values():
            row.append(Cell(shown[i]))
        rows.append(row)
    return (
        Table(["setting", "value"], shared, text=2),
        Table(header, rows, text=len(header), scrolls=True),
    )


def _tuned(run: Run) -> str:
    """Return what was tuned, over all seeds, and whether the grid ended there."""
    found: dict[str, list[str]] = {}
    grid = flatten(run.info.config.get("tune") or {})
    for values in run.info.tuned.values():
        for key, value in values.items():
            shown = brief(value)
            # A better one may lie beyond.
            if is_at_end(value, grid.get(key)):
                shown = f"{shown} (edge of the grid)"
            found.setdefault(key, []).append(shown)
    told = []
    for key, chosen in found.items():
        told.append(f"{key}={'/'.join(in_order(chosen))}")
    return "; ".join(told) or NONE
