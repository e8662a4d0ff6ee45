"""Built-in aggregators: from annotations to relevance, the diagonal of S^-1."""

from rsbench import hookimpl
from rsbench.aggregators.class_level import ClassSoft, ClassThreshold, CrossClasses
from rsbench.aggregators.sample import Ones, Sample

__all__ = ["ClassSoft", "ClassThreshold", "CrossClasses", "Ones", "Sample"]


@hookimpl
def rsbench_aggregators() -> dict[str, type]:
    return {
        "sample": Sample,
        "class_soft": ClassSoft,
        "class_threshold": ClassThreshold,
        "cross_classes": CrossClasses,
        "none": Ones,
    }
