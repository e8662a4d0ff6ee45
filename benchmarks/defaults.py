"""Try the defaults of learners that are told nothing but labels, on several data sets.

    python benchmarks/defaults.py [FEATURES.npz]

Cumulative error in % at 20 samples per class, five seeds, for a grid of each learner's
one parameter: on digits, wine and breast cancer, which come with scikit-learn; with a
file of features as docs/reproduction.md describes it, also on these and on attribute
scores, of the 25 species that its first draw holds out. The last row is by how much the
default is worse than the best of the grid.
"""

import argparse
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np

import rsbench
from rsbench.core.tuning import held_out
from rsbench.datasets import CUB
from rsbench.extractors import Precomputed
from rsbench.learners import SLDA, Logistic, NaiveBayes, RanPAC, Ridge, Softmax
from rsbench.preprocessors import Identity, Standardize
from rsbench.protocols import PerClass

#: By learner, its parameter, the values to try and the default.
GRIDS: dict[str, tuple[Any, str, list[Any], Any]] = {
    "ridge": (Ridge, "alpha", [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0], 0.2),
    "ranpac": (RanPAC, "alpha", [0.01, 0.03, 0.1, 0.3, 1.0], 0.1),
    "slda": (SLDA, "shrinkage", ["oas", 0.01, 0.1, 0.3, 0.5, 0.9], "oas"),
    "softmax": (Softmax, "rate", [0.3, 1.0, 2.0, 3.0, 5.0, 10.0], 3.0),
    "logistic": (Logistic, "alpha", [0.001, 0.003, 0.01, 0.03, 0.1, 1.0], 0.01),
    "naive_bayes": (NaiveBayes, "alpha", [0.01, 0.1, 0.3, 1.0, 3.0], 1.0),
}


def data_sets(features: Path | None) -> dict[str, tuple[rsbench.Data, Any]]:
    """Return data sets with the preprocessor that each is learned with."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    seen = Standardize(fit_on="seen")
    found: dict[str, tuple[rsbench.Data, Any]] = {}
    for name, read, preprocessor in (
        ("digits", load_digits, Identity()),
        ("wine", load_wine, seen),
        ("breast cancer", load_breast_cancer, seen),
    ):
        X, y = read(return_X_y=True)
        Z = np.zeros(X.shape, bool)
        found[name] = (rsbench.Data(X=X, y=y, Z=Z), preprocessor)
    if features is None:
        return found
    images = CUB(root=str(features), split=(75, 25, 50)).load()
    scores = Precomputed(path=str(features), unseen_validation=True).extract(images)
    found["scores, raw"] = (held_out(scores), Identity())
    found["scores, standardised"] = (held_out(scores), Standardize())
    raw = np.load(features)
    assert images.training is not None
    names = raw["class_names"].tolist()
    taken = {names.index(each) for each in images.names.classes}
    rows = ~np.isin(raw["y"], list(taken))
    deep = raw["features"][rows].astype(np.float32)
    kept = images.training.validation
    _, y = np.unique(images.training.y[kept], return_inverse=True)
    Z = np.zeros((int(kept.sum()), deep.shape[1]), bool)
    found["deep features"] = (rsbench.Data(X=deep[kept], y=y, Z=Z), Identity())
    return found


def errors(
    data: rsbench.Data, preprocessor: Any, makers: dict[str, Any]
) -> dict[str, float]:
    """Return the cumulative error of each learner, in %."""
    fewest = int(np.bincount(data.y).min())
    results = rsbench.run(
        data,
        makers,
        preprocessor=preprocessor,
        protocol=PerClass(min(20, fewest // 2)),
        seeds=5,
        counterparts=False,
        cache=False,
    )
    last = results.frame[results.frame["step"] == results.frame["step"].max()]
    means = last.groupby("method")["cumulative_error"].mean()
    return {name: 100 * float(means[name]) for name in makers}


def main() -> None:
    """Print a table for each learner."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path, nargs="?")
    sets = data_sets(parser.parse_args().features)
    for learner, (cls, parameter, values, default) in GRIDS.items():
        makers = {str(value): cls(**{parameter: value}) for value in values}
        columns = {}
        for name, (data, preprocessor) in sets.items():
            # Naive Bayes is for counts, which digits are.
            if learner == "naive_bayes" and name != "digits":
                continue
            columns[name] = errors(data, preprocessor, makers)
        rows = []
        for value in makers:
            shown = f"**{value}**" if value == str(default) else value
            cells = [f"{found[value]:.1f}" for found in columns.values()]
            rows.append([shown, *cells])
        worse = []
        for found in columns.values():
            worse.append(f"{found[str(default)] - min(found.values()):.1f}")
        rows.append(["default less best", *worse])
        print(f"### {learner}\n")
        print("\n".join(common.table([parameter, *columns], rows)), end="\n\n")


if __name__ == "__main__":
    main()
