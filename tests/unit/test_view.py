"""Views: samples with their unmarked features blanked, for learners that name them."""

import dataclasses

import numpy as np
import pytest

from rsbench.aggregators import Ones
from rsbench.core.components import Absent
from rsbench.core.data import Data
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.core.sparse import as_csr
from rsbench.core.told import Told
from rsbench.corruptions import Budget, Full
from rsbench.learners import Lean
from rsbench.preprocessors import L2, Center, Identity, Scale, Standardize
from rsbench.protocols import PerClass


class Looks(Lean):
    """Keeps the samples and the views that it is given."""

    def partial_fit(self, X, y, classes=None, *, view=None):
        Looks.seen.append((X, view))
        return super().partial_fit(X, y, classes)


@pytest.fixture
def data(rng):
    X = rng.random((40, 6)) + 0.1
    X[rng.random(X.shape) < 0.4] = 0.0
    made = Data(
        X=X, y=np.arange(40) % 4, Z=rng.random((40, 6)) < 0.5, background=X[:25]
    )
    return load(made, None, "here")


def setup(**changes):
    parts = {
        "learner": Looks(),
        "aggregator": Ones(),
        "preprocessor": Identity(),
        "protocol": PerClass(5),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


def looked_at(made, data):
    """The samples and views of a whole stream, one row each."""
    Looks.seen = []
    result = run_seed(made, data, 0)
    samples, views = zip(*Looks.seen, strict=True)
    return result, *(
        np.concatenate([_dense(part) for part in parts]) for parts in (samples, views)
    )


def _dense(rows):
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def stream_of(made, data):
    """The numbers of the stream's samples, in order."""
    from rsbench.core.seeds import stream

    steps, _ = made.protocol.plan(data.y, None, stream(0, "plan"))
    return np.concatenate(steps)


@pytest.mark.parametrize("preprocessor", [Identity(), Center(), Standardize(), L2()])
def test_features_are_blanked_before_they_are_preprocessed(data, preprocessor):
    made = setup(preprocessor=preprocessor)
    _, _, views = looked_at(made, data)
    rows = stream_of(made, data)
    if preprocessor.fit is not None:
        preprocessor.fit(data.background)
    expected = preprocessor.transform(np.where(data.Z, data.X, 0.0)[rows])
    np.testing.assert_allclose(views, expected, rtol=1e-12, atol=1e-15)


def test_statistics_of_the_stream_are_those_of_the_sample_itself(data, monkeypatch):
    made = setup(preprocessor=Center(fit_on="seen"))
    _, samples, views = looked_at(made, data)
    rows = stream_of(made, data)
    for i, row in enumerate(rows):
        mean = data.X[rows[: i + 1]].mean(axis=0)
        np.testing.assert_allclose(samples[i], data.X[row] - mean, atol=1e-12)
        kept = np.where(data.Z[row], data.X[row], 0.0)
        np.testing.assert_allclose(views[i], kept - mean, atol=1e-12)
    # However the stream is cut.
    monkeypatch.setattr("rsbench.core.data._CHUNK_BYTES", 8 * 6 * 3)
    np.testing.assert_array_equal(looked_at(made, data)[2], views)


@pytest.mark.parametrize("preprocessor", [Identity(), Scale(), L2()])
@pytest.mark.parametrize("annotation", [Full(), Budget(samples=0.5)])
def test_sparse_views_are_dense_ones_where_features_are(data, preprocessor, annotation):
    made = setup(preprocessor=preprocessor, annotation=annotation)
    sparse = dataclasses.replace(
        data, X=as_csr(data.X), Z=as_csr(data.Z), background=as_csr(data.background)
    )
    _, samples, views = looked_at(made, data)
    _, again, found = looked_at(made, load(sparse, None, "sparse"))
    np.testing.assert_allclose(again, samples, rtol=1e-12)
    stored = samples != 0
    np.testing.assert_allclose(found[stored], views[stored], rtol=1e-12)


def test_where_nobody_was_asked_there_is_no_view(data):
    _, _, views = looked_at(setup(annotation=Budget(samples=0.5)), data)
    missing = np.isnan(views)
    assert 0 < missing.all(axis=1).sum() < len(views)
    assert (missing.any(axis=1) == missing.all(axis=1)).all()
    _, _, views = looked_at(setup(annotation=Absent()), data)
    assert np.isnan(views).all()


def test_a_view_is_votes_and_changes_no_prediction(data):
    made = setup()
    assert made.told() is Told.VOTES
    assert made.without_annotations().told() is Told.NOTHING
    result, _, _ = looked_at(made, data)
    assert result.rows == run_seed(setup(learner=Lean()), data, 0).rows
    assert result.given["annotated"] == 1
