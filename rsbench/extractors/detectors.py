"""Attribute detectors: one sigmoid layer on frozen features, trained on other classes' votes.

As the paper has it: multilabel cross-entropy; learning rate and weight decay from a grid, and the number
of epochs, by the loss on validation classes; then trained anew on training and validation classes.
"""

import itertools
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from rsbench.core.data import Training
from rsbench.core.seeds import stream
from rsbench.errors import UserError, is_number
from rsbench.extractors.images import one_thread_each
from rsbench.files.atomic import cores, file_hash
from rsbench.files.cache import Cache, key_of


@dataclass(frozen=True)
class Recipe:
    """How detectors are trained.

    Parameters
    ----------
    learning_rates, weight_decays : the grid.
    epochs : at most so many; validation finds the best number.
    patience : epochs without a better validation loss after which to stop.
    head_batch : images in a step.
    head_seed : of the layer's first weights and the order of images.
    """

    learning_rates: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3)
    weight_decays: tuple[float, ...] = (1e-6, 1e-5, 1e-4)
    epochs: int = 50
    patience: int = 3
    head_batch: int = 32
    head_seed: int = 0

    def check_params(self) -> None:
        """Refuse what could only fail later."""
        for name in ("learning_rates", "weight_decays"):
            values = getattr(self, name)
            if not values or not all(
                is_number(value) and 0 <= value < float("inf") for value in values
            ):
                raise UserError(
                    f"extractor.{name}={list(values)}: expected one or more numbers from 0 on"
                )
        for name in ("epochs", "patience", "head_batch"):
            if getattr(self, name) < 1:
                raise UserError(
                    f"extractor.{name}={getattr(self, name)}: expected 1 or more"
                )
        if self.head_seed < 0:
            raise UserError(f"extractor.head_seed={self.head_seed}: expected 0 or more")


@dataclass(frozen=True)
class Detectors:
    """A trained layer, and what it was chosen by."""

    weight: np.ndarray
    bias: np.ndarray
    quality: dict[str, float]

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Probabilities of the attributes, one row per image."""
        from scipy.special import expit

        return expit(features @ self.weight + self.bias)


def train_detectors(
    features: np.ndarray, training: Training, recipe: Recipe
) -> Detectors:
    """The detectors for these features and votes: from the cache, or by a search that goes on where it stopped."""
    if not len(features):
        raise UserError(
            "there are no images to train attribute detectors on: dataset.split needs training classes"
        )
    if not training.validation.any() or training.validation.all():
        raise UserError(
            "attribute detectors need classes to train and to validate on: dataset.split=[train,validation,few-shot] "
            "with one or more of each"
        )
    votes = training.Z.astype(np.float32)
    settings = {name: getattr(recipe, name) for name in Recipe.__dataclass_fields__}
    made_of = (
        features,
        votes,
        training.validation,
        settings,
        version("torch"),
        file_hash(Path(__file__)),
    )
    cache = Cache(f"detectors/{key_of(*made_of)}")
    final = cache.get("final")
    if final is None:
        with cache.lock("training attribute detectors"):
            final = cache.get("final") or _search(
                features, votes, training.validation, recipe, cache
            )
            cache.put("final", **final)
            for i in range(len(recipe.learning_rates) * len(recipe.weight_decays)):
                cache.remove(f"candidate-{i}")
    quality = {key: float(final[key]) for key in final if key not in ("weight", "bias")}
    return Detectors(final["weight"], final["bias"], quality)


def _search(
    features: np.ndarray,
    votes: np.ndarray,
    validation: np.ndarray,
    recipe: Recipe,
    cache: Cache,
) -> dict[str, np.ndarray]:
    """Train each candidate, take the best, and train it anew on all images."""
    from tqdm import tqdm

    grid = list(itertools.product(recipe.learning_rates, recipe.weight_decays))
    split = (
        features[~validation],
        votes[~validation],
        features[validation],
        votes[validation],
    )

    def candidate(i: int) -> dict[str, np.ndarray]:
        known = cache.get(f"candidate-{i}")
        if known is None:
            known = _stop_early(*split, *grid[i], recipe)
            cache.put(f"candidate-{i}", **known)
        return known

    with (
        one_thread_each(),
        ThreadPoolExecutor(cores(), initializer=_one_thread) as pool,
    ):
        done = pool.map(candidate, range(len(grid)))
        look = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {remaining} left"
        bar = tqdm(
            done,
            "detectors",
            len(grid),
            leave=False,
            bar_format=look,
            disable=not sys.stderr.isatty(),
        )
        losses = [float(found["loss"].min()) for found in bar]
        best = int(np.argmin(losses))
        if losses[best] == np.inf:
            raise UserError(
                "no learning rate gives a finite validation loss: try smaller extractor.learning_rates"
            )
        chosen = candidate(best)
        epochs = int(chosen["loss"].argmin()) + 1
        *_, (weight, bias) = _epochs(features, votes, *grid[best], epochs, recipe)
    tuned = Detectors(chosen["weight"], chosen["bias"], {})
    numbers = {
        "learning_rate": grid[best][0],
        "weight_decay": grid[best][1],
        "epochs": epochs,
        "validation_loss": losses[best],
        **{
            f"validation_{key}": value
            for key, value in quality(tuned.scores(split[2]), split[3]).items()
        },
    }
    return {
        "weight": weight,
        "bias": bias,
        **{key: np.array(value) for key, value in numbers.items()},
    }


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _stop_early(
    features: np.ndarray,
    votes: np.ndarray,
    held_features: np.ndarray,
    held_votes: np.ndarray,
    rate: float,
    decay: float,
    recipe: Recipe,
) -> dict[str, np.ndarray]:
    """Train until the validation loss no longer falls: the losses by epoch, and the layer at the lowest."""
    losses: list[float] = []
    best: dict[str, np.ndarray] = {}
    for weight, bias in _epochs(features, votes, rate, decay, recipe.epochs, recipe):
        with np.errstate(all="ignore"):  # of a layer that diverged
            loss = cross_entropy(held_features @ weight + bias, held_votes)
        losses.append(loss if np.isfinite(loss) else np.inf)
        if losses[-1] == min(losses):
            best = {"weight": weight, "bias": bias}
        if len(losses) - 1 - int(np.argmin(losses)) >= recipe.patience:
            break
    return {"loss": np.array(losses), **best}


def _epochs(
    features: np.ndarray,
    votes: np.ndarray,
    rate: float,
    decay: float,
    epochs: int,
    recipe: Recipe,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The layer after each epoch of Adam on the mean cross-entropy."""
    import torch

    rng = stream(recipe.head_seed, "detectors")
    bound = features.shape[1] ** -0.5
    layer = torch.nn.utils.skip_init(torch.nn.Linear, features.shape[1], votes.shape[1])
    with torch.no_grad():
        layer.weight.copy_(
            torch.from_numpy(rng.uniform(-bound, bound, layer.weight.shape))
        )
        layer.bias.zero_()
    optimizer = torch.optim.Adam(
        layer.parameters(), lr=rate, weight_decay=decay, fused=True
    )
    X, Z = torch.from_numpy(features), torch.from_numpy(votes)
    for _ in range(epochs):
        for batch in torch.from_numpy(rng.permutation(len(X))).split(recipe.head_batch):
            optimizer.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(
                layer(X[batch]), Z[batch]
            ).backward()
            optimizer.step()
        yield layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()


def cross_entropy(logits: np.ndarray, votes: np.ndarray) -> float:
    """The mean binary cross-entropy of logits, over images and attributes."""
    return float(np.mean(np.logaddexp(0, logits) - votes * logits))


def quality(scores: np.ndarray, votes: np.ndarray) -> dict[str, float]:
    """How well scores tell marked attributes from others: mean AUC and average precision over attributes.

    Only attributes that some images have and others do not can be told; `attributes` is their number.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    marked = votes > 0
    told = np.flatnonzero(marked.any(axis=0) & ~marked.all(axis=0))
    if not len(told):
        return {"attributes": 0}
    return {
        "auc": float(roc_auc_score(marked[:, told], scores[:, told], average="macro")),
        "average_precision": float(
            average_precision_score(marked[:, told], scores[:, told], average="macro")
        ),
        "attributes": len(told),
    }
