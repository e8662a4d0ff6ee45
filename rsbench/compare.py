"""Paired statistics of finished runs, for scripts and notebooks.

`compare` takes runs; everything else takes arrays.
"""

from rsbench.core.statistics import (
    Interval,
    Needed,
    area_under_curve,
    bootstrap_interval,
    holm,
    needed,
    paired_t,
    t_interval,
    wilcoxon,
)
from rsbench.report.comparisons import Comparison, compare

__all__ = [
    "Comparison",
    "Interval",
    "Needed",
    "area_under_curve",
    "bootstrap_interval",
    "compare",
    "holm",
    "needed",
    "paired_t",
    "t_interval",
    "wilcoxon",
]
