"""Concepts beside features: votes with a shape of their own, told as they are."""

import dataclasses

import numpy as np
import pytest

import rsbench
from rsbench.aggregators import ClassSoft, Ones, Sample
from rsbench.core.components import Absent
from rsbench.core.data import Data, Names, identity
from rsbench.core.data_checks import check_data
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.core.sparse import SparseVotes, as_csr
from rsbench.core.told import OfBackground, Told
from rsbench.core.tuning import tune
from rsbench.corruptions import Budget, Full, Noisy, Shuffled
from rsbench.datasets import CUB, Arrays
from rsbench.errors import UserError
from rsbench.extractors import Precomputed
from rsbench.learners import SVMFF, Ellipsotron, Gaussian, Lean, Ridge
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass
from tests.small_data import ATTRIBUTES, write_cub
from tests.unit.test_view import Looks

CONCEPTS = ("wet", "warm", "loud")


class Listens(Lean):
    """Keeps the votes and names that it is told."""

    def prepare(self, *, background, class_votes, feature_names, concept_names):
        Listens.told = (background, class_votes, feature_names, concept_names)
        Listens.votes = []

    def partial_fit(self, X, y, classes=None, *, annotation=None):
        Listens.votes.append(annotation)
        return super().partial_fit(X, y, classes)


@pytest.fixture
def arrays(rng):
    """Five features without names, and three things that people were asked."""
    return {
        "X": rng.random((40, 5)),
        "y": np.arange(40) % 4,
        "Z": rng.random((40, 3)) < 0.4,
        "concept_names": np.array(CONCEPTS),
        "background": rng.random((30, 5)),
        "background_y": np.arange(30) % 6,
        "background_Z": rng.random((30, 3)) < 0.4,
    }


@pytest.fixture
def data(arrays, tmp_path):
    np.savez(tmp_path / "mine.npz", **arrays)
    return load(Arrays(str(tmp_path / "mine.npz")), None, "mine.npz")


def setup(learner, **changes):
    parts = {
        "learner": learner,
        "aggregator": Ones(),
        "preprocessor": Identity(),
        "protocol": PerClass(5),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


def test_a_learner_is_told_concepts_as_they_are(data):
    made = setup(Listens())
    run_seed(made, data, 0)
    background, class_votes, features, concepts = Listens.told
    assert background.X.shape == (30, 5) and background.Z.shape == (30, 3)
    assert class_votes.shape == (4, 3) and features == () and concepts == CONCEPTS
    votes = np.concatenate(Listens.votes)
    assert votes.shape == (20, 3)
    track = made.track(data)
    assert track.samples is Told.CLASS_VOTES
    assert track.background is OfBackground.ANNOTATIONS
    assert track.names == ("concept names",)


@pytest.mark.parametrize(
    "annotation", [Shuffled(), Budget(marks=1, samples=0.5), Noisy(miss=0.5), Absent()]
)
def test_annotations_of_concepts_can_be_worse(data, annotation):
    run_seed(setup(Listens()), data, 0)
    before = np.concatenate(Listens.votes)
    run_seed(setup(Listens(), annotation=annotation), data, 0)
    after = np.concatenate(Listens.votes)
    assert after.shape == before.shape
    assert not np.array_equal(before, after)
    assert (Listens.told[1] is None) == isinstance(annotation, Absent)


def test_sparse_rows_may_have_concepts_too(data):
    class Dense(Listens):
        takes_sparse = False

    sparse = dataclasses.replace(
        data,
        X=as_csr(data.X),
        Z=as_csr(data.Z),
        background=as_csr(data.background),
        background_Z=as_csr(data.background_Z),
        validation=None,
        background_held=None,
    )
    made = load(sparse, None, "sparse")
    run_seed(setup(Listens()), made, 0)
    assert isinstance(Listens.votes[0], SparseVotes)
    assert Listens.votes[0].shape[1] == 3
    run_seed(setup(Dense()), made, 0)
    assert np.concatenate(Listens.votes).shape == (20, 3)


@pytest.mark.parametrize(
    ("learner", "aggregator", "wants"),
    [
        (Ellipsotron(), Sample(), "Ellipsotron asks for relevance"),
        (Ellipsotron(), ClassSoft(), "Ellipsotron asks for relevance"),
        (SVMFF(), Ones(), "SVMFF asks for votes for features"),
        (Looks(), Ones(), "Looks asks for view"),
    ],
)
def test_who_wants_to_know_which_features_matter_is_refused(
    data, learner, aggregator, wants
):
    message = f"{wants}, and people were asked about 3 concepts that are none of the 5"
    with pytest.raises(UserError, match=message):
        run_seed(setup(learner, aggregator=aggregator), data, 0)


def test_without_annotations_there_is_nothing_to_refuse(data):
    absent = run_seed(setup(Ellipsotron(), annotation=Absent()), data, 0)
    assert absent.rows == run_seed(setup(Lean()), data, 0).rows


def test_learners_that_are_told_nothing_do_not_mind(data):
    bare = dataclasses.replace(data, Z=np.zeros((40, 5), bool), names=Names())
    for learner in (Ridge(), Gaussian()):
        found = run_seed(setup(learner), data, 0)
        assert found.rows == run_seed(setup(learner), bare, 0).rows


def test_data_are_known_by_what_votes_are_for(data):
    square = dataclasses.replace(data, Z=np.zeros((40, 5)), background_Z=None)
    names = Names(concepts=tuple("abcde"))
    named = dataclasses.replace(square, names=names)
    plain = dataclasses.replace(square, names=Names())
    assert identity(named) != identity(plain)


def test_held_out_classes_have_the_same_concepts(data):
    assert data.validation.names.concepts == CONCEPTS
    grid = {"learner.alpha": [0.1, 1.0]}
    _, values = tune(setup(Ridge(), tune=grid), data, PerClass)
    assert values["learner.alpha"] in (0.1, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"concept_names": None},
            r"Z has shape \(40, 3\) but X has \(40, 5\).*concept_n",
        ),
        ({"concept_names": ["a", "b"]}, "concept_names has 2 names, expected 3"),
        ({"concept_names": ["a", "b", "a"]}, "concept_names has 'a' more than once"),
        ({"feature_names": list("abc")}, "feature_names has 3 names, expected 5"),
        ({"Z": np.zeros((39, 3))}, r"Z has shape \(39, 3\), expected 40 rows"),
        (
            {"background_Z": np.zeros((30, 5))},
            r"background_Z has shape \(30, 5\), expected \(30, 3\)",
        ),
        ({"concept_name": list("abc")}, "unknown array 'concept_name'. Did you mean"),
    ],
)
def test_concepts_that_are_wrong_are_named(arrays, tmp_path, changes, message):
    for name, value in changes.items():
        arrays[name] = np.array(value)
        if value is None:
            del arrays[name]
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises(UserError, match=message) as caught:
        load(Arrays(str(tmp_path / "mine.npz")), None, "mine.npz")
    assert "mine.npz" in str(caught.value) and "\n" not in str(caught.value)


def test_from_python_too(data):
    given = Data(X=data.X, y=data.y, Z=data.Z, names=Names(concepts=CONCEPTS))
    assert check_data(given, "here") is given

    class Votes(Lean):
        def partial_fit(self, X, y, classes=None, *, annotation=None):
            assert annotation.shape[1] == 3
            return super().partial_fit(X, y, classes)

    results = rsbench.run(
        given, {"votes": Votes()}, protocol=PerClass(3), seeds=1, cache=False
    )
    assert set(results.frame["told"]) == {"votes"}


# CUB, of which attributes may be the features, or beside them.


def test_the_stand_in_has_nameless_features_and_named_concepts():
    beside = CUB(source="simulated", concepts="beside").load()
    scores = CUB(source="simulated").load()
    assert beside.X.shape != scores.X.shape and beside.names.features == ()
    assert beside.names.concepts == scores.names.features
    np.testing.assert_array_equal(beside.Z, scores.Z)
    assert beside.simulated and (beside.X >= 0).all()


def test_a_networks_features_are_learned_from_as_they_are(tmp_path, rng):
    root = write_cub(tmp_path / "CUB_200_2011")
    birds = CUB(root=str(root), split=(2, 2, 2), concepts="beside").load()
    names = [str(path.relative_to(root / "images")) for path in birds.all_images]
    features = rng.random((len(names), 7)).astype(np.float32)
    np.savez(tmp_path / "f.npz", features=features, names=np.array(names))
    made = Precomputed(path=str(tmp_path / "f.npz")).extract(birds)
    found = load(made, None, "birds")
    np.testing.assert_array_equal(found.X, features[: len(found.y)])
    np.testing.assert_array_equal(found.background, features[len(found.y) :])
    assert found.Z.shape[1] == len(ATTRIBUTES) == found.background_Z.shape[1]
    assert found.names.concepts == ATTRIBUTES and found.names.features == ()
    # No detectors were trained, so that nothing but the network has seen any of them.
    assert found.details == {"features": {"file": "f.npz"}}
    assert found.validation.Z.shape[1] == len(ATTRIBUTES)
