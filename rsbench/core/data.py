"""What flows through a run: samples with labels and annotations, and their origin."""

import dataclasses
import hashlib
import mmap
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.errors import UserError

#: What is read of an array at once, 16 MiB. Memory-mapped arrays may be larger than
#: the memory.
_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class Names:
    """Names of features and classes, for people to read.

    Parameters
    ----------
    features : tuple of str
        One name per column of `X` and `Z`; empty when unknown.
    classes : tuple of str
        One name per class number; empty when unknown.
    """

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """So many classes, drawn from so many: how much two draws overlap.

    Parameters
    ----------
    classes : int
        How many classes a draw has.
    of : int
        How many there are to draw from.
    """

    classes: int
    of: int


@dataclass(frozen=True)
class Training:
    """Annotated images of other classes, to train what makes features of images.

    Parameters
    ----------
    images : tuple of Path
        The image files, m of them.
    y : array of shape (m,)
        Their classes, by any numbers.
    Z : array of shape (m, d)
        Their votes, as in `Data`.
    validation : array of shape (m,), of bool
        Which images are of classes to validate on, rather than to train on.
    """

    images: tuple[Path, ...]
    y: np.ndarray
    Z: np.ndarray
    validation: np.ndarray


@dataclass(frozen=True)
class Data:
    """Samples with labels, annotations, and features or images to make them from.

    Parameters
    ----------
    y : array of shape (n,), of int
        Each sample's class, 0 to K-1 without gaps.
    Z : array of shape (n, d)
        Annotations: each sample's votes for features, 0/1 or graded in [0, 1].
    X : array of shape (n, d), of float, or None
        Features, such as detectors' scores. None while they are still to be extracted
        from images.
    images : tuple of Path, or None
        The samples' image files, where there are no features yet.
    training : Training or None
        Images of other classes, for extractors that have to be trained.
    on_bad_image : {"error", "drop"}
        What to do about images that are missing or damaged.
    visible : array of shape (n, d), of bool, or None
        Which votes could be given at all, where a data set says so. Class-level counts
        leave out the others.
    test : array of shape (n,), of bool, or None
        Which samples are the test set, where a data set has a fixed one.
    background : array of shape (m, d), of float, or None
        Features of samples of other classes, which are never tested on.
    validation : Data or None
        Annotated samples of other classes, to choose hyperparameters on.
    names : Names
        Of features and classes.
    identity : str
        A hash of the arrays' content; see `identity`. Empty until it is known.
    simulated : bool
        Whether the samples are made up, and no evidence of anything.
    how_to_get_real : str or None
        Of simulated data: how to get the real ones.
    details : dict of dict
        What a reader of results should know of how the data came about, by topic.
    drawn : Drawn or None
        Of classes drawn from more of them; None where other draws would share none.
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
    drawn: Drawn | None = None

    @property
    def all_images(self) -> list[Path]:
        """The samples' images, then those for training."""
        images = list(self.images or ())
        if self.training is not None:
            images += self.training.images
        return images

    @property
    def votes(self) -> np.ndarray:
        """`Z`, with NaN where no vote could be given."""
        if self.visible is None:
            return self.Z
        # In single precision, so that yes-or-no votes take no more room than they must.
        return np.where(self.visible, self.Z, np.float32(np.nan))

    @property
    def features(self) -> np.ndarray:
        """`X`; an error if an extractor has yet to make it."""
        if self.X is None:
            raise UserError(
                "the data set has images but no features: choose an extractor, "
                "extractor=NAME"
            )
        return self.X


def identity(data: Data) -> str:
    """Return a hash of the arrays' content: what results were measured on, exactly.

    Names and `details` play no part, since they change no number.
    """
    # Results that were kept are found by this hash, so the order has to stay.
    arrays = [data.X, data.y, data.Z, data.test, data.background, data.visible]
    if data.validation is not None:
        arrays += [data.validation.X, data.validation.y, data.validation.Z]
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            # So that each array has its place, whichever of them are there.
            digest.update(b"none")
            continue
        # Bytes alone do not tell a matrix from its rows one after the other.
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        for rows in _blocks(array):
            digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()


def keep_samples(data: Data, kept: np.ndarray) -> Data:
    """Return some of the samples; those of other classes stay as they are.

    Parameters
    ----------
    data : Data
        With features or with images.
    kept : array of shape (n,), of bool
        Which samples to keep.

    Returns
    -------
    Data
        Its classes are numbered anew, 0 to K-1: some may have no sample left.
    """
    present, y = np.unique(data.y[kept], return_inverse=True)
    names = data.names
    if names.classes:
        left = tuple(names.classes[c] for c in present.tolist())
        names = dataclasses.replace(names, classes=left)
    rows: dict[str, Any] = {}
    for name in ("X", "Z", "visible", "test"):
        array = getattr(data, name)
        if array is not None:
            rows[name] = array[kept]
    if data.images is not None:
        rows["images"] = tuple(data.images[i] for i in np.flatnonzero(kept).tolist())
    return dataclasses.replace(data, y=y, names=names, identity="", **rows)


def positions(y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find labels in a list of classes.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.
    classes : array of shape (K,)
        Classes in ascending order.

    Returns
    -------
    found : array of shape (n,), of int
        Where each label stands among the classes; of no meaning for unknown ones.
    unknown : array of shape (n,), of bool
        Which labels are none of the classes.
    """
    # A label beyond the last class has no place among them: it gets the last one's.
    found = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return found, classes[found] != y


def _check_arrays(data: Data, where: str) -> None:
    """Raise an error unless everything that is to be an array is one."""
    for name in ("X", "y", "Z", "visible", "test", "background"):
        value = getattr(data, name)
        if value is not None and not isinstance(value, np.ndarray):
            raise UserError(
                f"{where}: {name} is a {type(value).__name__}, expected an array: "
                f"np.asarray({name}) makes one"
            )


def check_data(data: Data, where: str) -> Data:
    """Return `data` itself if a run can trust it.

    Parameters
    ----------
    data : Data
        With features or without.
    where : str
        What errors begin with: the file, or the data set's name.

    Raises
    ------
    UserError
        Names the field that is wrong, and what was expected.
    """
    _check_arrays(data, where)
    _check_labels(data.y, where)
    n = len(data.y)
    Z = data.Z
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
    if data.visible is not None:
        _check_visible(data.visible, Z, where)
    if data.test is not None:
        _check_test(data.test, n, where)
    if data.background is not None:
        _check_background(data.background, data.X, where)
    _check_names("feature_names", data.names.features, Z.shape[1], where)
    _check_names("class_names", data.names.classes, int(data.y.max()) + 1, where)
    return data


def _check_labels(y: np.ndarray, where: str) -> None:
    if y.ndim != 1 or len(y) == 0:
        raise UserError(
            f"{where}: y has shape {y.shape}, expected one label per sample, (n,) "
            "with n > 0"
        )
    if not np.issubdtype(y.dtype, np.integer):
        raise UserError(
            f"{where}: y has type {y.dtype}, expected integer class numbers 0..K-1"
        )
    present = np.unique(y)
    # Sorted, they are 0, 1, 2, … up to the first class that is missing.
    gaps = np.flatnonzero(present != np.arange(len(present)))
    if len(gaps):
        raise UserError(
            f"{where}: labels in y must be 0..K-1 without gaps; found {present[0]}.."
            f"{present[-1]} ({len(present)} different, {gaps[0]} is missing). "
            "np.unique(y, return_inverse=True)[1] renumbers them"
        )
    if len(present) < 2:
        raise UserError(
            f"{where}: y has a single class, at least two are needed to tell apart"
        )


def _check_features(X: np.ndarray, rows: int | None, key: str, where: str) -> None:
    """Raise an error unless X is finite floats, with so many rows if that is known."""
    expected = "(m, d)"
    right = X.ndim == 2 and X.size > 0
    if rows is not None:
        expected = f"({rows}, d), one row per label in y"
        right = right and len(X) == rows
    if not right:
        raise UserError(f"{where}: {key} has shape {X.shape}, expected {expected}")
    if not np.issubdtype(X.dtype, np.floating):
        raise UserError(
            f"{where}: {key} has type {X.dtype}, expected floats; "
            f"{key}.astype(np.float32) makes them"
        )
    start = 0
    for block in _blocks(X):
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise UserError(
                f"{where}: {key}[{start + row}, {column}] is {block[row, column]}; "
                "features must be finite"
            )
        start += len(block)


def _check_votes(Z: np.ndarray, where: str) -> None:
    if Z.dtype.kind not in "biuf":
        raise UserError(
            f"{where}: Z has type {Z.dtype}, expected votes: bool, 0/1 or numbers in "
            "[0, 1]"
        )
    if Z.dtype == np.bool_:
        return
    for block in _blocks(Z):
        right = (block >= 0) & (block <= 1)  # and so not NaN
        if not right.all():
            bad = block[~right][0]
            raise UserError(f"{where}: Z holds {bad}; votes must lie in [0, 1]")


def _check_visible(visible: np.ndarray, Z: np.ndarray, where: str) -> None:
    if visible.shape != Z.shape or visible.dtype != np.bool_:
        raise UserError(
            f"{where}: visible has shape {visible.shape}, expected {Z.shape} of bool, "
            "as Z"
        )


def _check_test(test: np.ndarray, n: int, where: str) -> None:
    if test.shape != (n,) or test.dtype != np.bool_:
        raise UserError(
            f"{where}: test has shape {test.shape} and type {test.dtype}, expected "
            f"({n},) of bool"
        )


def _check_background(background: np.ndarray, X: np.ndarray | None, where: str) -> None:
    _check_features(background, None, "background", where)
    if X is not None and background.shape[1] != X.shape[1]:
        raise UserError(
            f"{where}: background has {background.shape[1]} features but X has "
            f"{X.shape[1]}"
        )


def _check_names(key: str, names: Sequence[str], count: int, where: str) -> None:
    if names and len(names) != count:
        raise UserError(f"{where}: {key} has {len(names)} names, expected {count}")


def _blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield slices along the first axis, so that memory-mapped arrays stay on disk."""
    if array.ndim == 0 or not len(array):
        yield array
        return
    for rows in in_blocks(np.arange(len(array)), array[:1].nbytes):
        # A slice is a view; indexing with the row numbers would copy.
        yield array[rows[0] : rows[-1] + 1]
        release(array)


def in_blocks(rows: np.ndarray, row_bytes: int) -> Iterator[np.ndarray]:
    """Yield row numbers, as many at a time as fit into a bounded amount of memory.

    Parameters
    ----------
    rows : array of shape (n,), of int
        Row numbers.
    row_bytes : int
        What a row takes.
    """
    size = max(1, _CHUNK_BYTES // max(1, row_bytes))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def release(array: np.ndarray) -> None:
    """Let go of what was read of a memory-mapped array.

    It is read again from its file when needed. Other arrays are left as they are.
    """
    # A view of a view: the file's mapping is below all of them.
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    # Pages once read count as the process's memory, which is to stay bounded however
    # large the file. Windows has no such call.
    if sys.platform != "win32" and isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
