"""Whether a run can trust its data: each mistake has a line that says what to do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rsbench.core.data import Data, array_blocks
from rsbench.core.sparse import check_csr, is_sparse
from rsbench.errors import UserError


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
        if Z.shape != data.X.shape and data.concepts_are_features:
            raise UserError(
                f"{where}: Z has shape {Z.shape} but X has {data.X.shape}; "
                "annotations need one vote per sample and feature, or names of the "
                "concepts that they are for: concept_names"
            )
    if Z.ndim != 2 or Z.shape[0] != n:
        raise UserError(
            f"{where}: Z has shape {Z.shape}, expected {n} rows, one per label in y"
        )
    _check_votes(Z, "Z", where)
    if data.visible is not None:
        _check_visible(data, where)
    for name in ("asked", "test"):
        mask = getattr(data, name)
        if mask is not None:
            _check_mask(mask, n, name, where)
    check_background(data, where)
    width = Z.shape[1]
    if data.X is not None:
        width = data.X.shape[1]
    if data.X is not None or data.concepts_are_features:
        _check_names("feature_names", data.names.features, width, where)
    _check_concepts(data, where)
    _check_names("class_names", data.names.classes, int(data.y.max()) + 1, where)
    return data


def _check_arrays(data: Data, where: str) -> None:
    """Raise an error unless everything that is to be an array is one."""
    for name in ("X", "Z", "background", "background_Z"):
        value = getattr(data, name)
        if is_sparse(value):
            _check_sparse(value, name, where)
        elif value is not None:
            _check_array(value, name, where)
    for name in ("y", "visible", "asked", "test", "background_y", "background_held"):
        value = getattr(data, name)
        if value is not None:
            _check_array(value, name, where)


def _check_array(value: Any, name: str, where: str) -> None:
    if not isinstance(value, np.ndarray):
        raise UserError(
            f"{where}: {name} is a {type(value).__name__}, expected an array: "
            f"np.asarray({name}) makes one"
        )


def _check_sparse(value: Any, name: str, where: str) -> None:
    if value.ndim != 2:
        raise UserError(f"{where}: {name} has shape {value.shape}, expected (n, d)")
    if value.format != "csr":
        raise UserError(
            f"{where}: {name} is sparse in the format {value.format}, expected csr: "
            f"{name}.tocsr() makes one"
        )
    check_csr(value.data, value.indices, value.indptr, value.shape, name, where)


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
    # Sorted, they are 0, 1, 2, … unless some are missing, or below zero.
    if (present != np.arange(len(present))).any():
        missing = np.setdiff1d(np.arange(len(present)), present)
        raise UserError(
            f"{where}: labels in y must be 0..K-1 without gaps; found {present[0]}.."
            f"{present[-1]} ({len(present)} different, {missing[0]} is missing). "
            "np.unique(y, return_inverse=True)[1] renumbers them"
        )
    if len(present) < 2:
        raise UserError(
            f"{where}: y has a single class, at least two are needed to tell apart"
        )


def _check_features(X: Any, rows: int | None, key: str, where: str) -> None:
    """Raise an error unless X is finite floats, with so many rows if that is known."""
    expected = "(m, d)"
    right = X.ndim == 2 and 0 not in X.shape
    if rows is not None:
        expected = f"({rows}, d), one row per label in y"
        right = right and X.shape[0] == rows
    if not right:
        raise UserError(f"{where}: {key} has shape {X.shape}, expected {expected}")
    if not np.issubdtype(X.dtype, np.floating):
        raise UserError(
            f"{where}: {key} has type {X.dtype}, expected floats; "
            f"{key}.astype(np.float32) makes them"
        )
    values = X
    if is_sparse(X):
        values = X.data
    start = 0
    for block in array_blocks(values):
        finite = np.isfinite(block)
        if not finite.all():
            first = np.argwhere(~finite)[0]
            place = _place(X, start + int(first[0]), first[1:])
            raise UserError(
                f"{where}: {key}{place} is {block[tuple(first)]}; features must be "
                "finite"
            )
        start += len(block)


def _place(X: Any, position: int, column: np.ndarray) -> list[int]:
    """Return row and column of a value, by its row or by its place among stored ones.

    Parameters
    ----------
    X : array of shape (n, d)
        Dense or CSR.
    position : int
        The row, or of CSR the number of the stored value.
    column : array of int
        The column, or of CSR nothing.
    """
    if is_sparse(X):
        row = np.searchsorted(X.indptr, position, "right") - 1
        return [int(row), int(X.indices[position])]
    return [position, *column.tolist()]


def _check_votes(Z: Any, key: str, where: str) -> None:
    if Z.dtype.kind not in "biuf":
        raise UserError(
            f"{where}: {key} has type {Z.dtype}, expected votes: bool, 0/1 or numbers "
            "in [0, 1]"
        )
    if Z.dtype == np.bool_:
        return
    values = Z
    if is_sparse(Z):
        values = Z.data
    for block in array_blocks(values):
        right = (block >= 0) & (block <= 1)  # and so not NaN
        if not right.all():
            bad = block[~right][0]
            raise UserError(f"{where}: {key} holds {bad}; votes must lie in [0, 1]")


def _check_concepts(data: Data, where: str) -> None:
    names = data.names.concepts
    _check_names("concept_names", names, data.Z.shape[1], where)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"{where}: concept_names has '{twice}' more than once")


def _check_visible(data: Data, where: str) -> None:
    if is_sparse(data.Z) or is_sparse(data.X):
        raise UserError(
            f"{where}: visible goes with dense votes; of sparse ones, `asked` tells "
            "which samples anybody was asked about"
        )
    visible: Any = data.visible
    if visible.shape != data.Z.shape or visible.dtype != np.bool_:
        raise UserError(
            f"{where}: visible has shape {visible.shape}, expected {data.Z.shape} of "
            "bool, as Z"
        )


def _check_mask(mask: np.ndarray, n: int, key: str, where: str) -> None:
    if mask.shape != (n,) or mask.dtype != np.bool_:
        raise UserError(
            f"{where}: {key} has shape {mask.shape} and type {mask.dtype}, expected "
            f"({n},) of bool"
        )


def check_background(data: Data, where: str) -> None:
    """Raise an error unless what there is of other classes is in order.

    Parameters are those of `check_data`.
    """
    background = data.background
    if background is None:
        for name in ("background_y", "background_Z", "background_held"):
            if getattr(data, name) is not None:
                raise UserError(f"{where}: {name} goes with background, which is not")
        return
    _check_features(background, None, "background", where)
    if data.X is not None:
        if background.shape[1] != data.X.shape[1]:
            raise UserError(
                f"{where}: background has {background.shape[1]} features but X has "
                f"{data.X.shape[1]}"
            )
        if is_sparse(background) != is_sparse(data.X):
            raise UserError(
                f"{where}: of X and background one is sparse and one is not; make both "
                "the same"
            )
    m = background.shape[0]
    y = data.background_y
    if y is not None and (y.shape != (m,) or y.dtype.kind not in "iu"):
        raise UserError(
            f"{where}: background_y has shape {y.shape} and type {y.dtype}, expected "
            f"({m},) of integer class numbers"
        )
    Z = data.background_Z
    if Z is not None:
        expected = (m, data.Z.shape[1])
        if Z.shape != expected:
            raise UserError(
                f"{where}: background_Z has shape {Z.shape}, expected {expected}: a "
                "row for each of background, and Z's columns"
            )
        _check_votes(Z, "background_Z", where)
    if data.background_held is not None:
        _check_mask(data.background_held, m, "background_held", where)
        _check_held(data, where)


def _check_held(data: Data, where: str) -> None:
    """Raise an error unless held-out samples are those of `validation`, in its order.

    Else a learner that is told of the rest would be told of samples it is tuned on.
    """
    if data.validation is None or data.background_y is None:
        return
    y = data.validation.y
    held_y = data.background_y[data.background_held]
    pairs = set(zip(y.tolist(), held_y.tolist(), strict=False))
    agree = len(pairs) == len(np.unique(y)) == len(np.unique(held_y))
    if len(held_y) != len(y) or not agree:
        raise UserError(
            f"{where}: background_held marks {len(held_y)} samples that are not the "
            f"{len(y)} of validation, class by class and in the same order"
        )


def _check_names(key: str, names: Sequence[str], count: int, where: str) -> None:
    if names and len(names) != count:
        raise UserError(f"{where}: {key} has {len(names)} names, expected {count}")
