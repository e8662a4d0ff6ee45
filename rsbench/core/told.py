"""What a method is told beyond labels, as types: tables have one track for each."""

import enum
from dataclasses import dataclass


class Told(enum.StrEnum):
    """What a method is told of its samples beyond their labels."""

    NOTHING = "nothing"
    VOTES = "votes"
    CLASS_VOTES = "class votes"


class OfBackground(enum.StrEnum):
    """What a learner is given of the background; each includes what stands before."""

    NOTHING = "nothing"
    FEATURES = "features"
    LABELS = "labels"
    ANNOTATIONS = "annotations"

    @property
    def rank(self) -> int:
        """How much it is, from 0."""
        return list(OfBackground).index(self)


@dataclass(frozen=True)
class Track:
    """All that a method is told; ranks are given only among methods told the same.

    Parameters
    ----------
    samples : Told
        Of its samples.
    background : OfBackground
        Of samples of other classes, before the stream.
    names : tuple of str
        Of which names it is told, such as `class names`, sorted.
    """

    samples: Told = Told.NOTHING
    background: OfBackground = OfBackground.NOTHING
    names: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether it is told nothing but labels."""
        return self == Track()

    @property
    def order(self) -> tuple[int, int, tuple[str, ...]]:
        """Where it stands among tracks: those that are told less come first."""
        return list(Told).index(self.samples), self.background.rank, self.names

    @property
    def text(self) -> str:
        """What it is told, as tables and sentences have it."""
        return self.with_samples(self.samples.value)

    def with_samples(self, samples: str) -> str:
        """Return the text, with other words for what it is told of its samples."""
        parts = []
        if self.samples is not Told.NOTHING:
            parts.append(samples)
        if self.background is not OfBackground.NOTHING:
            parts.append(f"{self.background.value} of the background")
        parts += self.names
        return ", ".join(parts) or Told.NOTHING.value
