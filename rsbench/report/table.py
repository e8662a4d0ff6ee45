"""The comparison as text: readable in a terminal, and as Markdown."""

import math

from rsbench.report.labels import data_details, data_label, hints, is_simulated, varying
from rsbench.report.paper import CLASSES, published
from rsbench.store.record import Run

#: What tables show: measure, title, by how much it is multiplied, digits.
MEASURES = (
    ("cumulative_error", "cumulative error %", 100, 1),
    ("cumulative_loss", "cumulative loss", 1, 0),
)


def make_tables(runs: list[Run]) -> str:
    """Cumulative error and loss of each run, mean ± standard error, beside the paper's figures."""
    lines = [_about(runs)]
    lines += [*data_details(runs), *_other_classes(runs)]
    for measure, title, scale, digits in MEASURES:
        lines += ["", *_table(runs, measure, title, scale, digits)]
    if is_simulated(runs):
        lines += [
            "",
            "SIMULATED data: these numbers say nothing about the real data set, nor about the paper's.",
        ]
        lines += hints(runs)
    return "\n".join(lines) + "\n"


def _about(runs: list[Run]) -> str:
    seeds = sorted({run.seeds for run in runs})
    count = " or ".join(map(str, seeds))
    return f"Data: {data_label(runs)}; mean ± standard error over {count} seed{'' if seeds == [1] else 's'}."


def _other_classes(runs: list[Run]) -> list[str]:
    """A line for experiments of the paper whose number of classes came out differently."""
    found = {
        (run.info["experiment"], run.info["classes"])
        for run in runs
        if run.info["experiment"] in CLASSES
    }
    return [
        f"Classes: {count}, in the paper's {experiment} {CLASSES[experiment]}: not to be compared with its figures."
        for experiment, count in sorted(found)
        if count != CLASSES[experiment]
    ]


def _table(
    runs: list[Run], measure: str, title: str, scale: float, digits: int
) -> list[str]:
    steps = sorted({step for run in runs for step in run.table_steps()})
    extra = varying(runs)
    cited = [[published(run.info, measure, step) for step in steps] for run in runs]
    with_paper = any(figure is not None for row in cited for figure in row)
    header = [title, "preprocessor", *extra, *(f"@{step}" for step in steps)]
    if with_paper:
        header += [f"paper @{step}" for step in steps]
    rows = []
    for i, run in enumerate(runs):
        row = [
            run.info["method"],
            run.info["preprocessor"],
            *(f"{values[i]}" for values in extra.values()),
        ]
        row += [mean_text(run, measure, step, scale, digits) for step in steps]
        if with_paper:
            row += ["–" if figure is None else f"{figure:g}" for figure in cited[i]]
        rows.append(row)
    return markdown([header, *rows], left=2)


def mean_text(run: Run, measure: str, step: int, scale: float, digits: int) -> str:
    """A run's mean and standard error at a step, or a dash."""
    if step not in run.steps:
        return "–"
    i = run.steps.index(step)
    mean = scale * run.mean(measure)[i]
    if not math.isfinite(mean):
        return "–"
    deviation = scale * run.standard_error(measure)[i]
    return f"{mean:.{digits}f}" + (
        "" if math.isnan(deviation) else f" ± {deviation:.{digits}f}"
    )


def make_latex(runs: list[Run]) -> str:
    """The table as the paper's: booktabs, one row per run, errors beside losses, the best of each column in bold."""
    steps = sorted({step for run in runs for step in run.table_steps()})
    extra = varying(runs)
    several = len({run.info["preprocessor"] for run in runs}) > 1
    names = ["method", *(["preprocessor"] if several else []), *extra]
    best = {
        (measure, step): lowest(runs, measure, step)
        for measure, _, _, _ in MEASURES
        for step in steps
    }
    lines = []
    for i, run in enumerate(runs):
        words = [run.info["method"], *([run.info["preprocessor"]] if several else [])]
        cells = [
            _latex(str(word))
            for word in (*words, *(values[i] for values in extra.values()))
        ]
        for measure, _, scale, digits in MEASURES:
            for step in steps:
                cell = mean_text(run, measure, step, scale, digits)
                shown = cell.replace(" ± ", r" $\pm$ ").replace("–", "--")
                cells.append(
                    rf"\textbf{{{shown}}}" if run in best[measure, step] else shown
                )
        lines.append(" & ".join(cells) + r" \\")
    left, n = len(names), len(steps)
    heads = [
        rf"\multicolumn{{{n}}}{{c}}{{{_latex(title)}}}" for _, title, _, _ in MEASURES
    ]
    rules = [
        rf"\cmidrule(lr){{{left + 1 + k * n}-{left + (k + 1) * n}}}"
        for k in range(len(heads))
    ]
    at = [f"@{step}" for step in steps] * len(heads)
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            *(
                ["% SIMULATED data: these numbers are evidence of nothing."]
                if is_simulated(runs)
                else []
            ),
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{'l' * left}{'r' * (n * len(heads))}}}",
            r"\toprule",
            " & " * (left - 1) + " & " + " & ".join(heads) + r" \\",
            " ".join(rules),
            " & ".join([*map(_latex, names), *at]) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_latex(_about(runs))}}}",
            r"\end{table}",
            "",
        ]
    )


def lowest(runs: list[Run], measure: str, step: int) -> list[Run]:
    """The runs with the lowest mean at a step."""
    means = {
        i: run.mean(measure)[run.steps.index(step)]
        for i, run in enumerate(runs)
        if step in run.steps
    }
    finite = [mean for mean in means.values() if math.isfinite(mean)]
    return [runs[i] for i, mean in means.items() if finite and mean == min(finite)]


def _latex(text: str) -> str:
    """Text that means itself to LaTeX."""
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
    }
    special |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}", '"': r"\textquotedbl{}"}
    return "".join(special.get(sign, sign) for sign in " ".join(text.split()))


def markdown(rows: list[list[str]], left: int) -> list[str]:
    """Rows as an aligned Markdown table whose first columns are text and the others numbers."""
    rows = [[_one_line(cell) for cell in row] for row in rows]
    widths = [
        max(2, *(len(cell) for cell in column)) for column in zip(*rows, strict=True)
    ]
    ruler = [
        "-" * width if i < left else "-" * (width - 1) + ":"
        for i, width in enumerate(widths)
    ]
    lines = []
    for row in (rows[0], ruler, *rows[1:]):
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _one_line(cell: str) -> str:
    """Text that stays in its cell."""
    return " ".join(cell.split()).replace("|", r"\|")
