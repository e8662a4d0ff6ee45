"""What becomes of images that are missing or damaged: an error, or left out."""

import dataclasses
import logging

import numpy as np

from rsbench.core.data import Data, Training, keep_samples
from rsbench.errors import UserError

log = logging.getLogger(__name__)

#: Bad images that a message names; the others are only counted.
_NAMED = 3
#: Bad images that the record of a run names.
_RECORDED = 10


def without_bad(data: Data, bad: dict[int, str]) -> tuple[Data, np.ndarray]:
    """Leave out bad images, if that is the policy.

    Parameters
    ----------
    data : Data
        Samples with images; `data.on_bad_image` is the policy.
    bad : dict of str
        What is wrong with each bad image, by its position in `data.all_images`.

    Returns
    -------
    data : Data
        Without them. Classes that have no image left are gone.
    keep : array of bool
        Which of `data.all_images` are left.
    """
    images = data.all_images
    keep = np.ones(len(images), bool)
    keep[list(bad)] = False
    if not bad:
        return data, keep
    causes = []
    for i, cause in sorted(bad.items())[:_NAMED]:
        causes.append(f"{images[i]}: {cause}")
    listed = "; ".join(causes)
    if data.on_bad_image == "error":
        if len(bad) > _NAMED:
            listed += "; …"
        raise UserError(
            f"{len(bad)} of {len(images)} images cannot be used: {listed}. Repair "
            "them, or leave them out with dataset.on_bad_image=drop"
        )
    log.warning("%d of %d images left out: %s", len(bad), len(images), listed)
    dropped = {
        "count": len(bad),
        "first": [images[i].name for i in sorted(bad)[:_RECORDED]],
    }
    n = len(data.y)
    left = dataclasses.replace(
        keep_samples(data, keep[:n]),
        details={**data.details, "dropped_images": dropped},
    )
    if data.training is not None:
        training = _keep_training(data.training, keep[n:])
        left = dataclasses.replace(left, training=training)
    return left, keep


def _keep_training(training: Training, kept: np.ndarray) -> Training:
    return Training(
        images=tuple(training.images[i] for i in np.flatnonzero(kept).tolist()),
        y=training.y[kept],
        Z=training.Z[kept],
        validation=training.validation[kept],
    )
