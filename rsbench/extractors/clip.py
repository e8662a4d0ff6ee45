"""Scores of named attributes without training: how well their words fit the image."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError, first_line
from rsbench.extractors.backbones import (
    Backbone,
    Device,
    Network,
    Precision,
    find_folder,
    folder_identity,
    image_transform,
    import_transformers,
    load_model,
    place,
)
from rsbench.extractors.images import batch_images, check_counts, image_features
from rsbench.extractors.scoring import score
from rsbench.files.cache import Cache, key_of


@dataclass(frozen=True)
class ClipAttributes:
    """CLIP's likeness of each image to a sentence about each attribute, such as "a bird whose bill shape is hooked".

    Attributes named `has_PART::VALUE` become `prompt`; others, `plain_prompt`.

    Parameters
    ----------
    model : folder of a CLIP model of `transformers`, or its name on the Hugging Face hub. Safetensors only.
    prompt : sentence with {part} and {value}.
    plain_prompt : sentence with {value}, for names without a part.
    scores : `softmax` over the values of a part (names without a part: over all), at the model's own scale;
        or `cosine`, mapped to [0, 1].
    device : `cpu`, `cuda` or `mps`.
    precision : `float32` or `bfloat16`.
    batch_size : images in a batch; by default 2 on a CPU, else 64.
    workers : threads that decode and compute; by default one per core.
    """

    model: str = "openai/clip-vit-base-patch32"
    prompt: str = "a bird whose {part} is {value}"
    plain_prompt: str = "a photo of {value}"
    scores: Literal["softmax", "cosine"] = "softmax"
    device: Device = "cpu"
    precision: Precision = "float32"
    batch_size: int | None = None
    workers: int | None = None

    def check_params(self) -> None:
        """Refuse what could only fail later."""
        check_counts(self)
        for name, text in (
            ("prompt", self.prompt),
            ("plain_prompt", self.plain_prompt),
        ):
            try:
                one, other = (
                    text.format(part="part", value=value) for value in ("one", "other")
                )
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                raise UserError(
                    f"extractor.{name}='{text}': {error}; it may hold {{part}} and {{value}}"
                ) from None
            if one == other:
                raise UserError(f"extractor.{name}='{text}': it must hold {{value}}")

    def extract(self, data: Data) -> Data:
        """Likeness to each attribute's sentence as features."""
        if not data.names.features:
            raise UserError(
                "extractor=clip_attributes needs names of attributes, which the data set does not have"
            )
        folder = find_folder(self.model, "extractor.model")
        identity = folder_identity(folder, "clip", self.device, self.precision)
        backbone = Backbone(
            self.model,
            identity,
            lambda: _image_tower(folder, self.device, self.precision),
        )
        batch_size = batch_images(self.batch_size, self.device)
        features, bad = image_features(
            data.all_images, backbone, batch_size, self.workers
        )
        parts, sentences = zip(
            *(self.sentence(name) for name in data.names.features), strict=True
        )
        texts, scale = _text_features(folder, identity, sentences)
        return score(
            data,
            self._scores(features, texts, scale, parts),
            bad,
            {"model": self.model},
        )

    def sentence(self, attribute: str) -> tuple[str, str]:
        """The part that an attribute is about, and the attribute in words."""
        part, _, value = attribute.rpartition("::")
        part = part.removeprefix("has_").replace("_", " ")
        value = value.replace("_", " ").strip()
        return part, (self.prompt if part else self.plain_prompt).format(
            part=part, value=value
        )

    def _scores(
        self,
        images: np.ndarray,
        texts: np.ndarray,
        scale: float,
        parts: tuple[str, ...],
    ) -> np.ndarray:
        cosine = _unit(images) @ _unit(texts).T
        if self.scores == "cosine":
            return (1 + cosine) / 2
        scores = np.empty_like(cosine)
        for part in dict.fromkeys(parts):
            members = np.array([other == part for other in parts])
            logits = scale * cosine[:, members]
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            scores[:, members] = odds / odds.sum(axis=1, keepdims=True)
        return scores


def _image_tower(folder: Path, device: Device, precision: Precision) -> Network:
    model = place(_load_clip(folder), device, precision)
    return Network(
        device,
        precision,
        image_transform(folder),
        lambda batch: model.get_image_features(pixel_values=batch).pooler_output,  # type: ignore[operator]
    )


def _text_features(
    folder: Path, identity: str, sentences: tuple[str, ...]
) -> tuple[np.ndarray, float]:
    """One row per sentence, and the model's scale of likeness; kept on disk like the images'."""

    def compute() -> dict[str, np.ndarray]:
        import torch

        tokenizer = _tokenizer(folder)
        model = place(_load_clip(folder), "cpu", "float32")
        tokens = tokenizer(
            list(sentences), padding=True, truncation=True, return_tensors="pt"
        )
        if len(torch.unique(tokens["input_ids"], dim=0)) < len(set(sentences)):
            raise UserError(
                f"{folder}: its tokenizer does not tell the attributes' sentences apart"
            )
        with torch.inference_mode():
            texts = model.get_text_features(**tokens).pooler_output.numpy()  # type: ignore[operator]
            scale = model.logit_scale.exp().numpy()  # type: ignore[operator]
        return {"texts": texts, "scale": scale}

    known = Cache("texts").make(
        key_of(identity, sentences), "computing features of sentences", compute
    )
    return known["texts"], float(known["scale"])


def _load_clip(folder: Path) -> Any:
    model, _ = load_model(folder)
    if not (
        hasattr(model, "get_image_features") and hasattr(model, "get_text_features")
    ):
        raise UserError(
            f"extractor.model={folder}: a {type(model).__name__}, which does not compare images with text"
        )
    return model


def _tokenizer(folder: Path) -> Any:
    # Without its files transformers makes a tokenizer that knows no word, and says nothing.
    if not ((folder / "tokenizer.json").exists() or (folder / "vocab.json").exists()):
        raise UserError(
            f"{folder}: no tokenizer in it (tokenizer.json): save it there with save_pretrained(folder)"
        )
    try:
        return import_transformers().AutoTokenizer.from_pretrained(
            folder, local_files_only=True
        )
    except Exception as error:  # whatever a library makes of a stranger's files
        raise UserError(f"{folder}: no usable tokenizer: {first_line(error)}") from None


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
