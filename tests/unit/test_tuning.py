"""Settings chosen on held-out classes: the best there, and nothing of the test in the choice."""

import dataclasses

import numpy as np
import pytest
from conftest import rsbench

from rsbench.core.experiment import run_seed
from rsbench.core.tuning import SEEDS, candidates, tune
from rsbench.datasets import arrays
from rsbench.errors import UserError
from rsbench.store.record import find

SMALL = {
    "name": "synthetic", "classes": 4, "samples": 20, "groups": 4, "group_size": 4, "marks": 4.0,
    "families": 2, "background_classes": 5, "background_samples": 12,
}  # fmt: skip
PROTOCOL = {"name": "per_class", "samples_per_class": 4, "test": "rest"}


@pytest.fixture
def tuned_spec(spec):
    grid = {"learner": {"C": [1e-5, 1.0, 100.0]}}
    return spec(
        dataset=SMALL, protocol=PROTOCOL, learner={"name": "ellipsotron"}, tune=grid
    )


def test_the_candidate_with_the_lowest_error_on_held_out_classes_is_taken(tuned_spec):
    data = tuned_spec.load()
    held = dataclasses.replace(data.validation, background=data.background)
    errors = {}
    for C in (1e-5, 1.0, 100.0):
        config = {**tuned_spec.config, "learner": {"name": "ellipsotron", "C": C}}
        trial = dataclasses.replace(tuned_spec, config=config)
        errors[C] = np.mean(
            [
                run_seed(trial, held, s).rows[-1]["cumulative_error"]
                for s in range(SEEDS)
            ]
        )
    chosen, values = tune(tuned_spec, data)
    assert (
        values == {"learner.C": min(errors, key=errors.get)}
        and len(set(errors.values())) > 1
    )
    assert (
        chosen.config["learner"]["C"] == values["learner.C"]
        and "C" not in tuned_spec.config["learner"]
    )


def test_the_choice_does_not_depend_on_the_tested_classes(tuned_spec, rng):
    data = tuned_spec.load()
    other = dataclasses.replace(
        data, X=rng.permuted(data.X, axis=0), y=rng.permutation(data.y), Z=~data.Z
    )
    assert tune(tuned_spec, data)[1] == tune(tuned_spec, other)[1]


def test_nothing_to_tune_is_nothing_done(spec):
    plain = spec(dataset=SMALL)
    assert tune(plain, plain.load()) == (plain, {}) and candidates(None) == []
    both = candidates(
        {"learner": {"C": [1, 2]}, "aggregator": {"scope": ["teacher", "seen"]}}
    )
    assert len(both) == 4 and both[0] == {"learner.C": 1, "aggregator.scope": "teacher"}


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (
            {"dataset": {"draw": [1, 2]}},
            "tune.dataset: only parameters of learner and aggregator",
        ),
        ({"learner": {"C": 1}}, r"tune.learner.C=1, expected a list"),
        ({"learner": {"C": []}}, r"tune.learner.C=\[\], expected a list"),
        ({"learner": {"name": ["lean", "svm_ff"]}}, "tune.learner.name"),
        ({"learner": [1]}, "tune.learner: only parameters"),
    ],
)
def test_what_cannot_be_tuned_is_named(grid, words):
    with pytest.raises(UserError, match=words):
        candidates(grid)


def test_data_without_held_out_classes_are_named(tuned_spec):
    data = dataclasses.replace(tuned_spec.load(), validation=None)
    with pytest.raises(UserError, match="other classes, and the data set has none"):
        tune(tuned_spec, data)


def test_a_run_records_what_was_chosen(tmp_path):
    words = [f"dataset.{key}={value}" for key, value in SMALL.items() if key != "name"]
    words += [
        "protocol.samples_per_class=4",
        "seeds=2",
        "tracking=none",
        "+tune.learner.C=[0.00001,1]",
    ]
    done = rsbench(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = find(tmp_path)
    assert set(run.info["tuned"]) == {"0", "1"} and run.info["tuned"]["0"].keys() == {
        "learner.C"
    }
    wrong = rsbench(*words[:-1], "+tune.learner.Q=[1]", cwd=tmp_path)
    assert (
        wrong.returncode == 1
        and "Q" in wrong.stderr
        and "Traceback" not in wrong.stderr
    )


def test_arrays_with_a_labelled_background_can_be_tuned_on(tmp_path, rng):
    content = {
        "X": rng.random((8, 3)),
        "y": np.arange(8) % 2,
        "Z": rng.random((8, 3)) < 0.5,
        "background": rng.random((6, 3)),
    }
    labels = {
        "background_y": np.arange(6) % 3,
        "background_Z": rng.random((6, 3)) < 0.5,
    }
    np.savez(tmp_path / "good.npz", **content, **labels)
    held = arrays.Arrays(str(tmp_path / "good.npz")).load().validation
    assert held.X.shape == (6, 3) and held.y.tolist() == [0, 1, 2, 0, 1, 2]
    np.savez(tmp_path / "half.npz", **content, background_y=labels["background_y"])
    with pytest.raises(
        UserError,
        match="half.npz: background_y goes with background, background_y and background_Z",
    ):
        arrays.Arrays(str(tmp_path / "half.npz")).load()
    np.savez(
        tmp_path / "short.npz",
        **content,
        **{**labels, "background_Z": labels["background_Z"][:4]},
    )
    with pytest.raises(UserError, match="short.npz, background: Z has shape"):
        arrays.Arrays(str(tmp_path / "short.npz")).load()
