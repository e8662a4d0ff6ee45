"""Scores of named attributes without training: how well their words fit the image."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from rsbench.extractors.images import NetworkExtractor
from rsbench.extractors.scoring import score
from rsbench.files.cache import Cache, key_of

if TYPE_CHECKING:
    import torch


@dataclass
class ClipAttributes(NetworkExtractor):
    """CLIP's likeness of each image to a sentence about each attribute.

    Such as "a bird whose bill shape is hooked". Attributes named `has_PART::VALUE`
    become `prompt`; others, `plain_prompt`.

    Parameters
    ----------
    model : str
        Folder of a CLIP model of `transformers`, or its name on the Hugging Face hub.
        Safetensors only.
    prompt : str
        Sentence with {part} and {value}.
    plain_prompt : str
        Sentence with {value}, for names without a part.
    scores : {"softmax", "cosine"}
        Shares among the values of a part (names without a part: among all of them), at
        the model's own scale; or the cosine, mapped to [0, 1].
    device : {"cpu", "cuda", "mps"}
        Where the network runs.
    precision : {"float32", "bfloat16"}
        Of the network's numbers.
    batch_size : int or None
        Images in a batch; by default 2 on a CPU, else 64.
    workers : int or None
        Threads that decode and compute; by default one per core.
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
        """Raise an error for settings that could only fail later."""
        super().check_params()
        _check_prompt("prompt", self.prompt)
        _check_prompt("plain_prompt", self.plain_prompt)

    def extract(self, data: Data) -> Data:
        """Return the data with likeness to each attribute's sentence as features."""
        if not data.names.features:
            raise UserError(
                "extractor=clip_attributes needs names of attributes, which the data "
                "set does not have"
            )
        folder = find_folder(self.model, "extractor.model")
        identity = folder_identity(folder, "clip", self.device, self.precision)
        load = functools.partial(_load_image_tower, folder, self.device, self.precision)
        images, bad = self.run_network(data, Backbone(self.model, identity, load))
        parts = []
        sentences = []
        for attribute in data.names.features:
            part, sentence = self.sentence(attribute)
            parts.append(part)
            sentences.append(sentence)
        texts, scale = _text_features(folder, identity, sentences)
        scores = self._scores(images, texts, scale, parts)
        return score(data, scores, bad, {"model": self.model})

    def sentence(self, attribute: str) -> tuple[str, str]:
        """Return the part that an attribute is about, and the attribute in words.

        Examples
        --------
        >>> ClipAttributes().sentence("has_bill_shape::hooked_seabird")
        ('bill shape', 'a bird whose bill shape is hooked seabird')
        """
        part, _, value = attribute.rpartition("::")
        part = part.removeprefix("has_").replace("_", " ")
        value = value.replace("_", " ").strip()
        prompt = self.plain_prompt
        if part:
            prompt = self.prompt
        return part, prompt.format(part=part, value=value)

    def _scores(
        self, images: np.ndarray, texts: np.ndarray, scale: float, parts: list[str]
    ) -> np.ndarray:
        """Return the likeness of images to sentences as `scores` has it, in [0, 1]."""
        cosine = _unit(images) @ _unit(texts).T
        if self.scores == "cosine":
            return (1 + cosine) / 2
        # Within a part alone: a bill has some shape, whatever the wings are like.
        scores = np.empty_like(cosine)
        for part in dict.fromkeys(parts):
            members = np.array([other == part for other in parts])
            logits = scale * cosine[:, members]
            # Less the largest, so that nothing overflows.
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            scores[:, members] = odds / odds.sum(axis=1, keepdims=True)
        return scores


def _check_prompt(name: str, text: str) -> None:
    """Raise an error unless the sentence can be filled in, and {value} matters."""
    try:
        one = text.format(part="part", value="one")
        other = text.format(part="part", value="other")
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise UserError(
            f"extractor.{name}='{text}': {error}; it may hold {{part}} and {{value}}"
        ) from None
    if one == other:
        raise UserError(f"extractor.{name}='{text}': it must hold {{value}}")


def _unit(rows: np.ndarray) -> np.ndarray:
    """Return rows of length one; rows of zeros, which have no direction, stay zeros."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _load_image_tower(folder: Path, device: Device, precision: Precision) -> Network:
    """Load the half of a CLIP model that makes features of images."""
    model = place(_load_clip(folder), device, precision)

    def forward(batch: "torch.Tensor") -> "torch.Tensor":
        return model.get_image_features(pixel_values=batch).pooler_output

    return Network(device, precision, image_transform(folder), forward)


def _text_features(
    folder: Path, identity: str, sentences: list[str]
) -> tuple[np.ndarray, float]:
    """Return one row per sentence, and the model's scale of likeness.

    They are kept on disk, like the images': where all features are known, the model is
    not loaded at all.
    """

    def compute() -> dict[str, np.ndarray]:
        import torch

        tokenizer = _load_tokenizer(folder)
        # There are few sentences, so that neither device nor precision matter.
        model = place(_load_clip(folder), "cpu", "float32")
        tokens = tokenizer(
            sentences, padding=True, truncation=True, return_tensors="pt"
        )
        # Unknown words all become one token.
        if len(torch.unique(tokens["input_ids"], dim=0)) < len(set(sentences)):
            raise UserError(
                f"{folder}: its tokenizer does not tell the attributes' sentences apart"
            )
        with torch.inference_mode():
            texts = model.get_text_features(**tokens).pooler_output.numpy()
            scale = model.logit_scale.exp().numpy()
        return {"texts": texts, "scale": scale}

    key = key_of(identity, sentences)
    known = Cache("texts").make(key, "computing features of sentences", compute)
    return known["texts"], float(known["scale"])


def _load_clip(folder: Path) -> Any:
    """Load a model, and raise an error unless it takes both images and text."""
    model, _ = load_model(folder)
    # There are many models of this kind, and transformers has no class for the kind.
    images = hasattr(model, "get_image_features")
    texts = hasattr(model, "get_text_features")
    if not (images and texts):
        raise UserError(
            f"extractor.model={folder}: a {type(model).__name__}, which does not "
            "compare images with text"
        )
    return model


def _load_tokenizer(folder: Path) -> Any:
    # Without its files transformers makes a tokenizer that knows no word, and says
    # nothing.
    if not ((folder / "tokenizer.json").exists() or (folder / "vocab.json").exists()):
        raise UserError(
            f"{folder}: no tokenizer in it (tokenizer.json): save it there with "
            "save_pretrained(folder)"
        )
    transformers = import_transformers()
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # whatever a library makes of a stranger's files
        raise UserError(f"{folder}: no usable tokenizer: {first_line(error)}") from None
