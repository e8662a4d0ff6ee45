"""Data sets: shapes and promises of the simulated ones, and what is refused in arrays."""

import json
import subprocess
import sys

import numpy as np
import pytest

from rsbench.core import experiment
from rsbench.core.data import Data, Drawn, Names, identity, keep_samples
from rsbench.core.data_checks import check_data
from rsbench.datasets import CUB, SUN, Arrays, Synthetic
from rsbench.datasets.cub import GROUPS
from rsbench.datasets.draws import draw_classes
from rsbench.errors import UserError


@pytest.fixture(autouse=True)
def empty_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RSBENCH_DATA", str(tmp_path / "data"))


def test_cub_stand_in_has_the_real_shape():
    data = check_data(CUB().load(), "cub")
    assert data.simulated
    assert data.X.shape == data.Z.shape == (2933, 312)
    assert len(GROUPS) == 28 and data.names.features[0] == "has_bill_shape::0"
    assert data.y.max() == 49 and np.bincount(data.y).min() > 25
    assert 30 < data.Z.sum(axis=1).mean() < 33
    assert data.background.shape[1] == 312
    assert data.X.min() > 0 and data.X.max() < 1  # detector scores


def test_sun_stand_in_meets_the_papers_class_counts():
    data = check_data(SUN().load(), "sun")
    assert data.simulated and data.X.shape[1] == 1000 and data.background is not None
    sizes = np.bincount(data.y)
    bounds = {
        75: 13,
        62: 21,
        47: 34,
        40: 41,
        34: 54,
        31: 62,
        28: 72,
        24: 83,
        20: 100,
        18: 110,
    }
    assert {
        low: int(np.sum((sizes >= low) & (sizes <= 100))) for low in bounds
    } == bounds
    assert np.sum(~data.Z.any(axis=0)) >= 469  # terms that nobody tags


def test_detectors_of_the_stand_ins_detect_no_better_than_real_ones():
    from sklearn.metrics import roc_auc_score

    data = CUB().load()
    columns = [j for j in range(312) if 5 < data.Z[:, j].sum() < len(data.y) - 5]
    auc = np.mean([roc_auc_score(data.Z[:, j], data.X[:, j]) for j in columns])
    assert (
        0.64 < auc < 0.72
    )  # measured on real features: 0.63 to 0.71, by training of the detectors


@pytest.mark.parametrize("make", [Synthetic, CUB, SUN])
def test_simulated_data_are_deterministic_and_drawn_by_number(make):
    first, again, other = make().load(), make().load(), make(draw=1).load()
    assert identity(first) == identity(again) != identity(other)
    np.testing.assert_array_equal(first.X, again.X)


def test_difficulty_makes_it_harder():
    easy, hard = Synthetic(difficulty=0).load(), Synthetic(difficulty=3).load()

    def spread(data):  # variation within classes over variation between their means
        means = np.array([data.X[data.y == c].mean(axis=0) for c in range(20)])
        return (data.X - means[data.y]).var() / means.var(axis=0).mean()

    assert spread(easy) < spread(hard)


def test_annotators_miss_err_and_lack_words():
    perfect = Synthetic(annotator_miss=0, annotator_err=0).load().Z
    missing = Synthetic(annotator_miss=0.5, annotator_err=0).load().Z
    assert not (missing & ~perfect).any() and 0.4 < missing.sum() / perfect.sum() < 0.6
    erring = Synthetic(annotator_miss=0, annotator_err=0.1).load().Z
    assert (erring >= perfect).all() and (erring & ~perfect).mean() > 0.05
    assert np.sum(~Synthetic(unnameable=0.5).load().Z.any(axis=0)) >= 48


def test_background_holds_other_samples_and_can_be_absent():
    assert Synthetic().load().background.shape == (800, 96)
    assert Synthetic(background_classes=0).load().background is None


@pytest.mark.parametrize(
    "knob",
    [{"classes": 1}, {"likeness": 0}, {"annotator_miss": 1.5}, {"difficulty": -1}],
)
def test_senseless_knobs_are_refused(knob):
    with pytest.raises(UserError, match=next(iter(knob))):
        Synthetic(**knob)


@pytest.mark.parametrize(("make", "folder"), [(CUB, "CUB_200_2011"), (SUN, "SUN2012")])
def test_real_data_are_never_replaced_in_silence(make, folder, tmp_path):
    with pytest.raises(UserError, match=f"{folder} is not there"):
        make(source="disk").load()
    with pytest.raises(UserError, match="nowhere is not there"):
        make(root=str(tmp_path / "nowhere")).load()
    (tmp_path / "data" / folder).mkdir(parents=True)
    with pytest.raises(
        UserError, match="no folder Annotations in it|no images.txt in it"
    ):
        make().load()
    assert make(source="simulated").load().simulated


def good(**changes):
    rng = np.random.default_rng(0)
    arrays = {
        "X": rng.random((12, 3)),
        "y": np.repeat(np.arange(3), 4),
        "Z": rng.random((12, 3)) < 0.5,
    }
    return {
        key: value for key, value in {**arrays, **changes}.items() if value is not None
    }


def load(path):
    """The data as a run loads and checks them."""
    return experiment.load(Arrays(str(path)), None, str(path))


def test_npz_and_folder_hold_the_same_data(tmp_path):
    arrays = good(
        test=np.arange(12) % 2 == 0,
        background=np.ones((5, 3)),
        feature_names=np.array(["a", "b", "c"]),
        class_names=np.array(["x", "y", "z"]),
    )
    np.savez(tmp_path / "data.npz", **arrays)
    (tmp_path / "folder").mkdir()
    for key, value in arrays.items():
        np.save(tmp_path / "folder" / f"{key}.npy", value)
    one, two = load(tmp_path / "data.npz"), load(tmp_path / "folder")
    assert (
        one.identity == two.identity != ""
        and one.names == two.names
        and not one.simulated
    )
    assert isinstance(two.X, np.memmap)
    np.testing.assert_array_equal(one.test, arrays["test"])


def test_identity_follows_content(tmp_path):
    def content(**changes):
        np.savez(tmp_path / "d.npz", **good(**changes))
        return load(tmp_path / "d.npz").identity

    changed = good()["X"].copy()
    changed[3, 1] += 1e-9
    assert content() == content() != content(X=changed)
    assert content() != content(background=np.ones((2, 3)))


def test_half_precision_is_widened(tmp_path):
    np.savez(tmp_path / "d.npz", **good(X=good()["X"].astype(np.float16)))
    assert Arrays(str(tmp_path / "d.npz")).load().X.dtype == np.float32


def with_value(value):
    X = good()["X"].copy()
    X[7, 1] = value
    return X


BAD = {
    "Z missing": {"Z": None},
    r"X has shape \(12, 3, 1\)": {"X": np.ones((12, 3, 1))},
    r"X has shape \(11, 3\)": {"X": np.ones((11, 3))},
    "X has type int64": {"X": np.ones((12, 3), int)},
    r"X\[7, 1\] is nan": {"X": with_value(np.nan)},
    r"X\[7, 1\] is inf": {"X": with_value(np.inf)},
    "1 is missing": {"y": np.repeat([0, 2, 3], 4)},
    r"found 1\.\.3": {"y": np.repeat([1, 2, 3], 4)},
    r"found -1\.\.1": {"y": np.repeat([-1, 0, 1], 4)},
    "y has type float64": {"y": np.repeat([0.0, 1.0, 2.0], 4)},
    "y has type <U1": {"y": np.repeat(["a", "b", "c"], 4)},
    r"y has shape \(\)": {"y": np.array(3)},
    "29999999": {"y": np.array([0, 1, 29_999_999] * 4)},
    "feature_names has 1 names, expected 3": {"feature_names": np.array("a")},
    "single class": {"y": np.zeros(12, int)},
    r"Z has shape \(12, 4\) but X": {"Z": np.zeros((12, 4))},
    "Z holds 2": {"Z": np.full((12, 3), 2)},
    "Z holds -0.5": {"Z": np.full((12, 3), -0.5)},
    "Z holds nan": {"Z": np.full((12, 3), np.nan)},
    r"test has shape \(12,\) and type int64": {"test": np.zeros(12, int)},
    "background has 4 features": {"background": np.ones((5, 4))},
    r"background\[2, 0\] is nan": {
        "background": np.array([[1.0] * 3, [1] * 3, [np.nan] * 3])
    },
    "feature_names has 2 names, expected 3": {"feature_names": np.array(["a", "b"])},
    "unknown array 'feature_name'. Did you mean 'feature_names'": {
        "feature_name": np.array(["a", "b", "c"])
    },
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arrays_are_named(message, tmp_path):
    np.savez(tmp_path / "bad.npz", **good(**BAD[message]))
    with pytest.raises(UserError, match=message) as caught:
        load(tmp_path / "bad.npz")
    assert "bad.npz" in str(caught.value)


def test_pickles_are_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    np.savez(
        tmp_path / "p.npz", **good(class_names=np.array([Bomb()] * 3, dtype=object))
    )
    with pytest.raises(UserError, match="never loaded"):
        Arrays(str(tmp_path / "p.npz")).load()
    np.save(tmp_path / "plain.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    (tmp_path / "plain.npy").rename(tmp_path / "plain.npz")
    with pytest.raises(UserError, match="plain.npz"):
        Arrays(str(tmp_path / "plain.npz")).load()
    assert not (tmp_path / "exploded").exists()


def test_a_single_array_and_damaged_compression_are_named(tmp_path):
    np.save(tmp_path / "single.npy", np.ones(3))
    with pytest.raises(UserError, match="single.npy: a single array"):
        Arrays(str(tmp_path / "single.npy")).load()
    np.savez_compressed(
        tmp_path / "d.npz", **good(X=np.random.default_rng(0).random((12, 3)))
    )
    content = bytearray((tmp_path / "d.npz").read_bytes())
    content[60:90] = bytes(30)
    (tmp_path / "d.npz").write_bytes(content)
    with pytest.raises(UserError, match="d.npz: cannot read"):
        Arrays(str(tmp_path / "d.npz")).load()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_files_that_are_no_npz_are_named(content, tmp_path):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(UserError, match="x.npz"):
        Arrays(str(tmp_path / "x.npz")).load()


def test_missing_paths_are_named():
    with pytest.raises(UserError, match=r"dataset.path=FILE.npz"):
        Arrays().load()
    with pytest.raises(UserError, match="no nowhere.npz"):
        Arrays("nowhere.npz").load()


# Draws of classes.


def many_classes(tmp_path, **more):
    """Thirty classes that can be told by their features alone: sample i has i in them."""
    y = np.arange(180) % 30
    arrays = {
        "X": np.stack([np.arange(180), y, np.ones(180)], axis=1).astype(float),
        "y": y,
        "Z": np.arange(540).reshape(180, 3) % 7 < 3,
        "test": np.arange(180) % 3 == 0,
        "class_names": np.array([f"class{c}" for c in range(30)]),
        "feature_names": np.array(["sample", "class", "one"]),
        "background": np.full((5, 3), -1.0),
        "background_y": np.array([0, 0, 0, 1, 1]),
        "background_Z": np.ones((5, 3), bool),
    }
    np.savez(tmp_path / "many.npz", **{**arrays, **more})
    return str(tmp_path / "many.npz")


def test_a_draw_of_arrays_has_some_classes_whole_and_nothing_of_others(tmp_path):
    path = many_classes(tmp_path)
    everything = Arrays(path).load()
    for number in range(4):
        data = check_data(Arrays(path, classes=10).drawn(number).load(), "a draw")
        assert data.drawn == Drawn(10, 30)
        rows = data.X[:, 0].astype(int)
        classes = np.unique(data.X[:, 1]).astype(int)
        # Every sample of a class that was drawn, in the file's order.
        np.testing.assert_array_equal(
            rows, np.flatnonzero(np.isin(everything.y, classes))
        )
        np.testing.assert_array_equal(classes[data.y], everything.y[rows])
        np.testing.assert_array_equal(data.Z, everything.Z[rows])
        np.testing.assert_array_equal(data.test, everything.test[rows])
        assert data.names.classes == tuple(f"class{c}" for c in classes)
        assert data.names.features == everything.names.features
        # The background is what it was: classes that were not drawn are no part of it.
        np.testing.assert_array_equal(data.background, everything.background)
        assert identity(data.validation) == identity(everything.validation)


def test_draws_depend_on_their_number_alone(tmp_path):
    path = many_classes(tmp_path)
    start = Arrays(path, classes=10)
    ids = [identity(start.drawn(number).load()) for number in range(10)]
    assert len(set(ids)) == 10 and ids[0] == identity(start.load())
    assert identity(Arrays(path, classes=10, draw=3).load()) == ids[3]
    assert identity(start.drawn(1).drawn(2).load()) == ids[3]
    # In another process too, whatever its hashes are.
    program = (
        "import json, sys; from rsbench.datasets import Arrays;"
        "data = Arrays(sys.argv[1], classes=10, draw=3).load();"
        "print(json.dumps(data.names.classes))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, check=True
    )
    assert tuple(json.loads(found.stdout)) == start.drawn(3).load().names.classes


def test_every_class_is_drawn_now_and_then(tmp_path):
    start = Arrays(many_classes(tmp_path), classes=10)
    times = np.zeros(30)
    for number in range(200):
        drawn = np.unique(start.drawn(number).load().X[:, 1]).astype(int)
        times[drawn] += 1
    assert times.sum() == 2000
    assert times.min() > 40 and times.max() < 95  # 67 on average, 6.7 either way


def test_a_draw_without_a_number_of_classes_is_refused(tmp_path):
    path = many_classes(tmp_path)
    assert Arrays(path).load().drawn is None
    assert identity(Arrays(path).drawn(0).load()) == identity(Arrays(path).load())
    with pytest.raises(UserError, match=r"nothing to draw without dataset\.classes"):
        Arrays(path).drawn(1)
    for classes in (30, 31):
        with pytest.raises(UserError, match=f"dataset.classes={classes}: there are 30"):
            Arrays(path, classes=classes).load()
    with pytest.raises(UserError, match="dataset.classes=1: expected 2 or more"):
        Arrays(path, classes=1)
    with pytest.raises(UserError, match="dataset.draw=-1: expected 0 or more"):
        Arrays(path, classes=3, draw=-1)
    with pytest.raises(UserError, match="without gaps"):
        Arrays(many_classes(tmp_path, y=np.arange(180) % 30 + 1), classes=3).load()


@pytest.mark.parametrize("make", [Synthetic, CUB, SUN])
def test_another_draw_of_a_simulated_data_set_is_another_world(make):
    start = make(draw=5)
    assert identity(start.drawn(0).load()) == identity(start.load())
    other = start.drawn(2).load()
    assert identity(other) == identity(make(draw=7).load()) != identity(start.load())
    assert other.drawn is None  # it shares no class with the first
    assert other.names == start.load().names


def test_scenes_of_the_stand_in_are_drawn_within_bounds():
    data = check_data(SUN(classes=12, min_samples=40, max_samples=100).load(), "sun")
    sizes = np.bincount(data.y)
    assert len(sizes) == 12 and sizes.min() >= 40 and sizes.max() <= 100
    assert data.drawn is None and data.simulated
    within = SUN(min_samples=40, max_samples=100).load()
    assert len(np.bincount(within.y)) == 41 and set(data.names.classes) < set(
        within.names.classes
    )
    with pytest.raises(UserError, match="move dataset.min_samples"):
        SUN(min_samples=1000).load()
    with pytest.raises(UserError, match="there are 41 classes to draw from"):
        SUN(classes=41, min_samples=40, max_samples=100).load()


def test_keeping_samples_carries_over_all_that_is_said_of_them():
    data = Data(
        X=np.arange(8.0).reshape(4, 2),
        y=np.array([0, 2, 1, 2]),
        Z=np.eye(4, 2, dtype=bool),
        visible=np.ones((4, 2), bool),
        test=np.array([True, False, True, True]),
        background=np.ones((3, 2)),
        names=Names(("a", "b"), ("zero", "one", "two")),
        identity="of all of them",
    )
    left = keep_samples(data, np.array([True, True, False, True]))
    assert left.y.tolist() == [0, 1, 1] and left.names.classes == ("zero", "two")
    np.testing.assert_array_equal(left.X, data.X[[0, 1, 3]])
    np.testing.assert_array_equal(left.Z, data.Z[[0, 1, 3]])
    assert left.visible.shape == (3, 2) and left.test.tolist() == [True, False, True]
    assert left.background is data.background and left.identity == ""


def test_no_two_draws_are_the_same_as_long_as_there_are_others():
    y = np.repeat(np.arange(5), 3)
    data = Data(y=y, Z=np.zeros((15, 2), bool), X=np.arange(30.0).reshape(15, 2))
    seen = set()
    for draw in range(10):  # five classes have ten pairs
        drawn = draw_classes(data, np.arange(5), 2, draw)
        seen.add(tuple(drawn.X[:, 0].tolist()))
    assert len(seen) == 10
    with pytest.raises(
        UserError, match="5 classes have 10 draws of 2, draws=10 at most"
    ):
        draw_classes(data, np.arange(5), 2, 10)
