"""A generative model of learning with rich supervision, behind every simulated data set.

Families of classes have prototypes over groups of named features; classes vary around their
family's. A sample shows features drawn from its class's prototype. An annotator marks what it
shows, missing some and erring on others. Detectors score every feature: they respond to what the
sample shows and to its class's prototype, and are disturbed by the sample's appearance (a few
factors shared by all features, part family, part class, part sample) and by noise. Their scores
are sigmoids, all positive, like those of real attribute detectors.

Simulated data are for trying things out; they are no evidence of anything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.seeds import stream
from rsbench.errors import UserError


@dataclass(frozen=True)
class World:
    """The knobs of the model; the same values give the same bytes."""

    marks: float = 34.5
    difficulty: float = 1.0
    draw: int = 0
    families: int = 25
    popularity: float = 0.5
    variety: float = 2.0
    likeness: float = 15.0
    unnameable: float = 0.0
    annotator_miss: float = 0.1
    annotator_err: float = 0.005
    detector_gain: float = 2.0
    detector_instance: float = 0.5
    detector_bias: float = 0.6
    detector_offset: float = 0.2
    detector_noise: float = 0.5
    appearance_factors: int = 10
    appearance_between: float = 0.6
    appearance_within: float = 1.0
    appearance_own: float = 0.2
    background_classes: int = 150
    background_samples: int = 20

    def __post_init__(self):
        self._require(
            ("families", "appearance_factors"), lambda value: value >= 1, "1 or more"
        )
        self._require(
            ("marks", "popularity", "variety", "likeness"),
            lambda value: value > 0,
            "a number above 0",
        )
        shares = (
            "unnameable",
            "annotator_miss",
            "annotator_err",
            "detector_instance",
            "appearance_own",
        )
        self._require(shares, lambda value: 0 <= value <= 1, "a share between 0 and 1")
        counts = ("draw", "background_classes", "background_samples")
        scales = (
            "difficulty",
            "detector_noise",
            "appearance_between",
            "appearance_within",
        )
        self._require(counts + scales, lambda value: value >= 0, "0 or more")

    def _require(
        self, names: tuple[str, ...], good: Callable[[float], bool], expected: str
    ) -> None:
        for name in names:
            if not good(getattr(self, name)):
                raise UserError(
                    f"dataset.{name}={getattr(self, name)}, expected {expected}"
                )


def generate(
    world: World, class_sizes: Sequence[int], groups: Sequence[int], names: Names
) -> Data:
    """Draw a data set of classes of these sizes over these groups of features, with other classes as background."""
    n_classes = len(class_sizes) + world.background_classes
    y = np.repeat(
        np.arange(n_classes),
        (*class_sizes, *[world.background_samples] * world.background_classes),
    )
    family = stream(world.draw, "families").permutation(n_classes) % world.families
    prototypes = _prototypes(world, groups, family)
    shown = (
        stream(world.draw, "samples").random((len(y), prototypes.shape[1]))
        < prototypes[y]
    )
    X = _detect(world, prototypes, shown, y, family).astype(np.float32)
    Z = _annotate(world, shown)
    few = y < len(class_sizes)
    others = (
        Data(y=y[~few] - len(class_sizes), Z=Z[~few], X=X[~few])
        if (~few).any()
        else None
    )
    return Data(
        y=y[few],
        Z=Z[few],
        X=X[few],
        background=others.X if others else None,
        validation=others if world.background_classes > 1 else None,
        names=names,
        simulated=True,
    )


def _prototypes(world: World, groups: Sequence[int], family: np.ndarray) -> np.ndarray:
    """The chance that a sample of a class shows a feature, (classes, features)."""
    rng = stream(world.draw, "prototypes")
    blocks = []
    for size in groups:
        popularity = rng.dirichlet(np.full(size, world.popularity))
        families = _dirichlet(rng, world.variety * popularity, world.families)
        blocks.append(
            np.vstack(
                [_dirichlet(rng, world.likeness * families[f], 1) for f in family]
            )
        )
    return np.minimum(np.hstack(blocks) * (world.marks / len(groups)), 0.97)


def _dirichlet(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    # A weight of zero has no Dirichlet distribution; this one is too small to be seen.
    return rng.dirichlet(weights + 1e-3, size=n)


def _annotate(world: World, shown: np.ndarray) -> np.ndarray:
    """Marks of an annotator who misses, errs, and has no word for some features."""
    rng = stream(world.draw, "annotators")
    luck = rng.random(shown.shape)
    marks = np.where(shown, luck >= world.annotator_miss, luck < world.annotator_err)
    unnameable = rng.permutation(shown.shape[1])[
        : round(world.unnameable * shown.shape[1])
    ]
    marks[:, unnameable] = False
    return marks


def _detect(
    world: World,
    prototypes: np.ndarray,
    shown: np.ndarray,
    y: np.ndarray,
    family: np.ndarray,
) -> np.ndarray:
    """Detector scores in (0, 1)."""
    rng = stream(world.draw, "detectors")
    k, d = world.appearance_factors, prototypes.shape[1]
    loadings = rng.normal(size=(k, d)) / np.sqrt(1 + np.arange(k))[:, None]
    loadings /= np.linalg.norm(loadings, axis=0)
    own = world.appearance_own
    looks = np.sqrt(1 - own) * rng.normal(size=(world.families, k))[family]
    looks += np.sqrt(own) * rng.normal(size=(len(family), k))
    appearance = world.appearance_between * looks[y]
    appearance += (
        world.difficulty * world.appearance_within * rng.normal(size=(len(y), k))
    )
    noise = world.difficulty * world.detector_noise * rng.standard_normal((len(y), d))

    base = prototypes.mean(axis=0)
    evidence = (
        (1 - world.detector_instance) * prototypes[y]
        + world.detector_instance * shown
        - base
    )
    prior = (
        world.detector_bias * np.log((base + 0.01) / (1 - base)) + world.detector_offset
    )
    return 1 / (
        1
        + np.exp(
            -(prior + world.detector_gain * evidence + appearance @ loadings + noise)
        )
    )
