"""Anyone's features, from a file: no code needed."""

from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.components import Dataset, fresh
from rsbench.core.data import Data, Names
from rsbench.core.data_checks import check_background, check_data
from rsbench.datasets.draws import check_draw, draw_classes
from rsbench.errors import UserError, did_you_mean
from rsbench.files.arrays import (
    join_sparse,
    read_npy,
    read_npz,
    read_sparse,
    require_arrays,
)

REQUIRED = ("X", "y", "Z")
OPTIONAL = (
    "asked",
    "test",
    "background",
    "background_y",
    "background_Z",
    "feature_names",
    "class_names",
    "concept_names",
)
#: These may be sparse.
SPARSE = ("X", "Z", "background", "background_Z")


class Arrays(Dataset):
    """Features, labels and annotations from an npz file, or a folder of npy files.

    Files of a folder are memory-mapped. The arrays are `X` (n x d), `y` (n, classes
    0..K-1) and `Z` (n x d, votes in [0, 1] for the features; or n x m, for m concepts
    with names of their own, `concept_names`). Optional ones are `asked` (n, bool: which
    samples anybody was asked about), `test` (n, bool: a fixed test set), `background`
    (m x d, features of other classes), `background_y` and `background_Z` (their labels
    and votes, for learners that ask for them and to tune on), `feature_names` and
    `class_names`.

    A sparse array X comes as `X_data`, `X_indices`, `X_indptr` and `X_shape`, or in a
    folder as the `X.npz` that `scipy.sparse.save_npz` writes.

    Parameters
    ----------
    path : str
        The npz file or the folder.
    classes : int or None
        So many classes, drawn from all of the file's and read into memory; the others
        are left out. All of them by default.
    draw : int
        Number of the draw of classes; another number, other classes.
    """

    def __init__(self, path: str = "", classes: int | None = None, draw: int = 0):
        self.path = path
        self.classes = classes
        self.draw = draw
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_draw(self.classes, self.draw)
        # Else every draw would be the same classes, and pass for another.
        if self.classes is None and self.draw > 0:
            raise UserError(
                f"dataset.draw={self.draw}: there is nothing to draw without "
                "dataset.classes, a number of classes"
            )

    def drawn(self, number: int) -> "Arrays":
        """Return the data set of another draw of classes."""
        return fresh(self, draw=self.draw + number)

    def load(self) -> Data:
        """Read and check the arrays."""
        if not self.path:
            raise UserError(
                "dataset=arrays needs a file: dataset.path=FILE.npz, or a folder of "
                "X.npy, y.npy, Z.npy"
            )
        path = Path(self.path)
        if not path.exists():
            raise UserError(
                f"dataset.path: there is no {path} (seen from {Path.cwd()})"
            )
        arrays = join_sparse(_read(path), SPARSE, path)
        _check_keys(arrays, path)
        for key in SPARSE:
            if key in arrays:
                arrays[key] = _at_least_float32(arrays[key])
        data = Data(
            X=arrays["X"],
            y=arrays["y"],
            Z=arrays["Z"],
            asked=arrays.get("asked"),
            test=arrays.get("test"),
            names=Names(
                _names(arrays.get("feature_names")),
                _names(arrays.get("class_names")),
                _names(arrays.get("concept_names")),
            ),
            **_others(arrays, path),
        )
        if self.classes is None:
            return data
        check_data(data, str(path))  # before classes are looked for in it
        return draw_classes(data, np.unique(data.y), self.classes, self.draw)


def _read(path: Path) -> dict[str, Any]:
    """Return the arrays of a file or a folder by their names."""
    if not path.is_dir():
        return read_npz(path)
    arrays: dict[str, Any] = {}
    for file in sorted(path.glob("*.npy")):
        # Mapped, as they may be larger than the memory.
        arrays[file.stem] = read_npy(file, file.stem, memory_map=True)
    for file in sorted(path.glob("*.npz")):
        if file.stem in arrays:
            raise UserError(f"{path}: {file.stem} is there as npy and npz; keep one")
        arrays[file.stem] = read_sparse(file, file.stem)
    return arrays


def _check_keys(arrays: dict[str, Any], path: Path) -> None:
    """Raise an error for arrays that are missing or unknown."""
    if "X" not in arrays and {"format", "indptr"} <= arrays.keys():
        raise UserError(
            f"{path}: a single sparse array, as scipy.sparse.save_npz writes it; call "
            "it X.npz, beside y.npy and Z.npy, and give dataset.path their folder"
        )
    require_arrays(arrays, REQUIRED, path)
    # An optional array under a misspelt name would otherwise be passed over.
    known = REQUIRED + OPTIONAL
    for key in arrays:
        if key not in known:
            raise UserError(
                f"{path}: unknown array '{key}'. {did_you_mean(key, known)}"
            )


def _others(arrays: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return what the file has of other classes, as fields of `Data`."""
    given = [key for key in ("background_y", "background_Z") if key in arrays]
    if given and "background" not in arrays:
        raise UserError(f"{path}: {given[0]} goes with background, which is missing")
    if given == ["background_Z"]:
        raise UserError(f"{path}: background_Z goes with background_y, their classes")
    others = {}
    for key in ("background", *given):
        if key in arrays:
            others[key] = arrays[key]
    if len(given) == 2:
        # Checked first under their own names; a run checks all of the data again.
        check_background(Data(y=arrays["y"], Z=arrays["Z"], **others), str(path))
        classes, y = np.unique(others["background_y"], return_inverse=True)
        if len(classes) > 1:
            votes = others["background_Z"]
            names = Names(concepts=_names(arrays.get("concept_names")))
            others["validation"] = Data(
                X=others["background"], y=y, Z=votes, names=names
            )
        others["background_held"] = np.ones(len(y), bool)
    return others


def _at_least_float32(X: Any) -> Any:
    # Learners accumulate, for which half precision is too coarse; scipy has none.
    if X.dtype == np.float16:
        return X.astype(np.float32)
    return X


def _names(array: np.ndarray | None) -> tuple[str, ...]:
    if array is None:
        return ()
    return tuple(map(str, np.ravel(array)))
