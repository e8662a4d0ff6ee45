"""The results as tables: data frames first, then Markdown made of them."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rsbench.report.comparisons import JUDGED_UNDER, comparison_key
from rsbench.report.labels import (
    NONE,
    and_list,
    changed_for_all,
    data_details,
    data_label,
    fitted_on,
    hints,
    in_order,
    is_simulated,
    repeats_text,
    told_text,
    varying,
)
from rsbench.report.paper import CLASSES, not_in_the_paper, published
from rsbench.store.record import Run

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd


#: What tables of tuned runs are called.
TUNED = "Tuned on held-out classes"

#: What stands between the paper's rows and others.
NOT_IN_THE_PAPER = "not in the paper"


@dataclass(frozen=True)
class Tabled:
    """A measure as tables show it: times `scale`, with so many digits."""

    measure: str
    title: str
    scale: int
    digits: int


#: The paper's two tables: errors in %, losses summed over the test set.
TABLED = (
    Tabled("cumulative_error", "cumulative error %", 100, 1),
    Tabled("cumulative_loss", "cumulative loss", 1, 0),
)


@dataclass(frozen=True)
class Results:
    """One measure of runs at the steps of the table, a row per run.

    Parameters
    ----------
    shown : Tabled
        The measure.
    mean, error : DataFrame
        Mean over seeds and its standard error, a column per step, as tables show them;
        NaN where a run does not have the step.
    paper : DataFrame
        The paper's figures; NaN where it has none.
    peers : Series
        A number for each row; those of one number may be ranked with each other. NaN
        for a row that may be ranked with none.
    """

    shown: Tabled
    mean: "pd.DataFrame"
    error: "pd.DataFrame"
    paper: "pd.DataFrame"
    peers: "pd.Series"

    @property
    def best(self) -> "pd.DataFrame":
        """Which means are the lowest of their column, among peers."""
        # A curve that grew beyond all bounds is not the best; nor is a missing one.
        finite = self.mean.where(np.isfinite(self.mean))
        lowest = finite.groupby(self.peers, dropna=False).transform("min")
        is_lowest = finite.eq(lowest)
        # One that has no peers, or none it may be ranked with, is the best of nothing.
        counts = self.peers.map(self.peers.value_counts())
        return is_lowest.where(counts > 1, False)

    @property
    def text(self) -> "pd.DataFrame":
        """Means with their standard errors, as people read them."""
        shown = self.mean.astype(object)
        for step in self.mean.columns:
            cells = []
            for mean, error in zip(self.mean[step], self.error[step], strict=True):
                cells.append(_with_error(mean, error, self.shown.digits))
            shown[step] = cells
        return shown

    @property
    def has_paper(self) -> bool:
        """Whether the paper has figures for any of it."""
        return bool(self.paper.notna().to_numpy().any())


def results(runs: Sequence[Run], shown: Tabled) -> Results:
    """Return a measure of runs at the steps of the table.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs, whose steps may differ: the table has those of all.
    shown : Tabled
        The measure.
    """
    import pandas as pd

    steps: set[int] = set()
    for run in runs:
        steps.update(run.table_steps())
    columns = sorted(steps)
    shape = (len(runs), len(columns))
    means = np.full(shape, np.nan)
    errors = np.full(shape, np.nan)
    cited = np.full(shape, np.nan)
    for i, run in enumerate(runs):
        mean = shown.scale * run.mean(shown.measure)
        error = shown.scale * run.standard_error(shown.measure)
        for j, step in enumerate(columns):
            if step in run.steps:
                at = run.steps.index(step)
                means[i, j] = mean[at]
                errors[i, j] = error[at]
            figure = published(run.info, shown.measure, step)
            if figure is not None:
                cited[i, j] = figure
    return Results(
        shown,
        pd.DataFrame(means, columns=columns),
        pd.DataFrame(errors, columns=columns),
        pd.DataFrame(cited, columns=columns),
        pd.Series(_peers(runs, shown), dtype=float),
    )


def _peers(runs: Sequence[Run], shown: Tabled) -> list[float]:
    """Number runs so that those of one number may be ranked: told the same, above all.

    Losses also need scores on the same scale.
    """
    known: dict[Hashable, int] = {}
    found = []
    for run in runs:
        info = run.info
        is_loss = shown.measure.endswith("_loss")
        answers_another_question = info.control not in (None, *JUDGED_UNDER)
        if answers_another_question or (is_loss and not info.score_scale):
            found.append(math.nan)
            continue
        scale = ""
        if is_loss:
            scale = info.score_scale
        key = (comparison_key(run), info.track, info.control, scale)
        found.append(known.setdefault(key, len(known)))
    return found


def by_track(runs: Sequence[Run]) -> list[Run]:
    """Return runs by what they were told, in their order otherwise.

    Rows that the paper's table does not have come after those that it has.
    """
    below = dict(zip(runs, not_in_the_paper([run.info for run in runs]), strict=True))
    return sorted(runs, key=lambda run: (below[run], run.info.track.order))


def line_after(runs: Sequence[Run]) -> int | None:
    """Return how many rows stand above those that are not in the paper.

    None where no line is needed.
    """
    below = not_in_the_paper([run.info for run in runs])
    if not any(below):
        return None
    return below.index(True)


def _with_error(mean: float, error: float, digits: int) -> str:
    if not math.isfinite(mean):
        return NONE
    if math.isnan(error):  # a single seed
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def names(runs: Sequence[Run]) -> "pd.DataFrame":
    """Return what tells runs apart, a row per run.

    Columns are `method`, `control` if any run has one, `told`, `preprocessor`, and
    settings that differ between runs of one method.
    """
    import pandas as pd

    methods = []
    controls = []
    tolds = []
    preprocessors = []
    for run in runs:
        methods.append(run.info.method)
        controls.append(run.info.control or NONE)
        tolds.append(told_text(run))
        preprocessors.append(run.info.features)
    columns: dict[str, list] = {"method": methods}
    if set(controls) != {NONE}:
        columns["control"] = controls
    columns["told"] = tolds
    columns["preprocessor"] = preprocessors
    columns |= varying(runs)
    # As objects: a column of numbers in which one is missing stays as it was typed.
    return pd.DataFrame(columns, dtype=object)


def make_tables(runs: Sequence[Run]) -> str:
    """Return cumulative error and loss of each run as Markdown, beside the paper's.

    Runs stand by track: what they were told.
    """
    runs = by_track(runs)
    lines = [about(runs), *changed_for_all(runs), *data_details(runs)]
    lines += _other_classes(runs)
    for part in tuned_apart(runs):
        lines += _heading(part, runs)
        for shown in TABLED:
            lines += ["", *_markdown_table(part, shown)]
    lines += ["", *footnotes(runs)]
    if is_simulated(runs):
        warning = (
            "SIMULATED data: these numbers say nothing about the real data set, nor "
            "about the paper's."
        )
        lines += ["", warning, *hints(runs)]
    return "\n".join(lines) + "\n"


def tuned_apart(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs as they are, and tuned ones: a table has the ones or the others."""
    untuned = [run for run in runs if not is_tuned(run)]
    tuned = [run for run in runs if is_tuned(run)]
    return [part for part in (untuned, tuned) if part]


def is_tuned(run: Run) -> bool:
    """Tell whether a run's settings were chosen on held-out classes."""
    return bool(run.info.config.get("tune"))


def _heading(part: Sequence[Run], runs: Sequence[Run]) -> list[str]:
    """Return what a table of tuned runs is called, where others are not."""
    if len(part) == len(runs) or not is_tuned(part[0]):
        return []
    return ["", f"{TUNED}:"]


def about(runs: Sequence[Run]) -> str:
    """Return which data a table is of, and over how many repeats."""
    repeats = " or ".join(in_order([repeats_text(run) for run in runs]))
    mean = "mean"
    if any(run.n_draws * run.n_seeds > 1 for run in runs):
        mean = "mean ± standard error"
    return f"Data: {data_label(runs)}; {mean} over {repeats}."


def footnotes(runs: Sequence[Run]) -> list[str]:
    """Return what stands under every table of runs.

    What their features rest on, where methods are judged, and which differences count
    as none: all set before the run.
    """
    judged = []
    for run in runs:
        judged.append(
            f"Judged at {run.judged_step} {run.info.unit}; equivalent means surely "
            f"within ±{100 * run.info.margin:g} points."
        )
    lines = [*fitted_on(runs), *in_order(judged)]
    scales = {run.info.score_scale for run in runs}
    if len(scales) > 1 or "" in scales:
        lines.append("Losses of learners on scales of their own are not ranked.")
    return [*lines, *_taught_late(runs)]


def _taught_late(runs: Sequence[Run]) -> list[str]:
    """Return a line for learners that do not learn at every step.

    Their cumulative errors are of what they knew before, and so rather too high.
    """
    lines = []
    for run in runs:
        if run.info.taught_at == "table":
            steps = and_list([str(step) for step in run.info.table_steps])
            lines.append(
                f"{run.info.method} is taught only at the steps {steps}: in between it "
                "predicts by what it knew, which adds to its cumulative error."
            )
    return in_order(lines)


def _other_classes(runs: Sequence[Run]) -> list[str]:
    """Return a line for the paper's experiments that came out with other classes."""
    found = set()
    for run in runs:
        experiment = run.info.experiment
        if experiment in CLASSES and run.info.classes != CLASSES[experiment]:
            found.add((experiment, run.info.classes))
    lines = []
    for experiment, count in sorted(found):
        lines.append(
            f"Classes: {count}, in the paper's {experiment} {CLASSES[experiment]}: not "
            "to be compared with its figures."
        )
    return lines


def _markdown_table(runs: Sequence[Run], shown: Tabled) -> list[str]:
    """Return a measure of runs beside the paper's figures, if it has any."""
    found = results(runs, shown)
    table = names(runs)
    # Settings are flush right, most of them being numbers.
    left = int(table.columns.get_loc("preprocessor")) + 1
    for step, cells in found.text.items():
        table[f"@{step}"] = cells
    if found.has_paper:
        for step, figures in found.paper.items():
            cited = []
            for figure in figures:
                if math.isnan(figure):
                    cited.append(NONE)
                else:
                    cited.append(f"{figure:g}")
            table[f"paper @{step}"] = cited
    table = table.rename(columns={"method": shown.title})
    return markdown(table, left, line_after(runs))


def markdown(
    table: "pd.DataFrame", left: int, line_after: int | None = None
) -> list[str]:
    """Return a data frame as an aligned Markdown table, a line each.

    (pandas' own needs a package more, and breaks names with a | or a new line in them.)

    Parameters
    ----------
    table : DataFrame
        The cells.
    left : int
        So many of the first columns are text, the others numbers.
    line_after : int, optional
        Below so many rows a line says that the others are not in the paper.
    """
    columns = []
    for j, title in enumerate(table.columns):
        # By position: two columns may have one name.
        cells = [_one_line(str(cell)) for cell in (title, *table.iloc[:, j])]
        if line_after is not None:
            between = ""
            if j == 0:
                between = f"*{NOT_IN_THE_PAPER}*"
            cells.insert(1 + line_after, between)
        width = max(2, *map(len, cells))  # a ruler of Markdown's has two signs at least
        if j < left:
            pad = str.ljust
            ruler = "-" * width
        else:
            pad = str.rjust
            ruler = "-" * (width - 1) + ":"
        title_cell, *rest = [pad(cell, width) for cell in cells]
        columns.append([title_cell, ruler, *rest])
    lines = []
    for row in zip(*columns, strict=True):
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _one_line(cell: str) -> str:
    """Return text that stays in its cell.

    Names come from files and plugins, and may hold anything.
    """
    return " ".join(cell.split()).replace("|", r"\|")
