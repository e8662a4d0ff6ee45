"""Learners of other libraries: they are what a plain loop over the library gives, and nothing but their names counts."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.utils import all_estimators

import rsbench
from rsbench import checks
from rsbench.aggregators import Ones
from rsbench.core.experiment import Setup, load
from rsbench.core.measures import margins
from rsbench.corruptions import Full
from rsbench.errors import UserError
from rsbench.learners import Lean, River, Sklearn
from rsbench.learners.from_river import classifiers as of_river
from rsbench.learners.from_sklearn import classifiers as of_sklearn
from rsbench.plugins import registry
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass

CLASSES = np.arange(4)


@pytest.fixture
def samples(rng):
    y = np.concatenate([CLASSES, rng.integers(4, size=56)])
    X = rng.random((4, 6))[y] + 0.5 * rng.random((60, 6))
    return X, y


def scores_of(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)


# scikit-learn.

ONLINE = {
    "SGDClassifier": {"loss": "log_loss", "alpha": 0.01},
    "Perceptron": {},
    "MLPClassifier": {"hidden_layer_sizes": [5]},
    "MultinomialNB": {"alpha": 0.5},
    "BernoulliNB": {"binarize": 0.7},
    "ComplementNB": {},
}

ANEW = {
    "RidgeClassifier": {"alpha": 3},
    "LogisticRegression": {"C": 2.0},
    "LinearDiscriminantAnalysis": {},
    "KNeighborsClassifier": {"n_neighbors": 3},
    "GaussianNB": {},
    "DecisionTreeClassifier": {"max_depth": 3},
    "RandomForestClassifier": {"n_estimators": 5},
    "LinearSVC": {"C": 0.5},
    "NearestCentroid": {},
}


def made(name, params):
    cls = of_sklearn()[name]
    if "random_state" in cls().get_params():
        return cls(**params, random_state=7)
    return cls(**params)


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_online_estimators_are_the_plain_loop(samples, name):
    X, y = samples
    learner = Sklearn(name, ONLINE[name], random_state=7)
    assert not learner.batch
    theirs = made(name, ONLINE[name])
    for i in range(60):
        theirs.partial_fit(X[i : i + 1], y[i : i + 1], classes=CLASSES)
    for rows in (slice(0, 1), slice(1, 20), slice(20, 60)):
        learner.partial_fit(X[rows], y[rows], CLASSES)
    found = learner.decision_function(X)
    np.testing.assert_allclose(found, scores_of(theirs, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ANEW)
def test_other_estimators_are_fitted_anew(samples, name):
    X, y = samples
    learner = Sklearn(name, ANEW[name], random_state=7)
    assert learner.batch
    for end in (20, 60):
        learner.partial_fit(X[end - 20 : end], y[end - 20 : end], CLASSES)
    kept = np.r_[:20, 40:60]
    theirs = made(name, ANEW[name]).fit(X[kept], y[kept])
    found = learner.decision_function(X)
    np.testing.assert_allclose(found, scores_of(theirs, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["RidgeClassifier", "SVC", "GaussianNB"])
def test_classes_without_samples_come_last(samples, name):
    X, y = samples
    learner = Sklearn(name)
    learner.partial_fit(X[:1], y[:1], CLASSES)
    assert (learner.predict(X) == y[0]).all()
    two = np.flatnonzero(y < 2)
    learner = Sklearn(name).partial_fit(X[two], y[two], CLASSES)
    scores = learner.decision_function(X)
    assert (scores[:, :2].min(axis=1) > scores[:, 2:].max(axis=1)).all()
    theirs = made(name, {}).fit(X[two], y[two])
    np.testing.assert_array_equal(learner.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["RidgeClassifier", "SGDClassifier", "MultinomialNB"])
def test_two_classes_have_one_score(samples, name):
    X, y = samples
    learner = Sklearn(name, random_state=0).fit(X, y % 2)
    margin = margins(learner.decision_function(X), y % 2, 2)
    assert (margin > 0).mean() > 0.5


def test_all_of_scikit_learns_classifiers_can_be_named():
    assert set(of_sklearn()) == {name for name, _ in all_estimators("classifier")}


@pytest.mark.parametrize(
    "name",
    ["RidgeClassifier", "SGDClassifier", "MultinomialNB", "GaussianNB", "LinearSVC"],
)
def test_estimators_keep_the_promises_of_learners(name):
    broken = {}
    for verdict in checks.verdicts("learner", lambda: Sklearn(name)):
        if not verdict.kept:
            broken[str(verdict.promise)] = verdict.cause
    # Their intercept learns a hundred times slower from sparse rows, by design.
    if name == "SGDClassifier":
        assert set(broken) <= {"sparse_rows"}
    else:
        assert broken == {}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"estimator": "RidgeClasifier"},
            "there is no classifier of scikit-learn's 'RidgeClasifier'. Did you mean 'RidgeC",
        ),
        ({"estimator": "os.system"}, "no classifier of scikit-learn's 'os.system'"),
        ({"estimator": "LinearRegression"}, "no classifier of scikit-learn's"),
        (
            {"params": {"alfa": 1}},
            "RidgeClassifier has no parameter 'alfa'. Did you mean 'alpha'",
        ),
        (
            {"params": {"alpha": -1}},
            r"RidgeClassifier\(alpha=-1\) refuses: InvalidParameterError: The 'alpha'",
        ),
        ({"estimator": "VotingClassifier"}, "VotingClassifier needs 'estimators'"),
        (
            {"estimator": "SVC", "params": {"kernel": len}},
            "kernel is a builtin_function_or_method, expected a number, a word",
        ),
        (
            {"estimator": "SVC", "params": {"kernel": "precomputed"}},
            r"SVC\(kernel='precomputed'\) refuses: ValueError",
        ),
        (
            {"estimator": "RandomForestClassifier", "params": {"class_weight": [1, 2]}},
            "refuses: IndexError",
        ),
        ({"params": 3}, "params=3, expected values by name"),
    ],
)
def test_what_scikit_learn_refuses_is_told_before_data_are_read(config, message):
    with pytest.raises(UserError, match=message):
        registry.load().build("learner", {"name": "sklearn", **config})


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("CalibratedClassifierCV", {}),
        ("KNeighborsClassifier", {"n_neighbors": 12}),
        ("LinearDiscriminantAnalysis", {}),
        ("NearestCentroid", {}),
    ],
)
def test_one_that_refuses_the_first_samples_has_learned_nothing_yet(
    samples, caplog, name, params
):
    X, y = samples
    learner = Sklearn(name, params)
    learner.partial_fit(X[:4], y[:4], CLASSES)
    assert (learner.decision_function(X) == 0).all()
    assert "cannot learn from 4 samples yet" in caplog.text
    learner.partial_fit(X[4:], y[4:])
    theirs = made(name, params).fit(X, y)
    np.testing.assert_allclose(learner.decision_function(X), scores_of(theirs, X))


def test_one_that_was_fitted_and_refuses_later_is_named(samples, monkeypatch):
    X, y = samples
    learner = Sklearn().partial_fit(X, y, CLASSES)

    def no(self, X, y):
        raise ValueError("not today")

    monkeypatch.setattr(of_sklearn()["RidgeClassifier"], "fit", no)
    with pytest.raises(
        UserError, match=r"RidgeClassifier\(\) refuses: ValueError: not to"
    ):
        learner.partial_fit(X, y)
    with pytest.raises(UserError, match="cv=30.* refuses: ValueError"):
        Sklearn("CalibratedClassifierCV", {"cv": 30}).check_params()


def test_estimators_say_what_features_they_take(samples):
    X, y = samples
    assert Sklearn("SGDClassifier").takes_sparse
    assert not Sklearn("LinearDiscriminantAnalysis").takes_sparse
    assert not Sklearn("MultinomialNB").takes_negative
    learner = Sklearn("LinearSVC", random_state=0).fit(scipy.sparse.csr_array(X), y)
    assert (learner.predict(scipy.sparse.csr_array(X)) == y).mean() > 0.5


# river.

MODELS = {
    "PAClassifier": {"C": 0.5},
    "linear_model.LogisticRegression": {"l2": 0.01},
    "SoftmaxRegression": {},
    "GaussianNB": {},
    "HoeffdingTreeClassifier": {"grace_period": 5},
    "KNNClassifier": {"n_neighbors": 3},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_models_are_the_plain_loop(samples, name, n_classes):
    from river.multiclass import OneVsRestClassifier

    X, y = samples
    y = y % n_classes
    learner = River(name, MODELS[name])
    theirs = of_river()[name](**MODELS[name])
    if not theirs._multiclass and n_classes > 2:
        theirs = OneVsRestClassifier(theirs)
    labels = [bool(c) for c in y] if n_classes == 2 else y.tolist()
    for x, label in zip(X.tolist(), labels, strict=True):
        theirs.learn_one(dict(enumerate(x)), label)
    for rows in (slice(0, 7), slice(7, 60)):
        learner.partial_fit(X[rows], y[rows], np.arange(n_classes))
    expected = np.zeros((60, n_classes))
    for i, x in enumerate(X.tolist()):
        for label, p in theirs.predict_proba_one(dict(enumerate(x))).items():
            expected[i, int(label)] = p
    if n_classes == 2:
        expected = expected[:, 1] - expected[:, 0]
    np.testing.assert_allclose(learner.decision_function(X), expected, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["PAClassifier", "GaussianNB", "HoeffdingTreeClassifier"]
)
def test_models_keep_the_promises_of_learners(name):
    broken = {}
    for verdict in checks.verdicts("learner", lambda: River(name)):
        if not verdict.kept:
            broken[str(verdict.promise)] = verdict.cause
    assert broken == {}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model": "PAClasifier"},
            "no classifier of river's 'PAClasifier'. Did you mean",
        ),
        ({"model": "linear_model.LinearRegression"}, "no classifier of river's"),
        ({"params": {"l3": 1}}, "LogisticRegression has no parameter 'l3'"),
        ({"model": "BaggingClassifier"}, "river's BaggingClassifier needs 'model'"),
        (
            {"model": "BaggingClassifier", "params": {"model": "foo"}},
            "river's BaggingClassifier refuses: AttributeError",
        ),
        (
            {"model": "PAClassifier", "params": {"mode": "foo"}},
            "river's PAClassifier refuses: KeyError: 'foo'",
        ),
        ({"params": {"l2": "abc"}}, "river's LogisticRegression refuses: TypeError"),
    ],
)
def test_what_river_does_not_have_is_named(config, message):
    with pytest.raises(UserError, match=message):
        registry.load().build("learner", {"name": "river", **config})


def test_what_river_refuses_of_the_data_is_named(samples):
    X, y = samples
    with pytest.raises(UserError, match="river's MultinomialNB refuses: ValueError"):
        River("MultinomialNB").fit(X - 0.8, y).decision_function(X)


def test_river_is_known_by_its_version_where_it_computes(monkeypatch):
    data = rsbench.datasets.Synthetic(classes=3).load()
    data = load(data, None, "synthetic")

    def known(learner):
        parts = (Ones(), Identity(), PerClass(2), Full())
        return rsbench.running.identify(Setup(learner, *parts), data)

    before = known(River()), known(Lean())
    monkeypatch.setattr(rsbench.running, "version_of", lambda name: f"{name} 99")
    assert known(River()) != before[0] and known(Lean()) == before[1]


def test_the_extra_is_named_where_river_is_missing(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "river.api", None)
    of_river.cache_clear()
    try:
        with pytest.raises(UserError, match=r'pip install "rsbench\[river\]"'):
            River().check_params()
    finally:
        of_river.cache_clear()
