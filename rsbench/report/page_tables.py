"""The tables of the page: what stands in which cell; templates turn them into HTML."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.core.statistics import (
    ENOUGH_TO_BOOTSTRAP,
    Interval,
    Needed,
    area_under_curve,
    bootstrap_interval,
    needed,
    round_levels,
    t_interval,
)
from rsbench.report.collect import Group
from rsbench.report.comparisons import Comparison, compared_step
from rsbench.report.findings import Findings, change, points
from rsbench.report.labels import (
    NONE,
    Features,
    brief,
    flatten,
    in_order,
    p_text,
    settings_among,
    signed,
)
from rsbench.report.pairs import against_first
from rsbench.report.table import Results, Tabled, names, results
from rsbench.store.record import Run

#: Errors of each class are shown for so many runs, the first ones, and so many classes.
_MOST_BY_CLASS = 60
_CLASSES_SHOWN = 400

#: A longer table scrolls within the page.
_TALL = 40

#: Samples that are never enough sort after all others.
_NEVER = 1e300


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
    """

    text: str
    sort: float | None = None
    look: str = ""
    heat: float | None = None


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


def leaderboard(runs: Sequence[Run], shown: Tabled) -> Table:
    """Return runs by a measure, best first; beside the paper's figures if there are.

    Parameters
    ----------
    runs : sequence of Run
        Runs that can be compared with each other.
    shown : Tabled
        The measure.
    """
    found = results(runs, shown)
    fixed = compared_step(runs[0])
    about = names(runs)
    # By title, a cell for each run, in the order of the runs.
    columns: dict[str, list[Cell]] = {}
    for name, values in about.items():
        columns[str(name)] = [Cell(brief(value)) for value in values]
    for step in found.mean:
        columns[f"@{step}"] = _mean_cells(found, step)
    for name, interval in _intervals(runs).items():
        cells = [_interval_cell(run, shown, fixed, interval) for run in runs]
        columns[f"95 % @{fixed}{name}"] = cells
    if found.has_paper:
        for step in found.mean:
            figures = found.paper[step]
            gaps = found.mean[step] - figures
            columns[f"paper @{step}"] = _numbers(figures, "g")
            columns[f"difference @{step}"] = _numbers(gaps, f"+.{shown.digits}f")
    # The step of the comparison fixed beforehand decides, here as well.
    order = np.argsort(found.mean[fixed].to_numpy(), kind="stable")
    rows = []
    for rank, i in enumerate(order):
        row = [Cell(str(rank + 1), rank)]
        for cells in columns.values():
            row.append(cells[i])
        rows.append(row)
    caption = (
        f"{shown.title.capitalize()}, mean ± standard error, best first; the lowest of "
        "each column stands out."
    )
    text = 1 + len(about.columns)
    return Table(["rank", *columns], rows, caption, text=text, minor=1)


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


def _intervals(runs: Sequence[Run]) -> dict[str, Callable[..., Interval]]:
    """Return the intervals that so many seeds allow, by what their column says."""
    # A column is for all runs, so the fewest seeds decide.
    seeds = min(run.n_seeds for run in runs)
    found: dict[str, Callable[..., Interval]] = {}
    if seeds > 1:
        found[""] = t_interval
    if seeds >= ENOUGH_TO_BOOTSTRAP:
        found[", bootstrap"] = bootstrap_interval
    return found


def _interval_cell(
    run: Run, shown: Tabled, step: int, interval: Callable[..., Interval]
) -> Cell:
    """Return the interval of a run's mean; nothing where its curve has a hole."""
    if step not in run.steps:
        return _EMPTY
    values = shown.scale * run.values(shown.measure)[run.steps.index(step)]
    if not np.isfinite(values).all():
        return _EMPTY
    found = interval(values)
    digits = shown.digits
    return Cell(f"{found.low:.{digits}f} to {found.high:.{digits}f}", found.low)


def controls(words: Findings) -> Table:
    """Return what each control changes, a row per control and method.

    A column for each kind of features, against the method itself and against lean.
    """
    every: list[Features] = []
    for contrast in words.contrasts:
        every += contrast.to_itself
    kinds = in_order(every)
    header = ["control", "of"]
    for suffix in ("", ", to lean"):
        for features in kinds:
            header.append(f"{features.words}{suffix}")
    rows = []
    for contrast in words.contrasts:
        row = [Cell(contrast.control.words), Cell(contrast.method)]
        for comparisons in (contrast.to_itself, contrast.to_lean):
            for features in kinds:
                row.append(_changed(comparisons.get(features)))
        rows.append(row)
    caption = (
        "What each control does to the error, against the method itself and against "
        "lean learning. Colours go by single intervals: of twenty cells one may be "
        "coloured by chance."
    )
    return Table(header, rows, caption, text=2)


def _changed(comparison: Comparison | None) -> Cell:
    """Return a difference, coloured if it is clear by itself."""
    if comparison is None:
        return Cell("")
    looks = {"better": "best", "worse": "worse"}
    look = looks.get(change(comparison), "")
    return Cell(points(comparison), comparison.difference.mean, look)


def pairs(group: Group) -> Table:
    """Return every run against the first one of its family."""
    runs = group.good
    header = [
        "method",
        "against",
        "difference",
        "95 % interval",
        "effect size",
        "win / tie / loss",
        "p, paired t",
        "p, Nadeau–Bengio",
        "p, Wilcoxon",
        "p, Holm",
    ]
    shown = against_first(runs, group.comparisons)
    rows = [_pair_row(comparison) for comparison in shown]
    caption = (
        f"Differences in cumulative error at {compared_step(runs[0])} "
        f"{runs[0].info.unit}, in points, paired by seed; negative is less error, and "
        "a win a seed with less error."
    )
    return Table(header, rows, caption, text=2)


def _pair_row(c: Comparison) -> list[Cell]:
    """Return how the second run of a comparison stands against the first.

    A family's first run is what the others are judged by, and comparisons subtract the
    second from it: signs are turned, so that a negative number is less error.
    """
    low = -c.difference.high
    high = -c.difference.low
    interval = _EMPTY
    if math.isfinite(low):
        interval = Cell(f"{signed(low)} to {signed(high)}", low)
    return [
        Cell(c.second),
        Cell(c.first),
        Cell(signed(-c.difference.mean), -c.difference.mean),
        interval,
        _number(-c.effect, "+.2f"),
        Cell(f"{c.losses} / {c.ties} / {c.wins}", c.losses),
        _p_cell(c.p_t),
        _p_cell(c.p_corrected),
        _p_cell(c.p_wilcoxon),
        _p_cell(c.p_holm),
    ]


def _p_cell(p: float | None) -> Cell:
    if p is None or math.isnan(p):
        return _EMPTY
    return Cell(p_text(p), p)


def samples_needed(runs: Sequence[Run]) -> Table:
    """Return samples needed to reach errors, and the area under the curve."""
    # Errors that tell runs apart: from where the best ends to where the worst begins.
    curves = [run.mean("test_error") for run in runs]
    low = min(float(curve[-1]) for curve in curves)
    high = max(float(curve[0]) for curve in curves)
    wanted = round_levels(low, high)
    header = ["method"]
    for level in wanted:
        header.append(f"≤ {100 * level:.0f} %")
    header.append("area under the curve, %")
    rows = []
    for run in runs:
        errors = run.values("test_error")
        row = [Cell(run.info.label)]
        for level in wanted:
            found = needed(run.steps, errors, level)
            row.append(_needed_cell(found, run.steps[-1]))
        area = t_interval(100 * area_under_curve(run.steps, errors))
        row.append(_plus_minus(area))
        rows.append(row)
    caption = (
        f"{runs[0].info.unit.capitalize()} until the test error first falls to so "
        "much, and the mean test error over the whole curve; ± 95 % interval over "
        "seeds."
    )
    return Table(header, rows, caption)


def _needed_cell(found: Needed, last: int) -> Cell:
    """Return the samples needed, or in how many seeds no number of them was enough."""
    if found.samples is not None:
        return _plus_minus(found.samples)
    if not found.reached:
        return Cell(f"> {last}", _NEVER)
    never = found.seeds - found.reached
    return Cell(f"> {last} in {never} of {found.seeds}", _NEVER)


def _plus_minus(found: Interval) -> Cell:
    """Return a mean and half of its interval, if it has one: a single seed has none."""
    half = found.high - found.mean
    if not math.isfinite(half):
        return Cell(f"{found.mean:.1f}", found.mean)
    return Cell(f"{found.mean:.1f} ± {half:.1f}", found.mean)


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
    header = ["run", "seeds", "seconds", "fingerprint", "tuned", *own]
    rows = []
    for i, run in enumerate(runs):
        row = [
            Cell(run.info.label),
            _number(run.n_seeds, "d"),
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
            candidates = grid.get(key, ())
            # A better one may lie beyond.
            if len(candidates) > 1 and value in (candidates[0], candidates[-1]):
                shown = f"{shown} (edge of the grid)"
            found.setdefault(key, []).append(shown)
    told = []
    for key, chosen in found.items():
        told.append(f"{key}={'/'.join(in_order(chosen))}")
    return "; ".join(told) or NONE
