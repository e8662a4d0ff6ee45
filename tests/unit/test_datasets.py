"""Data sets: shapes and promises of the simulated ones, and what is refused in arrays."""

import numpy as np
import pytest

from rsbench.core import experiment
from rsbench.core.data import check_data, identity
from rsbench.datasets import CUB, SUN, Arrays, Synthetic
from rsbench.datasets.cub import GROUPS
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
