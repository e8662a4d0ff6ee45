"""Draws of classes: so many of those that there are, by the number of the draw."""

import dataclasses
import math

import numpy as np

from rsbench.core.data import Data, Drawn, keep_samples
from rsbench.core.seeds import stream
from rsbench.errors import UserError


def draw_classes(data: Data, candidates: np.ndarray, count: int, draw: int) -> Data:
    """Return the samples of some classes, drawn by number.

    What is drawn depends on nothing else, so that all methods learn the same classes.
    Those that are not drawn are left out altogether: no background is made of them.

    Parameters
    ----------
    data : Data
        All samples.
    candidates : array of int
        The classes to draw from.
    count : int
        How many to draw.
    draw : int
        The number of the draw.

    Returns
    -------
    Data
        Its `drawn` says how many classes were drawn, and from how many.

    Raises
    ------
    UserError
        If there are not more classes than are to be drawn: all draws would be the same.
    """
    if count >= len(candidates):
        raise UserError(
            f"dataset.classes={count}: there are {len(candidates)} classes to draw "
            "from, more than dataset.classes are needed"
        )
    chosen = _choose(candidates, count, draw)
    left = keep_samples(data, np.isin(data.y, chosen))
    return dataclasses.replace(left, drawn=Drawn(count, len(candidates)))


def _choose(candidates: np.ndarray, count: int, draw: int) -> np.ndarray:
    """Return the classes of a draw, which no draw before it has all of.

    Raises
    ------
    UserError
        If there are not so many draws.
    """
    possible = math.comb(len(candidates), count)
    if draw >= possible:
        raise UserError(
            f"draw {draw}: {len(candidates)} classes have {possible} draws of {count}, "
            f"draws={possible} at most"
        )
    # A stream of its own, so that nothing else that is drawn can change the classes.
    rng = stream(0, "classes")
    seen: list[frozenset[int]] = []
    while len(seen) <= draw:
        chosen = frozenset(rng.choice(candidates, count, replace=False).tolist())
        if chosen not in seen:
            seen.append(chosen)
    return np.array(sorted(seen[draw]))


def check_draw(classes: int | None, draw: int) -> None:
    """Raise an error for numbers of classes and of a draw that make no sense."""
    if classes is not None and classes < 2:
        raise UserError(f"dataset.classes={classes}: expected 2 or more")
    if draw < 0:
        raise UserError(f"dataset.draw={draw}: expected 0 or more")
