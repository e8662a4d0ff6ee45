"""Which classes train what makes features, and which are learned from few samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.seeds import stream
from rsbench.errors import UserError, did_you_mean, is_number
from rsbench.files.atomic import read_lines

PARTS = ("train", "validation", "few-shot")


def check_split(split: Any) -> None:
    """Raise an error unless it is three counts, three files, or one file."""
    if isinstance(split, str) and split:
        return
    if isinstance(split, Sequence) and len(split) == len(PARTS):
        if all(isinstance(part, str) for part in split):
            return
        if (
            all(
                is_number(part) and float(part).is_integer() and part >= 0
                for part in split
            )
            and split[2] >= 2
        ):
            return
    raise UserError(
        f"dataset.split={split}: expected counts of classes for {', '.join(PARTS)}, such as [100,50,50] with 2 or more "
        "few-shot classes; or files of class names, one for each part, or one that names the few-shot classes"
    )


def split_classes(
    split: Any, classes: Sequence[str], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the classes for training, validation and few-shot learning, each in ascending order.

    Counts are drawn by the seed. One file names the few-shot classes; a third of the others, drawn by
    the seed, are for validation.
    """
    order = stream(seed, "split").permutation(len(classes))
    if isinstance(split, str):
        few = _named(Path(split), classes)
        others = order[~np.isin(order, few)]
        parts = [others[len(others) // 3 :], others[: len(others) // 3], few]
    elif isinstance(split[0], str):
        parts = [_named(Path(file), classes) for file in split]
        twice = [
            np.intersect1d(parts[i], parts[j]) for i, j in ((0, 1), (0, 2), (1, 2))
        ]
        if any(map(len, twice)):
            name = classes[np.concatenate(twice)[0]]
            raise UserError(
                f"dataset.split: {name} is in two of the files {', '.join(split)}"
            )
    else:
        counts = [int(part) for part in split]
        if sum(counts) > len(classes):
            n = len(classes)
            raise UserError(
                f"dataset.split={list(split)} asks for {sum(counts)} classes, but there are {n} with images: "
                f"for example dataset.split=[{n - n // 4 - max(2, n // 4)},{n // 4},{max(2, n // 4)}]"
            )
        parts = np.split(order[: sum(counts)], np.cumsum(counts)[:2])
    if len(parts[2]) < 2:
        raise UserError(
            f"dataset.split={split}: {len(parts[2])} few-shot classes; at least two are needed"
        )
    train, validation, few = (np.sort(part) for part in parts)
    return train, validation, few


def _named(path: Path, classes: Sequence[str]) -> np.ndarray:
    """Numbers of the classes that a file names, one a line, with or without CUB's number before the name."""
    if not path.is_file():
        raise UserError(
            f"dataset.split: there is no file {path} (seen from {Path.cwd()})"
        )
    numbers = {name.partition(".")[2] or name: i for i, name in enumerate(classes)}
    numbers |= {name: i for i, name in enumerate(classes)}
    found = []
    for name in read_lines(path):
        if name not in numbers:
            near = did_you_mean(name, numbers).partition("Known")[0]
            raise UserError(
                f"{path}: '{name}' is no class of the data set with images. {near}".rstrip()
            )
        found.append(numbers[name])
    if len(set(found)) < len(found):
        raise UserError(f"{path} names a class twice")
    return np.array(found, int)
