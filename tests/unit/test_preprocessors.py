"""Preprocessors against plain statistics, and where those statistics come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbench.core.components import Preprocessor, adopt
from rsbench.core.data import Data
from rsbench.core.evaluation import Features
from rsbench.errors import UserError
from rsbench.preprocessors import L2, Center, Identity, Standardize


def data(X, background=None):
    return Data(
        X=X, y=np.zeros(len(X), int), Z=np.zeros(X.shape), background=background
    )


def test_transforms_equal_plain_statistics(rng):
    background, X = rng.normal(3, 2, size=(40, 5)), rng.normal(size=(10, 5))
    np.testing.assert_array_equal(Identity().transform(X), X)
    np.testing.assert_allclose(
        Center().fit(background).transform(X), X - background.mean(0)
    )
    np.testing.assert_allclose(
        Standardize().fit(background).transform(X),
        (X - background.mean(0)) / background.std(0),
    )
    np.testing.assert_allclose(np.linalg.norm(L2().transform(X), axis=1), 1)


@given(
    seed=st.integers(0, 1000),
    cuts=st.lists(st.integers(1, 29), max_size=4, unique=True),
)
def test_statistics_of_parts_are_those_of_the_whole(seed, cuts):
    X = np.random.default_rng(seed).normal(5, 2, size=(30, 3))
    parts = Standardize()
    for part in np.split(X, sorted(cuts)):
        parts.partial_fit(part)
    np.testing.assert_allclose(
        parts.transform(X), Standardize().fit(X).transform(X), rtol=1e-9
    )


def test_constant_features_and_zero_samples_stay_finite():
    X = np.array([[0.1, 2.0, 0], [0.1, 4.0, 0], [0.1, 9.0, 0]])
    np.testing.assert_allclose(
        Standardize().fit(X).transform(X)[:, [0, 2]], 0, atol=1e-12
    )
    np.testing.assert_array_equal(L2().transform(np.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize("preprocessor", [Identity, L2, Center, Standardize])
def test_precision_is_kept_and_input_untouched(preprocessor, rng):
    X = rng.random((6, 4), dtype=np.float32)
    before, made = X.copy(), preprocessor()
    if made.fit is not None:
        made.fit(X)
    assert made.transform(X).dtype == np.float32
    np.testing.assert_array_equal(X, before)


class FitsOnLargeSamples(Center):
    """Changes `fit`, so that `partial_fit` would no longer do the same in parts."""

    def fit(self, X):
        return super().fit(X[X.sum(axis=1) > 1])


def test_a_subclass_that_changes_fit_is_refitted_as_a_whole(rng):
    X = rng.random((9, 3))
    made = FitsOnLargeSamples()
    assert Center().partial_fit is not None and made.partial_fit is None
    large = X[X.sum(axis=1) > 1]
    np.testing.assert_allclose(made.fit(X).mean_, large.mean(axis=0))


def test_fit_forgets_earlier_samples(rng):
    X = rng.random((9, 3))
    again = Standardize().fit(X + 5).fit(X)
    np.testing.assert_array_equal(again.mean_, Standardize().fit(X).mean_)
    np.testing.assert_array_equal(again.squares_, Standardize().fit(X).squares_)


def test_only_those_that_learn_have_fit():
    assert Identity().fit is None and L2().fit is None
    assert repr(L2(fit_on="seen")) == "L2(fit_on='seen')"


def test_background_alone_decides_the_statistics(rng):
    X, background = rng.random((8, 3)), rng.random((20, 3))
    features = Features(data(X, background), Center())
    np.testing.assert_allclose(
        features.learned(np.array([2, 5])), X[[2, 5]] - background.mean(0)
    )
    np.testing.assert_allclose(
        features.now(np.array([0, 1])), X[[0, 1]] - background.mean(0)
    )


@pytest.mark.parametrize("preprocessor", [Center, Standardize])
def test_without_background_the_error_names_the_way_out(preprocessor, rng):
    with pytest.raises(UserError, match="fit_on=seen"):
        Features(data(rng.random((8, 3))), preprocessor())


def test_a_strangers_misspelt_fit_on_is_named(rng):
    stranger = Center()
    stranger.fit_on = "sen"
    with pytest.raises(UserError, match="fit_on='sen', expected background or seen"):
        Features(data(rng.random((8, 3))), stranger)


class RefittedCenter:
    """A stranger's preprocessor that can only be fitted as a whole."""

    fit_on = "seen"

    def fit(self, X):
        self.mean = X.mean(axis=0)

    def transform(self, X):
        return X - self.mean


@pytest.mark.parametrize("make", [lambda: Center(fit_on="seen"), RefittedCenter])
def test_seen_uses_samples_up_to_the_current_one(make, rng):
    X = rng.random((9, 3))
    preprocessor = adopt(make(), Preprocessor)
    features = Features(data(X, background=rng.random((5, 3)) + 100), preprocessor)
    blocks, test, done = (
        [np.array([3, 1]), np.array([7, 0, 4])],
        np.array([2, 5, 6, 8]),
        [],
    )
    for block in blocks:
        rows = features.learned(block)
        for row, i in zip(rows, block, strict=True):
            done.append(i)
            np.testing.assert_allclose(row, X[i] - X[done].mean(0), atol=1e-12)
        np.testing.assert_allclose(
            features.now(test), X[test] - X[done].mean(0), atol=1e-12
        )
