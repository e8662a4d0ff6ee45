"""The results as tables: data frames first, then Markdown and LaTeX made of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbench.report.labels import (
    NONE,
    changed_for_all,
    data_details,
    data_label,
    hints,
    is_simulated,
    seeds_text,
    varying,
)
from rsbench.report.paper import CLASSES, published
from rsbench.store.record import Run

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd

#: What LaTeX would take for something else than text.
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


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
    """

    shown: Tabled
    mean: "pd.DataFrame"
    error: "pd.DataFrame"
    paper: "pd.DataFrame"

    @property
    def best(self) -> "pd.DataFrame":
        """Which means are the lowest of their column."""
        # A curve that grew beyond all bounds is not the best; nor is a missing one.
        finite = self.mean.where(np.isfinite(self.mean))
        return finite.eq(finite.min())

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
    )


def _with_error(mean: float, error: float, digits: int) -> str:
    if not math.isfinite(mean):
        return NONE
    if math.isnan(error):  # a single seed
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def names(runs: Sequence[Run]) -> "pd.DataFrame":
    """Return what tells runs apart, a row per run.

    Columns are `method`, `control` if any run has one, `preprocessor`, and settings
    that differ between runs of one method.
    """
    import pandas as pd

    methods = []
    controls = []
    preprocessors = []
    for run in runs:
        methods.append(run.info.method)
        controls.append(run.info.control or NONE)
        preprocessors.append(run.info.features)
    columns: dict[str, list] = {"method": methods}
    if set(controls) != {NONE}:
        columns["control"] = controls
    columns["preprocessor"] = preprocessors
    columns |= varying(runs)
    # As objects: a column of numbers in which one is missing stays as it was typed.
    return pd.DataFrame(columns, dtype=object)


def make_tables(runs: Sequence[Run]) -> str:
    """Return cumulative error and loss of each run as Markdown, beside the paper's."""
    lines = [_about(runs), *changed_for_all(runs), *data_details(runs)]
    lines += _other_classes(runs)
    for shown in TABLED:
        lines += ["", *_markdown_table(runs, shown)]
    if is_simulated(runs):
        warning = (
            "SIMULATED data: these numbers say nothing about the real data set, nor "
            "about the paper's."
        )
        lines += ["", warning, *hints(runs)]
    return "\n".join(lines) + "\n"


def _about(runs: Sequence[Run]) -> str:
    return f"Data: {data_label(runs)}; mean ± standard error over {seeds_text(runs)}."


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
    left = table.columns.get_loc("preprocessor") + 1
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
    return markdown(table.rename(columns={"method": shown.title}), left)


def markdown(table: "pd.DataFrame", left: int) -> list[str]:
    """Return a data frame as an aligned Markdown table, a line each.

    The first `left` columns are text, the others numbers. (pandas' own needs a package
    more, and breaks names with a | or a new line in them.)
    """
    columns = []
    for j, title in enumerate(table.columns):
        # By position: two columns may have one name.
        cells = [_one_line(str(cell)) for cell in (title, *table.iloc[:, j])]
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


def make_latex(runs: Sequence[Run]) -> str:
    """Return the table as the paper's, for LaTeX with booktabs.

    One row per run, errors beside losses, the lowest of each column in bold.
    """
    table = names(runs)
    # A paper's columns are narrow; what all rows share goes without saying.
    if len(set(table["preprocessor"])) == 1:
        table = table.drop(columns="preprocessor")
    titles = _as_latex(table.columns)
    columns = [_as_latex(table[name]) for name in table.columns]
    heads = []
    rules = []
    for shown in TABLED:
        found = results(runs, shown)
        first = len(titles) + 1
        for step, cells in found.text.items():
            titles.append(f"@{step}")
            columns.append(_in_bold(cells, found.best[step]))
        # A heading over the columns of each measure, and a rule below it.
        n = len(found.mean.columns)
        heads.append(rf"\multicolumn{{{n}}}{{c}}{{{_latex(shown.title)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{len(titles)}}}")
    n_names = len(table.columns)
    alignment = "l" * n_names + "r" * (len(titles) - n_names)
    lines = [r"% \usepackage{booktabs}"]
    if is_simulated(runs):
        lines.append("% SIMULATED data: these numbers are evidence of nothing.")
    lines += [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        " & " * n_names + " & ".join(heads) + r" \\",
        " ".join(rules),
        " & ".join(titles) + r" \\",
        r"\midrule",
    ]
    for row in zip(*columns, strict=True):
        lines.append(" & ".join(row) + r" \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_latex(' '.join([_about(runs), *changed_for_all(runs)]))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _as_latex(cells: Iterable[Any]) -> list[str]:
    return [_latex(str(cell)) for cell in cells]


def _in_bold(cells: Sequence[str], best: Sequence[bool]) -> list[str]:
    """Return cells for LaTeX, the best ones in bold."""
    found = []
    for cell, is_best in zip(cells, best, strict=True):
        shown = _latex(cell)
        if is_best:
            shown = rf"\textbf{{{shown}}}"
        found.append(shown)
    return found


def _latex(text: str) -> str:
    """Return text that means itself to LaTeX, on one line."""
    one_line = " ".join(text.split())
    return "".join(_LATEX.get(sign, sign) for sign in one_line)
