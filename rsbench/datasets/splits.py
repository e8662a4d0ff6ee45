"""Which classes train what makes features, and which are learned from few samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.seeds import stream
from rsbench.errors import UserError, is_number, nearest
from rsbench.files.atomic import read_lines

PARTS = ("train", "validation", "few-shot")


def check_split(split: Any) -> None:
    """Raise an error unless it is three counts, three files, or one file."""
    if isinstance(split, str) and split:
        return
    if isinstance(split, Sequence) and len(split) == len(PARTS):
        files = all(isinstance(part, str) for part in split)
        if files:
            return
        counts = all(_is_count(part) for part in split)
        if counts and split[2] >= 2:
            return
    raise UserError(
        f"dataset.split={split}: expected counts of classes for {', '.join(PARTS)}, "
        "such as [100,50,50] with 2 or more few-shot classes; or files of class names, "
        "one for each part, or one that names the few-shot classes"
    )


def is_by_counts(split: Any) -> bool:
    """Tell whether classes are drawn by their counts, and not named in files."""
    return not isinstance(split, str) and not isinstance(split[0], str)


def _is_count(value: Any) -> bool:
    return is_number(value) and float(value).is_integer() and value >= 0


def split_classes(
    split: Any, classes: Sequence[str], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decide which classes are for training, validation and few-shot learning.

    Parameters
    ----------
    split : sequence of int, sequence of str, or str
        Three counts of classes, to be drawn by the seed; three files of class names; or
        one file that names the few-shot classes, a third of the others, drawn by the
        seed, being for validation.
    classes : sequence of str
        Names of the classes that there are.
    seed : int
        Decides what is drawn.

    Returns
    -------
    train, validation, few : array of int
        Positions in `classes`, in ascending order.
    """
    # A stream of its own, so that nothing else that is drawn can change the split.
    order = stream(seed, "split").permutation(len(classes))
    if isinstance(split, str):
        few = _read_classes(Path(split), classes)
        others = order[~np.isin(order, few)]
        # Two to one, as the default counts of training and validation classes are.
        third = len(others) // 3
        parts = [others[third:], others[:third], few]
    elif isinstance(split[0], str):
        parts = _read_parts(split, classes)
    else:
        parts = _take_counts(split, order)
    if len(parts[2]) < 2:
        raise UserError(
            f"dataset.split={split}: {len(parts[2])} few-shot classes; at least two "
            "are needed"
        )
    train, validation, few = (np.sort(part) for part in parts)
    return train, validation, few


def _take_counts(split: Sequence[float], order: np.ndarray) -> list[np.ndarray]:
    """Take so many classes for each part, in the order that was drawn."""
    counts = [int(part) for part in split]
    n = len(order)
    if sum(counts) > n:
        quarter = n // 4
        few = max(2, quarter)
        raise UserError(
            f"dataset.split={list(split)} asks for {sum(counts)} classes, but there "
            f"are {n} with images: for example "
            f"dataset.split=[{n - quarter - few},{quarter},{few}]"
        )
    return np.split(order[: sum(counts)], np.cumsum(counts)[:2])


def _read_parts(files: Sequence[str], classes: Sequence[str]) -> list[np.ndarray]:
    """Read each part's classes from a file of its own; no class may be in two."""
    parts = [_read_classes(Path(file), classes) for file in files]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        shared = np.intersect1d(parts[i], parts[j])
        if len(shared):
            raise UserError(
                f"dataset.split: {classes[shared[0]]} is in two of the files "
                f"{', '.join(files)}"
            )
    return parts


def _read_classes(path: Path, classes: Sequence[str]) -> np.ndarray:
    """Return positions of the classes that a file names, one a line.

    CUB's names begin with a number, as in "002.Laysan_Albatross"; files may name them
    with it or without.
    """
    if not path.is_file():
        raise UserError(
            f"dataset.split: there is no file {path} (seen from {Path.cwd()})"
        )
    known = {}
    for i, name in enumerate(classes):
        without_number = name.partition(".")[2]
        known[without_number or name] = i
    # Last, so that a whole name always counts.
    for i, name in enumerate(classes):
        known[name] = i
    found = []
    for name in read_lines(path):
        if name not in known:
            message = f"{path}: '{name}' is no class of the data set with images."
            near = nearest(name, known)
            if near is not None:
                message += f" Did you mean '{near}'?"
            raise UserError(message)
        found.append(known[name])
    if len(set(found)) < len(found):
        raise UserError(f"{path} names a class twice")
    return np.array(found, int)
