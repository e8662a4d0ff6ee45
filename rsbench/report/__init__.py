"""What a person looks at after a sweep: words, tables, paired comparisons, figures, and all of it on one page."""

from collections.abc import Sequence
from pathlib import Path

from rsbench.files.atomic import write_whole
from rsbench.report.collect import Group, groups
from rsbench.report.comparisons import make_comparisons
from rsbench.report.figure import draw
from rsbench.report.findings import findings
from rsbench.report.page import make_page
from rsbench.report.table import make_latex, make_tables
from rsbench.store.record import Run

__all__ = [
    "FILES",
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
    "curves.png",
    "curves.pdf",
    "curves.svg",
)


def write_report(runs: list[Run], folder: Path, left_out: Sequence[str] = ()) -> str:
    """Write all files of a report into a folder; the tables and words, for the terminal."""
    parts = groups(runs)
    compared, pairs = _compare_groups(parts)
    text = make_tables(runs) + compared
    if pairs:
        write_whole(folder / "comparisons.csv", pairs)
    else:
        (folder / "comparisons.csv").unlink(
            missing_ok=True
        )  # of an earlier report, on other runs
    write_whole(folder / "table.md", text)
    write_whole(folder / "table.tex", make_latex(runs))
    write_whole(folder / "report.html", make_page(runs, left_out, parts))
    draw(runs, *(folder / f"curves.{ending}" for ending in ("png", "pdf", "svg")))
    return text


def _compare_groups(parts: list[Group]) -> tuple[str, str]:
    """Comparisons within groups of runs that can be compared, in words; and all of their pairs as CSV."""
    text = "".join(f"\n{problem}.\n" for group in parts for problem in group.problems)
    compared, rows = [group for group in parts if group.good], ""
    for group in compared:
        told, pairs = make_comparisons(group) if len(group.good) > 1 else ("", None)
        if len(compared) > 1:
            alone = (
                ""
                if len(group.good) > 1
                else f"{group.good[0].info['label']}: nothing here to compare it with.\n"
            )
            text += f"\n{group.title}:\n{alone}"
        text += f"\n{told}" if told else ""
        if pairs is not None:
            rows += pairs if not rows else pairs.partition("\n")[2]
            text += _in_words(group)
    return text, rows


def _in_words(group: Group) -> str:
    lines = "".join(f"- {line}\n" for line in group.findings.lines)
    return f"\nIn words. {group.findings.note}\n\n{lines}" if lines else ""
