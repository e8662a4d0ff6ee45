"""Visual concepts: scores of a thousand words, by a VGG-16 trained on captions (Fang et al., 2015).

Each place of the image gets a score for each word; a word is in the image if it is in any place, by a
noisy-OR over them: p = 1 - prod(1 - p_place).
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError, first_line
from rsbench.extractors.backbones import Backbone, Device, Network, Precision, place
from rsbench.extractors.images import batch_images, check_counts, image_features
from rsbench.extractors.scoring import score
from rsbench.files.atomic import file_hash
from rsbench.files.cache import key_of

if TYPE_CHECKING:
    import torch
    from PIL import Image

#: Convolutions of VGG-16, block by block, each block followed by a pooling; then its layers as convolutions.
BLOCKS = (2, 2, 3, 3, 3)
HEAD = ("fc6", "fc7", "fc8")

#: Mean blue, green and red that VGG was trained with.
_MEAN_BGR = (103.939, 116.779, 123.68)


@dataclass(frozen=True)
class VisualConcepts:
    """Scores of the data set's terms, by a VGG-16 with noisy-OR over places; its weights from a safetensors file.

    Scores made with other tools: extractor=precomputed extractor.path=FILE. Without such a network:
    extractor=clip_attributes.

    Parameters
    ----------
    weights : safetensors file with conv1_1 … conv5_3, fc6, fc7 and fc8 (`.weight`, `.bias`); channels are blue,
        green, red.
    image_size : the longer side is scaled to it.
    device : `cpu`, `cuda` or `mps`.
    precision : `float32` or `bfloat16`.
    batch_size : images in a batch; by default 2 on a CPU, else 64.
    workers : threads that decode and compute; by default one per core.
    """

    weights: str | None = None
    image_size: int = 565
    device: Device = "cpu"
    precision: Precision = "float32"
    batch_size: int | None = None
    workers: int | None = None

    def check_params(self) -> None:
        """Refuse what could only fail later."""
        check_counts(self)
        if self.image_size < 224:
            raise UserError(
                f"extractor.image_size={self.image_size}: the network needs 224 or more"
            )

    def extract(self, data: Data) -> Data:
        """Scores of the terms as features."""
        if not self.weights:
            raise UserError(
                "the network's weights are missing: extractor.weights=FILE.safetensors; or use scores made with other "
                "tools (extractor=precomputed extractor.path=FILE), or a CLIP model (extractor=clip_attributes)"
            )
        path = Path(self.weights)
        if not path.is_file():
            raise UserError(
                f"extractor.weights: there is no file {path} (seen from {Path.cwd()})"
            )
        identity = key_of(
            "visual concepts 1",
            file_hash(path),
            self.image_size,
            self.device,
            self.precision,
        )
        load = functools.partial(
            load_network, path, self.image_size, self.device, self.precision
        )
        batch_size = batch_images(self.batch_size, self.device)
        scores, bad = image_features(
            data.all_images,
            Backbone(path.stem, identity, load),
            batch_size,
            self.workers,
        )
        return score(data, scores, bad, {"weights": path.name})


def load_network(
    path: Path,
    image_size: int,
    device: Device = "cpu",
    precision: Precision = "float32",
) -> Network:
    """The network with weights from a file; layers may have other widths than VGG-16's, but must fit together."""
    import torch

    model = place(_build(_read(path), path), device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        places = model(batch).float().flatten(2)
        return -torch.expm1(torch.nn.functional.logsigmoid(-places).sum(2))

    return Network(
        device, precision, functools.partial(_prepare, image_size=image_size), forward
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        from safetensors.torch import load_file
    except ImportError:
        raise UserError(
            'extractor=visual_concepts needs the extra `vision`: pip install "rsbench[vision]"'
        ) from None
    try:
        return load_file(path)
    except Exception as error:  # whatever a library makes of a stranger's file
        raise UserError(
            f"{path}: not a readable safetensors file: {first_line(error)}"
        ) from None


def _build(tensors: dict[str, Any], path: Path) -> "torch.nn.Module":
    import torch

    layers: list[torch.nn.Module] = []
    width = 3
    for block, count in enumerate(BLOCKS, 1):
        for i in range(1, count + 1):
            layer = _convolution(tensors, f"conv{block}_{i}", width, 3, path)
            layers += [layer, torch.nn.ReLU()]
            width = layer.out_channels
        layers.append(torch.nn.MaxPool2d(2, ceil_mode=True))
    for name in HEAD:
        layer = _convolution(tensors, name, width, 7 if name == "fc6" else 1, path)
        layers += [layer, torch.nn.ReLU()]
        width = layer.out_channels
    return torch.nn.Sequential(*layers[:-1])


def _convolution(
    tensors: dict[str, Any], name: str, width: int, size: int, path: Path
) -> "torch.nn.Conv2d":
    import torch

    weight, bias = tensors.get(f"{name}.weight"), tensors.get(f"{name}.bias")
    where = f"{path}: not the weights of a visual-concepts VGG-16: layer {name}"
    if weight is None or bias is None:
        raise UserError(f"{where}: its weight or bias is missing")
    if weight.ndim == 2 and name in HEAD and weight.shape[1] == width * size**2:
        weight = weight.reshape(
            -1, width, size, size
        )  # a fully connected layer is a convolution too
    if (
        weight.shape[1:] != (width, size, size)
        or bias.shape != weight.shape[:1]
        or not weight.is_floating_point()
    ):
        raise UserError(
            f"{where}: its weight has shape {tuple(weight.shape)} and type {weight.dtype}, its bias "
            f"{tuple(bias.shape)}; expected (n, {width}, {size}, {size}) and (n,) of floats"
        )
    layer = torch.nn.utils.skip_init(
        torch.nn.Conv2d, width, len(weight), size, padding=1 if size == 3 else 0
    )
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def _prepare(image: "Image.Image", image_size: int) -> "torch.Tensor":
    """The longer side to `image_size`, filled up to a square with the mean colour; blue, green, red."""
    import torch
    from PIL import Image

    scale = image_size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    pixels = np.asarray(
        image.resize((width, height), Image.Resampling.BILINEAR), np.float32
    )[..., ::-1]
    square = np.zeros((image_size, image_size, 3), np.float32)
    square[:height, :width] = pixels - np.array(_MEAN_BGR, np.float32)
    return torch.from_numpy(square).permute(2, 0, 1)
