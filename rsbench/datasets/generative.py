"""A generative model of rich supervision, behind every simulated data set.

Families of classes have prototypes over groups of named features; classes vary around
their family's. A sample shows features drawn from its class's prototype. An annotator
marks what it shows, missing some and erring on others. Detectors score every feature:
they respond to what the sample shows and to its class's prototype, and are disturbed by
the sample's appearance (a few factors shared by all features, part family, part class,
part sample) and by noise. Their scores are sigmoids, all positive, like those of real
attribute detectors.

Simulated data are for trying things out; they are no evidence of anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.seeds import stream
from rsbench.errors import UserError

#: Features of the network that a simulated data set with concepts has.
NETWORK_WIDTH = 256

#: Which values make sense, by parameter.
_AT_LEAST_ONE = ("families", "appearance_factors")
_POSITIVE = ("marks", "popularity", "variety", "likeness")
_SHARES = (
    "unnameable",
    "annotator_miss",
    "annotator_err",
    "detector_instance",
    "appearance_own",
)
_NOT_NEGATIVE = (
    "draw",
    "background_classes",
    "background_samples",
    "difficulty",
    "detector_noise",
    "appearance_between",
    "appearance_within",
)


@dataclass
class World:
    """The knobs of the model; the same values give the same bytes.

    `Synthetic` has all of them as its parameters, and says what they mean.
    """

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
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for values that make no sense."""
        values = vars(self)
        for name in _AT_LEAST_ONE:
            self.require(name, values[name] >= 1, "1 or more")
        for name in _POSITIVE:
            self.require(name, values[name] > 0, "a number above 0")
        for name in _SHARES:
            self.require(name, 0 <= values[name] <= 1, "a share between 0 and 1")
        for name in _NOT_NEGATIVE:
            self.require(name, values[name] >= 0, "0 or more")

    def require(self, name: str, right: bool, expected: str) -> None:
        """Raise an error that names the parameter, unless its value is right."""
        if not right:
            raise UserError(f"dataset.{name}={vars(self)[name]}, expected {expected}")


def generate(
    world: World, class_sizes: Sequence[int], groups: Sequence[int], names: Names
) -> Data:
    """Draw a data set, with other classes as background.

    Parameters
    ----------
    world : World
        The model's knobs.
    class_sizes : sequence of int
        Number of samples of each class.
    groups : sequence of int
        Number of attributes in each group.
    names : Names
        Of features and classes. With names of concepts, attributes are these, and what
        is learned from are features of a network, NETWORK_WIDTH of them.
    """
    n_few = len(class_sizes)
    n_classes = n_few + world.background_classes
    background_sizes = [world.background_samples] * world.background_classes
    # Classes of the background come last, but are made like the others: they share
    # families with them, as species do.
    y = np.repeat(np.arange(n_classes), (*class_sizes, *background_sizes))
    family = stream(world.draw, "families").permutation(n_classes) % world.families
    prototypes = _prototypes(world, groups, family)
    luck = stream(world.draw, "samples").random((len(y), prototypes.shape[1]))
    shown = luck < prototypes[y]
    logits = _detect(world, prototypes, shown, y, family)
    if names.concepts:
        X = _mixed(world, logits).astype(np.float32)
    else:
        X = (1 / (1 + np.exp(-logits))).astype(np.float32)
    Z = _annotate(world, shown)

    few = y < n_few
    others: dict[str, Any] = {}
    if not few.all():
        others = {
            "background": X[~few],
            "background_y": y[~few] - n_few,
            "background_Z": Z[~few],
        }
    if world.background_classes > 1 and others:
        others["validation"] = Data(
            X=others["background"],
            y=others["background_y"],
            Z=others["background_Z"],
            names=Names(concepts=names.concepts),
        )
        others["background_held"] = np.ones(len(others["background"]), bool)
    return Data(
        y=y[few],
        Z=Z[few],
        X=X[few],
        **others,
        names=names,
        simulated=True,
    )


def _prototypes(world: World, groups: Sequence[int], family: np.ndarray) -> np.ndarray:
    """Return the chance that a sample of a class shows a feature, (classes, d)."""
    rng = stream(world.draw, "prototypes")
    blocks = []
    for size in groups:
        popularity = rng.dirichlet(np.full(size, world.popularity))
        families = _dirichlet(rng, world.variety * popularity, world.families)
        classes = []
        for f in family:
            classes.append(_dirichlet(rng, world.likeness * families[f], 1))
        blocks.append(np.vstack(classes))
    marks_per_group = world.marks / len(groups)
    # These are chances, so they have to stay below one.
    return np.minimum(np.hstack(blocks) * marks_per_group, 0.97)


def _dirichlet(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    # A weight of zero has no Dirichlet distribution; this one is too small to be seen.
    return rng.dirichlet(weights + 1e-3, size=n)


def _annotate(world: World, shown: np.ndarray) -> np.ndarray:
    """Return marks of an annotator who misses, errs, and lacks words for features."""
    rng = stream(world.draw, "annotators")
    # One number decides both, so that annotators differ only where rates differ.
    luck = rng.random(shown.shape)
    marks = np.where(shown, luck >= world.annotator_miss, luck < world.annotator_err)
    d = shown.shape[1]
    unnameable = rng.permutation(d)[: round(world.unnameable * d)]
    marks[:, unnameable] = False
    return marks


def _detect(
    world: World,
    prototypes: np.ndarray,
    shown: np.ndarray,
    y: np.ndarray,
    family: np.ndarray,
) -> np.ndarray:
    """Return the log-odds of detectors' scores, (n, d)."""
    rng = stream(world.draw, "detectors")
    n = len(y)
    d = prototypes.shape[1]

    # How factors of appearance disturb detectors, the first ones the most.
    k = world.appearance_factors
    loadings = rng.normal(size=(k, d)) / np.sqrt(1 + np.arange(k))[:, None]
    loadings /= np.linalg.norm(loadings, axis=0)

    # How classes look, part as their family does, and how samples look beyond that.
    own = world.appearance_own
    looks = np.sqrt(1 - own) * rng.normal(size=(world.families, k))[family]
    looks += np.sqrt(own) * rng.normal(size=(len(family), k))
    appearance = world.appearance_between * looks[y]
    within = world.difficulty * world.appearance_within
    appearance += within * rng.normal(size=(n, k))
    noise = world.difficulty * world.detector_noise * rng.standard_normal((n, d))

    # What detectors respond to: the sample itself, its class, and how common a feature
    # is over all classes.
    base = prototypes.mean(axis=0)
    instance = world.detector_instance
    evidence = (1 - instance) * prototypes[y] + instance * shown - base
    # A little more than nothing: a feature that no class has would have log-odds of
    # minus infinity.
    log_odds = np.log((base + 0.01) / (1 - base))
    prior = world.detector_bias * log_odds + world.detector_offset
    return prior + world.detector_gain * evidence + appearance @ loadings + noise


def _mixed(world: World, logits: np.ndarray) -> np.ndarray:
    """Return nameless features, (n, NETWORK_WIDTH): rectified mixtures of attributes.

    Like the last layer of a network, they hold what tells attributes apart, in no one's
    words.
    """
    rng = stream(world.draw, "network")
    weights = rng.normal(size=(logits.shape[1], NETWORK_WIDTH))
    mixtures = (logits - logits.mean(axis=0)) @ weights
    return np.maximum(mixtures / np.sqrt(logits.shape[1]), 0.0)
