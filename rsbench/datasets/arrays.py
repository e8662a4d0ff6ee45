"""Anyone's features, from a file: no code needed."""

import functools
from pathlib import Path

import numpy as np

from rsbench.core.data import Data, Names, check_data
from rsbench.errors import UserError, did_you_mean
from rsbench.files.arrays import read_npz, reading

REQUIRED = ("X", "y", "Z")
OPTIONAL = (
    "test",
    "background",
    "background_y",
    "background_Z",
    "feature_names",
    "class_names",
)


class Arrays:
    """Features, labels and annotations from an npz file, or a folder of npy files (memory-mapped).

    Arrays: `X` (n x d), `y` (n, classes 0..K-1), `Z` (n x d, votes in [0, 1]); optional `test`
    (n, bool: a fixed test set), `background` (m x d, features of other classes; with `background_y` and
    `background_Z`, their labels and votes, to tune on), `feature_names`, `class_names`.

    Parameters
    ----------
    path : the npz file or the folder.
    """

    def __init__(self, path: str = ""):
        self.path = path

    def load(self) -> Data:
        """Read and check the arrays."""
        if not self.path:
            raise UserError(
                "dataset=arrays needs a file: dataset.path=FILE.npz, or a folder of X.npy, y.npy, Z.npy"
            )
        path = Path(self.path)
        if not path.exists():
            raise UserError(
                f"dataset.path: there is no {path} (seen from {Path.cwd()})"
            )
        arrays = _read_folder(path) if path.is_dir() else read_npz(path)
        missing = [key for key in REQUIRED if key not in arrays]
        if missing:
            raise UserError(
                f"{path}: {', '.join(missing)} missing; it has {', '.join(arrays) or 'nothing'}"
            )
        for key in arrays:
            if key not in REQUIRED + OPTIONAL:
                raise UserError(
                    f"{path}: unknown array '{key}'. {did_you_mean(key, REQUIRED + OPTIONAL)}"
                )
        background = (
            _at_least_float32(arrays["background"]) if "background" in arrays else None
        )
        return Data(
            X=_at_least_float32(arrays["X"]),
            y=arrays["y"],
            Z=arrays["Z"],
            test=arrays.get("test"),
            background=background,
            validation=_labelled(background, arrays, path),
            names=Names(
                _names(arrays.get("feature_names")), _names(arrays.get("class_names"))
            ),
        )


def _labelled(
    background: np.ndarray | None, arrays: dict[str, np.ndarray], path: Path
) -> Data | None:
    """The background as annotated samples, if its labels and votes are there."""
    given = [key for key in ("background_y", "background_Z") if key in arrays]
    if not given:
        return None
    if background is None or len(given) < 2:
        raise UserError(
            f"{path}: {given[0]} goes with background, background_y and background_Z together"
        )
    labelled = Data(X=background, y=arrays["background_y"], Z=arrays["background_Z"])
    return check_data(labelled, f"{path}, background")


def _read_folder(path: Path) -> dict[str, np.ndarray]:
    return {
        file.stem: reading(
            file,
            file.stem,
            functools.partial(np.load, file, mmap_mode="r", allow_pickle=False),
        )
        for file in sorted(path.glob("*.npy"))
    }


def _at_least_float32(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32) if X.dtype == np.float16 else X


def _names(array: np.ndarray | None) -> tuple[str, ...]:
    return () if array is None else tuple(str(name) for name in np.ravel(array))
