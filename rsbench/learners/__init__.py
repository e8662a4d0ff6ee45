"""Built-in learners; each follows scikit-learn and works in a notebook on its own."""

from rsbench import hookimpl
from rsbench.core.evaluation import stack
from rsbench.core.sparse import check_memory
from rsbench.learners.base import Learner, OnlineLearner, margins_of
from rsbench.learners.batch import BatchLearner
from rsbench.learners.covariance import shrinkage_of, shrunk
from rsbench.learners.from_river import River
from rsbench.learners.from_sklearn import Sklearn
from rsbench.learners.gaussian import Gaussian
from rsbench.learners.linear import LinearLearner, RelevanceLearner
from rsbench.learners.logistic import Logistic
from rsbench.learners.naive_bayes import NaiveBayes
from rsbench.learners.ncm import NCM
from rsbench.learners.negatives import hardest_negative
from rsbench.learners.one_by_one import OneByOne
from rsbench.learners.passive_aggressive import (
    Ellipsotron,
    FeatureScaling,
    Lean,
    PassiveAggressive,
    Variant,
)
from rsbench.learners.ranpac import RanPAC
from rsbench.learners.ridge import Ridge
from rsbench.learners.slda import SLDA
from rsbench.learners.softmax import Softmax
from rsbench.learners.sparse_rows import by_feature
from rsbench.learners.svm_ff import SVMFF, SVMFFBatch
from rsbench.learners.told import (
    OnlineViewLearner,
    OnlineVotesLearner,
    ViewLearner,
    VotesLearner,
    votes_on,
    with_views,
)

__all__ = [
    "NCM",
    "SLDA",
    "SVMFF",
    "BatchLearner",
    "Ellipsotron",
    "FeatureScaling",
    "Gaussian",
    "Lean",
    "Learner",
    "LinearLearner",
    "Logistic",
    "NaiveBayes",
    "OneByOne",
    "OnlineLearner",
    "OnlineViewLearner",
    "OnlineVotesLearner",
    "PassiveAggressive",
    "RanPAC",
    "RelevanceLearner",
    "Ridge",
    "River",
    "SVMFFBatch",
    "Sklearn",
    "Softmax",
    "Variant",
    "ViewLearner",
    "VotesLearner",
    "by_feature",
    "check_memory",
    "hardest_negative",
    "margins_of",
    "shrinkage_of",
    "shrunk",
    "stack",
    "votes_on",
    "with_views",
]


@hookimpl
def rsbench_learners() -> dict[str, type]:
    return {
        # The paper's, and what it compares with.
        "lean": Lean,
        "feature_scaling": FeatureScaling,
        "ellipsotron": Ellipsotron,
        "svm_ff": SVMFF,
        "svm_ff_batch": SVMFFBatch,
        # Told nothing but labels.
        "ncm": NCM,
        "ridge": Ridge,
        "ranpac": RanPAC,
        "slda": SLDA,
        "softmax": Softmax,
        "logistic": Logistic,
        "naive_bayes": NaiveBayes,
        # Told labels of other classes.
        "gaussian": Gaussian,
        # Those of other libraries, by name.
        "sklearn": Sklearn,
        "river": River,
    }
