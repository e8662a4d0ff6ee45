"""Built-in aggregators: from annotations to relevance, the diagonal of S^-1."""

from rsbench import hookimpl
from rsbench.aggregators.class_soft import ClassSoft
from rsbench.aggregators.class_threshold import ClassThreshold
from rsbench.aggregators.cross_classes import CrossClasses
from rsbench.aggregators.ones import Ones
from rsbench.aggregators.sample import Sample

__all__ = ["ClassSoft", "ClassThreshold", "CrossClasses", "Ones", "Sample"]


@hookimpl
def rsbench_aggregators() -> dict[str, type]:
    """Offer them under the names that configs use."""
    return {
        "sample": Sample,
        "class_soft": ClassSoft,
        "class_threshold": ClassThreshold,
        "cross_classes": CrossClasses,
        "none": Ones,
    }
