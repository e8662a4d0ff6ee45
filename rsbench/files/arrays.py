"""Named arrays from other people's files, without ever unpickling anything."""

import functools
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.sparse import check_csr, make_csr
from rsbench.errors import UserError

#: Under which a file may hold the names of the images that its rows belong to.
NAME_KEYS = ("names", "image_names", "image_files")

#: What readers of numpy, scipy and h5py raise on files that they cannot make out.
_READING_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    TypeError,
    KeyError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by their names.

    Parameters
    ----------
    path : Path
        A file whose name ends in .npz, .mat (of any version), .h5, .hdf5 or .npy. The
        only array of an npy file is called `array`.

    Raises
    ------
    UserError
        If the file is not there, is none of these, or cannot be read.
    """
    readers = {
        ".npz": read_npz,
        ".npy": _read_npy,
        ".mat": _read_mat,
        ".h5": _read_h5,
        ".hdf5": _read_h5,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UserError(
            f"{path}: cannot tell what it is; expected a name that ends in "
            f"{', '.join(readers)}"
        )
    if not path.is_file():
        raise UserError(f"there is no file {path} (seen from {Path.cwd()})")
    return reader(path)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file by their names."""
    file = reading(path, "the file", lambda: np.load(path, allow_pickle=False))
    if isinstance(file, np.ndarray):
        raise UserError(
            f"{path}: a single array; expected an npz of named ones, as np.savez "
            "writes it"
        )
    arrays = {}
    with file:
        for key in file.files:
            arrays[key] = reading(path, key, functools.partial(file.__getitem__, key))
    return arrays


#: What a sparse matrix consists of, in a file: X_data, X_indices, X_indptr, X_shape.
_PARTS = ("data", "indices", "indptr", "shape")


def join_sparse(
    arrays: Mapping[str, np.ndarray], keys: Sequence[str], path: Path
) -> dict[str, Any]:
    """Return arrays in which the parts of sparse ones are put together.

    Parameters
    ----------
    arrays : mapping
        Arrays by name. A sparse array X comes as X_data, X_indices, X_indptr and
        X_shape, as scipy's CSR has them.
    keys : sequence of str
        Names of those that may be sparse.
    path : Path
        The file, for errors.
    """
    joined = dict(arrays)
    for key in keys:
        parts = {}
        for part in _PARTS:
            if f"{key}_{part}" in joined:
                parts[part] = joined.pop(f"{key}_{part}")
        if not parts:
            continue
        missing = [f"{key}_{part}" for part in _PARTS if part not in parts]
        if missing:
            raise UserError(
                f"{path}: {', '.join(missing)} missing; a sparse {key} has "
                f"{', '.join(f'{key}_{part}' for part in _PARTS)}"
            )
        if key in joined:
            raise UserError(f"{path}: {key} is there dense and sparse; keep one")
        joined[key] = _sparse(parts, key, path)
    return joined


def read_sparse(path: Path, key: str) -> Any:
    """Return the sparse array of a file that `scipy.sparse.save_npz` wrote.

    Parameters
    ----------
    path : Path
        The file.
    key : str
        What the array is called, for errors.
    """
    arrays = read_npz(path)
    require_arrays(arrays, ("format",), path)
    word = arrays["format"].tolist()
    if isinstance(word, bytes):  # as scipy writes it
        word = word.decode("ascii", "replace")
    if word != "csr":
        raise UserError(
            f"{path}: a sparse array in the format {word!s:.20}, expected csr: "
            f"scipy.sparse.save_npz(file, {key}.tocsr())"
        )
    require_arrays(arrays, _PARTS, path)
    return _sparse(arrays, key, path)


def _sparse(parts: Mapping[str, np.ndarray], key: str, path: Path) -> Any:
    """Return a CSR array of its parts, once they are known to be in order."""
    shape = np.ravel(parts["shape"])
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise UserError(
            f"{path}: {key}'s shape is {parts['shape']!r:.80}, expected two whole "
            "numbers, rows and columns"
        )
    rows, columns = shape.tolist()
    found = (parts["data"], parts["indices"], parts["indptr"])
    check_csr(*found, (rows, columns), key, str(path))
    return make_csr(*found, (rows, columns))


def require_arrays(
    arrays: Mapping[str, np.ndarray], required: Sequence[str], path: Path
) -> None:
    """Raise an error that names the arrays a file lacks, if it lacks any."""
    missing = [key for key in required if key not in arrays]
    if missing:
        raise UserError(
            f"{path}: {', '.join(missing)} missing; it has "
            f"{', '.join(arrays) or 'nothing'}"
        )


def read_npy(path: Path, what: str, memory_map: bool = False) -> np.ndarray:
    """Return the array of an npy file, or one that stays on disk until it is used."""
    mode: Any = None
    if memory_map:
        mode = "r"
    return reading(
        path, what, lambda: np.load(path, mmap_mode=mode, allow_pickle=False)
    )


def _read_npy(path: Path) -> dict[str, np.ndarray]:
    return {"array": read_npy(path, "the file")}


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a Matlab file, of whatever version."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found = reading(path, "the file", lambda: loadmat(path))
    except MatReadError as error:
        raise UserError(f"{path}: cannot read the file: {error}") from None
    except NotImplementedError:  # how scipy refuses version 7.3, which is HDF5
        return _read_h5(path)
    arrays = {}
    for key, value in found.items():
        if isinstance(value, np.ndarray):  # others are the file's header
            arrays[key] = _unnest(value)
    return arrays


def _unnest(array: np.ndarray) -> np.ndarray:
    """Return a cell array of texts, each an array within the array, as plain texts."""
    if array.dtype != object:
        return array
    texts = []
    for cell in array.ravel():
        if np.size(cell):
            texts.append(str(cell[0]))
        else:
            texts.append("")
    return np.array(texts)


def _read_h5(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays at the top of an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise UserError(
            f'{path}: reading it needs h5py: pip install "rsbench[vision]"'
        ) from None

    def read() -> dict[str, np.ndarray]:
        arrays = {}
        with h5py.File(path) as file:
            for key, item in file.items():
                if isinstance(item, h5py.Dataset):  # and no group of them
                    arrays[key] = _h5_array(file, item)
        return arrays

    return reading(path, "the file", read)


def _h5_array(file: Any, item: Any) -> np.ndarray:
    """Return an array of an HDF5 file.

    Matlab's cells of texts are references to arrays of character codes.
    """
    import h5py

    if h5py.check_string_dtype(item.dtype):
        return item.asstr()[...]
    if h5py.check_ref_dtype(item.dtype):
        texts = []
        for cell in np.ravel(item[...]):
            codes = np.ravel(file[cell][...])
            texts.append("".join(map(chr, codes)))
        return np.array(texts)
    return item[...]


def reading(path: Path, what: str, read: Callable[[], Any]) -> Any:
    """Return what `read` returns.

    Where the file is damaged or holds pickled objects, the error names the file.
    """
    try:
        return read()
    except NotImplementedError:
        raise
    except _READING_ERRORS as error:
        hint = ""
        # numpy has no exception of its own for this, so its words have to do.
        if "pickle" in str(error).lower():
            hint = " Pickled objects are never loaded; save plain numbers or text."
        raise UserError(f"{path}: cannot read {what}: {error}.{hint}") from None


def row_names(arrays: dict[str, np.ndarray], path: Path) -> tuple[Path, ...]:
    """Return the names of a file's rows.

    Parameters
    ----------
    arrays : dict
        The file's arrays. One of NAME_KEYS holds the names; else they are CLASS/0,
        CLASS/1, … of each class, by `y` and `class_names`.
    path : Path
        The file, for errors.
    """
    for key in NAME_KEYS:
        if key in arrays:
            return tuple(Path(str(name).strip()) for name in np.ravel(arrays[key]))
    if "y" not in arrays or "class_names" not in arrays:
        raise UserError(
            f"{path}: no names of images in it; expected an array called "
            f"{' or '.join(NAME_KEYS)}"
        )
    classes = np.ravel(arrays["class_names"])
    seen: Counter[int] = Counter()
    names = []
    for label in labels(arrays, path).tolist():
        folder = str(classes[label]).strip()
        names.append(Path(folder, str(seen[label])))
        seen[label] += 1
    return tuple(names)


def labels(arrays: dict[str, np.ndarray], path: Path) -> np.ndarray:
    """Return the array `y` as class numbers that `class_names` has names for."""
    y = np.ravel(arrays["y"])
    classes = np.size(arrays["class_names"])
    if y.dtype.kind not in "iu":
        raise UserError(f"{path}: y has type {y.dtype}, expected integer class numbers")
    wrong = y[(y < 0) | (y >= classes)]
    if len(wrong):
        raise UserError(
            f"{path}: y holds {wrong[0]}, but there are {classes} class_names, 0 to "
            f"{classes - 1}"
        )
    return y.astype(int)
