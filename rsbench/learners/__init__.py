"""Built-in learners; each follows scikit-learn and works in a notebook on its own."""

from rsbench import hookimpl
from rsbench.learners.base import Learner
from rsbench.learners.linear import LinearLearner, RelevanceLearner
from rsbench.learners.passive_aggressive import (
    Ellipsotron,
    FeatureScaling,
    Lean,
    PassiveAggressive,
)
from rsbench.learners.svm_ff import SVMFF, SVMFFBatch

__all__ = [
    "SVMFF",
    "Ellipsotron",
    "FeatureScaling",
    "Lean",
    "Learner",
    "LinearLearner",
    "PassiveAggressive",
    "RelevanceLearner",
    "SVMFFBatch",
]


@hookimpl
def rsbench_learners() -> dict[str, type]:
    return {
        "lean": Lean,
        "feature_scaling": FeatureScaling,
        "ellipsotron": Ellipsotron,
        "svm_ff": SVMFF,
        "svm_ff_batch": SVMFFBatch,
    }
