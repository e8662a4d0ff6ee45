"""Sparse rows: features and votes that are mostly zero, kept as CSR.

CSR holds the values that are not zero row after row (`data`), the column of each
(`indices`, ascending within a row) and where rows begin (`indptr`). A value that is
stored may still be zero. scipy is imported only where something is sparse.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.errors import UserError

#: The most rows or columns that scipy has numbers for.
_MOST = np.iinfo(np.int64).max

#: Stored values that are looked at once, so that no check copies a whole matrix.
_VALUES_AT_ONCE = 1 << 21


def is_sparse(array: Any) -> bool:
    """Tell whether an array is one of scipy's sparse ones."""
    # Where nobody has imported scipy's, there is none.
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and scipy_sparse.issparse(array)


@dataclass(frozen=True)
class SparseVotes:
    """Votes of samples as sparse rows, and which of the samples were annotated at all.

    Of a sample that nobody was asked about, all votes are missing; of one that somebody
    was, votes that are not stored are zero. Indexing with rows gives those rows.

    Parameters
    ----------
    matrix : csr_array of shape (n, d)
        The votes.
    asked : ndarray of shape (n,), bool
        Which samples somebody was asked about.
    """

    matrix: Any
    asked: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples, and of features that can be voted for."""
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the votes that are stored."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, rows: Any) -> "SparseVotes":
        return SparseVotes(self.matrix[rows], self.asked[rows])

    def toarray(self) -> np.ndarray:
        """Return votes as a dense array, NaN where nobody was asked."""
        # As dense votes would have it: at least what has room for NaN.
        dtype = np.result_type(self.dtype, np.float32)
        votes = self.matrix.toarray().astype(dtype, copy=False)
        votes[~self.asked] = np.nan
        return votes


def as_csr(matrix: Any) -> Any:
    """Return a sparse matrix of any class as a csr_array; CSR shares its numbers."""
    from scipy.sparse import csr_array

    if isinstance(matrix, csr_array):
        return matrix
    return csr_array(matrix)


def empty_csr(shape: tuple[int, int]) -> Any:
    """Return a csr_array of zeros, of which none is stored."""
    from scipy.sparse import csr_array

    return csr_array(shape)


def make_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any
) -> Any:
    """Return a csr_array of arrays that were checked, sharing them where it can."""
    from scipy.sparse import csr_array

    if indptr.dtype == np.uint64:  # which does not go with numbers that have a sign
        indptr = indptr.astype(np.int64)
    return csr_array((data, indices, indptr), shape=tuple(shape), copy=False)


def with_values(support: Any, values: np.ndarray) -> Any:
    """Return other values in the places that a CSR array has."""
    return make_csr(values, support.indices, support.indptr, support.shape)


def row_numbers(matrix: Any) -> np.ndarray:
    """Return the row of each stored value."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def row_sums(matrix: Any, values: np.ndarray) -> np.ndarray:
    """Return sums over each row of values in the places that a CSR array has."""
    sums = np.zeros(matrix.shape[0])
    # A row that stores nothing has no place at which a sum could begin.
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(values, matrix.indptr[filled])
    return sums


def values_at(matrix: Any, support: Any) -> np.ndarray:
    """Return a matrix's values in the places that another one has.

    Parameters
    ----------
    matrix, support : csr_array of shape (n, d)
        Both with ascending indices.

    Returns
    -------
    ndarray
        One for each value that `support` stores; zero where `matrix` has none.
    """
    wanted = _places(support)
    offered = _places(matrix)
    values = np.zeros(len(wanted), matrix.dtype)
    found = np.searchsorted(wanted, offered)
    # One beyond the last place is none of them.
    inside = found < len(wanted)
    inside[inside] = wanted[found[inside]] == offered[inside]
    values[found[inside]] = matrix.data[inside]
    return values


def _places(matrix: Any) -> np.ndarray:
    """Return row and column of each stored value as one number, ascending."""
    return row_numbers(matrix) * np.int64(matrix.shape[1]) + matrix.indices


def replace_rows(matrix: Any, rows: np.ndarray, others: Any) -> Any:
    """Return a CSR array in which some rows are those of another one.

    Parameters
    ----------
    matrix : csr_array of shape (n, d)
        The array, which stays as it is.
    rows : ndarray of int
        Numbers of the rows to replace.
    others : csr_array
        What comes in their place, in that order.
    """
    from scipy.sparse import vstack

    both = vstack([matrix, others], format="csr")
    source = np.arange(matrix.shape[0])
    source[rows] = matrix.shape[0] + np.arange(len(rows))
    return both[source]


def by_class(rows: Any, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return sums of rows by class, (K, d), in double precision.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        What is summed.
    codes : ndarray of shape (n,), of int
        The class of each row, 0 to K-1.
    n_classes : int
        The number of classes, K.
    """
    if not is_sparse(rows):
        members = np.zeros((n_classes, len(codes)))
        members[codes, np.arange(len(codes))] = 1.0
        return members @ rows
    # One bincount in place of a product: it gives a dense array at once.
    width = rows.shape[1]
    places = codes[row_numbers(rows)] * np.int64(width) + rows.indices
    sums = np.bincount(places, weights=rows.data, minlength=n_classes * width)
    return sums.reshape(n_classes, width)


def dense(rows: Any, whose: str) -> np.ndarray:
    """Return rows as a dense array, if this machine has room for them.

    Parameters
    ----------
    rows : ndarray, csr_array or SparseVotes
        What is to be dense.
    whose : str
        What cannot do without, for the error.
    """
    if isinstance(rows, np.ndarray):
        return rows
    n, d = rows.shape
    check_memory(n * d * max(rows.dtype.itemsize, 4), f"{whose} takes no sparse rows")
    return rows.toarray()


def check_memory(size: int, why: str) -> None:
    """Raise an error for an array that takes more than half of the machine's memory.

    Parameters
    ----------
    size : int
        What it takes, in bytes.
    why : str
        What it is needed for; the beginning of the error.
    """
    memory = _machine_memory()
    if memory and size > memory // 2:
        raise UserError(
            f"{why}, which would take {size / 2**30:.1f} GiB; this machine has "
            f"{memory / 2**30:.1f} GiB"
        )


def _machine_memory() -> int:
    """Return the machine's memory in bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no such call
        return 0


def check_csr(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: tuple[int, int],
    key: str,
    where: str,
) -> None:
    """Raise an error unless arrays are those of a CSR matrix in order.

    Parameters
    ----------
    data, indices, indptr : ndarray
        The matrix's values, their columns, and where rows begin.
    shape : tuple of int
        Its rows and columns.
    key : str
        What the matrix is called, such as X.
    where : str
        The file, or the data set's name.
    """
    rows, columns = shape
    if not (0 <= rows <= _MOST and 1 <= columns <= _MOST):
        raise UserError(f"{where}: {key} has the shape {shape}, expected rows, columns")
    for name, array in (("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise UserError(
                f"{where}: {key}'s {name} have shape {array.shape} and type "
                f"{array.dtype}, expected whole numbers in one row"
            )
    if data.ndim != 1 or len(data) != len(indices):
        raise UserError(
            f"{where}: {key} has values of shape {data.shape} and {len(indices)} "
            "indices, expected one value for each index"
        )
    _check_indptr(indptr, rows, len(data), key, where)
    start = 0
    for end in _parts(indptr):
        _check_indices(indices, indptr, start, end, columns, key, where)
        start = end


def _check_indptr(
    indptr: np.ndarray, rows: int, stored: int, key: str, where: str
) -> None:
    """Raise an error unless rows begin at zero, one after the other, and end in time.

    One of 32 bits that has overflown goes backwards.
    """
    if len(indptr) != rows + 1:
        raise UserError(
            f"{where}: {key}'s indptr has {len(indptr)} entries, expected {rows + 1}, "
            "one more than rows"
        )
    if indptr[0] != 0 or indptr[-1] != stored:
        raise UserError(
            f"{where}: {key}'s indptr goes from {indptr[0]} to {indptr[-1]}, expected "
            f"0 to {stored}, the number of values"
        )
    # Not by differences, which wrap around in unsigned numbers.
    back = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(back):
        raise UserError(
            f"{where}: {key}'s indptr goes backwards at row {back[0]}, from "
            f"{indptr[back[0]]} to {indptr[back[0] + 1]}"
        )


def _parts(indptr: np.ndarray) -> Iterator[int]:
    """Yield row numbers up to which there is a bounded number of values more."""
    rows = len(indptr) - 1
    end = 0
    while end < rows:
        wanted = int(indptr[end]) + _VALUES_AT_ONCE  # perhaps beyond 32 bits
        reached = np.searchsorted(indptr, wanted, "right") - 1
        end = min(rows, max(end + 1, int(reached)))
        yield end


def _check_indices(
    indices: np.ndarray,
    indptr: np.ndarray,
    start: int,
    end: int,
    columns: int,
    key: str,
    where: str,
) -> None:
    """Raise an error unless each row's columns exist and ascend, each of them once."""
    first = int(indptr[start])
    part = np.asarray(indices[first : int(indptr[end])]).astype(np.int64, copy=False)
    outside = np.flatnonzero((part < 0) | (part >= columns))
    if len(outside):
        raise UserError(
            f"{where}: {key}'s indices hold {part[outside[0]]}, expected 0 to "
            f"{columns - 1}"
        )
    lengths = np.diff(indptr[start : end + 1]).astype(np.int64, copy=False)
    rows = np.repeat(np.arange(start, end), lengths)
    same_row = rows[1:] == rows[:-1]
    step = np.diff(part)
    wrong = np.flatnonzero(same_row & (step <= 0))
    if not len(wrong):
        return
    at = wrong[0]
    if step[at] == 0:
        raise UserError(
            f"{where}: {key} has column {part[at]} of row {rows[at]} twice: "
            f"{key}.sum_duplicates() adds them up"
        )
    raise UserError(
        f"{where}: {key}'s indices of row {rows[at]} are not in ascending order: "
        f"{key}.sort_indices() sorts them"
    )
