"""A small simulated problem with every knob of the generative model as a parameter."""

from dataclasses import dataclass

from rsbench.core.data import Data, Names
from rsbench.datasets.generative import World, generate


@dataclass(frozen=True)
class Synthetic(World):
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

    classes: int = 20
    samples: int = 60
    groups: int = 12
    group_size: int = 8
    marks: float = 14.0
    families: int = 8
    background_classes: int = 40

    def __post_init__(self):
        super().__post_init__()
        self._require(("classes",), lambda value: value >= 2, "2 or more")
        self._require(
            ("samples", "groups", "group_size"), lambda value: value >= 1, "1 or more"
        )

    def load(self) -> Data:
        """Draw the data set."""
        features = tuple(
            f"group{g}.value{v}"
            for g in range(self.groups)
            for v in range(self.group_size)
        )
        names = Names(features, tuple(f"class{c}" for c in range(self.classes)))
        return generate(
            self,
            (self.samples,) * self.classes,
            (self.group_size,) * self.groups,
            names,
        )
