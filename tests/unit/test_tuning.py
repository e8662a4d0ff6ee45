"""Settings chosen on held-out classes: the best there, and nothing of the test in the choice."""

import dataclasses

import numpy as np
import pytest

from rsbench.aggregators import ClassSoft, Sample
from rsbench.core.data import Data
from rsbench.core.experiment import Setup, run_seed
from rsbench.core.tuning import SEEDS, candidates, check_grid, held_out, tune
from rsbench.corruptions import Full
from rsbench.datasets import Synthetic
from rsbench.datasets.arrays import Arrays
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron
from rsbench.preprocessors import L2, Identity
from rsbench.protocols import PerClass, Stream

TRIED = (1e-5, 1.0, 100.0)


@pytest.fixture(scope="module")
def data():
    return Synthetic(
        classes=4, samples=20, groups=4, group_size=4, marks=4.0, families=2,
        background_classes=5, background_samples=12,
    ).load()  # fmt: skip


def setup(tune=None, **changes):
    parts = {
        "learner": Ellipsotron(),
        "aggregator": Sample(),
        "preprocessor": Identity(),
        "protocol": PerClass(4),
        "annotation": Full(),
        "tune": {"learner.C": TRIED} if tune is None else tune,
    }
    return Setup(**{**parts, **changes})


def test_the_candidate_with_the_lowest_error_on_held_out_classes_is_taken(data):
    held = dataclasses.replace(data.validation, background=data.background)
    errors = {}
    for C in TRIED:
        trial = setup(learner=Ellipsotron(C=C))
        last = [run_seed(trial, held, seed).rows[-1] for seed in range(SEEDS)]
        errors[C] = np.mean([row["cumulative_error"] for row in last])
    assert len(set(errors.values())) > 1
    given = setup()
    chosen, values = tune(given, data, PerClass)
    assert values == {"learner.C": min(errors, key=errors.get)}
    assert (values["learner.C"], 1.0) == (chosen.learner.C, given.learner.C)
    assert chosen.protocol is given.protocol


def test_the_choice_does_not_depend_on_the_tested_classes(data, rng):
    other = dataclasses.replace(
        data, X=rng.permuted(data.X, axis=0), y=rng.permutation(data.y), Z=~data.Z
    )
    assert tune(setup(), data, PerClass)[1] == tune(setup(), other, PerClass)[1]


def test_among_equals_the_first_is_taken(data):
    """Whatever the order in which keys were given."""
    grid = {"learner.variant": ["pa2", "pa2"], "learner.C": [3.0, 3.0]}
    assert tune(setup(grid), data, PerClass)[1] == {
        "learner.C": 3.0,
        "learner.variant": "pa2",
    }


def test_any_protocol_can_be_tuned_for(data):
    """On as many samples of each class as there are to learn from and test on."""
    steps = []

    def noting(samples):
        steps.append(samples)
        return PerClass(samples)

    tune(setup(protocol=Stream((20, 40))), data, noting)
    tune(setup(protocol=PerClass(3)), data, noting)
    assert set(steps[: len(TRIED)]) == {6}  # of 12, the other half to test on
    assert set(steps[len(TRIED) :]) == {3}


def test_nothing_to_tune_is_nothing_done(data):
    plain = setup(tune={})
    assert tune(plain, data, PerClass) == (plain, {}) and candidates({}) == []


def test_candidates_are_all_combinations():
    grid = {"learner.C": [1, 2], "aggregator.scope": ["teacher", "seen"]}
    found = candidates(grid)
    assert len(found) == 4
    assert found[0] == {"learner.C": 1, "aggregator.scope": "teacher"}
    changed = setup(aggregator=ClassSoft()).with_values(found[-1])
    assert (changed.learner.C, changed.aggregator.scope) == (2, "seen")


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"dataset.draw": [1, 2]}, "tune.dataset.draw: only parameters of learner and"),
        ({"learner.C": 1}, "tune.learner.C=1, expected a list"),
        ({"learner.C": []}, r"tune.learner.C=\[\], expected a list"),
        ({"learner.C": "123"}, "tune.learner.C='123', expected a list"),
        ({"learner.name": ["lean", "svm_ff"]}, "tune.learner.name"),
        ({"learner.": [1]}, "tune.learner.: only parameters"),
        ({"C": [1]}, "tune.C: only parameters"),
    ],
)
def test_what_cannot_be_tuned_is_named(grid, words):
    with pytest.raises(UserError, match=words):
        check_grid(grid)


def test_a_parameter_that_is_not_there_is_named(data):
    with pytest.raises(UserError, match="Ellipsotron has no parameter 'Q'"):
        tune(setup({"learner.Q": [1]}), data, PerClass)


def test_data_without_held_out_classes_are_named(data):
    without = dataclasses.replace(data, validation=None)
    with pytest.raises(UserError, match="other classes, and the data set has none"):
        tune(setup(), without, PerClass)


def test_held_out_classes_of_a_single_sample_are_named(data):
    held = Data(X=np.eye(3), y=np.arange(3), Z=np.eye(3))
    with pytest.raises(UserError, match="a held-out class has a single sample"):
        tune(setup(), dataclasses.replace(data, validation=held), PerClass)


def test_held_out_classes_keep_the_background(data):
    assert held_out(data).background is data.background


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
    held = Arrays(str(tmp_path / "good.npz")).load().validation
    assert held.X.shape == (6, 3) and held.y.tolist() == [0, 1, 2, 0, 1, 2]
    np.savez(tmp_path / "votes.npz", **content, background_Z=labels["background_Z"])
    with pytest.raises(
        UserError, match="votes.npz: background_Z goes with background_y"
    ):
        Arrays(str(tmp_path / "votes.npz")).load()
    short = {**labels, "background_Z": labels["background_Z"][:4]}
    np.savez(tmp_path / "short.npz", **content, **short)
    with pytest.raises(UserError, match=r"short.npz: background_Z has shape \(4, 3\)"):
        Arrays(str(tmp_path / "short.npz")).load()
    # Other classes have any numbers.
    gaps = {**labels, "background_y": 7 * labels["background_y"] + 3}
    np.savez(tmp_path / "gaps.npz", **content, **gaps)
    found = Arrays(str(tmp_path / "gaps.npz")).load()
    assert found.validation.y.tolist() == [0, 1, 2, 0, 1, 2]
    assert found.background_y.max() == 17


# The same budget for every method.


def test_a_preprocessor_is_chosen_as_a_whole(data):
    made = setup({"preprocessor": [Identity(), L2()]})
    chosen, values = tune(made, data, PerClass)
    assert type(values["preprocessor"]) in (Identity, L2)
    assert chosen.preprocessor is values["preprocessor"]


def test_no_method_may_try_more_than_twelve_settings():
    grid = {"learner.C": [1.0, 2.0, 3.0, 4.0, 5.0], "preprocessor": [Identity()] * 3}
    with pytest.raises(UserError, match="tune: 15 settings, at most 12"):
        candidates(grid)
