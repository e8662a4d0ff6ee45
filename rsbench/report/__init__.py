"""What a person looks at after a sweep: words, tables, paired comparisons, figures, and all of it on one page."""

from collections.abc import Sequence
from pathlib import Path

from rsbench.files import write_whole
from rsbench.report.collect import groups, not_numbers
from rsbench.report.comparisons import make_comparisons
from rsbench.report.figure import draw
from rsbench.report.findings import findings
from rsbench.report.labels import group_titles
from rsbench.report.page import make_page
from rsbench.report.table import make_latex, make_tables
from rsbench.results import Run

__all__ = ["FILES", "draw", "findings", "make_comparisons", "make_latex", "make_page", "make_tables", "write_report"]

#: What a report consists of; `comparisons.csv` only where there are runs to compare.
FILES = ("report.html", "table.md", "table.tex", "comparisons.csv", "curves.png", "curves.pdf", "curves.svg")


def write_report(runs: list[Run], folder: Path, left_out: Sequence[str] = ()) -> str:
    """Write all files of a report into a folder; the tables and words, for the terminal."""
    compared, pairs = _compare_groups(runs)
    text = make_tables(runs) + compared
    if pairs:
        write_whole(folder / "comparisons.csv", pairs)
    else:
        (folder / "comparisons.csv").unlink(missing_ok=True)  # of an earlier report, on other runs
    write_whole(folder / "table.md", text)
    write_whole(folder / "table.tex", make_latex(runs))
    write_whole(folder / "report.html", make_page(runs, left_out))
    draw(runs, *(folder / f"curves.{ending}" for ending in ("png", "pdf", "svg")))
    return text


def _compare_groups(runs: list[Run]) -> tuple[str, str]:
    """Comparisons within groups of runs that can be compared, in words; and all of their pairs as CSV."""
    good = [run for run in runs if not not_numbers(run)]
    text = "".join(f"\n{problem}.\n" for run in runs if (problem := not_numbers(run)))
    found, rows = groups(good), ""
    for group, title in zip(found, group_titles(found), strict=True):
        told, pairs = make_comparisons(group) if len(group) > 1 else ("", None)
        if len(found) > 1:
            alone = "" if len(group) > 1 else f"{group[0].info['label']}: nothing here to compare it with.\n"
            text += f"\n{title}:\n{alone}"
        text += f"\n{told}" if told else ""
        if pairs is not None:
            rows += pairs if not rows else pairs.partition("\n")[2]
            text += _in_words(group)
    return text, rows


def _in_words(runs: list[Run]) -> str:
    found = findings(runs)
    lines = "".join(f"- {line}\n" for line in found.lines)
    return f"\nIn words. {found.note}\n\n{lines}" if lines else ""
