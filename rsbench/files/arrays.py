"""Named arrays from other people's files, without ever unpickling anything."""

import functools
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.errors import UserError

#: Under which a file may hold the names of the images its rows belong to.
NAME_KEYS = ("names", "image_names", "image_files")


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by their names: npz, mat (all versions) or h5; an npy's only one is `array`."""
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
            f"{path}: cannot tell what it is; expected a name that ends in {', '.join(readers)}"
        )
    if not path.is_file():
        raise UserError(f"there is no file {path} (seen from {Path.cwd()})")
    return reader(path)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an npz file."""
    file = reading(
        path, "the file", functools.partial(np.load, path, allow_pickle=False)
    )
    if isinstance(file, np.ndarray):
        raise UserError(
            f"{path}: a single array; expected an npz of named ones, as np.savez writes it"
        )
    with file:
        return {
            key: reading(path, key, functools.partial(file.__getitem__, key))
            for key in file.files
        }


def _read_npy(path: Path) -> dict[str, np.ndarray]:
    return {
        "array": reading(
            path, "the file", functools.partial(np.load, path, allow_pickle=False)
        )
    }


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found = reading(path, "the file", functools.partial(loadmat, path))
    except MatReadError as error:
        raise UserError(f"{path}: cannot read the file: {error}") from None
    except NotImplementedError:  # version 7.3 is HDF5
        return _read_h5(path)
    return {
        key: _unwrap(value)
        for key, value in found.items()
        if isinstance(value, np.ndarray)
    }


def _unwrap(array: np.ndarray) -> np.ndarray:
    """A cell array of texts, which loadmat nests, as an array of texts."""
    if array.dtype != object:
        return array
    return np.array([str(cell[0]) if np.size(cell) else "" for cell in array.ravel()])


def _read_h5(path: Path) -> dict[str, np.ndarray]:
    try:
        import h5py
    except ImportError:
        raise UserError(
            f'{path}: reading it needs h5py: pip install "rsbench[vision]"'
        ) from None

    def read() -> dict[str, np.ndarray]:
        with h5py.File(path) as file:
            arrays = {
                key: item
                for key, item in file.items()
                if isinstance(item, h5py.Dataset)
            }
            return {key: _h5_array(file, item) for key, item in arrays.items()}

    return reading(path, "the file", read)


def _h5_array(file: Any, item: Any) -> np.ndarray:
    """An array of an HDF5 file; Matlab's cells of texts are references to arrays of character codes."""
    import h5py

    if h5py.check_string_dtype(item.dtype):
        return item.asstr()[...]
    if h5py.check_ref_dtype(item.dtype):
        return np.array(
            [
                "".join(map(chr, np.ravel(file[cell][...])))
                for cell in np.ravel(item[...])
            ]
        )
    return item[...]


def reading(path: Path, what: str, read: Callable[[], Any]) -> Any:
    """What `read` returns; an error that names the file if it is damaged or holds pickled objects."""
    try:
        return read()
    except NotImplementedError:
        raise
    except (
        OSError,
        ValueError,
        EOFError,
        TypeError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        hint = (
            " Pickled objects are never loaded; save plain numbers or text."
            if "pickle" in str(error).lower()
            else ""
        )
        raise UserError(f"{path}: cannot read {what}: {error}.{hint}") from None


def row_names(arrays: dict[str, np.ndarray], path: Path) -> tuple[Path, ...]:
    """Names of a file's rows: its `names`, else CLASS/0, CLASS/1, … by `y` and `class_names`."""
    for key in NAME_KEYS:
        if key in arrays:
            return tuple(Path(str(name).strip()) for name in np.ravel(arrays[key]))
    if "y" not in arrays or "class_names" not in arrays:
        raise UserError(
            f"{path}: no names of images in it; expected an array called {' or '.join(NAME_KEYS)}"
        )
    classes = np.ravel(arrays["class_names"])
    count: Counter[int] = Counter()
    names = []
    for label in labels(arrays, path).tolist():
        names.append(Path(str(classes[label]).strip(), str(count[label])))
        count[label] += 1
    return tuple(names)


def labels(arrays: dict[str, np.ndarray], path: Path) -> np.ndarray:
    """The array `y` as class numbers that `class_names` has names for."""
    y, classes = np.ravel(arrays["y"]), np.size(arrays["class_names"])
    if y.dtype.kind not in "iu":
        raise UserError(f"{path}: y has type {y.dtype}, expected integer class numbers")
    wrong = y[(y < 0) | (y >= classes)]
    if len(wrong):
        raise UserError(
            f"{path}: y holds {wrong[0]}, but there are {classes} class_names, 0 to {classes - 1}"
        )
    return y.astype(int)
