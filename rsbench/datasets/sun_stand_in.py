"""Simulated scenes, in place of the SUN database's, and the tags that people type."""

import itertools
from collections.abc import Sequence

import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.seeds import stream
from rsbench.datasets.generative import World, generate

#: (smallest class, classes at least as large, up to 100 samples): the paper's counts.
BOUNDS = (
    (100, 1),
    (75, 13),
    (62, 21),
    (47, 34),
    (40, 41),
    (34, 54),
    (31, 62),
    (28, 72),
    (24, 83),
    (20, 100),
    (18, 110),
)
#: Sizes of classes that the paper's experiments leave out.
TOO_LARGE = (200, 150, 120)
TOO_SMALL = (17, 16, 15, 14, 12, 10, 8)

#: As many as the visual concepts have.
N_TERMS = 1000

#: How simulated annotators type a term; `{}` is the term. Each is as likely as any
#: other, so one that stands here three times is typed three times as often.
_TYPED = (
    "{}",
    "{}",
    "{}",
    "{}s",
    "{}_occluded",
    "{}_crop",
    "{} crop",
    "{}_occlulded",
    "{} occluded",
    "{}_cropped",
    "{}s_occluded_crop",
    "{} crop crop",
    "big {}",
    "old {}_crop",
    "{} ocluded",
    "{}s",
)
#: Things in the scene that the vocabulary has no term for.
_UNKNOWN = ("thingamajig", "whatnot_crop", "{} doohickey", "gizmo_occluded")


def draw_scenes(difficulty: float, draw: int) -> Data:
    """Draw scenes whose annotations are terms, not yet typed as tags."""
    sizes = class_sizes()
    classes = tuple(f"scene{c}" for c in range(len(sizes)))
    names = Names(pseudo_words(N_TERMS), classes)
    world = World(
        marks=10.0,
        difficulty=difficulty,
        draw=draw,
        families=40,
        variety=40.0,
        likeness=60.0,
        unnameable=0.469,  # the paper's tags match 531 of 1000 terms
        annotator_err=0.0005,
        detector_offset=-0.5,
        background_classes=60,
    )
    return generate(world, sizes, (N_TERMS,), names)


def type_tags(
    Z: np.ndarray, terms: Sequence[str], draw: int
) -> tuple[tuple[str, ...], ...]:
    """Type tags for each sample's votes, as people do.

    There are suffixes, typos, compounds, repetitions, and tags that match nothing.

    Parameters
    ----------
    Z : array of shape (n, terms), of bool
        Votes.
    terms : sequence of str
        Names of the terms.
    draw : int
        Number of the random draw.
    """
    rng = stream(draw, "tags")
    rows = []
    for marked in Z:
        names = []
        for j in np.flatnonzero(marked).tolist():
            times = int(rng.integers(1, 4))
            names += [terms[j]] * times
        ways = rng.integers(len(_TYPED), size=len(names)).tolist()
        unknown = rng.integers(len(_UNKNOWN), size=2).tolist()
        typed = []
        for way, name in zip(ways, names, strict=True):
            typed.append(_TYPED[way].format(name))
        for way in unknown:
            typed.append(_UNKNOWN[way].format(terms[0]))
        rows.append(tuple(typed))
    return tuple(rows)


def pseudo_words(n: int) -> tuple[str, ...]:
    """Return words that nobody uses and that the stemmer leaves alone.

    It would cut endings such as -s, -e and -ed, which is why none of them can occur.
    """
    letters = itertools.product("bdfgkmnprvz", "aiou", "blmpr", "aou", "kmpt")
    every_second = itertools.islice(letters, 0, 2 * n, 2)
    return tuple("".join(word) for word in every_second)


def class_sizes() -> tuple[int, ...]:
    """Return class sizes that meet every bound in BOUNDS exactly, largest first."""
    bounds, counts = zip(*BOUNDS, strict=True)
    # Between the paper's bounds sizes fall evenly.
    ranks = np.arange(1, counts[-1] + 1)
    within = np.floor(np.interp(ranks, counts, bounds)).astype(int)
    return (*TOO_LARGE, *within.tolist(), *TOO_SMALL)
