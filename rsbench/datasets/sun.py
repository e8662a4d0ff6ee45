"""The SUN database: scenes, and objects that people tagged in words of their own."""

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np

from rsbench.core.data import Data, Names, Training
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
        Of the stand-in; another number, another simulated data set.
    """

    archive = Archive(
        folder="SUN2012",
        url="http://groups.csail.mit.edu/vision/SUN/releases/SUN2012.tar.gz",
    )
    how_to_get_real = "Get the real one with: python -m rsbench data get sun"
    simulated_settings = ("difficulty", "draw", "matcher")

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
    ):
        super().__init__(source, root)
        self.vocabulary = vocabulary
        self.matcher = matcher
        self.background_below = background_below
        self.on_bad_image = on_bad_image
        self.difficulty = difficulty
        self.draw = draw
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for a matcher that is unknown."""
        find_matcher(self.matcher)

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
        return Data(
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
        return dataclasses.replace(
            data, Z=tags.votes(), details={"tags": tags.summary()}
        )

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
