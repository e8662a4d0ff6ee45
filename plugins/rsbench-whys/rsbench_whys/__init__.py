"""Learners that are told why, which rsbench finds once this package is installed.

By what they are told: marks of features (`views`, `svm`, `right_reasons`,
`marked_words`), votes for concepts beside the features (`gaussian`, `bottleneck`,
`distillation`, `svm`), and descriptions of classes (`gaussian`, `eszsl`).
"""

from rsbench import hookimpl
from rsbench_whys.bottleneck import Bottleneck, BottleneckBeside
from rsbench_whys.distillation import Distillation
from rsbench_whys.eszsl import ESZSL
from rsbench_whys.gaussian import GaussianClassVotes, GaussianVotes
from rsbench_whys.marked_words import MarkedNaiveBayes
from rsbench_whys.right_reasons import RightReasons
from rsbench_whys.svm import SVM, ContrastSVM, MarginTransfer
from rsbench_whys.views import Contrast, RidgeView, TwoViews

__all__ = [
    "ESZSL",
    "SVM",
    "Bottleneck",
    "BottleneckBeside",
    "Contrast",
    "ContrastSVM",
    "Distillation",
    "GaussianClassVotes",
    "GaussianVotes",
    "MarginTransfer",
    "MarkedNaiveBayes",
    "RidgeView",
    "RightReasons",
    "TwoViews",
]


@hookimpl
def rsbench_learners() -> dict[str, type]:
    return {
        # Told which features are marked.
        "two_views": TwoViews,
        "contrast": Contrast,
        "contrast_svm": ContrastSVM,
        "right_reasons": RightReasons,
        "ridge_view": RidgeView,
        "naive_bayes_marked": MarkedNaiveBayes,
        # Told votes for concepts.
        "gaussian_votes": GaussianVotes,
        "bottleneck": Bottleneck,
        "bottleneck_beside": BottleneckBeside,
        "distillation": Distillation,
        "margin_transfer": MarginTransfer,
        # Told what classes are like.
        "gaussian_class_votes": GaussianClassVotes,
        "eszsl": ESZSL,
        # What some of them are without.
        "svm": SVM,
    }
