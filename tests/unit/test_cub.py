"""CUB on disk: every row read right, every irregularity survived or named, every policy as it says."""

import numpy as np
import pytest

from rsbench.core.data import Drawn, identity
from rsbench.core.data_checks import check_data
from rsbench.datasets import CUB
from rsbench.datasets import cub_files as files
from rsbench.datasets.splits import split_classes
from rsbench.errors import UserError
from rsbench.extractors import Precomputed, scoring
from rsbench.files.cache import Cache
from tests.small_data import ATTRIBUTES, write_numbered

SPLIT = [2, 2, 2]


def load(root, **settings):
    return CUB(source="disk", root=str(root), **{"split": SPLIT, **settings}).load()


def naive_rows(root):
    """The annotation file by the plainest reader: {(image, attribute): (present, certainty)}."""
    lines = (
        (root / "attributes" / "image_attribute_labels.txt").read_text().splitlines()
    )
    return {
        tuple(map(int, f[:2])): tuple(map(int, f[2:4])) for f in map(str.split, lines)
    }


def test_votes_are_those_of_the_file(make_cub):
    root = make_cub()
    table, rows = files.read_table(root), naive_rows(root)
    assert table.present.shape == (36, 5) and len(rows) == 180
    for (image, attribute), (present, certainty) in rows.items():
        assert table.present[image - 1, attribute - 1] == present
        assert table.certainty[image - 1, attribute - 1] == certainty - 1
    assert table.attributes == ATTRIBUTES and table.classes[3] == "004.Bird_3"
    assert (
        table.images[7] == root / "images" / "002.Bird_1" / "Bird_1_1.jpg"
        and table.y[7] == 1
    )


def test_real_annotations_are_read_row_by_row(real_data):
    root = real_data / "CUB_200_2011"
    table, rows = files.read_table(root), naive_rows(root)
    assert table.present.shape == (181, 312) and len(rows) == 181 * 312
    expected = np.array(
        [rows[i, a] for i in range(1, 182) for a in range(1, 313)]
    ).reshape(181, 312, 2)
    np.testing.assert_array_equal(table.present, expected[..., 0])
    np.testing.assert_array_equal(table.certainty, expected[..., 1] - 1)
    assert all(path.exists() for path in table.images)


def test_ids_may_have_gaps_and_any_order(make_cub):
    root = make_cub(classes=2, images=2)
    plain = files.read_table(root)
    for name in (
        "images.txt",
        "image_class_labels.txt",
        "attributes/image_attribute_labels.txt",
    ):
        lines = [line.split(" ", 1) for line in (root / name).read_text().splitlines()]
        (root / name).write_text(
            "".join(f"{int(n) * 10} {rest}\n" for n, rest in reversed(lines))
        )
    table = files.read_table(root)
    assert table.images == plain.images[::-1]
    np.testing.assert_array_equal(table.present, plain.present[::-1])
    np.testing.assert_array_equal(table.y, plain.y[::-1])


@pytest.mark.parametrize("inside", [False, True])
def test_attributes_may_lie_inside_or_beside(make_cub, inside):
    assert load(make_cub(inside=inside)).names.features == ATTRIBUTES


def test_the_split_separates_species_and_images(make_cub):
    root = make_cub()
    data = check_data(load(root, split=[3, 1, 2]), "cub")
    assert (
        len(data.y) == 12
        and len(data.training.y) == 24
        and data.training.validation.sum() == 6
    )
    assert not set(data.images) & set(data.training.images)
    assert [path.parent.name for path in data.images] == [
        data.names.classes[c] for c in data.y
    ]
    assert len(set(data.training.y[data.training.validation])) == 1
    rows = naive_rows(root)
    listed = {
        line.split()[1]: int(line.split()[0])
        for line in (root / "images.txt").read_text().splitlines()
    }
    for path, z in zip(data.images, data.Z, strict=True):
        image = listed[f"{path.parent.name}/{path.name}"]
        assert [rows[image, a][0] for a in range(1, 6)] == z.tolist()


def test_species_are_drawn_by_the_split_seed(make_cub):
    root = make_cub()
    drawn = [load(root, split_seed=seed).names.classes for seed in range(6)]
    assert len(set(drawn)) > 1 and drawn[0] == load(root).names.classes


def test_a_split_of_fewer_species_leaves_the_others_out(make_cub):
    data = load(make_cub(), split=[1, 1, 2])
    assert len(data.y) == 12 and len(data.training.y) == 12


def test_files_of_names_are_the_split(make_cub, tmp_path):
    root = make_cub()
    (tmp_path / "few.txt").write_text("002.Bird_1\nBird_4\n\n")
    data = load(root, split=str(tmp_path / "few.txt"))
    assert data.names.classes == ("002.Bird_1", "005.Bird_4")
    assert (
        set(data.training.y) == {0, 2, 3, 5}
        and len(set(data.training.y[data.training.validation])) == 1
    )
    (tmp_path / "train.txt").write_text("Bird_0\n")
    (tmp_path / "val.txt").write_text("Bird_5\nBird_2\n")
    data = load(
        root,
        split=[str(tmp_path / name) for name in ("train.txt", "val.txt", "few.txt")],
    )
    assert set(data.training.y) == {0, 2, 5} and set(
        data.training.y[data.training.validation]
    ) == {2, 5}
    (tmp_path / "val.txt").write_text("Bird_4\n")
    with pytest.raises(UserError, match="005.Bird_4 is in two of the files"):
        load(
            root,
            split=[
                str(tmp_path / name) for name in ("train.txt", "val.txt", "few.txt")
            ],
        )
    (tmp_path / "few.txt").write_text("Bird_1\nBrid_4\n")
    with pytest.raises(
        UserError,
        match="few.txt: 'Brid_4' is no class of the data set with images. Did you mean 'Bird_4'",
    ):
        load(root, split=str(tmp_path / "few.txt"))


def test_the_split_by_names_has_the_standard_splits_proportions():
    classes = [f"{c + 1:03}.Bird_{c}" for c in range(200)]
    train, validation, few = split_classes([100, 50, 50], classes, 0)
    assert (len(train), len(validation), len(few)) == (100, 50, 50)
    assert len({*train, *validation, *few}) == 200


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (
            [100, 50, 50],
            r"asks for 200 classes, but there are 6 with images: for example dataset.split=\[3,1,2\]",
        ),
        ([1, 2], "expected counts"),
        ([1, 2, 1], "2 or more few-shot"),
        ([1.5, 2, 2], "expected counts"),
        ([-1, 2, 2], "expected counts"),
        (["a.txt", 2, 2], "expected counts"),
        ("", "expected counts"),
        ("nowhere.txt", "no file nowhere.txt"),
    ],
)
def test_bad_splits_are_named(make_cub, split, message):
    with pytest.raises(UserError, match=message):
        load(make_cub(), split=split)


def test_certainty_weighs_votes(make_cub):
    root = make_cub()
    given, weighted = (
        load(root),
        load(root, votes="certainty", certainty_weights=(0.0, 0.25, 0.5, 1.0)),
    )
    assert given.Z.dtype == bool and set(np.unique(weighted.Z)) == {0, 0.25, 0.5, 1}
    rows, weights = naive_rows(root), {1: 0.0, 2: 0.25, 3: 0.5, 4: 1.0}
    listed = {
        line.split()[1]: int(line.split()[0])
        for line in (root / "images.txt").read_text().splitlines()
    }
    for path, z in zip(weighted.images, weighted.Z, strict=True):
        image = listed[f"{path.parent.name}/{path.name}"]
        votes = [rows[image, a] for a in range(1, 6)]
        np.testing.assert_allclose(
            z, [present * weights[certainty] for present, certainty in votes]
        )
    # Detectors learn the votes as given, so that the policy does not change the features.
    np.testing.assert_array_equal(weighted.training.Z, given.training.Z)
    with pytest.raises(UserError, match="certainty_weights"):
        CUB(certainty_weights=(0.0, 1.0))
    with pytest.raises(UserError, match="certainty_weights"):
        CUB(certainty_weights=(0.0, 1.0, 2.0, 1.0))


def test_not_visible_is_dropped_from_class_counts(make_cub):
    from rsbench.aggregators import ClassSoft

    root = make_cub(images=12)
    counted, dropped = load(root), load(root, not_visible="drop")
    assert counted.visible is None and 0 < np.mean(~dropped.visible) < 0.3
    np.testing.assert_array_equal(counted.Z, dropped.Z)
    rows = (
        ClassSoft(normalize="none")
        .fit(dropped.votes, dropped.y)
        .relevance(dropped.votes, dropped.y)
    )
    for i in range(len(dropped.y)):
        same = dropped.y == dropped.y[i]
        share = [dropped.Z[same & dropped.visible[:, a], a].mean() for a in range(5)]
        np.testing.assert_allclose(
            rows[i], np.maximum(np.sqrt(share), 1e-10), rtol=1e-6
        )
    with_all = (
        ClassSoft(normalize="none")
        .fit(counted.votes, counted.y)
        .relevance(counted.votes, counted.y)
    )
    assert (rows >= with_all - 1e-7).all() and (rows > with_all + 1e-3).any()


def test_the_annotations_are_cached_by_content(make_cub, monkeypatch):
    root = make_cub()
    first = files.read_table(root)
    with monkeypatch.context() as patch:
        patch.setattr(files, "read_annotations", lambda *args: pytest.fail("again"))
        again = files.read_table(root)
    np.testing.assert_array_equal(again.present, first.present)
    np.testing.assert_array_equal(again.certainty, first.certainty)
    path = root / "attributes" / "image_attribute_labels.txt"
    path.write_text(
        path.read_text()
        .replace("1 1 0 ", "1 1 1 ", 1)
        .replace("1 1 1 1 ", "1 1 0 2 ", 1)
    )
    assert (files.read_table(root).certainty != first.certainty).any() or (
        files.read_table(root).present != first.present
    ).any()


def test_a_damaged_cache_entry_is_noticed_and_made_again(make_cub, caplog):
    root = make_cub()
    first = files.read_table(root)
    (entry,) = Cache("annotations").folder.glob("*.cache")
    content = bytearray(entry.read_bytes())
    content[-40] ^= 1
    entry.write_bytes(content)
    np.testing.assert_array_equal(files.read_table(root).present, first.present)
    assert "damaged" in caplog.text
    entry.write_bytes(b"")
    np.testing.assert_array_equal(files.read_table(root).present, first.present)
    assert entry.stat().st_size > 0


def annotate(root, change):
    path = root / "attributes" / "image_attribute_labels.txt"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")


BAD_ROWS = {
    "unknown attribute 9": lambda rows: [*rows[:-1], "36 9 0 3 1.0"],
    "unknown attribute 0": lambda rows: [*rows[:-1], "36 0 0 3 1.0"],
    "unknown image 99": lambda rows: [*rows[:-1], "99 5 0 3 1.0"],
    "unknown certainty 7": lambda rows: [*rows[:-1], "36 5 0 7 1.0"],
    "unknown present 2: it is not in 0 and 1": lambda rows: [
        *rows[:-1],
        "36 5 2 3 1.0",
    ],
    "1 of 180 annotations are missing, the first for image 36, attribute 5": lambda rows: (
        rows[:-1]
    ),
    "expected rows of .*'NA'": lambda rows: [*rows[:-1], "36 5 NA 3 1.0"],
    "found '36 5 0 99999999999 0 1'": lambda rows: [
        *rows[:-1],
        "36 5 0 99999999999 0 1",
    ],
    "some are there twice": lambda rows: [*rows, rows[0]],
    "expected rows of `image attribute present certainty time`, found '36 5'": lambda rows: [
        *rows[:-1],
        "36 5",
    ],
    "expected rows of `image attribute present certainty time`: .*'x'": lambda rows: [
        *rows[:-1],
        "36 x 0 3 1.0",
    ],
}


@pytest.mark.parametrize("message", BAD_ROWS)
def test_bad_annotation_rows_are_named(make_cub, message):
    root = make_cub()
    annotate(root, BAD_ROWS[message])
    with pytest.raises(UserError, match=message) as caught:
        load(root)
    assert "image_attribute_labels.txt" in str(caught.value)


def test_bad_tables_are_named(make_cub):
    root = make_cub()
    labels = (root / "image_class_labels.txt").read_text()
    (root / "image_class_labels.txt").write_text(labels.rsplit("36 ", 1)[0])
    with pytest.raises(
        UserError,
        match=r"image_class_labels.txt: 35 labels for the 36 images .* image 36",
    ):
        load(root)
    (root / "image_class_labels.txt").write_text(labels.replace("36 6", "36 8"))
    with pytest.raises(UserError, match=r"class 8 is not in classes.txt"):
        load(root)
    (root / "image_class_labels.txt").write_text(labels.replace("36 6", "36 6\n36 6"))
    with pytest.raises(UserError, match="36 is there twice"):
        load(root)
    (root / "image_class_labels.txt").write_text(labels)
    (root / "classes.txt").write_bytes(b"1 \xff\xfe\n")
    with pytest.raises(UserError, match=r"classes.txt: not UTF-8"):
        load(root)
    (root / "classes.txt").write_text("nothing here\n")
    with pytest.raises(
        UserError,
        match=r"classes.txt: expected lines of a number and a text, found 'nothing here'",
    ):
        load(root)
    (root / "classes.txt").unlink()
    with pytest.raises(UserError, match=r"cannot read .*classes.txt"):
        load(root)


def test_missing_parts_are_named(make_cub, tmp_path):
    root = make_cub()
    with pytest.raises(
        UserError, match=r"no images.txt in it.*dataset.root=.*CUB_200_2011"
    ):
        load(root.parent)
    (root / "attributes" / "certainties.txt").write_text("1 sure\n")
    with pytest.raises(UserError, match=r"certainties.txt: expected not visible"):
        load(root)
    (root / "attributes" / "certainties.txt").unlink()
    assert len(load(root).y) == 12
    (root.parent / "attributes.txt").unlink()
    with pytest.raises(UserError, match=r"attributes.txt is neither in"):
        load(root)
    write_numbered(root.parent / "attributes.txt", ATTRIBUTES)
    (root / "attributes" / "image_attribute_labels.txt").unlink()
    with pytest.raises(
        UserError,
        match=r"image_attribute_labels.txt is not there: the copy is incomplete",
    ):
        load(root)


def test_a_table_without_images_has_labels_and_votes(tmp_path):
    rng = np.random.default_rng(0)
    y, Z = np.repeat(np.arange(6), 4), rng.random((24, 5)) < 0.4
    names = {
        "class_names": np.array([f"b{c}" for c in range(6)]),
        "attribute_names": np.array(list("abcde")),
    }
    np.savez(tmp_path / "plain.npz", y=y, Z=Z, **names)
    np.savez(tmp_path / "packed.npz", y=y, Z=np.packbits(Z, axis=1), **names)
    plain, packed = load(tmp_path / "plain.npz"), load(tmp_path / "packed.npz")
    np.testing.assert_array_equal(plain.Z, packed.Z)
    assert [str(path) for path in plain.images[:5]] == [
        f"{plain.names.classes[0]}/{i}" for i in range(4)
    ] + [f"{plain.names.classes[1]}/0"]
    with pytest.raises(UserError, match="holds no certainties"):
        load(tmp_path / "plain.npz", votes="certainty")
    np.savez(tmp_path / "bad.npz", y=y, Z=Z[:5], **names)
    with pytest.raises(
        UserError, match=r"bad.npz: Z has shape \(5, 5\), expected \(24, 5\)"
    ):
        load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", y=y + 1, Z=Z, **names)
    with pytest.raises(
        UserError, match="y holds 6, but there are 6 class_names, 0 to 5"
    ):
        load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", y=y)
    with pytest.raises(UserError, match="Z, class_names, attribute_names missing"):
        load(tmp_path / "bad.npz")
    for change, message in (
        ({"y": y - 1}, "y holds -1"),
        ({"y": y * 1.0}, "y has type float64"),
    ):
        np.savez(tmp_path / "bad.npz", **{"y": y, "Z": Z, **names, **change})
        with pytest.raises(UserError, match=f"bad.npz: {message}"):
            load(tmp_path / "bad.npz")
    np.savez(
        tmp_path / "bad.npz", y=y, Z=Z, names=[f"a/{i}" for i in range(25)], **names
    )
    with pytest.raises(UserError, match="25 names for 24 labels"):
        load(tmp_path / "bad.npz")


def test_another_draw_is_another_split_of_the_species(make_cub):
    start = CUB(source="disk", root=str(make_cub()), split=SPLIT, split_seed=3)
    assert start.drawn(0).load().names == start.load().names
    splits = []
    for number in range(6):
        data = start.drawn(number).load()
        assert data.drawn == Drawn(2, 6)
        assert (
            data.names.classes == load(start.root, split_seed=3 + number).names.classes
        )
        splits.append(data.names.classes)
    assert len(set(splits)) > 1


@pytest.mark.parametrize("files", [1, 3])
def test_species_that_files_name_have_no_other_draws(make_cub, tmp_path, files):
    names = []
    for number in range(3):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"Bird_{2 * number}\nBird_{2 * number + 1}\n")
        names.append(str(path))
    split = names[0] if files == 1 else names
    data_set = CUB(source="disk", root=str(make_cub()), split=split)
    assert data_set.drawn(0).load().drawn is None
    with pytest.raises(UserError, match="species that files name cannot be drawn anew"):
        data_set.drawn(1)


def test_every_draw_has_detectors_of_its_own_that_know_none_of_its_species(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 6)
    Z = rng.random((54, 5)) < 0.2 + 0.6 * rng.random((9, 5))[y]
    species = [f"bird{c}" for c in range(9)]
    images = [f"{species[c]}/{i}.jpg" for i, c in enumerate(y)]
    np.savez(
        tmp_path / "votes.npz", y=y, Z=Z, names=images, class_names=species,
        attribute_names=list("abcde"),
    )  # fmt: skip
    features = (Z + 0.3 * rng.normal(size=Z.shape)).astype(np.float32)
    np.savez(tmp_path / "features.npz", features=features, names=images)
    extractor = Precomputed(
        path=str(tmp_path / "features.npz"), learning_rates=(0.01,),
        weight_decays=(1e-5,), epochs=3,
    )  # fmt: skip
    trained = []

    def train(of_training, training, recipe):
        trained.append({path.parts[-2] for path in training.images})
        assert len(of_training) == len(training.images)
        return train_detectors(of_training, training, recipe)

    train_detectors = scoring.train_detectors
    monkeypatch.setattr(scoring, "train_detectors", train)
    start = CUB(root=str(tmp_path / "votes.npz"), split=[4, 2, 3])
    scores = set()
    for number in range(4):
        data = extractor.extract(start.drawn(number).load())
        assert data.drawn == Drawn(3, 9)
        assert not trained[-1] & set(data.names.classes) and len(trained[-1]) == 6
        scores.add(identity(data))
    assert len(scores) == 4
    kept = list((tmp_path / "cache").rglob("final*"))
    assert len({path.parent for path in kept}) == len(set(map(frozenset, trained))) == 4
    # Made once for all methods.
    extractor.extract(start.drawn(2).load())
    assert list((tmp_path / "cache").rglob("final*")) == kept


def test_species_without_images_are_no_part_of_the_split(make_cub, tmp_path):
    root = make_cub()
    with open(root / "classes.txt", "a") as file:
        file.writelines(f"{c} {c:03}.Unseen_{c}\n" for c in range(7, 20))
    data = load(root)
    assert np.bincount(data.y).tolist() == [6, 6] and all(
        "Bird" in name for name in data.names.classes
    )
    with pytest.raises(UserError, match="there are 6 with images"):
        load(root, split=[3, 2, 2])
    (tmp_path / "few.txt").write_text("Bird_1\nUnseen_9\n")
    with pytest.raises(
        UserError, match="'Unseen_9' is no class of the data set with images"
    ):
        load(root, split=str(tmp_path / "few.txt"))


@pytest.mark.parametrize("file", ["images.txt", "classes.txt"])
def test_a_name_that_is_there_twice_is_named(make_cub, file):
    root = make_cub()
    lines = (root / file).read_text().splitlines()
    (root / file).write_text(
        "\n".join([*lines[:-1], f"{len(lines)} {lines[0].split(' ', 1)[1]}"])
    )
    with pytest.raises(UserError, match=f"{file}: .* is there twice"):
        load(root)


def test_settings_that_the_stand_in_does_not_know_are_said_to_have_no_effect(caplog):
    assert CUB().load().simulated and "without effect" not in caplog.text
    CUB(votes="certainty", split=[1, 1, 2], draw=1).load()
    assert (
        "the stand-in knows no dataset.split, dataset.votes: without effect"
        in caplog.text
    )
    caplog.clear()
    CUB(source="simulated", split=[100, 50, 50]).load()
    assert "stand-in knows" not in caplog.text


def test_a_cache_that_cannot_be_used_is_named_with_the_fix(
    make_cub, tmp_path, monkeypatch
):
    root = make_cub()
    first = files.read_table(root)
    (entry,) = Cache("annotations").folder.glob("*.cache")
    entry.parent.chmod(0o500)
    np.testing.assert_array_equal(files.read_table(root).present, first.present)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="cannot use the cache folder .* RSBENCH_CACHE"):
        files.read_table(root)
