"""A small simulated problem with every knob of the generative model as a parameter."""

from dataclasses import dataclass

from rsbench.core.components import Dataset, fresh
from rsbench.core.data import Data, Names
from rsbench.datasets.generative import World, generate


@dataclass
class Synthetic(World, Dataset):
    """Simulated classes over groups of features, with fallible votes and detectors.

    Parameters
    ----------
    marks : float
        Features that a sample shows on average, before the annotator misses any.
    difficulty : float
        Scales the detectors' disturbances; 0 leaves only the samples' own variation.
    draw : int
        Number of the random draw; another number, another data set.
    families : int
        Families of similar classes.
    popularity : float
        Evenness of features within a group, over all classes.
    variety : float
        Evenness of features within a family's prototype.
    likeness : float
        How close classes are to their family's prototype.
    unnameable : float
        Share of features that annotators have no word for.
    annotator_miss : float
        Chance to miss a feature that is shown.
    annotator_err : float
        Chance to mark a feature that is not shown.
    detector_gain : float
        Response of a detector's logit to its feature.
    detector_instance : float
        Share of that response due to the sample rather than its class.
    detector_bias : float
        Slope of a detector's mean logit in the log-odds of its feature.
    detector_offset : float
        Offset of a detector's mean logit.
    detector_noise : float
        Independent noise on logits.
    appearance_factors : int
        Factors of appearance that disturb many detectors at once.
    appearance_between : float
        Strength of appearance that differs between classes.
    appearance_within : float
        Strength of appearance that differs within a class.
    appearance_own : float
        Share of appearance between classes that is a class's own, not its family's.
    background_classes : int
        Other classes, for `background`.
    background_samples : int
        Samples in each of them.
    classes : int
        Number of classes.
    samples : int
        Number of samples in each class.
    groups : int
        Groups of features, of which a sample typically shows one or so.
    group_size : int
        Number of features in each group.
    """

    classes: int = 20
    samples: int = 60
    groups: int = 12
    group_size: int = 8
    marks: float = 14.0
    families: int = 8
    background_classes: int = 40

    def check_params(self) -> None:
        """Raise an error for values that make no sense."""
        super().check_params()
        self.require("classes", self.classes >= 2, "2 or more")
        self.require("samples", self.samples >= 1, "1 or more")
        self.require("groups", self.groups >= 1, "1 or more")
        self.require("group_size", self.group_size >= 1, "1 or more")

    def drawn(self, number: int) -> "Synthetic":
        """Return another world, which shares nothing with this one."""
        return fresh(self, draw=self.draw + number)

    def load(self) -> Data:
        """Draw the data set."""
        features: list[str] = []
        for group in range(self.groups):
            values = range(self.group_size)
            features += [f"group{group}.value{value}" for value in values]
        classes = [f"class{c}" for c in range(self.classes)]
        return generate(
            self,
            class_sizes=[self.samples] * self.classes,
            groups=[self.group_size] * self.groups,
            names=Names(tuple(features), tuple(classes)),
        )
