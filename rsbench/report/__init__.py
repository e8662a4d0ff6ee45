"""What a person looks at after a sweep: a table and a figure of its finished runs."""

from rsbench.report.figure import draw
from rsbench.report.table import make_tables

__all__ = ["draw", "make_tables"]
