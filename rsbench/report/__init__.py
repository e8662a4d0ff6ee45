"""What a person looks at after a sweep.

Words, tables, paired comparisons, figures, all of it on one page, and the numbers as
one data frame.
"""

from collections.abc import Sequence
from pathlib import Path

from rsbench.files.atomic import CHOOSE_FOLDER, write_atomic
from rsbench.report.claims import claims
from rsbench.report.collect import Group, groups
from rsbench.report.figure import draw, render
from rsbench.report.findings import findings
from rsbench.report.latex import make_latex
from rsbench.report.page import make_page
from rsbench.report.pairs import make_comparisons, pairs_csv
from rsbench.report.table import make_tables
from rsbench.store.record import Run
from rsbench.store.results import to_parquet

__all__ = [
    "FILES",
    "claims",
    "draw",
    "findings",
    "make_comparisons",
    "make_latex",
    "make_page",
    "make_tables",
    "write_report",
]

#: What a report consists of; `comparisons.csv` only where there are runs to compare.
FILES = (
    "report.html",
    "table.md",
    "table.tex",
    "comparisons.csv",
    "results.parquet",
    "curves.png",
    "curves.pdf",
    "curves.svg",
)


def write_report(
    runs: Sequence[Run],
    folder: Path,
    left_out: Sequence[str] = (),
    fix: str = CHOOSE_FOLDER,
) -> str:
    """Write all files of a report into a folder.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs, in the order of the tables.
    folder : Path
        An existing folder.
    left_out : sequence of str
        A line for each run that could not be taken.
    fix : str
        What helps if the folder cannot be written to.

    Returns
    -------
    str
        The tables and words, for the terminal; those of table.md.
    """
    parts = groups(runs)
    text = _answers(parts) + make_tables(runs) + _compared(parts)
    # All are made before any is written: one that fails leaves the earlier report.
    files: dict[str, str | bytes] = {
        "report.html": make_page(runs, left_out, parts),
        "table.md": text,
        "table.tex": make_latex(runs, parts),
        "results.parquet": to_parquet(runs),
    }
    for ending, image in render(runs, ("png", "pdf", "svg")).items():
        files[f"curves.{ending}"] = image
    compared = []
    for group in parts:
        compared += group.comparisons
    if compared:
        files["comparisons.csv"] = pairs_csv(compared)
    for name, content in files.items():
        write_atomic(folder / name, content, fix)
    if not compared:  # but an earlier report, on other runs, may have had some
        (folder / "comparisons.csv").unlink(missing_ok=True)
    return text


def _answers(parts: Sequence[Group]) -> str:
    """Return the answer of each group, which stands before everything else."""
    told = [group for group in parts if group.findings.answer]
    text = ""
    for group in told:
        if len(told) > 1:
            text += f"{group.title}:\n"
        text += "\n".join(group.findings.answer) + "\n\n"
    return text


def _compared(parts: Sequence[Group]) -> str:
    """Return comparisons and sentences of each group, for the terminal."""
    text = ""
    for group in parts:
        for problem in group.problems:
            text += f"\n{problem}.\n"
    compared = [group for group in parts if group.good]
    # A title tells groups apart; a single one has nothing to be told from.
    several = len(compared) > 1
    for group in compared:
        told = make_comparisons(group)
        if several:
            text += f"\n{group.title}:\n"
            if len(group.good) == 1 and not told:
                label = group.good[0].info.label
                text += f"{label}: nothing here to compare it with.\n"
        if told:
            text += f"\n{told}"
        text += _in_words(group)
    return text


def _in_words(group: Group) -> str:
    """Return what the answer rests on as a list; nothing where there is nothing."""
    found = group.findings
    if not found.details:
        return ""
    text = f"\nIn words. {found.note}\n\n"
    for line in found.details:
        text += f"- {line}\n"
    return text
