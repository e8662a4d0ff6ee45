"""What flows through a run: samples, their labels and annotations, and where they came from."""

import hashlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.errors import UserError

_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class Names:
    """Names of features and classes, for people to read; empty when unknown."""

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Training:
    """Annotated images of other classes, for what has to be trained before images become features."""

    images: tuple[Path, ...]
    y: np.ndarray
    Z: np.ndarray
    validation: np.ndarray


@dataclass(frozen=True)
class Data:
    """Samples with features `X` (or `images` still to be extracted), labels `y` and annotations `Z`.

    `visible` tells which votes could be given at all, where a data set says so: class-level counts leave
    the others out. `validation` holds annotated samples of other classes, for tuning. `details` holds what a
    reader of results should know of how the data came about.
    """

    y: np.ndarray
    Z: np.ndarray
    X: np.ndarray | None = None
    images: tuple[Path, ...] | None = None
    training: Training | None = None
    on_bad_image: Literal["error", "drop"] = "error"
    visible: np.ndarray | None = None
    test: np.ndarray | None = None
    background: np.ndarray | None = None
    validation: "Data | None" = None
    names: Names = field(default_factory=Names)
    identity: str = ""
    simulated: bool = False
    how_to_get_real: str | None = None
    details: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def all_images(self) -> list[Path]:
        """The samples' images, then those for training."""
        return [*(self.images or ()), *(self.training.images if self.training else ())]

    @property
    def votes(self) -> np.ndarray:
        """`Z`, with NaN where no vote could be given."""
        return (
            self.Z
            if self.visible is None
            else np.where(self.visible, self.Z, np.float32(np.nan))
        )

    @property
    def features(self) -> np.ndarray:
        """`X`, once an extractor has made sure that it is there."""
        if self.X is None:
            raise UserError(
                "the data set has images but no features: choose an extractor, extractor=NAME"
            )
        return self.X


def identity(data: Data) -> str:
    """A hash of the arrays' content, so that results know exactly what they were measured on."""
    digest = hashlib.sha256()
    held = (
        (data.validation.X, data.validation.y, data.validation.Z)
        if data.validation
        else ()
    )
    for array in (
        data.X,
        data.y,
        data.Z,
        data.test,
        data.background,
        data.visible,
        *held,
    ):
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        for rows in _chunks(array):
            digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()


def positions(y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each label stands among the sorted classes, and which labels are none of them."""
    found = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return found, classes[found] != y


def check_data(data: Data, where: str) -> Data:
    """`data` itself if a run can trust it, else an error that names the field and the fix."""
    y, Z = data.y, data.Z
    if y.ndim != 1 or len(y) == 0:
        raise UserError(
            f"{where}: y has shape {y.shape}, expected one label per sample, (n,) with n > 0"
        )
    n = len(y)
    if not np.issubdtype(y.dtype, np.integer):
        raise UserError(
            f"{where}: y has type {y.dtype}, expected integer class numbers 0..K-1"
        )
    _check_labels(y, where)
    if data.X is not None:
        _check_features(data.X, n, "X", where)
        if Z.shape != data.X.shape:
            raise UserError(
                f"{where}: Z has shape {Z.shape} but X has {data.X.shape}; "
                "annotations need one vote per sample and feature"
            )
    if Z.ndim != 2 or len(Z) != n:
        raise UserError(
            f"{where}: Z has shape {Z.shape}, expected {n} rows, one per label in y"
        )
    _check_votes(Z, where)
    if data.visible is not None and (
        data.visible.shape != Z.shape or data.visible.dtype != np.bool_
    ):
        raise UserError(
            f"{where}: visible has shape {data.visible.shape}, expected {Z.shape} of bool, as Z"
        )
    if data.test is not None and (
        data.test.shape != (n,) or data.test.dtype != np.bool_
    ):
        raise UserError(
            f"{where}: test has shape {data.test.shape} and type {data.test.dtype}, expected ({n},) of bool"
        )
    if data.background is not None:
        _check_features(data.background, None, "background", where)
        if data.X is not None and data.background.shape[1] != data.X.shape[1]:
            raise UserError(
                f"{where}: background has {data.background.shape[1]} features but X has {data.X.shape[1]}"
            )
    for key, names, count in (
        ("feature_names", data.names.features, Z.shape[1]),
        ("class_names", data.names.classes, int(y.max()) + 1),
    ):
        if names and len(names) != count:
            raise UserError(f"{where}: {key} has {len(names)} names, expected {count}")
    return data


def _check_labels(y: np.ndarray, where: str) -> None:
    present = np.unique(y)
    gaps = np.flatnonzero(present != np.arange(len(present)))
    if len(gaps):
        raise UserError(
            f"{where}: labels in y must be 0..K-1 without gaps; found {present[0]}..{present[-1]} "
            f"({len(present)} different, {gaps[0]} is missing). np.unique(y, return_inverse=True)[1] renumbers them"
        )
    if len(present) < 2:
        raise UserError(
            f"{where}: y has a single class, at least two are needed to tell apart"
        )


def _check_features(X: np.ndarray, rows: int | None, key: str, where: str) -> None:
    if X.ndim != 2 or X.size == 0 or (rows is not None and len(X) != rows):
        expected = "(m, d)" if rows is None else f"({rows}, d), one row per label in y"
        raise UserError(f"{where}: {key} has shape {X.shape}, expected {expected}")
    if not np.issubdtype(X.dtype, np.floating):
        raise UserError(
            f"{where}: {key} has type {X.dtype}, expected floats; {key}.astype(np.float32) makes them"
        )
    start = 0
    for chunk in _chunks(X):
        if not np.isfinite(chunk).all():
            row, column = np.argwhere(~np.isfinite(chunk))[0]
            raise UserError(
                f"{where}: {key}[{start + row}, {column}] is {chunk[row, column]}; features must be finite"
            )
        start += len(chunk)


def _check_votes(Z: np.ndarray, where: str) -> None:
    if Z.dtype.kind not in "biuf":
        raise UserError(
            f"{where}: Z has type {Z.dtype}, expected votes: bool, 0/1 or numbers in [0, 1]"
        )
    for chunk in _chunks(Z):
        if Z.dtype != np.bool_ and not ((chunk >= 0) & (chunk <= 1)).all():
            bad = chunk[~((chunk >= 0) & (chunk <= 1))][0]
            raise UserError(f"{where}: Z holds {bad}; votes must lie in [0, 1]")


def _chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Slices along the first axis of bounded size, so that memory-mapped arrays stay on disk."""
    if array.ndim == 0 or not len(array):
        yield array
        return
    for rows in in_blocks(np.arange(len(array)), array[:1].nbytes):
        yield array[rows[0] : rows[-1] + 1]
        release(array)


def in_blocks(rows: np.ndarray, row_bytes: int) -> Iterator[np.ndarray]:
    """Row numbers, so many at a time that their rows take a bounded amount of memory."""
    size = max(1, _CHUNK_BYTES // max(1, row_bytes))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def release(array: np.ndarray) -> None:
    """Let go of what was read of a memory-mapped array; it is read again from the file when needed."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
