"""What a person looks at after a sweep: tables, paired comparisons and a figure of its finished runs."""

from rsbench.report.comparisons import make_comparisons
from rsbench.report.figure import draw
from rsbench.report.table import make_tables

__all__ = ["draw", "make_comparisons", "make_tables"]
