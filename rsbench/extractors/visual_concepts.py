"""Visual concepts: scores of a thousand words, by a VGG-16 trained on captions.

Each place of the image gets a score for each word; a word is in the image if it is in
any place, by a noisy-OR over them: p = 1 - prod(1 - p_place).

References
----------
Fang et al., From captions to visual concepts and back, CVPR 2015.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError, first_line
from rsbench.extractors.backbones import Backbone, Device, Network, Precision, place
from rsbench.extractors.images import NetworkExtractor
from rsbench.extractors.scoring import score
from rsbench.files.atomic import file_hash
from rsbench.files.cache import key_of

if TYPE_CHECKING:
    import torch
    from PIL import Image

#: Convolutions in each block of VGG-16; a pooling follows each block.
BLOCKS = (2, 2, 3, 3, 3)
#: Its fully connected layers, and the side of each as a convolution.
HEAD = {"fc6": 7, "fc7": 1, "fc8": 1}

#: Mean blue, green and red that VGG was trained with.
_MEAN_BGR = (103.939, 116.779, 123.68)


@dataclass
class VisualConcepts(NetworkExtractor):
    """Scores of the data set's terms, by a VGG-16 with noisy-OR over places.

    Its weights come from a safetensors file. Scores made with other tools:
    extractor=precomputed extractor.path=FILE. Without such a network:
    extractor=clip_attributes.

    Parameters
    ----------
    weights : str or None
        Safetensors file with conv1_1 … conv5_3, fc6, fc7 and fc8 (`.weight`, `.bias`);
        channels are blue, green, red.
    image_size : int
        The longer side is scaled to it.
    device : {"cpu", "cuda", "mps"}
        Where the network runs.
    precision : {"float32", "bfloat16"}
        Of the network's numbers.
    batch_size : int or None
        Images in a batch; by default 2 on a CPU, else 64.
    workers : int or None
        Threads that decode and compute; by default one per core.
    """

    weights: str | None = None
    image_size: int = 565
    device: Device = "cpu"
    precision: Precision = "float32"
    batch_size: int | None = None
    workers: int | None = None

    def check_params(self) -> None:
        """Raise an error for settings that could only fail later."""
        super().check_params()
        if self.image_size < 224:
            raise UserError(
                f"extractor.image_size={self.image_size}: the network needs 224 or more"
            )

    def extract(self, data: Data) -> Data:
        """Return the data with scores of the terms as features."""
        if not self.weights:
            raise UserError(
                "the network's weights are missing: "
                "extractor.weights=FILE.safetensors; or use scores made with other "
                "tools (extractor=precomputed extractor.path=FILE), or a CLIP model "
                "(extractor=clip_attributes)"
            )
        path = Path(self.weights)
        if not path.is_file():
            raise UserError(
                f"extractor.weights: there is no file {path} (seen from {Path.cwd()})"
            )
        identity = key_of(
            "visual concepts 1",  # another number if the code below does otherwise
            file_hash(path),
            self.image_size,
            self.device,
            self.precision,
        )
        load = functools.partial(
            load_network, path, self.image_size, self.device, self.precision
        )
        scores, bad = self.run_network(data, Backbone(path.stem, identity, load))
        return score(data, scores, bad, {"weights": path.name})


def load_network(
    path: Path,
    image_size: int,
    device: Device = "cpu",
    precision: Precision = "float32",
) -> Network:
    """Load the network with weights from a file.

    Layers may have other widths than VGG-16's, but must fit together.

    Parameters
    ----------
    path : Path
        A safetensors file.
    image_size : int
        The longer side is scaled to it.
    device : {"cpu", "cuda", "mps"}
        Where it is to run.
    precision : {"float32", "bfloat16"}
        Of its numbers.
    """
    import torch

    model = place(_build(_read(path), path), device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        places = model(batch).float().flatten(2)
        # 1 - prod(1 - p), in a way that does not lose small p.
        log_absent = torch.nn.functional.logsigmoid(-places).sum(2)
        return -torch.expm1(log_absent)

    prepare = functools.partial(_prepare, image_size=image_size)
    return Network(device, precision, prepare, forward)


def _read(path: Path) -> dict[str, Any]:
    """Return the tensors of a safetensors file by their names."""
    try:
        from safetensors.torch import load_file
    except ImportError:
        raise UserError(
            "extractor=visual_concepts needs the extra `vision`: "
            'pip install "rsbench[vision]"'
        ) from None
    try:
        return load_file(path)
    except Exception as error:  # whatever a library makes of a stranger's file
        raise UserError(
            f"{path}: not a readable safetensors file: {first_line(error)}"
        ) from None


def _build(tensors: dict[str, Any], path: Path) -> "torch.nn.Module":
    """Build the network, layer by layer, each as wide as its weights are."""
    import torch

    layers: list[torch.nn.Module] = []
    width = 3
    for block, count in enumerate(BLOCKS, 1):
        for i in range(1, count + 1):
            layer = _convolution(tensors, f"conv{block}_{i}", width, 3, path)
            layers += [layer, torch.nn.ReLU()]
            width = layer.out_channels
        # Rounded up, as in Caffe, in which the network was trained.
        layers.append(torch.nn.MaxPool2d(2, ceil_mode=True))
    for name, size in HEAD.items():
        layer = _convolution(tensors, name, width, size, path)
        layers += [layer, torch.nn.ReLU()]
        width = layer.out_channels
    return torch.nn.Sequential(*layers[:-1])  # scores are not rectified


def _convolution(
    tensors: dict[str, Any], name: str, width: int, size: int, path: Path
) -> "torch.nn.Conv2d":
    """Make a convolution of so many channels and such a side; refuse wrong weights."""
    import torch

    weight = tensors.get(f"{name}.weight")
    bias = tensors.get(f"{name}.bias")
    where = f"{path}: not the weights of a visual-concepts VGG-16: layer {name}"
    if weight is None or bias is None:
        raise UserError(f"{where}: its weight or bias is missing")
    connected = weight.ndim == 2 and weight.shape[1] == width * size**2
    if connected and name in HEAD:  # a fully connected layer is a convolution too
        weight = weight.reshape(-1, width, size, size)
    right = (
        weight.shape[1:] == (width, size, size)
        and bias.shape == weight.shape[:1]
        and weight.is_floating_point()
    )
    if not right:
        raise UserError(
            f"{where}: its weight has shape {tuple(weight.shape)} and type "
            f"{weight.dtype}, its bias {tuple(bias.shape)}; expected (n, {width}, "
            f"{size}, {size}) and (n,) of floats"
        )
    # Only the convolutions of the blocks keep the size of their input.
    padding = 0
    if size == 3:
        padding = 1
    # Without first weights, which would be drawn in vain.
    layer = torch.nn.utils.skip_init(
        torch.nn.Conv2d, width, len(weight), size, padding=padding
    )
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def _prepare(image: "Image.Image", image_size: int) -> "torch.Tensor":
    """Scale the longer side, and fill up to a square with the mean colour."""
    import torch
    from PIL import Image

    scale = image_size / max(image.size)
    # At least one pixel, of however thin an image.
    width = max(1, round(image.width * scale))
    height = max(1, round(image.height * scale))
    scaled = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(scaled, np.float32)[..., ::-1]  # blue, green, red
    # The mean is subtracted, so zeros are the mean colour.
    square = np.zeros((image_size, image_size, 3), np.float32)
    square[:height, :width] = pixels - np.array(_MEAN_BGR, np.float32)
    return torch.from_numpy(square).permute(2, 0, 1)
