"""Features or attribute scores that somebody made with other tools."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np

from rsbench.core.components import Extractor
from rsbench.core.data import Data
from rsbench.errors import UserError
from rsbench.extractors.detectors import Recipe
from rsbench.extractors.scoring import detect, score
from rsbench.files.arrays import read_arrays, row_names
from rsbench.files.atomic import read_lines

#: A file made elsewhere may name images with another ending than the data set, or with
#: none. A dot by itself makes no ending: "002.Laysan_Albatross" has one.
_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass
class Precomputed(Recipe, Extractor):
    """Features, or attribute scores, made elsewhere and matched by images' names.

    The file is an npz, mat or h5 with an array `features` or `scores` (one row per
    image) and one `names` (or `image_names`, `image_files`); or an npy with
    `names_file`. Names match by their last two parts, `class/image` (or more, where
    these are not unique), without the image's ending; a name without a folder by
    itself.

    Parameters
    ----------
    learning_rates : tuple of float
        Candidates, of which the loss on validation classes chooses one.
    weight_decays : tuple of float
        Candidates, likewise.
    epochs : int
        At most so many; validation finds the best number.
    patience : int
        Epochs without a better validation loss after which to stop.
    head_batch : int
        Images in a step of training the detectors.
    head_seed : int
        Decides the detectors' first weights and the order of images.
    unseen_validation : bool
        Whether to keep the validation classes from the detectors, so that
        hyperparameters can be tuned on them; a quarter of the training classes then
        validates the detectors.
    path : str
        The file.
    array : str or None
        Name of the array, if not `features` or `scores`.
    content : {"auto", "features", "scores"}
        Features to train detectors on, or scores of the attributes in their order;
        `auto` goes by the array's name.
    names_file : str or None
        Text file with one name per row, for files without names.
    """

    path: str = ""
    array: str | None = None
    content: Literal["auto", "features", "scores"] = "auto"
    names_file: str | None = None

    def extract(self, data: Data) -> Data:
        """Return the data with the file's scores, or with scores by its features."""
        if not self.path:
            raise UserError(
                "extractor=precomputed needs a file: extractor.path=FILE.npz (or .npy, "
                ".mat, .h5)"
            )
        path = Path(self.path)
        arrays = read_arrays(path)
        key = self._choose_array(arrays, path)
        values, names = self._read_rows(arrays, key, path)
        rows = match_names(data.all_images, names, path)
        without = np.flatnonzero(rows < 0).tolist()
        if len(without) == len(rows):
            raise UserError(
                f"{path}: none of the data set's {len(rows)} images is in it. The file "
                f"names its first row {names[0]}, the data set its first image "
                f"{data.all_images[0]}"
            )
        bad = dict.fromkeys(without, f"{path} has no row for it")
        # Images without a row get the first one for now; they are bad, and will go.
        features = values[np.maximum(rows, 0)].astype(np.float32)
        _check_finite(features, values, rows, path, key)
        content: str = self.content
        if content == "auto":
            content = key
        if content == "scores":
            return score(data, features, bad, {"file": path.name})
        return detect(data, features, bad, self, {"file": path.name})

    def _choose_array(self, arrays: dict[str, np.ndarray], path: Path) -> str:
        """Return the name of the array with features or scores."""
        key = self.array
        if not key:
            known = arrays.keys() & {"features", "scores", "array"}
            if len(known) == 1:  # of two, nobody could tell which one is meant
                (key,) = known
        if not key or key not in arrays:
            raise UserError(
                f"{path}: which array? extractor.array=NAME; it has "
                f"{', '.join(arrays) or 'nothing'}"
            )
        # Scores taken for features would be scored again, and nobody would notice.
        if self.content == "auto" and key not in ("features", "scores"):
            raise UserError(
                f"{path}: is '{key}' features or scores? extractor.content=features or "
                "extractor.content=scores"
            )
        return key

    def _read_rows(
        self, arrays: dict[str, np.ndarray], key: str, path: Path
    ) -> tuple[np.ndarray, tuple[Path, ...]]:
        """Return the array with one row per name, and the names."""
        if self.names_file:
            names = tuple(map(Path, read_lines(Path(self.names_file))))
        else:
            names = row_names(arrays, path)
        values = arrays[key]
        if values.ndim != 2 or values.size == 0 or values.dtype.kind != "f":
            raise UserError(
                f"{path}: {key} has shape {values.shape} and type {values.dtype}, "
                "expected images × floats"
            )
        if len(values) != len(names) and values.shape[1] == len(names):
            values = values.T  # one column per image, as Matlab users have it
        if len(values) != len(names):
            raise UserError(
                f"{path}: {key} has {len(values)} rows, but there are {len(names)} "
                "names"
            )
        return values, names


def match_names(images: list[Path], names: tuple[Path, ...], where: Path) -> np.ndarray:
    """Find the row that bears each image's name.

    Names are compared by their last parts: as many, up to three, as tell the data set's
    folders apart, and more where that is not unique. A name without a folder is
    compared by itself.

    Parameters
    ----------
    images : list of Path
        The data set's images.
    names : tuple of Path
        Names of the file's rows.
    where : Path
        The file, for errors.

    Returns
    -------
    array of shape (images,), of int
        The row of each image; -1 where there is none.
    """
    depths = [len(name.parts) for name in names]
    most = min(depths)
    if most == 0:
        raise UserError(f"{where}: row {depths.index(0)} has an empty name")
    for depth in range(_least_depth(images, most), most + 1):
        wanted = [_last_parts(path, depth) for path in images]
        offered = [_last_parts(path, depth) for path in names]
        if _are_unique(wanted) and _are_unique(offered):
            break
    else:
        _raise_ambiguous(wanted, offered, where)
    rows = {name: i for i, name in enumerate(offered)}
    return np.array([rows.get(name, -1) for name in wanted])


def _least_depth(images: list[Path], most: int) -> int:
    """Return how many of their last parts tell the data set's folders apart.

    With too few parts, an image could be taken for one of another folder that has the
    same name and is in the file, though its own is not.
    """
    depth = min(2, most)
    for k in range(1, min(most, 3) + 1):
        folders = {image.parts[-k:][0] for image in images}
        if len(folders) > 1:
            depth = max(depth, k)
    return depth


def _are_unique(names: list[tuple[str, ...]]) -> bool:
    return len(set(names)) == len(names)


def _last_parts(path: Path, depth: int) -> tuple[str, ...]:
    """Return the last parts of a path, without the image's ending."""
    name = path.name
    if path.suffix.lower() in _ENDINGS:
        name = path.stem
    return (*path.parts[:-1], name)[-depth:]


def _raise_ambiguous(
    wanted: list[tuple[str, ...]], offered: list[tuple[str, ...]], where: Path
) -> NoReturn:
    """Raise an error that shows a name which two rows, or two images, have."""
    named = {"rows are named": offered, "images of the data set are called": wanted}
    for what, paths in named.items():
        for name, count in Counter(paths).items():
            if count > 1:
                raise UserError(
                    f"{where}: two {what} {'/'.join(name)}: give names with more of "
                    "their folders"
                )
    raise AssertionError("names are unique")


def _check_finite(
    features: np.ndarray, values: np.ndarray, rows: np.ndarray, path: Path, key: str
) -> None:
    """Raise an error for numbers that are not finite, in rows of images that count."""
    has_row = rows >= 0
    wrong = np.argwhere(~np.isfinite(features) & has_row[:, None])
    if len(wrong):
        i, j = wrong[0]
        raise UserError(
            f"{path}: {key}[{rows[i]}, {j}] is {values[rows[i], j]}; features must be "
            "finite"
        )
