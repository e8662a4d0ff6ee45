"""From features of images to scores of attributes, and a word on how good those are.

Where attributes are concepts beside the features, the features stay as they are.
"""

import dataclasses
from typing import Any

import numpy as np

from rsbench.core.data import Data, Names, Training
from rsbench.core.seeds import stream
from rsbench.errors import UserError
from rsbench.extractors.bad_images import without_bad
from rsbench.extractors.detectors import Recipe, quality, train_detectors


def detect(
    data: Data,
    features: np.ndarray,
    bad: dict[int, str],
    recipe: Recipe,
    source: dict[str, Any],
) -> Data:
    """Train detectors on the training images' features, and score all images.

    Parameters
    ----------
    data : Data
        Samples with images.
    features : array of shape (images, p)
        One row for each of `data.all_images`.
    bad : dict of str
        Which of them have no features and why, by position.
    recipe : Recipe
        How detectors are trained.
    source : dict
        Where the features come from, for the record.

    Returns
    -------
    Data
        With scores as features; with the images' own features where votes are for
        concepts beside them, for which nothing is trained.
    """
    data, keep = without_bad(data, bad)
    if not data.concepts_are_features:
        return _with_features(data, features[keep], {"features": source})
    if data.training is None:
        raise UserError(
            "the data set has no images of other classes to train attribute detectors "
            "on"
        )
    # Rows of samples come first, then those of training images.
    features = features[keep]
    of_training = features[len(data.y) :]
    training = data.training
    told = dict(source)
    if recipe.unseen_validation:
        of_training = of_training[~training.validation]
        training = _without_validation(training, recipe.head_seed)
        told["unseen"] = "validation classes"
    detectors = train_detectors(of_training, training, recipe)
    scores = detectors.scores(features)
    told.update(detectors.quality)
    return _with_features(data, scores, {"detectors": told})


def _without_validation(training: Training, seed: int) -> Training:
    """Return the training classes alone, a quarter of them to validate on."""
    rows = np.flatnonzero(~training.validation)
    classes = np.unique(training.y[rows])
    held = stream(seed, "detectors").permutation(classes)[: max(1, len(classes) // 4)]
    return Training(
        images=tuple(training.images[i] for i in rows.tolist()),
        y=training.y[rows],
        Z=training.Z[rows],
        validation=np.isin(training.y[rows], held),
    )


def score(
    data: Data, scores: np.ndarray, bad: dict[int, str], source: dict[str, Any]
) -> Data:
    """Take scores that needed no training; measure their quality on other classes.

    Parameters
    ----------
    data : Data
        Samples with images.
    scores : array of shape (images, attributes)
        One row for each of `data.all_images`.
    bad : dict of str
        Which of them have no scores and why, by position.
    source : dict
        Where the scores come from, for the record.

    Returns
    -------
    Data
        With scores as features.
    """
    if scores.shape[1] != data.Z.shape[1] and data.concepts_are_features:
        where = ", ".join(map(str, source.values()))
        raise UserError(
            f"{where}: scores of {scores.shape[1]} attributes, but the data set has "
            f"{data.Z.shape[1]}"
        )
    data, keep = without_bad(data, bad)
    scores = scores[keep]
    # Not on the samples themselves, whose votes are for the learners alone.
    measured = {}
    training = data.training
    if training is not None and len(training.y) and data.concepts_are_features:
        found = quality(scores[len(data.y) :], training.Z)
        for measure, value in found.items():
            measured[f"background_{measure}"] = value
    return _with_features(data, scores, {"detectors": {**source, **measured}})


def _with_features(
    data: Data, features: np.ndarray, details: dict[str, dict[str, Any]]
) -> Data:
    """Return the data with features in place of images.

    Rows of samples come first; those of training images are the background.
    """
    n = len(data.y)
    others: dict[str, Any] = {}
    if len(features) > n and data.training is not None:
        others = {
            "background": features[n:],
            "background_y": data.training.y,
            "background_Z": data.training.Z,
            "background_held": data.training.validation,
        }
    return dataclasses.replace(
        data,
        X=features[:n],
        **others,
        validation=_validation(data, features[n:]),
        images=None,
        training=None,
        details={**data.details, **details},
    )


def _validation(data: Data, features: np.ndarray) -> Data | None:
    """Return the samples of the validation classes, to choose hyperparameters on.

    There are none if there are not two classes or more.
    """
    training = data.training
    if training is None:
        return None
    held = training.validation
    classes, y = np.unique(training.y[held], return_inverse=True)
    if len(classes) < 2:
        return None
    names = Names(concepts=data.names.concepts)
    return Data(y=y, Z=training.Z[held], X=features[held], names=names)
