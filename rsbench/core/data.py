"""What flows through a run: samples with labels and annotations, and their origin."""

import dataclasses
import hashlib
import mmap
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.sparse import SparseVotes, as_csr, is_sparse, make_csr
from rsbench.core.told import OfBackground
from rsbench.errors import UserError

#: What is read of an array at once, 16 MiB. Memory-mapped arrays may be larger than
#: the memory.
_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class Names:
    """Names of features, classes and concepts, for people to read.

    Parameters
    ----------
    features : tuple of str
        One name per column of `X`; empty when unknown.
    classes : tuple of str
        One name per class number; empty when unknown.
    concepts : tuple of str
        One name per column of `Z`, where people were asked about something else than
        the features; empty where concepts *are* the features.
    """

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


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
class Background:
    """Samples of other classes, as a learner's `prepare` is given them.

    Features are preprocessed as those of the stream will be.

    Parameters
    ----------
    X : array of shape (m, d)
        Their features.
    y : array of shape (m,), or None
        Their classes, 0 to K-1 without gaps; None where the data set has none, or the
        learner asks for no labels.
    Z : array of shape (m, d), or None
        Their votes, likewise.
    """

    X: Any
    y: np.ndarray | None = None
    Z: Any = None

    @property
    def given(self) -> OfBackground:
        """How much of it is there."""
        if self.Z is not None:
            return OfBackground.ANNOTATIONS
        if self.y is not None:
            return OfBackground.LABELS
        return OfBackground.FEATURES

    def labelled(self, whose: str) -> tuple[Any, np.ndarray]:
        """Return features and labels, for a learner that cannot do without.

        Parameters
        ----------
        whose : str
            The learner, for the error.
        """
        if self.y is None:
            raise UserError(
                f"{whose} needs labels of the background, and the data set has none: "
                "an arrays file has them in `background_y`"
            )
        return self.X, self.y


@dataclass(frozen=True)
class Data:
    """Samples with labels, annotations, and features or images to make them from.

    Parameters
    ----------
    y : array of shape (n,), of int
        Each sample's class, 0 to K-1 without gaps.
    Z : array of shape (n, d), or (n, m)
        Annotations: each sample's votes for concepts, 0/1 or graded in [0, 1]; dense,
        or scipy's CSR. Concepts are the d features, unless `names.concepts` has m names
        for them.
    X : array of shape (n, d), of float, or None
        Features, such as detectors' scores; dense, or scipy's CSR. None while they are
        still to be extracted from images.
    images : tuple of Path, or None
        The samples' image files, where there are no features yet.
    training : Training or None
        Images of other classes, for extractors that have to be trained.
    on_bad_image : {"error", "drop"}
        What to do about images that are missing or damaged.
    visible : array of Z's shape, of bool, or None
        Which votes could be given at all, where a data set says so. Class-level counts
        leave out the others.
    asked : array of shape (n,), of bool, or None
        Which samples anybody was asked about; None if all of them were.
    test : array of shape (n,), of bool, or None
        Which samples are the test set, where a data set has a fixed one.
    background : array of shape (m, d), of float, or None
        Features of samples of other classes, which are never tested on.
    background_y : array of shape (m,), of int, or None
        Their classes, by any numbers.
    background_Z : array, or None
        Their votes, for the concepts of `Z`.
    background_held : array of shape (m,), of bool, or None
        Which of them are of the classes in `validation`, and so must not be told to a
        learner that is tuned on those.
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
    Z: Any
    X: Any = None
    images: tuple[Path, ...] | None = None
    training: Training | None = None
    on_bad_image: Literal["error", "drop"] = "error"
    visible: np.ndarray | None = None
    asked: np.ndarray | None = None
    test: np.ndarray | None = None
    background: Any = None
    background_y: np.ndarray | None = None
    background_Z: Any = None  # noqa: N815 - Z is the paper's symbol
    background_held: np.ndarray | None = None
    validation: "Data | None" = None
    names: Names = field(default_factory=Names)
    identity: str = ""
    simulated: bool = False
    how_to_get_real: str | None = None
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    drawn: Drawn | None = None

    @property
    def concepts_are_features(self) -> bool:
        """Whether votes are for the features themselves, which can then be relevant."""
        return not self.names.concepts

    @property
    def all_images(self) -> list[Path]:
        """The samples' images, then those for training."""
        images = list(self.images or ())
        if self.training is not None:
            images += self.training.images
        return images

    @property
    def votes(self) -> Any:
        """`Z`, with NaN where no vote could be given; sparse votes as `SparseVotes`."""
        if is_sparse(self.Z):
            asked = self.asked
            if asked is None:
                asked = np.ones(len(self.y), bool)
            return SparseVotes(self.Z, asked)
        # In single precision, so that yes-or-no votes take no more room than they must.
        missing = np.float32(np.nan)
        votes = self.Z
        if self.visible is not None:
            votes = np.where(self.visible, votes, missing)
        if self.asked is not None:
            votes = np.where(self.asked[:, None], votes, missing)
        return votes

    @property
    def features(self) -> Any:
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
    later = (data.asked, data.background_y, data.background_Z, data.background_held)
    arrays += [array for array in later if array is not None]
    digest = hashlib.sha256()
    if not data.concepts_are_features:
        # There may be as many of them as features.
        digest.update(b"concepts")
    for array in arrays:
        if array is None:
            # So that each array has its place, whichever of them are there.
            digest.update(b"none")
            continue
        # Bytes alone do not tell a matrix from its rows one after the other.
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        for part in _dense_parts(array):
            for rows in array_blocks(part):
                digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()


def _dense_parts(array: Any) -> list[np.ndarray]:
    """Return the array itself, or the three that a sparse one consists of."""
    if is_sparse(array):
        return [array.data, array.indices, array.indptr]
    return [array]


def locked(array: Any) -> Any:
    """Return an array that nobody can change a number of, sharing its memory."""
    if is_sparse(array):
        data, indices, indptr = map(locked, _dense_parts(array))
        return make_csr(data, indices, indptr, array.shape)
    # A view: the array of whoever made it stays as it is.
    view = array.view()
    view.flags.writeable = False
    return view


def harmonised(data: Data) -> Data:
    """Return data whose votes are sparse if its features are, and dense if they are.

    So that whatever a run takes rows of, it takes rows of one kind.
    """
    changes = {}
    for rows, votes in (("X", "Z"), ("background", "background_Z")):
        features = getattr(data, rows)
        given = getattr(data, votes)
        if features is None or given is None:
            continue
        if is_sparse(features):
            changes[rows] = as_csr(features)
            if given.dtype == np.float16:  # which scipy's arrays cannot have
                given = given.astype(np.float32)
            changes[votes] = as_csr(given)
        elif is_sparse(given):
            changes[votes] = given.toarray()
    return dataclasses.replace(data, **changes)


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
    for name in ("X", "Z", "visible", "asked", "test"):
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


def array_blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield slices along the first axis, so that memory-mapped arrays stay on disk."""
    if array.ndim == 0 or not len(array):
        yield array
        return
    # By their bounds: of a million values row numbers would take as much as they do.
    size = rows_at_once(array[:1].nbytes)
    for start in range(0, len(array), size):
        # A slice is a view; indexing with the row numbers would copy.
        yield array[start : start + size]
        release(array)


def bytes_of_row(array: Any) -> int:
    """Return what a row takes in double precision; of sparse ones, on average."""
    n, d = array.shape
    if is_sparse(array):
        # A value, its index, and where the row begins.
        return 16 * (array.nnz // max(1, n) + 1)
    return 8 * d


def rows_at_once(row_bytes: int) -> int:
    """Return how many rows fit into a bounded amount of memory."""
    return max(1, _CHUNK_BYTES // max(1, row_bytes))


def in_blocks(rows: np.ndarray, row_bytes: int) -> Iterator[np.ndarray]:
    """Yield row numbers, as many at a time as fit into a bounded amount of memory.

    Parameters
    ----------
    rows : array of shape (n,), of int
        Row numbers.
    row_bytes : int
        What a row takes.
    """
    size = rows_at_once(row_bytes)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def release(array: Any) -> None:
    """Let go of what was read of a memory-mapped array.

    It is read again from its file when needed. Other arrays are left as they are.
    """
    if isinstance(array, SparseVotes):
        array = array.matrix
    if is_sparse(array):
        for part in _dense_parts(array):
            release(part)
        return
    # A view of a view: the file's mapping is below all of them.
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    # Pages once read count as the process's memory, which is to stay bounded however
    # large the file. Windows has no such call.
    if sys.platform != "win32" and isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
