"""Built-in extractors: from images to features."""

from rsbench import hookimpl
from rsbench.core.components import Extractor
from rsbench.core.data import Data
from rsbench.errors import UserError
from rsbench.extractors.attributes import ResNet50Attributes
from rsbench.extractors.clip import ClipAttributes
from rsbench.extractors.precomputed import Precomputed
from rsbench.extractors.visual_concepts import VisualConcepts

__all__ = [
    "ClipAttributes",
    "NoExtractor",
    "Precomputed",
    "ResNet50Attributes",
    "VisualConcepts",
]


class NoExtractor(Extractor):
    """No extractor, for data sets that bring their features."""

    def extract(self, data: Data) -> Data:
        """Raise an error: there is nothing here to make features with."""
        raise UserError(
            "the data set has images but no features, and extractor=none makes none: "
            "extractor=NAME"
        )


@hookimpl
def rsbench_extractors() -> dict[str, type]:
    return {
        "none": NoExtractor,
        "resnet50_attributes": ResNet50Attributes,
        "precomputed": Precomputed,
        "clip_attributes": ClipAttributes,
        "visual_concepts": VisualConcepts,
    }
