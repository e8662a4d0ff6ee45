"""SUN: tags as people type them, cleaned and matched as the paper says; annotations of any quality survived."""

from collections import Counter

import numpy as np
import pytest

from rsbench.core.data import Drawn
from rsbench.core.data_checks import check_data
from rsbench.datasets import SUN, sun_files
from rsbench.datasets.sun import PAPER_COUNTS
from rsbench.datasets.sun_files import UnusableError, object_names, scan, scene_of
from rsbench.datasets.sun_stand_in import draw_scenes, pseudo_words, type_tags
from rsbench.datasets.tags import (
    MATCHERS,
    TagMap,
    Vocabulary,
    clean,
    read_vocabulary,
    stem,
)
from rsbench.errors import UserError
from tests.small_data import UNUSABLE, xml

#: (as typed, cleaned): the paper's description, and what LabelMe users plausibly type.
CLEANED = [
    ("table", "table"),
    ("Table", "table"),
    ("  table ", "table"),
    ("table_occluded", "table"),
    ("table occluded", "table"),
    ("table_crop", "table"),
    ("table crop", "table"),
    ("table_cropped", "table"),
    ("table cropped", "table"),
    ("table_occlulded", "table"),
    ("table occlulded", "table"),
    ("table_ocluded", "table"),
    ("table_occuded", "table"),
    ("table_occlude", "table"),
    ("table_occludded", "table"),
    ("table_occluded_crop", "table"),
    ("table_crop_occluded", "table"),
    ("table crop crop", "table"),
    ("table_occluded_occluded", "table"),
    ("table_occluded cropped", "table"),
    ("table_croped", "table"),
    ("table_croppped", "table"),
    ("table (occluded)", "table"),
    ("table, crop", "table"),
    ("table occ", "table"),
    ("table_OCCLUDED", "table"),
    ("TABLE CROP", "table"),
    ("table.", "table"),
    ("'table'", "table"),
    ("TV table", "tv table"),
    ("TV_table", "tv table"),
    ("TV table_occluded", "tv table"),
    ("coffee  table   crop", "coffee table"),
    ("person walking_occluded", "person walking"),
    ("crop", "crop"),
    ("occluded", "occluded"),
    ("cropped occluded", "cropped"),
    ("crops", "crops"),
    ("corn crops", "corn crops"),
    ("cross", "cross"),
    ("crowd", "crowd"),
    ("wooden crow", "wooden crow"),
    ("painting ocean", "painting ocean"),
    ("stone octagon", "stone octagon"),
    ("ﬁre hydrant", "fire hydrant"),
    ("café table", "café table"),
    ("t-shirt", "t-shirt"),
    ("table-crop", "table"),
    ("table - crop", "table"),
    ("table,crop", "table"),
    ("table/occluded", "table"),
    ("table(crop)", "table"),
    ("table_crop2", "table"),
    ("table crop 2", "table"),
    ("table 2", "table 2"),
    ("seat occupied", "seat occupied"),
    ("image cropper", "image cropper"),
    ("half-timbered house", "half-timbered house"),
    ("", ""),
    ("   ", ""),
    ("...", ""),
    ("_crop", "crop"),
]

TERMS = (
    "table",
    "tables",
    "person",
    "people",
    "walking",
    "building",
    "car",
    "tv",
    "tree",
    "glasses",
    "window",
    "a",
    "red",
)

#: (as typed, terms): matching after stemming both lists, compounds by their second word.
MATCHED = [
    ("table", ["table", "tables"]),
    ("tables", ["table", "tables"]),
    ("TV table", ["table", "tables"]),
    ("TV table_occluded", ["table", "tables"]),
    ("tv", ["tv"]),
    ("table tv", ["tv"]),
    ("persons", ["person"]),
    ("person_crop", ["person"]),
    ("people", ["people"]),
    ("person walking", ["walking"]),
    ("person walks", ["walking"]),
    ("buildings", ["building"]),
    ("build", ["building"]),
    ("office building_crop", ["building"]),
    ("car", ["car"]),
    ("cars occluded", ["car"]),
    ("car park", []),
    ("carpet", []),
    ("red car", ["car"]),
    ("big red car", ["red"]),
    ("glass", ["glasses"]),
    ("wine glass", ["glasses"]),
    ("WINDOWS", ["window"]),
    ("windowpane", []),
    ("palm trees cropped", ["tree"]),
    ("chandelier", []),
    ("chair 1", []),
    ("crop", []),
    ("", []),
    ("x" * 500, []),
]


@pytest.mark.parametrize(("typed", "cleaned"), CLEANED)
def test_tags_are_cleaned(typed, cleaned):
    assert clean(typed) == cleaned and clean(cleaned) == cleaned


@pytest.mark.parametrize(("typed", "terms"), MATCHED)
def test_tags_become_terms(typed, terms):
    mapping = TagMap(Vocabulary(TERMS))
    assert [TERMS[i] for i in mapping.terms(typed)] == terms
    np.testing.assert_array_equal(
        mapping.votes([[typed, typed]])[0], [term in terms for term in TERMS]
    )
    (decision,) = mapping.decisions({typed: 3})
    assert decision.terms == tuple(terms) and decision.count == 3 and decision.why


def test_there_are_enough_cases():
    assert len({*CLEANED}) + len(MATCHED) >= 60


def test_the_stemmer_is_snowballs_english_and_no_other():
    assert [stem(word) for word in ("generously", "tables", "skies")] == [
        "generous",
        "tabl",
        "sky",
    ]  # porter: gener, ski


def test_other_ways_to_match_can_be_chosen_and_added(monkeypatch):
    def match(matcher, tag):
        return [TERMS[i] for i in TagMap(Vocabulary(TERMS), matcher).terms(tag)]

    assert match("head", "big red car") == ["car"] and match("single", "red car") == []
    assert match("single", "cars") == ["car"]
    monkeypatch.setitem(MATCHERS, "first", lambda words: words[0] if words else None)
    assert match("first", "red car") == ["red"]
    with pytest.raises(
        UserError, match=r"dataset.matcher='secnd' is unknown. Did you mean 'second'"
    ):
        SUN(matcher="secnd")


def test_decisions_say_why():
    mapping = TagMap(Vocabulary(TERMS))
    found = {
        d.tag: d
        for d in mapping.decisions(
            {"car": 5, "car_crop": 2, "red car": 1, "lamp": 1, "": 1}
        )
    }
    assert found["car"].count == 7 and found["car"].why == "same stem"
    assert (
        found["red car"].why == "by 'car'"
        and found["lamp"].why == "no term with the stem 'lamp'"
    )
    assert found[""].why == "no word stands for it" and next(iter(found)) == "car"


def test_vocabularies_are_read_and_bad_ones_named(tmp_path, real_data):
    vocabulary = read_vocabulary(real_data / "visual_concepts_vocab.txt")
    assert len(vocabulary.terms) == 1000 and vocabulary.terms[0] == "a"
    assert len(vocabulary.by_stem) < 1000


def test_a_byte_order_mark_is_no_part_of_a_term(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbftower, NN, 9\r\ntree\r\n")
    assert read_vocabulary(tmp_path / "v.txt").terms == ("tower", "tree")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("car, NN, 3\n\ntree, NN, 2\n", "line 2: empty"),
        ("car, NN, 3\ntree\ncar\n", "line 3: 'car' is there already, in line 1"),
        (", NN, 3\n", "line 1: empty"),
        ("", "line 1: empty"),
    ],
)
def test_bad_vocabularies_are_named(tmp_path, content, message):
    (tmp_path / "vocabulary.txt").write_text(content)
    with pytest.raises(UserError, match=f"vocabulary.txt, {message}"):
        read_vocabulary(tmp_path / "vocabulary.txt")


@pytest.mark.parametrize("what", UNUSABLE)
def test_unusable_annotations_are_told_by_cause(what):
    content, cause = UNUSABLE[what]
    with pytest.raises(UnusableError, match=cause):
        object_names(content)


def test_usable_annotations_give_their_names():
    assert object_names(xml("car", " TV\n table ", "", "gone", deleted={3})) == [
        "car",
        "TV table",
        "",
    ]
    assert object_names(xml()) == [] and object_names(b"<annotation/>") == []
    assert len(object_names(xml(*["car"] * 100_000))) == 100_000
    assert object_names(xml("x" * 500)) == ["x" * 500]
    latin = '<?xml version="1.0" encoding="latin-1"?><annotation><object><name>café</name></object></annotation>'
    assert object_names(latin.encode("latin-1")) == ["café"]
    assert object_names(b"<annotation><object><polygon/></object></annotation>") == [""]


def make(root, **settings):
    vocabulary = str(root.parent / "vocabulary.txt")
    return SUN(
        root=str(root), **{"vocabulary": vocabulary, "background_below": 5, **settings}
    )


def load(root, **settings):
    return make(root, **settings).load()


def test_a_tree_becomes_scenes_tags_and_counts(make_sun):
    found = scan(make_sun())
    assert Counter(found.scenes) == {
        "abbey": 12,
        "bar/indoor": 10,
        "cafe": 11,
        "dam": 3,
        "bar/outdoor": 2,
    }
    assert found.left_out == {
        "declares entities": 2, "encoding": 4, "malformed XML": 3, "in misc or outliers": 2,
    }  # fmt: skip
    assert (
        scene_of("b/bar/indoor/x.xml") == "bar/indoor"
        and scene_of("a/abbey/x.xml") == "abbey"
    )


def test_votes_are_the_terms_of_the_tags(make_sun):
    root = make_sun()
    data = check_data(load(root), "sun")
    assert data.names.classes == ("abbey", "bar/indoor", "cafe") and np.bincount(
        data.y
    ).tolist() == [12, 10, 11]
    assert data.names.features == (
        "tower",
        "tree",
        "table",
        "tables",
        "glass",
        "window",
        "unused",
    )
    assert len(data.training.y) == 5 and not data.simulated
    for path, z in zip(data.images, data.Z, strict=True):
        annotated = (
            (root / "Annotations" / path.relative_to(root / "Images"))
            .with_suffix(".xml")
            .read_text()
        )
        expected = {
            "tower": ["tower"],
            "tree": ["tree"],
            "TV table_occluded": ["table", "tables"],
            "glass": ["glass"],
        }
        expected |= {"table": ["table", "tables"], "window": ["window"]}
        marked = {
            term
            for tag, terms in expected.items()
            if f"<name>{tag}</name>" in annotated
            for term in terms
        }
        assert {
            term for term, vote in zip(data.names.features, z, strict=True) if vote
        } == marked


def test_scenes_are_drawn_by_number_within_bounds(make_sun):
    root = make_sun()
    settings = {"classes": 2, "background_below": 3}
    everything = load(root, background_below=3)
    assert everything.names.classes == ("abbey", "bar/indoor", "cafe", "dam")
    start = make(root, **settings, min_samples=10)
    drawn = set()
    for number in range(3):
        data = check_data(start.drawn(number).load(), "sun")
        assert data.drawn == Drawn(2, 3) and len(set(data.images)) == len(data.y)
        drawn.add(data.names.classes)
        for path, c in zip(data.images, data.y, strict=True):
            assert data.names.classes[c] in path.as_posix()
        assert len(data.training.y) == len(everything.training.y) == 2
    assert len(drawn) == 3  # all pairs of the three scenes within the bounds
    assert load(root, background_below=3, max_samples=10).names.classes == (
        "bar/indoor",
        "dam",
    )
    with pytest.raises(UserError, match=r"dataset\.classes says how many to draw"):
        make(root).drawn(1)


def test_every_count_of_the_paper_has_its_counterpart(make_sun):
    facts = load(make_sun()).details["tags"]
    assert set(PAPER_COUNTS) <= set(facts)
    assert (
        facts["images"] == 38
        and facts["scenes"] == 5
        and facts["tags_as_typed"] == facts["tags_cleaned"] == 8
    )
    assert facts["tags_matched"] == 6 and facts["terms_matched"] == 6
    assert (
        facts["left out, encoding"] == 4
        and facts["median_times_a_tag_is_in_an_image"] == 1
    )


def test_files_that_cannot_be_opened_are_counted(make_sun):
    root = make_sun()
    folder = root / "Annotations" / "a" / "abbey"
    (folder / "gone.xml").symlink_to("nowhere.xml")
    (folder / "loop.xml").symlink_to("loop.xml")
    (folder / "folder.xml").mkdir()
    (folder / "LOUD.XML").write_bytes(xml("tree"))
    (root / "Annotations" / "stray.xml").write_bytes(xml("tree"))
    found = scan(root)
    assert (
        found.left_out["not a file"] == 2 and found.left_out["in misc or outliers"] == 3
    )
    assert "a/abbey/LOUD" in found.images and len(found.images) == 39


def test_a_scan_is_cached_by_content(make_sun, monkeypatch):
    root = make_sun()
    first = scan(root)
    with monkeypatch.context() as patch:
        patch.setattr(sun_files, "parse_chunk", lambda *args: pytest.fail("again"))
        assert scan(root) == first
    (root / "Annotations" / "a" / "abbey" / "sun_abbey_1.xml").write_bytes(
        xml("changed")
    )
    assert ("changed",) in scan(root).tags


def test_many_files_are_parsed_by_all_cores_to_the_same_result(
    make_sun, monkeypatch, tmp_path
):
    root = make_sun()
    alone = scan(root)
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(sun_files, "FEW_FILES", 3)
    monkeypatch.setattr(sun_files, "FILES_PER_CHUNK", 7)
    assert scan(root) == alone


def test_missing_parts_are_named(make_sun, tmp_path):
    root = make_sun()
    with pytest.raises(UserError, match="no folder Annotations"):
        load(root.parent)
    with pytest.raises(UserError, match="dataset.vocabulary=FILE"):
        load(root, vocabulary=None)
    with pytest.raises(UserError, match="2 or more|at least two are needed"):
        load(root, background_below=100)
    (tmp_path / "other.txt").write_text("nothing\nof\nthe\nkind\n")
    with pytest.raises(UserError, match="no tag of .* matches any term"):
        load(root, vocabulary=str(tmp_path / "other.txt"))
    (tmp_path / "empty" / "Annotations").mkdir(parents=True)
    with pytest.raises(UserError, match="no annotations"):
        scan(tmp_path / "empty")


def test_scores_made_elsewhere_match_scenes_with_like_named_images(make_sun, tmp_path):
    from rsbench.extractors import Precomputed

    data = load(make_sun(images=False))
    paths = [*data.images, *data.training.images]
    scores = np.random.default_rng(0).random((len(paths), 7))
    names = [str(path.relative_to(tmp_path / "SUN2012" / "Images")) for path in paths]
    np.savez(tmp_path / "scores.npz", scores=scores, names=names)
    made = Precomputed(path=str(tmp_path / "scores.npz")).extract(data)
    np.testing.assert_array_equal(made.X, scores[: len(data.y)].astype(np.float32))
    assert made.background.shape == (5, 7) and made.details["tags"]["images"] == 38


def test_images_without_annotation_and_the_reverse(make_sun, tmp_path):
    from rsbench.extractors import Precomputed

    root = make_sun()
    (root / "Images" / "a" / "abbey" / "nobody_annotated.jpg").write_bytes(b"")
    data = load(root)
    assert "nobody_annotated.jpg" not in {path.name for path in data.images}
    data.images[0].unlink()
    with pytest.raises(UserError, match="none of the data set's"):
        np.savez(tmp_path / "s.npz", scores=np.ones((1, 7)), names=["x/y"])
        Precomputed(path=str(tmp_path / "s.npz")).extract(data)


def test_visual_concepts_are_a_noisy_or_over_places(make_sun, tiny_vgg):
    import torch
    from PIL import Image
    from safetensors.torch import load_file
    from torch.nn.functional import conv2d, max_pool2d

    from rsbench.extractors import VisualConcepts

    data = load(make_sun())
    made = VisualConcepts(weights=str(tiny_vgg), image_size=300).extract(data)
    t = load_file(tiny_vgg)
    image = (
        Image.open(data.images[3])
        .convert("RGB")
        .resize((300, 225), Image.Resampling.BILINEAR)
    )
    x = torch.zeros(1, 3, 300, 300)
    rgb = torch.tensor(np.array(image), dtype=torch.float32)
    for channel, (source, mean) in enumerate(((2, 103.939), (1, 116.779), (0, 123.68))):
        x[0, channel, :225] = rgb[:, :, source] - mean
    for block, count in enumerate((2, 2, 3, 3, 3), 1):
        for i in range(1, count + 1):
            x = conv2d(
                x, t[f"conv{block}_{i}.weight"], t[f"conv{block}_{i}.bias"], padding=1
            ).relu()
        x = max_pool2d(x, 2, ceil_mode=True)
    x = conv2d(x, t["fc6.weight"].reshape(6, 4, 7, 7), t["fc6.bias"]).relu()
    x = conv2d(x, t["fc7.weight"].reshape(6, 6, 1, 1), t["fc7.bias"]).relu()
    p = conv2d(x, t["fc8.weight"], t["fc8.bias"]).sigmoid()[0]
    assert p.shape[1:] == (4, 4)
    expected = [1 - np.prod([1 - float(v) for v in place.flatten()]) for place in p]
    np.testing.assert_allclose(made.X[3], expected, rtol=1e-4)
    assert (
        made.background.shape == (5, 7)
        and made.details["detectors"]["weights"] == "concepts.safetensors"
    )


def test_weights_of_another_network_are_named(make_sun, tiny_vgg, tmp_path):
    from safetensors.torch import load_file, save_file

    from rsbench.extractors import VisualConcepts

    data = load(make_sun())
    with pytest.raises(
        UserError, match=r"extractor.weights=FILE.safetensors; .*extractor=precomputed"
    ):
        VisualConcepts().extract(data)
    with pytest.raises(UserError, match="there is no file"):
        VisualConcepts(weights="nowhere.safetensors").extract(data)
    (tmp_path / "pickle.safetensors").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(UserError, match="not a readable safetensors file"):
        VisualConcepts(weights=str(tmp_path / "pickle.safetensors")).extract(data)
    tensors = load_file(tiny_vgg)
    save_file(
        {k: v for k, v in tensors.items() if k != "conv3_2.bias"},
        tmp_path / "less.safetensors",
    )
    with pytest.raises(
        UserError, match=r"not the weights of a visual-concepts VGG-16: layer conv3_2"
    ):
        VisualConcepts(weights=str(tmp_path / "less.safetensors")).extract(data)
    turned = {
        k: v.permute(0, 2, 3, 1).contiguous()
        if k.startswith("conv") and v.ndim == 4
        else v
        for k, v in tensors.items()
    }
    save_file(turned, tmp_path / "turned.safetensors")
    with pytest.raises(
        UserError,
        match=r"layer conv1_1: its weight has shape \(4, 3, 3, 3\)|layer conv1_2",
    ):
        VisualConcepts(weights=str(tmp_path / "turned.safetensors")).extract(data)
    broken = {**tensors, "fc8.bias": tensors["fc8.bias"] * float("nan")}
    save_file(broken, tmp_path / "nan.safetensors")
    with pytest.raises(UserError, match="NaN or infinite features"):
        VisualConcepts(
            weights=str(tmp_path / "nan.safetensors"), image_size=224
        ).extract(data)
    tensors["fc7.weight"] = tensors["fc7.weight"][:, :5].contiguous()
    save_file(tensors, tmp_path / "other.safetensors")
    with pytest.raises(UserError, match="layer fc7"):
        VisualConcepts(weights=str(tmp_path / "other.safetensors")).extract(data)
    (tmp_path / "vocabulary.txt").write_text("tree\ntwo\n")
    with pytest.raises(
        UserError,
        match=r"concepts.safetensors: scores of 7 attributes, but the data set has 2",
    ):
        VisualConcepts(weights=str(tiny_vgg), image_size=224).extract(
            load(tmp_path / "SUN2012")
        )


def test_the_stand_in_goes_the_way_of_tags():
    drawn = draw_scenes(difficulty=1.0, draw=0)
    data = SUN(source="simulated").load()
    np.testing.assert_array_equal(data.Z, drawn.Z)
    assert (
        data.simulated
        and data.details["tags"]["tags_as_typed"]
        > 2 * data.details["tags"]["tags_cleaned"]
    )
    typed = type_tags(drawn.Z[:20], drawn.names.features, 0)
    assert any("_occlulded" in tag for row in typed for tag in row) and any(
        "big " in tag for row in typed for tag in row
    )
    assert (
        SUN(source="simulated", matcher="single").load().Z.sum() < data.Z.sum()
    ).all()
    words = pseudo_words(1000)
    assert len({stem(word) for word in words}) == 1000
