"""The SUN database: scenes, and objects that people tagged in words of their own."""

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np

from rsbench.core.components import fresh
from rsbench.core.data import Data, Names, Training, keep_samples
from rsbench.datasets.draws import check_draw, draw_classes
from rsbench.datasets.real import RealOrSimulated, Source, take
from rsbench.datasets.sun_files import Scan, image_of, list_annotations, scan, scene_of
from rsbench.datasets.sun_stand_in import draw_scenes, type_tags
from rsbench.datasets.tags import (
    TaggedImages,
    TagMap,
    Vocabulary,
    find_matcher,
    read_vocabulary,
)
from rsbench.errors import UserError
from rsbench.files.archive import Archive

#: What the paper counted in SUN, beside which `TaggedImages.summary` stands.
PAPER_COUNTS = {
    "tags_as_typed": 4917,
    "tags_cleaned": 3772,
    "annotations": 271737,
    "images": 15872,
    "scenes": 1073,
    "median_times_a_tag_is_in_an_image": 2,
    "tags_matched": 1631,
    "terms_matched": 531,
}


class SUN(RealOrSimulated):
    """SUN scenes: 1000 visual-concept terms, objects marked by free-text tags.

    Of the stand-in, class sizes are such that the paper's bounds select its numbers of
    classes.

    Parameters
    ----------
    source : {"auto", "disk", "simulated"}
        The real data set if it is there, else the stand-in; the real one or an error;
        the stand-in.
    root : str or None
        Folder SUN2012; by default looked for in RSBENCH_DATA.
    vocabulary : str or None
        File with the terms that are the features, one a line, for the real data set.
    matcher : str
        How tags become terms: by their `second` word (as the paper), their `head` (the
        last), only if of a `single` word, or another way that a plugin adds.
    background_below : int
        Scenes with fewer images are background, not classes to learn.
    on_bad_image : {"error", "drop"}
        Whether images that are missing or damaged are an error, or left out and
        counted.
    difficulty : float
        Of the stand-in; scales its detectors' disturbances.
    draw : int
        Number of the draw: of scenes, where `classes` are drawn; of the stand-in,
        another simulated data set.
    classes : int or None
        So many scenes, drawn from all within the bounds; the others are left out. All
        of them by default.
    min_samples, max_samples : int or None
        Bounds, inclusive, on the images of a scene; others are left out. Give those of
        the protocol, so that it leaves out none of the scenes that are drawn.
    """

    archive = Archive(
        folder="SUN2012",
        url="http://groups.csail.mit.edu/vision/SUN/releases/SUN2012.tar.gz",
    )
    how_to_get_real = "Get the real one with: python -m rsbench data get sun"
    simulated_settings = (
        "difficulty",
        "draw",
        "matcher",
        "classes",
        "min_samples",
        "max_samples",
    )

    def __init__(
        self,
        source: Source = "auto",
        root: str | None = None,
        vocabulary: str | None = None,
        matcher: str = "second",
        background_below: int = 18,
        on_bad_image: Literal["error", "drop"] = "error",
        difficulty: float = 1.0,
        draw: int = 0,
        classes: int | None = None,
        min_samples: int | None = None,
        max_samples: int | None = None,
    ):
        super().__init__(source, root)
        self.vocabulary = vocabulary
        self.matcher = matcher
        self.background_below = background_below
        self.on_bad_image = on_bad_image
        self.difficulty = difficulty
        self.draw = draw
        self.classes = classes
        self.min_samples = min_samples
        self.max_samples = max_samples
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for a matcher that is unknown, or a draw of no sense."""
        find_matcher(self.matcher)
        check_draw(self.classes, self.draw)

    def drawn(self, number: int) -> "SUN":
        """Return the data set of another draw of scenes, or another stand-in."""
        if number > 0 and self.classes is None and self.find() is not None:
            raise UserError(
                "there is nothing to draw while all scenes are taken: dataset.classes "
                "says how many to draw, and dataset.min_samples and "
                "dataset.max_samples from which"
            )
        return fresh(self, draw=self.draw + number)

    def read(self, root: Path) -> Data:
        """Return large scenes' images as samples, small ones' for training."""
        found = scan(root)
        tags = self._read_tags(found)
        Z = tags.votes()
        if not Z.any():
            raise UserError(
                f"no tag of {root} matches any term of {self.vocabulary}: is it the "
                "right vocabulary?"
            )
        scenes, scene = np.unique(found.scenes, return_inverse=True)
        is_large = np.bincount(scene)[scene] >= self.background_below
        large = np.flatnonzero(is_large)
        small = np.flatnonzero(~is_large)
        kept, y = np.unique(scene[large], return_inverse=True)
        if len(kept) < 2:
            raise UserError(
                f"{root}: {len(kept)} scenes have {self.background_below} images or "
                "more, at least two are needed: lower dataset.background_below"
            )
        images = [image_of(root, name) for name in found.images]
        data = Data(
            y=y,
            Z=Z[large],
            images=take(images, large),
            training=Training(
                images=take(images, small),
                y=scene[small],
                Z=Z[small],
                # Scores come from a network that is trained already.
                validation=np.zeros(len(small), bool),
            ),
            on_bad_image=self.on_bad_image,
            names=Names(tags.mapping.vocabulary.terms, tuple(scenes[kept])),
            details={"tags": tags.summary()},
        )
        return self._choose(data)

    def _choose(self, data: Data) -> Data:
        """Return the scenes within the bounds, or as many of them as are drawn."""
        counts = np.bincount(data.y)
        low = self.min_samples or 1
        high = self.max_samples or len(data.y)
        within = np.flatnonzero((counts >= low) & (counts <= high))
        if len(within) < 2:
            raise UserError(
                f"{len(within)} of {len(counts)} scenes have between {low} and {high} "
                f"images, at least two are needed (scenes have {counts.min()} to "
                f"{counts.max()}): move dataset.min_samples and dataset.max_samples"
            )
        if self.classes is not None:
            return draw_classes(data, within, self.classes, self.draw)
        if len(within) == len(counts):
            return data
        return keep_samples(data, np.isin(data.y, within))

    def _read_tags(self, found: Scan) -> TaggedImages:
        if not self.vocabulary:
            raise UserError(
                "SUN's tags need terms to be matched with: dataset.vocabulary=FILE, "
                "one term a line (data explain: --vocabulary FILE)"
            )
        mapping = TagMap(read_vocabulary(Path(self.vocabulary)), self.matcher)
        left_out = dict(found.left_out)
        if found.empty_names:
            left_out["empty names"] = found.empty_names
        return TaggedImages(found.tags, len(set(found.scenes)), mapping, left_out)

    def simulate(self) -> Data:
        """Return the stand-in.

        Its annotations go the real ones' way: typed as tags, cleaned and matched.
        """
        data = draw_scenes(self.difficulty, self.draw)
        tags = self._simulate_tags(data)
        tagged = dataclasses.replace(
            data, Z=tags.votes(), details={"tags": tags.summary()}
        )
        # Another draw is another world, and shares no scene with this one.
        return dataclasses.replace(self._choose(tagged), drawn=None)

    def _simulate_tags(self, data: Data) -> TaggedImages:
        terms = data.names.features
        mapping = TagMap(Vocabulary(terms), self.matcher)
        tags = type_tags(data.Z, terms, self.draw)
        return TaggedImages(tags, len(data.names.classes), mapping, left_out={})

    def explain(self) -> tuple[TaggedImages, bool]:
        """Return the way from tags to terms, and whether the tags are simulated."""
        root = self.find()
        if root is not None:
            return self._read_tags(scan(root)), False
        self.warn_of_idle_settings()
        data = draw_scenes(self.difficulty, self.draw)
        return self._simulate_tags(data), True

    def status(self, root: Path) -> tuple[bool, str]:
        """Return whether the folder is complete, and in words what is in it."""
        files, _ = list_annotations(root)
        scenes = set()
        there = 0
        for file in files:
            scenes.add(scene_of(file))
            if image_of(root, file[: -len(".xml")]).exists():
                there += 1
        found = f"{there:,} of {len(files):,} annotated images"
        return there == len(files), f"{found}, {len(scenes):,} scenes"
