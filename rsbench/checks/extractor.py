"""What an extractor promises."""

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rsbench.checks.assertions import ComponentError, adopted, assert_same, call
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Extractor
from rsbench.core.data import Data, Names
from rsbench.core.data_checks import check_data
from rsbench.errors import UserError


@promise("extractor")
def gives_features_or_says_why_not(make: Make) -> None:
    """Images become finite features, a row for each sample; what it cannot do is an
    error that says what is missing."""
    for data, made in extracted(make):
        assert made.X is not None, "extract returned no features"
        assert len(made.y) == len(data.y), (
            f"{len(made.y)} samples came back of {len(data.y)}"
        )
        try:
            check_data(made, "the extractor")
        except UserError as error:
            raise AssertionError(str(error)) from error


@promise("extractor")
def looks_at_images_alone(make: Make) -> None:
    """The same images give the same features whatever their labels and votes, which
    come back as they were."""
    features = []
    for data, made in extracted(make):
        assert np.array_equal(made.y, data.y), "labels were changed"
        assert np.array_equal(made.Z, data.Z), "votes were changed"
        features.append(made.features)
    for other in features[1:]:
        assert_same(other, features[0], "features depend on labels, votes or chance")


def extracted(make: Make) -> Iterator[tuple[Data, Data]]:
    """Yield data and what an extractor makes of them.

    The same images come twice, the second time with other labels and votes. Nothing
    comes of an extractor that refuses: it may need weights that are not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = _images(Path(folder))
        # An extractor that peeks at labels or votes gives other features for these.
        otherwise = dataclasses.replace(data, y=1 - data.y, Z=~data.Z)
        for given in (data, otherwise):
            try:
                made = call(adopted(make, Extractor), "extract", given)
            except ComponentError as failed:
                if isinstance(failed.error, UserError):
                    return
                raise
            assert isinstance(made, Data), (
                f"extract gave {type(made).__name__}, expected Data"
            )
            yield given, made


def _images(folder: Path) -> Data:
    """Return four tiny images of two classes, with one feature's votes."""
    from PIL import Image

    paths = []
    for i in range(4):
        path = folder / f"{i}.png"
        # Each of another red, so that no two should have the same features.
        Image.new("RGB", (32, 32), (60 * i, 0, 0)).save(path)
        paths.append(path)
    return Data(
        y=np.array([0, 0, 1, 1]),
        Z=np.zeros((4, 1), bool),
        images=tuple(paths),
        names=Names(("red",), ("a", "b")),
    )
