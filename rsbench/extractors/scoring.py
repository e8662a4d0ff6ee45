"""From features of images to scores of attributes, and a word on how good those are."""

import dataclasses
from typing import Any

import numpy as np

from rsbench.core.data import Data, Training
from rsbench.errors import UserError
from rsbench.extractors.detectors import Recipe, quality, train_detectors
from rsbench.extractors.images import without_bad


def detect(
    data: Data,
    features: np.ndarray,
    bad: dict[int, str],
    recipe: Recipe,
    source: dict[str, Any],
) -> Data:
    """Train detectors on the training images' features, and score all images.

    `features` has a row for each of `data.all_images`; `bad` says which of them have none, and why.
    """
    data, keep = without_bad(data, bad)
    if data.training is None:
        raise UserError(
            "the data set has no images of other classes to train attribute detectors on"
        )
    features = features[keep]
    detectors = train_detectors(features[len(data.y) :], data.training, recipe)
    return _with_scores(
        data, detectors.scores(features), {**source, **detectors.quality}
    )


def score(
    data: Data, scores: np.ndarray, bad: dict[int, str], source: dict[str, Any]
) -> Data:
    """Take scores that needed no training; their quality is measured on the other classes."""
    if scores.shape[1] != data.Z.shape[1]:
        where = ", ".join(map(str, source.values()))
        raise UserError(
            f"{where}: scores of {scores.shape[1]} attributes, but the data set has {data.Z.shape[1]}"
        )
    data, keep = without_bad(data, bad)
    scores, measured = scores[keep], {}
    if data.training is not None and len(data.training.y):
        found = quality(scores[len(data.y) :], data.training.Z)
        measured = {f"background_{measure}": value for measure, value in found.items()}
    return _with_scores(data, scores, {**source, **measured})


def _validation(training: Training | None, scores: np.ndarray) -> Data | None:
    """The samples of the validation classes, for tuning; None if they are not two classes or more."""
    if training is None or len(np.unique(training.y[training.validation])) < 2:
        return None
    held = training.validation
    return Data(
        y=np.unique(training.y[held], return_inverse=True)[1],
        Z=training.Z[held],
        X=scores[held],
    )


def _with_scores(data: Data, scores: np.ndarray, detectors: dict[str, Any]) -> Data:
    n = len(data.y)
    return dataclasses.replace(
        data,
        X=scores[:n],
        background=scores[n:] if len(scores) > n else None,
        validation=_validation(data.training, scores[n:]),
        images=None,
        training=None,
        details={**data.details, "detectors": detectors},
    )
