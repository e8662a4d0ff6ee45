"""A small simulated problem with every knob of the generative model as a parameter."""

from rsbench.data import Data, Names
from rsbench.datasets.generative import World, generate


class Synthetic:
    """Simulated classes over groups of named features, with fallible annotators and detectors.

    Parameters
    ----------
    classes, samples : number of classes, and of samples in each.
    groups, group_size : groups of features of which a sample typically shows one or so.
    marks : features a sample shows on average, before the annotator misses any.
    difficulty : scales the detectors' disturbances; 0 leaves only the samples' own variation.
    draw : number of the random draw; another number, another data set.
    families : families of similar classes.
    popularity : evenness of features within a group, over all classes.
    variety : evenness of features within a family's prototype.
    likeness : how close classes are to their family's prototype.
    unnameable : share of features that annotators have no word for.
    annotator_miss, annotator_err : chance to miss a shown feature, and to mark one not shown.
    detector_gain : response of a detector's logit to its feature.
    detector_instance : share of that response due to the sample rather than its class.
    detector_bias, detector_offset : slope and offset of a detector's mean logit in its feature's base rate.
    detector_noise : independent noise on logits.
    appearance_factors : factors of appearance that disturb many detectors at once.
    appearance_between, appearance_within : their strength between classes and within one.
    appearance_own : share of the former that is a class's own, not its family's.
    background_classes, background_samples : other classes, and samples in each, for `background`.
    """

    def __init__(
        self,
        classes: int = 20,
        samples: int = 60,
        groups: int = 12,
        group_size: int = 8,
        marks: float = 14.0,
        difficulty: float = 1.0,
        draw: int = 0,
        families: int = 8,
        popularity: float = 0.5,
        variety: float = 2.0,
        likeness: float = 15.0,
        unnameable: float = 0.0,
        annotator_miss: float = 0.1,
        annotator_err: float = 0.005,
        detector_gain: float = 2.0,
        detector_instance: float = 0.5,
        detector_bias: float = 0.6,
        detector_offset: float = 0.2,
        detector_noise: float = 0.5,
        appearance_factors: int = 10,
        appearance_between: float = 0.6,
        appearance_within: float = 1.0,
        appearance_own: float = 0.2,
        background_classes: int = 40,
        background_samples: int = 20,
    ):
        knobs = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        vars(self).update(knobs)
        shape = ("classes", "samples", "groups", "group_size")
        self._world = World(
            class_sizes=(samples,) * classes,
            groups=(group_size,) * groups,
            **{name: value for name, value in knobs.items() if name not in shape},
        )

    def load(self) -> Data:
        """Draw the data set."""
        world = self._world
        features = tuple(f"group{g}.value{v}" for g, size in enumerate(world.groups) for v in range(size))
        return generate(world, Names(features, tuple(f"class{c}" for c in range(len(world.class_sizes)))))
