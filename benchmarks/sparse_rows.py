"""Learn from sparse rows: time beside scikit-learn on the same rows, and peak memory.

Documents of words: 100,000 rows of 20,000 features, about 93 of them in each row, a
fifth of these marked. All learn the same blocks of rows through `partial_fit`, with its
checks of input. Memory is that of whole runs from files, in a process of its own: the
peak beyond what the process had before anything was loaded, as a multiple of the CSR
arrays of features and votes.
"""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
import scipy.sparse
from common import Part

from rsbench.learners import NCM, Ellipsotron, Lean, NaiveBayes, Ridge, Softmax

ROWS = 100_000
FEATURES = 20_000
WORDS = 100

#: By name, what is compared; some are told relevance.
LEARNERS: dict[str, Any] = {
    "lean": Lean,
    "ellipsotron": Ellipsotron,
    "ncm": NCM,
    "naive_bayes": NaiveBayes,
}

#: Loads the arrays of a folder, learns from a stream of them, and prints how much
#: memory that took at its peak beyond what the process had before.
_MEASURED = """
import json, re, sys
from pathlib import Path
import scipy.sparse
import rsbench.learners
from rsbench.aggregators import Sample
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.corruptions import Full
from rsbench.datasets import Arrays
from rsbench.preprocessors import Identity
from rsbench.protocols import Stream

def memory(what):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(what + r":\\s+(\\d+)", status)[1])

folder, name, rows = sys.argv[1:]
learner = getattr(rsbench.learners, name)()
protocol = Stream((int(rows) // 2,), test="mask")
setup = Setup(learner, Sample(), Identity(), protocol, Full())
before = memory("VmRSS")
run_seed(setup, load(Arrays(folder), None, folder), 0)
print(json.dumps(memory("VmHWM") - before))
"""


def documents(rows: int, classes: int, seed: int = 0) -> tuple[Any, np.ndarray, Any]:
    """Return counts of words by Zipf's law, classes, and marks on some words.

    Words that are frequent in a class are its own; marks are on those.
    """
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, FEATURES + 1) ** 0.8
    share /= share.sum()
    y = rng.integers(classes, size=rows)
    common_words = rng.choice(FEATURES, size=(rows, WORDS), p=share)
    # Every third word is of the class, as its number says: on hopeless samples the
    # steps of learners with few marked features grow without end.
    own = rng.random((rows, WORDS)) < 1 / 3
    words = np.where(
        own, common_words - common_words % classes + y[:, None], common_words
    )
    words = np.sort(np.minimum(words, FEATURES - 1), axis=1)
    starts = np.arange(0, rows * WORDS + 1, WORDS)
    counts = np.ones(rows * WORDS)
    X = scipy.sparse.csr_array(
        (counts, words.ravel().astype(np.int32), starts.astype(np.int32)),
        shape=(rows, FEATURES),
    )
    X.sum_duplicates()
    Z = X.copy()
    row = np.repeat(np.arange(rows), np.diff(X.indptr))
    Z.data = (X.indices % classes == y[row]).astype(np.float64)
    Z.eliminate_zeros()
    return X, y, Z


def learn(make: Any, X: Any, y: np.ndarray, R: Any, classes: int, block: int) -> None:
    """Learn all rows, a block at a time."""
    learner = make()
    everything = np.arange(classes)
    for start in range(0, X.shape[0], block):
        rows = slice(start, start + block)
        told = {}
        if isinstance(learner, Ellipsotron):
            told = {"relevance": R[rows]}
        learner.partial_fit(X[rows], y[rows], everything, **told)


def learn_by_sgd(X: Any, y: np.ndarray, classes: int, block: int) -> None:
    """Learn all rows with scikit-learn's passive-aggressive machines, likewise."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False
    )
    everything = np.arange(classes)
    for start in range(0, X.shape[0], block):
        rows = slice(start, start + block)
        model.partial_fit(X[rows], y[rows], classes=everything)


def times(rows: int, classes: int, block: int, repeats: int) -> Part:
    """Measure learning from blocks of rows, relative to scikit-learn."""
    X, y, _ = documents(rows, classes)
    row = np.repeat(np.arange(rows), np.diff(X.indptr))
    is_marked = X.indices % classes == y[row]
    R = scipy.sparse.csr_array(
        (np.where(is_marked, 1.0, 1e-10), X.indices, X.indptr), shape=X.shape
    )
    name = "SGDClassifier.partial_fit"
    turns = {name: functools.partial(learn_by_sgd, X, y, classes, block)}
    for each, make in LEARNERS.items():
        turns[each] = functools.partial(learn, make, X, y, R, classes, block)
    turns["softmax"] = functools.partial(learn, Softmax, X, y, R, classes, block)
    found = common.ratios(common.take_turns(turns, repeats), name)
    title = f"{classes} classes, blocks of {block:,}"
    return common.ratio_table(found, title, 1e6 / rows, "µs per sample"), found


def peaks(rows: int, classes: int) -> Part:
    """Measure the memory of whole runs from files."""
    X, y, Z = documents(rows, classes)
    size = 0
    for matrix in (X, Z):
        size += matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    titles = ["learner", "peak beyond the start MB", "times the CSR arrays"]
    cells = []
    values: dict[str, Any] = {"arrays_mb": size / 1e6}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scipy.sparse.save_npz(folder / "X.npz", X, compressed=False)
        scipy.sparse.save_npz(folder / "Z.npz", Z, compressed=False)
        np.save(folder / "y.npy", y)
        np.save(folder / "test.npy", np.arange(rows) % 10 == 0)
        for learner, cls in LEARNERS.items():
            words = [name, cls.__name__, str(rows)]
            command = [sys.executable, "-c", _MEASURED, *words]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            peak = json.loads(done.stdout)
            values[learner] = peak / size
            cells.append([learner, f"{peak / 1e6:.0f}", f"{peak / size:.2f}"])
    return common.table(titles, cells), values


def ridge_of_documents(repeats: int) -> Part:
    """Measure ridge on few documents of many words beside scikit-learn's, refitted."""
    from sklearn.linear_model import RidgeClassifier

    X, y, _ = documents(1000, 2)
    block = 20

    def ours() -> None:
        learner = Ridge()
        for start in range(0, 1000, block):
            rows = slice(start, start + block)
            learner.prequential(X[rows], y[rows], np.arange(2))
            learner.decision_function(X[:1])

    def theirs() -> None:
        for end in range(block, 1001, block):
            RidgeClassifier().fit(X[:end], y[:end])

    turns = {"rsbench, ridge": ours, "RidgeClassifier refitted per step": theirs}
    found = common.ratios(common.take_turns(turns, repeats), "rsbench, ridge")
    return common.ratio_table(found, "1,000 x 20,000, 2 classes, steps of 20"), found


def main(quick: bool) -> Part:
    """Measure time and memory."""
    repeats = 3
    rows = ROWS
    if quick:
        repeats = 1
        rows = ROWS // 10
    lines = common.introduction("Sparse rows", __doc__)
    values: dict[str, Any] = {}
    # In large blocks, which is scikit-learn's best; and as a run with tests feeds them,
    # a step at a time: one row of each class.
    for classes, block in ((2, 1000), (20, 1000), (100, 1000), (2, 2), (20, 20)):
        part = rows
        if block == classes:
            part = rows // 50
        table, found = times(part, classes, block, repeats)
        values[f"{classes} classes, blocks of {block}"] = found
        lines += [*table, ""]
    table, values["ridge"] = ridge_of_documents(repeats)
    lines += [*table, ""]
    table, values["memory"] = peaks(rows, 20)
    lines += ["### Peak memory, 20 classes", "", *table, ""]
    return lines, values


if __name__ == "__main__":
    common.run_alone(main)
