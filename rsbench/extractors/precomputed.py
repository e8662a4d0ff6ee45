"""Features or attribute scores that somebody made with other tools."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError
from rsbench.extractors.detectors import Recipe
from rsbench.extractors.scoring import detect, score
from rsbench.files.arrays import read_arrays, row_names
from rsbench.files.atomic import read_lines

_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Precomputed(Recipe):
    """Features, or attribute scores, that were made elsewhere, matched to images by name.

    The file is an npz, mat or h5 with an array `features` or `scores` (one row per image) and one `names`
    (or `image_names`, `image_files`); or an npy with `names_file`. Names match by their last two parts,
    `class/image` (or more, where these are not unique), without the image's ending; a name without a folder by itself.

    Parameters
    ----------
    path : the file.
    array : name of the array, if not `features` or `scores`.
    content : `features`, on which detectors are trained, or `scores` of the attributes, in their order;
        `auto` goes by the array's name.
    names_file : text file with one name per row, for files without names.
    learning_rates, weight_decays : the grid, tuned on the validation classes.
    epochs : at most so many; validation finds the best number.
    patience : epochs without a better validation loss after which to stop.
    head_batch : images in a step of training the detectors.
    head_seed : of the detectors' first weights and the order of images.
    """

    path: str = ""
    array: str | None = None
    content: Literal["auto", "features", "scores"] = "auto"
    names_file: str | None = None

    def extract(self, data: Data) -> Data:
        """The file's scores as features, or those of detectors trained on its features."""
        if not self.path:
            raise UserError(
                "extractor=precomputed needs a file: extractor.path=FILE.npz (or .npy, .mat, .h5)"
            )
        path = Path(self.path)
        arrays = read_arrays(path)
        key = self._key(arrays, path)
        values, names = self._rows(arrays, key, path)
        content = self.content if self.content != "auto" else key
        rows = match_names(data.all_images, names, path)
        bad = dict.fromkeys(
            np.flatnonzero(rows < 0).tolist(), f"{path} has no row for it"
        )
        if len(bad) == len(rows):
            raise UserError(
                f"{path}: none of the data set's {len(rows)} images is in it. The file names its first row "
                f"{names[0]}, the data set its first image {data.all_images[0]}"
            )
        features = values[np.maximum(rows, 0)].astype(np.float32)
        _check_finite(features, values, rows, path, key)
        if content == "scores":
            return score(data, features, bad, {"file": path.name})
        return detect(data, features, bad, self, {"file": path.name})

    def _key(self, arrays: dict[str, np.ndarray], path: Path) -> str:
        known = [key for key in ("features", "scores", "array") if key in arrays]
        key = self.array or (known[0] if len(known) == 1 else "")
        if key not in arrays:
            raise UserError(
                f"{path}: which array? extractor.array=NAME; it has {', '.join(arrays) or 'nothing'}"
            )
        if self.content == "auto" and key not in ("features", "scores"):
            raise UserError(
                f"{path}: is '{key}' features or scores? extractor.content=features or extractor.content=scores"
            )
        return key

    def _rows(
        self, arrays: dict[str, np.ndarray], key: str, path: Path
    ) -> tuple[np.ndarray, tuple[Path, ...]]:
        """The array with one row per name, and the names."""
        if self.names_file:
            names = tuple(Path(line) for line in read_lines(Path(self.names_file)))
        else:
            names = row_names(arrays, path)
        values = arrays[key]
        if values.ndim != 2 or values.size == 0 or values.dtype.kind != "f":
            raise UserError(
                f"{path}: {key} has shape {values.shape} and type {values.dtype}, expected images × floats"
            )
        if len(values) != len(names) and values.shape[1] == len(names):
            values = values.T  # one column per image, as Matlab users have it
        if len(values) != len(names):
            raise UserError(
                f"{path}: {key} has {len(values)} rows, but there are {len(names)} names"
            )
        return values, names


def match_names(images: list[Path], names: tuple[Path, ...], where: Path) -> np.ndarray:
    """For each image the row that bears its name; -1 where there is none.

    Names are compared by their last parts: as many, up to three, as tell the data set's folders apart, and more where
    that is not unique. A name without a folder is compared by itself.
    """
    most = min(len(name.parts) for name in names)
    if most == 0:
        raise UserError(
            f"{where}: row {[len(name.parts) for name in names].index(0)} has an empty name"
        )
    telling = [
        k
        for k in range(1, min(most, 3) + 1)
        if len({image.parts[-k:][0] for image in images}) > 1
    ]
    for depth in range(max([min(2, most), *telling]), most + 1):
        wanted, offered = (
            [_last_parts(path, depth) for path in paths] for paths in (images, names)
        )
        if len(set(wanted)) == len(wanted) and len(set(offered)) == len(offered):
            break
    else:
        _raise_ambiguous(wanted, offered, where)
    rows = {name: i for i, name in enumerate(offered)}
    return np.array([rows.get(name, -1) for name in wanted])


def _raise_ambiguous(
    wanted: list[tuple[str, ...]], offered: list[tuple[str, ...]], where: Path
) -> NoReturn:
    for paths, what in (
        (offered, "rows are named"),
        (wanted, "images of the data set are called"),
    ):
        twice = [name for name, count in Counter(paths).items() if count > 1]
        if twice:
            raise UserError(
                f"{where}: two {what} {'/'.join(twice[0])}: give names with more of their folders"
            )
    raise AssertionError("names are unique")


def _last_parts(path: Path, depth: int) -> tuple[str, ...]:
    stem = path.stem if path.suffix.lower() in _ENDINGS else path.name
    return (*path.parts[:-1], stem)[-depth:]


def _check_finite(
    features: np.ndarray, values: np.ndarray, rows: np.ndarray, path: Path, key: str
) -> None:
    wrong = np.argwhere(~np.isfinite(features) & (rows >= 0)[:, None])
    if len(wrong):
        i, j = wrong[0]
        raise UserError(
            f"{path}: {key}[{rows[i]}, {j}] is {values[rows[i], j]}; features must be finite"
        )
