"""Opponents worth beating, as whole commands: tracks, fair tuning, other libraries' learners, sparse files."""

import json
import re

import numpy as np
import pytest
import scipy.sparse

from tests.helpers import SMALL


def records(folder):
    """What run.json says of each job of the only sweep, by its label."""
    found = {}
    for path in folder.glob("outputs/sweeps/*/*/run.json"):
        info = json.loads(path.read_text())
        found[info["label"]] = info
    return found


def table(text, title):
    """The rows of a table, by method, below the line that has its title."""
    rows = {}
    for line in text.partition(title)[2].splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] not in ("method", "cumulative error %"):
            rows.setdefault(cells[0], cells[1:])
        elif rows and not cells:
            break
    return rows


def test_the_field_is_compared_in_tracks_untuned_and_tuned(rsbench, tmp_path):
    done = rsbench(
        "+experiment=cub_field",
        "method=lean,ncm,ridge,slda_background,gaussian,ellipsotron",
        "preprocessor=none,center",
        "protocol.samples_per_class=3",
        "table_steps=[1,3]",
        "seeds=2",
        "tracking=none",
    )
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stdout
    found = records(tmp_path)
    assert len(found) == 6 * 3
    told = {info["method"]: info["told_background"] for info in found.values()}
    assert told["gaussian"] == told["slda_background"] == "labels"
    assert told["ridge"] == told["ellipsotron"] == "nothing"
    untuned = table(done.stdout, "| cumulative error %")
    assert untuned["gaussian"][0] == "labels of the background"
    tuned = table(done.stdout, "Tuned on held-out classes:")
    assert set(tuned) >= {"lean", "ncm", "ridge", "gaussian", "ellipsotron"}
    # What each learner could choose from stands in its record: its own values.
    grids = {
        info["method"]: info["config"]["tune"]["learner"]
        for info in found.values()
        if info["control"] == "fair"
    }
    assert grids["ridge"] == {"alpha": [0.04, 0.2, 1.0, 5.0]}
    assert grids["lean"] == {"C": [0.001, 0.01, 0.1, 1.0]}
    assert grids["ncm"] == {}
    chosen = found["ridge (fair) tuned"]["tuned"]["0"]
    assert chosen["learner.alpha"] in grids["ridge"]["alpha"]
    assert chosen["preprocessor"] in ("none", "center", "standardize")
    assert "The best method told labels of the background" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        [
            "learner=sklearn",
            "learner.estimator=RidgeClassifier",
            "learner.params={alpha: 3}",
        ],
        ["learner=sklearn", "learner.estimator=SGDClassifier"],
        ["learner=river", "learner.model=PAClassifier", "learner.params={C: 0.5}"],
    ],
    ids=["ridge", "sgd", "pa"],
)
def test_other_libraries_learners_run_by_name(rsbench, tmp_path, words):
    done = rsbench(*words, *SMALL, "tracking=none")
    assert done.returncode == 0, done.stderr
    assert "| nothing " in done.stdout


def test_estimators_can_be_swept(rsbench, tmp_path):
    done = rsbench(
        "-m",
        "method=lean,sklearn",
        "+learner.estimator=NearestCentroid,LinearDiscriminantAnalysis",
        *SMALL,
        "tracking=none",
    )
    # Lean has no estimator: a sweep over both is a mistake that is named.
    assert done.returncode != 0
    done = rsbench(
        "-m",
        "method=sklearn",
        "learner.estimator=NearestCentroid,LinearDiscriminantAnalysis",
        *SMALL,
        "tracking=none",
    )
    assert done.returncode == 0, done.stderr
    assert (
        "NearestCentroid" in done.stdout and "LinearDiscriminantAnalysis" in done.stdout
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learner=sklearn", "learner.estimator=Ridge"], "no classifier of scikit-learn's 'Ridge'"),
        (["learner=sklearn", "learner.params={alpha: -1}"], "The 'alpha' parameter of RidgeClassifier"),
        (["learner=river", "learner.model=linear_model.PA"], "no classifier of river's"),
        (["learner=gaussian", "dataset.background_classes=0"], "Gaussian asks for samples of other classes"),
        (["learner=naive_bayes", "preprocessor=center"], "NaiveBayes is for counts"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(rsbench, words, message):
    done = rsbench(*words, *SMALL, "tracking=none")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert message in line and "Traceback" not in done.stderr


def written(folder, rng, **changes):
    """Counts of words with marks, as sparse files beside plain ones."""
    y = np.arange(80) % 4
    likely = rng.random((4, 30)) < 0.3
    X = (rng.random((80, 30)) < 0.05 + 0.4 * likely[y]) * rng.integers(1, 4, (80, 30))
    folder.mkdir()
    scipy.sparse.save_npz(folder / "X.npz", scipy.sparse.csr_array(X.astype(float)))
    scipy.sparse.save_npz(folder / "Z.npz", scipy.sparse.csr_array((X > 0) & likely[y]))
    for name, array in {"y": y, **changes}.items():
        np.save(folder / f"{name}.npy", array)


def test_sparse_files_run_through_all_methods(rsbench, tmp_path, rng):
    written(tmp_path / "words", rng)
    done = rsbench(
        "-m",
        "dataset=arrays",
        "dataset.path=words",
        "method=lean,ellipsotron,class_soft,svm_ff,ncm,ridge,naive_bayes,softmax,slda,logistic",
        "protocol.samples_per_class=8",
        "seeds=2",
        "tracking=none",
    )
    assert done.returncode == 0, done.stderr
    assert "| naive_bayes " in done.stdout and "| ridge " in done.stdout
    centred = rsbench(
        "dataset=arrays", "dataset.path=words", "method=ridge", "preprocessor=center",
        "protocol.samples_per_class=8", "tracking=none",
    )  # fmt: skip
    assert centred.returncode == 1
    assert "Center takes no sparse features" in centred.stderr
    assert "preprocessor=none, l2 or scale" in centred.stderr


def test_a_background_without_labels_is_named(rsbench, tmp_path, rng):
    np.savez(
        tmp_path / "mine.npz",
        X=rng.random((40, 5)),
        y=np.arange(40) % 4,
        Z=rng.random((40, 5)) < 0.5,
        background=rng.random((30, 5)),
    )
    words = ("dataset=arrays", "dataset.path=mine.npz", "protocol.samples_per_class=4")
    done = rsbench(*words, "learner=gaussian", "tracking=none")
    assert done.returncode == 1
    assert "Gaussian needs labels of the background" in done.stderr
    assert "`background_y`" in done.stderr


def test_a_batch_learner_of_the_tables_steps_is_said_to_be_one(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "patient.py").write_text(PATIENT)
    done = rsbench("-m", "method=lean,patient", *SMALL, "tracking=none")
    assert done.returncode == 0, done.stderr
    assert re.search(r"patient is taught only at the steps? 1, 2 and 5", done.stdout)


PATIENT = """
import numpy as np
from rsbench import hookimpl
from rsbench.learners import BatchLearner

class Patient(BatchLearner):
    taught_at = "table"

    def refit(self, X, y):
        self.counts_ = np.bincount(y, minlength=len(self.classes_))

    def _scores(self, X):
        return np.tile(self.counts_ + 0.1 * X[:, :1], 1).astype(float)

@hookimpl
def rsbench_learners():
    return {"patient": Patient}
"""


def test_opinions_run_as_a_whole_command_domain_by_domain(rsbench, tmp_path):
    done = rsbench(
        "+experiment=opinions",
        "dataset.source=simulated",
        "dataset.domain=tweets,movies",
        "dataset.weights=binary",
        "method=lean,ellipsotron,naive_bayes",
        "protocol.samples_per_class=4",
        "table_steps=[2,4]",
        "seeds=3",
        "tracking=none",
    )
    assert done.returncode == 0, done.stderr
    assert len(records(tmp_path)) == 6
    assert "SIMULATED" in done.stdout and "ellipsotron" in done.stdout


def test_opinions_that_cannot_be_fetched_are_a_stand_in_and_say_so(
    rsbench, tmp_path, monkeypatch
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    small = ("protocol.samples_per_class=5", "seeds=2", "tracking=none")
    done = rsbench("dataset=opinions", "dataset.weights=binary", *small)
    assert done.returncode == 0, done.stderr
    assert "cannot be fetched" in done.stdout + done.stderr
    assert "SIMULATED data (opinions)" in done.stdout
    refused = rsbench("data", "get", "opinions")
    assert refused.returncode == 1 and "cannot be fetched" in refused.stderr
    refused = rsbench("data", "get", "opinions", "--url", "x")
    assert refused.returncode == 1 and "takes no --url" in refused.stderr


def test_reviews_run_as_a_whole_command(rsbench, tmp_path):
    small = ("protocol.samples_per_class=4", "table_steps=[2,4]", "seeds=2")
    done = rsbench(
        "+experiment=movies", "method=lean,soft_mask", *small, "tracking=none"
    )
    assert done.returncode == 0, done.stderr
    assert "SIMULATED data (movie_rationales)" in done.stdout
    assert "data get movie_rationales" in done.stdout
    lines = []
    for label, word in (("a", "good"), ("b", "bad")):
        text = f"it is {word} indeed"
        lines += [json.dumps({"text": text, "label": label, "marks": [word]})] * 9
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    own = ("dataset=rationales", "dataset.path=mine.jsonl", "method=soft_mask")
    done = rsbench(*own, "protocol.samples_per_class=4", "seeds=2", "tracking=none")
    assert done.returncode == 0, done.stderr
    assert "rationales mine.jsonl" in done.stdout
    wrong = rsbench("dataset=rationales", "dataset.path=none.jsonl", "tracking=none")
    assert wrong.returncode == 1 and "there is no file none.jsonl" in wrong.stderr
