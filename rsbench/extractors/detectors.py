"""Attribute detectors: one sigmoid layer on frozen features, trained on other classes.

As the paper has it: multilabel cross-entropy; learning rate and weight decay from a
grid, and the number of epochs, by the loss on validation classes; then trained anew on
training and validation classes.
"""

import itertools
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.components import Component
from rsbench.core.data import Training
from rsbench.core.seeds import stream
from rsbench.errors import UserError, is_number
from rsbench.extractors.images import one_thread_each
from rsbench.files.atomic import file_hash
from rsbench.files.cache import Cache, key_of
from rsbench.files.places import cores


@dataclass
class Recipe(Component):
    """How detectors are trained; a base for extractors that train some.

    Parameters
    ----------
    learning_rates : tuple of float
        Candidates, of which the loss on validation classes chooses one.
    weight_decays : tuple of float
        Candidates, likewise.
    epochs : int
        At most so many; validation finds the best number.
    patience : int
        Epochs without a better validation loss after which to stop.
    head_batch : int
        Images in a step of training the detectors.
    head_seed : int
        Decides the detectors' first weights and the order of images.
    unseen_validation : bool
        Whether to keep the validation classes from the detectors, so that
        hyperparameters can be tuned on them. A quarter of the training classes then
        validates the detectors.
    """

    learning_rates: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3)
    weight_decays: tuple[float, ...] = (1e-6, 1e-5, 1e-4)
    epochs: int = 50
    patience: int = 3
    head_batch: int = 32
    head_seed: int = 0
    unseen_validation: bool = False

    def check_params(self) -> None:
        """Raise an error for settings that could only fail later."""
        super().check_params()  # of an extractor that is a recipe too
        rates = {
            "learning_rates": self.learning_rates,
            "weight_decays": self.weight_decays,
        }
        for name, values in rates.items():
            if not values or not all(_is_rate(value) for value in values):
                raise UserError(
                    f"extractor.{name}={list(values)}: expected one or more numbers "
                    "from 0 on"
                )
        counts = {
            "epochs": self.epochs,
            "patience": self.patience,
            "head_batch": self.head_batch,
        }
        for name, count in counts.items():
            if count < 1:
                raise UserError(f"extractor.{name}={count}: expected 1 or more")
        if self.head_seed < 0:
            raise UserError(f"extractor.head_seed={self.head_seed}: expected 0 or more")

    @property
    def training_settings(self) -> dict[str, Any]:
        """What detectors depend on: the recipe, without the rest of an extractor."""
        values = vars(self)
        return {field.name: values[field.name] for field in fields(Recipe)}

    @property
    def grid(self) -> list[tuple[float, float]]:
        """All pairs of a learning rate and a weight decay."""
        return list(itertools.product(self.learning_rates, self.weight_decays))


def _is_rate(value: Any) -> bool:
    return is_number(value) and 0 <= value < float("inf")


@dataclass(frozen=True)
class Detectors:
    """A trained layer.

    Parameters
    ----------
    weight : array of shape (p, d)
        For p features and d attributes.
    bias : array of shape (d,)
        Likewise.
    quality : dict of float
        What it was chosen by, and how well it does on validation classes.
    """

    weight: np.ndarray
    bias: np.ndarray
    quality: dict[str, float]

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the probabilities of the attributes, one row per image."""
        from scipy.special import expit

        return expit(features @ self.weight + self.bias)


def train_detectors(
    features: np.ndarray, training: Training, recipe: Recipe
) -> Detectors:
    """Train detectors, or find them in the cache.

    A search that was interrupted goes on where it stopped.

    Parameters
    ----------
    features : array of shape (m, p), of float32
        Of the training images.
    training : Training
        Their votes, and which are of validation classes.
    recipe : Recipe
        How to train.
    """
    if not len(features):
        raise UserError(
            "there are no images to train attribute detectors on: dataset.split needs "
            "training classes"
        )
    if not training.validation.any() or training.validation.all():
        raise UserError(
            "attribute detectors need classes to train and to validate on: "
            "dataset.split=[train,validation,few-shot] with one or more of each"
        )
    votes = training.Z.astype(np.float32)
    key = key_of(
        features,
        votes,
        training.validation,
        recipe.training_settings,
        version("torch"),
        file_hash(Path(__file__)),  # what is done here decides the result, too
    )
    cache = Cache(f"detectors/{key}")
    final = cache.get("final")
    if final is None:
        with cache.lock("training attribute detectors"):
            final = cache.get("final")  # another process may have made it meanwhile
            if final is None:
                final = _search(features, votes, training.validation, recipe, cache)
                cache.put("final", **final)
            # Only the final layer is asked for again.
            for i in range(len(recipe.grid)):
                cache.remove(_candidate_key(i))
    layer = ("weight", "bias")
    quality = {key: float(final[key]) for key in final if key not in layer}
    return Detectors(final["weight"], final["bias"], quality)


def _candidate_key(i: int) -> str:
    return f"candidate-{i}"


def _search(
    features: np.ndarray,
    votes: np.ndarray,
    validation: np.ndarray,
    recipe: Recipe,
    cache: Cache,
) -> dict[str, np.ndarray]:
    """Train each candidate, take the best, and train it anew on all images."""
    from tqdm import tqdm

    grid = recipe.grid
    held_features = features[validation]
    held_votes = votes[validation]
    train_features = features[~validation]
    train_votes = votes[~validation]

    def candidate(i: int) -> dict[str, np.ndarray]:
        known = cache.get(_candidate_key(i))
        if known is None:
            rate, decay = grid[i]
            layers = train_layer(
                train_features, train_votes, rate, decay, recipe.epochs, recipe
            )
            known = _stop_early(layers, held_features, held_votes, recipe.patience)
            cache.put(_candidate_key(i), **known)
        return known

    # Candidates share the cores, each on one thread of torch's: so a result does not
    # depend on how many cores there are.
    pool = ThreadPoolExecutor(cores(), initializer=_use_one_thread)
    with one_thread_each(), pool:
        done = tqdm(
            pool.map(candidate, range(len(grid))),
            "detectors",
            len(grid),
            leave=False,
            bar_format="{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, "
            "{remaining} left",
            disable=not sys.stderr.isatty(),
        )
        losses = [float(found["loss"].min()) for found in done]
        best = int(np.argmin(losses))
        if losses[best] == np.inf:
            raise UserError(
                "no learning rate gives a finite validation loss: try smaller "
                "extractor.learning_rates"
            )
        chosen = candidate(best)  # from the cache
        epochs = int(chosen["loss"].argmin()) + 1
        rate, decay = grid[best]
        *_, (weight, bias) = train_layer(features, votes, rate, decay, epochs, recipe)

    result = {
        "weight": weight,
        "bias": bias,
        "learning_rate": np.array(rate),
        "weight_decay": np.array(decay),
        "epochs": np.array(epochs),
        "validation_loss": np.array(losses[best]),
    }
    # Of the layer that did not see the validation classes.
    tuned = Detectors(chosen["weight"], chosen["bias"], {})
    measured = quality(tuned.scores(held_features), held_votes)
    for measure, value in measured.items():
        result[f"validation_{measure}"] = np.array(value)
    return result


def _use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _stop_early(
    layers: Iterator[tuple[np.ndarray, np.ndarray]],
    held_features: np.ndarray,
    held_votes: np.ndarray,
    patience: int,
) -> dict[str, np.ndarray]:
    """Train until the validation loss no longer falls.

    The result has the losses by epoch, and the layer at the lowest.
    """
    losses: list[float] = []
    best: dict[str, np.ndarray] = {}
    for weight, bias in layers:
        with np.errstate(all="ignore"):  # of a layer that diverged
            loss = cross_entropy(held_features @ weight + bias, held_votes)
        if not np.isfinite(loss):
            loss = np.inf
        losses.append(loss)
        if loss == min(losses):
            best = {"weight": weight, "bias": bias}
        epochs_since_best = len(losses) - 1 - int(np.argmin(losses))
        if epochs_since_best >= patience:
            break
    return {"loss": np.array(losses), **best}


def train_layer(
    features: np.ndarray,
    votes: np.ndarray,
    rate: float,
    decay: float,
    epochs: int,
    recipe: Recipe,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the layer after each epoch of Adam on the mean cross-entropy.

    Parameters
    ----------
    features : array of shape (m, p), of float32
        Of images.
    votes : array of shape (m, d), of float32
        Of the same images.
    rate : float
        Learning rate.
    decay : float
        Weight decay.
    epochs : int
        How many.
    recipe : Recipe
        The size of a step, and the seed.

    Yields
    ------
    weight : array of shape (p, d)
        Of the layer.
    bias : array of shape (d,)
        Likewise.
    """
    import torch

    rng = stream(recipe.head_seed, "detectors")
    p = features.shape[1]
    layer = torch.nn.utils.skip_init(torch.nn.Linear, p, votes.shape[1])
    # Distributed as torch's own first weights are, but decided by the seed alone.
    bound = p**-0.5
    first = rng.uniform(-bound, bound, layer.weight.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(first))
        layer.bias.zero_()
    optimizer = torch.optim.Adam(
        layer.parameters(), lr=rate, weight_decay=decay, fused=True
    )
    X = torch.from_numpy(features)
    Z = torch.from_numpy(votes)
    for _ in range(epochs):
        order = torch.from_numpy(rng.permutation(len(X)))
        for batch in order.split(recipe.head_batch):
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                layer(X[batch]), Z[batch]
            )
            loss.backward()
            optimizer.step()
        # Copies, as the next epoch changes the layer in place.
        weight = layer.weight.detach().numpy().T.copy()
        bias = layer.bias.detach().numpy().copy()
        yield weight, bias


def cross_entropy(logits: np.ndarray, votes: np.ndarray) -> float:
    """Return the mean binary cross-entropy of logits, over images and attributes."""
    return float(np.mean(np.logaddexp(0, logits) - votes * logits))


def quality(scores: np.ndarray, votes: np.ndarray) -> dict[str, float]:
    """Measure how well scores tell marked attributes from others.

    Parameters
    ----------
    scores : array of shape (m, d)
        Scores of attributes in images.
    votes : array of shape (m, d)
        Votes; anything above zero counts as marked.

    Returns
    -------
    dict of float
        `auc` and `average_precision`, means over attributes, and the number of these
        `attributes`: those that some images have and others do not. Others cannot be
        told.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    marked = votes > 0
    told = np.flatnonzero(marked.any(axis=0) & ~marked.all(axis=0))
    if not len(told):
        return {"attributes": 0}
    marked = marked[:, told]
    scores = scores[:, told]
    precision = average_precision_score(marked, scores, average="macro")
    return {
        "auc": float(roc_auc_score(marked, scores, average="macro")),
        "average_precision": float(precision),
        "attributes": len(told),
    }
