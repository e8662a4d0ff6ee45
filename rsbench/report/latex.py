"""The results as a table for LaTeX, as papers have them."""

from collections.abc import Iterable, Sequence
from typing import Any

from rsbench.report.collect import Group, groups
from rsbench.report.labels import changed_for_all, is_simulated
from rsbench.report.pairs import Judged, judged
from rsbench.report.table import (
    NOT_IN_THE_PAPER,
    TABLED,
    about,
    by_track,
    footnotes,
    line_after,
    names,
    results,
)
from rsbench.store.record import Run

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


#: Columns on ranks and counterparts, by title, in order.
_JUDGED = {
    "rank": "rank",
    "difference": "difference",
    "95 % interval": "interval",
    "p": "p",
    "worth": "worth",
}


class _Columns:
    """A table's columns as they are added, with headings over some of them."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.cells: list[list[str]] = []
        self.heads: list[str] = []
        self.rules: list[str] = []

    def add(self, title: str, cells: list[str]) -> None:
        """Add a column."""
        self.titles.append(_latex(title))
        self.cells.append(cells)

    def head(self, title: str, n: int) -> None:
        """Put a heading, and a rule below it, over the last n columns."""
        last = len(self.titles)
        self.heads.append(rf"\multicolumn{{{n}}}{{c}}{{{_latex(title)}}}")
        self.rules.append(rf"\cmidrule(lr){{{last - n + 1}-{last}}}")


def make_latex(runs: Sequence[Run], parts: Sequence[Group] | None = None) -> str:
    """Return the table as the paper's, for LaTeX with booktabs.

    One row per run, by track; errors, then the run against its counterpart, and losses.
    The lowest of each column among methods told the same is in bold.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs.
    parts : sequence of Group, optional
        The runs' groups, if somebody has made them already.
    """
    if parts is None:
        parts = groups(runs)
    rows: list[Run] = []
    said: dict[Run, Judged] = {}
    for part in parts:
        for run in by_track(part.runs):
            rows.append(run)
            said[run] = judged(run, part.claims)
    table = names(rows)
    # A paper's columns are narrow; what all rows share goes without saying.
    if len(set(table["preprocessor"])) == 1:
        table = table.drop(columns="preprocessor")
    columns = _Columns()
    for name in table.columns:
        columns.add(str(name), _as_latex(table[name]))
    n_names = len(table.columns)
    errors, losses = TABLED
    _add_measure(columns, results(rows, errors))
    _add_judged(columns, list(said.values()))
    _add_measure(columns, results(rows, losses))
    return _write(columns, n_names, rows)


def _add_measure(columns: _Columns, found: Any) -> None:
    """Add a measure at each step."""
    for step, cells in found.text.items():
        columns.add(f"@{step}", _in_bold(cells, found.best[step]))
    columns.head(found.shown.title, len(found.mean.columns))


def _add_judged(columns: _Columns, said: Sequence[Judged]) -> None:
    """Add ranks and differences to counterparts, where there are any."""
    nothing = Judged()
    added = 0
    for title, field in _JUDGED.items():
        cells = [vars(each)[field] for each in said]
        if any(cell != vars(nothing)[field] for cell in cells):
            columns.add(title, _as_latex(cells))
            added += 1
    if added:
        columns.head("judged", added)


def _write(columns: _Columns, n_names: int, runs: Sequence[Run]) -> str:
    """Return the table with its frame and caption."""
    alignment = "l" * n_names + "r" * (len(columns.titles) - n_names)
    lines = [r"% \usepackage{booktabs}"]
    if is_simulated(runs):
        lines.append("% SIMULATED data: these numbers are evidence of nothing.")
    lines += [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        " & " * n_names + " & ".join(columns.heads) + r" \\",
        " ".join(columns.rules),
        " & ".join(columns.titles) + r" \\",
        r"\midrule",
    ]
    line = line_after(runs)
    for i, row in enumerate(zip(*columns.cells, strict=True)):
        if i == line:
            width = len(columns.titles)
            note = rf"\multicolumn{{{width}}}{{l}}{{\emph{{{NOT_IN_THE_PAPER}}}}} \\"
            lines += [r"\midrule", note]
        lines.append(" & ".join(row) + r" \\")
    caption = " ".join([about(runs), *changed_for_all(runs), *footnotes(runs)])
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_latex(caption)}}}",
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
