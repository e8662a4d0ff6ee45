"""Time the learners that are told nothing but labels, beside refitting and a floor.

All learn the same stream, a step at a time. Ours also give, for every sample, the
margin just before it was learned, which refitting per sample would be needed for. The
floor of ridge is what no exact solution can do without: the products of features of
each step's samples, and a Cholesky factor a step. Cost per update is that of all
learners on one shape, with a test's weights ready after each step; those of the package
rsbench-classics are among them, if it is installed.
"""

import functools
from collections.abc import Callable
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part
from updates import Problem, Shape, make_problem

from rsbench.core.data import Background
from rsbench.learners import (
    NCM,
    SLDA,
    Ellipsotron,
    Gaussian,
    Lean,
    Logistic,
    NaiveBayes,
    RanPAC,
    Ridge,
    Softmax,
)
from rsbench.learners.batch import few_samples_per_class

CUB = Shape(50, 312, samples=1250, step=50, tests=1500)
WIDE = Shape(200, 2048, samples=5000, step=200, tests=500)


def steps(p: Problem) -> list[slice]:
    """Return the rows of each step."""
    return [slice(at, at + p.step) for at in range(0, len(p.y), p.step)]


def ours(p: Problem, make: Callable[[], Any]) -> None:
    """Learn the whole stream, step by step, ready to predict after each."""
    learner = make()
    classes = np.arange(p.classes)
    if learner.prepare is not None:
        learner.prepare(background=Background(p.test, np.arange(len(p.test)) % 60))
    for rows in steps(p):
        told = {}
        if isinstance(learner, Ellipsotron):
            told = {"relevance": p.R[rows]}
        if learner.batch:
            learner.partial_fit(p.X[rows], p.y[rows], classes)
        else:
            learner.prequential(p.X[rows], p.y[rows], classes, **told)
        learner.decision_function(p.test[:1])


def refitted(p: Problem, make: Callable[[], Any], every: int, first: int = 0) -> None:
    """Fit an estimator anew to all samples so far, after each `every` of them.

    Before `first` samples it is not fitted, where it cannot be.
    """
    with few_samples_per_class():
        for end in range(max(every, first), len(p.y) + 1, every):
            make().fit(p.X[:end], p.y[:end])


def products_and_factors(p: Problem) -> None:
    """Add up products of features, and factor them after each step."""
    from scipy.linalg import cholesky

    d = p.X.shape[1]
    gram = np.zeros((d, d))
    for rows in steps(p):
        gram += p.X[rows].T @ p.X[rows]
        cholesky(gram + np.eye(d), lower=True, overwrite_a=True, check_finite=False)


def ridge_beside_refitting(repeats: int) -> Part:
    """Measure ridge on CUB's shape beside scikit-learn's, refitted."""
    from sklearn.linear_model import RidgeClassifier

    p = make_problem(CUB)
    name = "rsbench, ridge"
    turns = {
        name: functools.partial(ours, p, Ridge),
        "RidgeClassifier refitted per step": functools.partial(
            refitted, p, RidgeClassifier, p.step
        ),
        "RidgeClassifier refitted per sample": functools.partial(
            refitted, p, RidgeClassifier, 1, first=2
        ),
    }
    found = common.ratios(common.take_turns(turns, repeats), name)
    return common.ratio_table(found, "50 x 312", 1e6 / len(p.y), "µs per sample"), found


def ridge_against_the_floor(repeats: int) -> Part:
    """Measure ridge on a wide shape against what it cannot do without."""
    p = make_problem(WIDE)
    name = "Gram products and a Cholesky factor per step"
    turns = {
        name: functools.partial(products_and_factors, p),
        "rsbench, ridge": functools.partial(ours, p, Ridge),
    }
    found = common.ratios(common.take_turns(turns, repeats), name)
    return common.ratio_table(found, "200 x 2,048"), found


def ncm_beside_refitting(repeats: int) -> Part:
    """Measure the nearest class mean beside scikit-learn's, refitted per sample."""
    from sklearn.neighbors import NearestCentroid

    p = make_problem(CUB)
    name = "rsbench, ncm"
    turns = {
        name: functools.partial(ours, p, NCM),
        # It cannot be fitted to one sample of each class.
        "NearestCentroid refitted per sample": functools.partial(
            refitted, p, NearestCentroid, 1, first=p.classes + 1
        ),
    }
    found = common.ratios(common.take_turns(turns, repeats), name)
    return common.ratio_table(found, "50 x 312", 1e6 / len(p.y), "µs per sample"), found


def classics() -> dict[str, Callable[[], Any]]:
    """Return the learners of rsbench-classics by name, if it is installed."""
    try:
        import rsbench_classics
    except ImportError:
        return {}
    return rsbench_classics.rsbench_learners()


def cost_per_update(repeats: int) -> Part:
    """Measure all learners on CUB's shape, relative to lean."""
    p = make_problem(CUB)
    makers: dict[str, Callable[[], Any]] = {
        "lean": Lean,
        "ellipsotron": Ellipsotron,
        "ncm": NCM,
        "ncm, cosine": functools.partial(NCM, "cosine"),
        "ridge": Ridge,
        "ranpac": functools.partial(RanPAC, random_state=0),
        "slda": SLDA,
        "softmax": Softmax,
        "logistic": Logistic,
        "naive_bayes": NaiveBayes,
        "gaussian": Gaussian,
        **classics(),
    }
    # Naive Bayes is for counts, and what others learn does not depend on the sign.
    p = Problem(np.abs(p.X), p.y, p.R, np.abs(p.test), p.classes, p.step)
    turns = {name: functools.partial(ours, p, make) for name, make in makers.items()}
    found = common.ratios(common.take_turns(turns, repeats), "lean")
    return common.ratio_table(found, "50 x 312", 1e6 / len(p.y), "µs per sample"), found


def main(quick: bool) -> Part:
    """Measure all of it."""
    repeats = 5
    if quick:
        repeats = 1
    lines = common.introduction("Opponents", __doc__)
    values = {}
    for measure in (
        ridge_beside_refitting,
        ridge_against_the_floor,
        ncm_beside_refitting,
        cost_per_update,
    ):
        title = measure.__name__.replace("_", " ").capitalize()
        table, values[measure.__name__] = measure(repeats)
        lines += [f"### {title}", "", *table, ""]
    return lines, values


if __name__ == "__main__":
    common.run_alone(main)
