"""The SUN database: scenes, and the objects that people tagged in them in their own words."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.data import Data, Names, Training
from rsbench.core.seeds import stream
from rsbench.datasets.generative import World, generate
from rsbench.datasets.real import Archive, RealOrSimulated, Source, take
from rsbench.datasets.sun_files import Scan, image_of, list_annotations, scan, scene_of
from rsbench.datasets.tags import (
    Decision,
    TagMap,
    Vocabulary,
    clean,
    find_matcher,
    read_vocabulary,
)
from rsbench.errors import UserError

#: What the paper counted in SUN, beside which `Tags.summary` stands.
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

#: (smallest class, classes at least as large, up to 100 samples): the paper's class counts.
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
TOO_LARGE, TOO_SMALL = (200, 150, 120), (17, 16, 15, 14, 12, 10, 8)


@dataclasses.dataclass(frozen=True)
class Tags:
    """The tags of each image, and the way from them to terms."""

    tags: tuple[tuple[str, ...], ...]
    scenes: int
    mapping: TagMap
    left_out: dict[str, int]

    @property
    def counts(self) -> Counter[str]:
        """How often each tag was typed."""
        return Counter(itertools.chain.from_iterable(self.tags))

    def decisions(self) -> list[Decision]:
        """What became of each tag."""
        return self.mapping.decisions(self.counts)

    def summary(self) -> dict[str, Any]:
        """The counts that the paper gives, for the data at hand, and what was left out."""
        counts, decisions = self.counts, self.decisions()
        matched = [decision for decision in decisions if decision.terms]
        repeats = [
            len(tags) / len({clean(tag) for tag in tags}) for tags in self.tags if tags
        ]
        return {
            "tags_as_typed": len(counts),
            "tags_cleaned": len(decisions),
            "annotations": sum(counts.values()),
            "images": len(self.tags),
            "scenes": self.scenes,
            "median_times_a_tag_is_in_an_image": float(np.median(repeats))
            if repeats
            else 0.0,
            "tags_matched": len(matched),
            "terms_matched": len(
                {term for decision in matched for term in decision.terms}
            ),
            **{
                f"left out, {cause}": count
                for cause, count in sorted(self.left_out.items())
            },
        }


class SUN(RealOrSimulated):
    """SUN scenes: 1000 visual-concept terms, objects in the scene marked by free-text tags.

    Of the stand-in, class sizes are such that the paper's bounds select its numbers of classes.

    Parameters
    ----------
    source : `auto` (real if there, else simulated), `disk` (real or an error), `simulated`.
    root : folder SUN2012; by default looked for in RSBENCH_DATA.
    vocabulary : file with the terms that are the features, one a line, for the real data set.
    matcher : how tags become terms: by their `second` word (as the paper), their `head` (the last), only if of a
        `single` word, or another that a plugin adds.
    background_below : scenes with fewer images are background, not classes to learn.
    on_bad_image : `error`, or `drop` images that are missing or damaged and say how many.
    difficulty : of the stand-in; scales its detectors' disturbances.
    draw : of the stand-in; another number, another simulated data set.
    """

    archive = Archive(
        folder="SUN2012",
        url="http://groups.csail.mit.edu/vision/SUN/releases/SUN2012.tar.gz",
    )
    simulated_settings = ("difficulty", "draw", "matcher")
    how_to_get_real = "Get the real one with: python -m rsbench data get sun"

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
        self.on_bad_image: Literal["error", "drop"] = on_bad_image
        self.difficulty = difficulty
        self.draw = draw
        find_matcher(matcher)

    def explain(self) -> tuple[Tags, bool]:
        """The way from tags to terms, and whether the tags are simulated."""
        root = self.find()
        if root is None:
            self._say_idle()
            return self._simulated_tags(self._draw()), True
        return self._tags(scan(root)), False

    def _tags(self, found: Scan) -> Tags:
        if not self.vocabulary:
            raise UserError(
                "SUN's tags need terms to be matched with: dataset.vocabulary=FILE, one term a line "
                "(data explain: --vocabulary FILE)"
            )
        mapping = TagMap(read_vocabulary(Path(self.vocabulary)), self.matcher)
        left_out = {
            **found.left_out,
            **({"empty names": found.empty_names} if found.empty_names else {}),
        }
        return Tags(found.tags, len(set(found.scenes)), mapping, left_out)

    def _read(self, root: Path) -> Data:
        found = scan(root)
        tags = self._tags(found)
        Z = tags.mapping.votes(found.tags)
        if not Z.any():
            raise UserError(
                f"no tag of {root} matches any term of {self.vocabulary}: is it the right vocabulary?"
            )
        scenes, y = np.unique(found.scenes, return_inverse=True)
        large = np.bincount(y)[y] >= self.background_below
        kept, labels = np.unique(y[large], return_inverse=True)
        if len(kept) < 2:
            raise UserError(
                f"{root}: {len(kept)} scenes have {self.background_below} images or more, at least two are needed: "
                "lower dataset.background_below"
            )
        images = [image_of(root, name) for name in found.images]
        others = np.flatnonzero(~large)
        return Data(
            y=labels,
            Z=Z[large],
            images=take(images, np.flatnonzero(large)),
            training=Training(
                take(images, others), y[others], Z[others], np.zeros(len(others), bool)
            ),
            on_bad_image=self.on_bad_image,
            names=Names(tags.mapping.vocabulary.terms, tuple(scenes[c] for c in kept)),
            details={"tags": tags.summary()},
        )

    def status(self, root: Path) -> tuple[bool, str]:
        """Whether the folder is complete, and what is in it."""
        files, _ = list_annotations(root)
        missing = sum(
            not image_of(root, file[: -len(".xml")]).exists() for file in files
        )
        scenes = {scene_of(file) for file in files}
        return (
            not missing,
            f"{len(files) - missing:,} of {len(files):,} annotated images, {len(scenes):,} scenes",
        )

    def _draw(self) -> Data:
        sizes = class_sizes()
        names = Names(pseudo_words(1000), tuple(f"scene{c}" for c in range(len(sizes))))
        world = World(
            marks=10.0,
            difficulty=self.difficulty,
            draw=self.draw,
            families=40,
            variety=40.0,
            likeness=60.0,
            unnameable=0.469,
            annotator_err=0.0005,
            detector_offset=-0.5,
            background_classes=60,
        )
        return generate(world, sizes, (1000,), names)

    def _simulated_tags(self, data: Data) -> Tags:
        vocabulary = Vocabulary(data.names.features)
        tags = type_tags(data.Z, vocabulary.terms, self.draw)
        return Tags(tags, len(data.names.classes), TagMap(vocabulary, self.matcher), {})

    def _simulate(self) -> Data:
        """The stand-in; its annotations go the real ones' way, typed as tags, cleaned and matched."""
        data = self._draw()
        tags = self._simulated_tags(data)
        return dataclasses.replace(
            data, Z=tags.mapping.votes(tags.tags), details={"tags": tags.summary()}
        )


#: How simulated annotators type a term; `{}` is the term.
_TYPED = (
    *(
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
    ),
    *(
        "{}s_occluded_crop",
        "{} crop crop",
        "big {}",
        "old {}_crop",
        "{} ocluded",
        "{}s",
    ),
)
#: Things in the scene that the vocabulary has no term for.
_UNKNOWN = ("thingamajig", "whatnot_crop", "{} doohickey", "gizmo_occluded")


def type_tags(
    Z: np.ndarray, terms: Sequence[str], draw: int
) -> tuple[tuple[str, ...], ...]:
    """Tags for each sample, as people type them: with suffixes, typos and compounds, and some that match nothing."""
    rng = stream(draw, "tags")
    rows = []
    for marked in Z:
        names = [
            terms[j]
            for j in np.flatnonzero(marked).tolist()
            for _ in range(int(rng.integers(1, 4)))
        ]
        ways = rng.integers(len(_TYPED), size=len(names)).tolist()
        unknown = rng.integers(len(_UNKNOWN), size=2).tolist()
        typed = [
            _TYPED[way].format(name) for way, name in zip(ways, names, strict=True)
        ]
        rows.append((*typed, *(_UNKNOWN[way].format(terms[0]) for way in unknown)))
    return tuple(rows)


def pseudo_words(n: int) -> tuple[str, ...]:
    """Words that nobody uses and that the stemmer leaves alone, for features of the stand-in."""
    letters = itertools.product("bdfgkmnprvz", "aiou", "blmpr", "aou", "kmpt")
    return tuple("".join(word) for word in itertools.islice(letters, 0, None, 2))[:n]


def class_sizes() -> tuple[int, ...]:
    """Class sizes that meet every bound in BOUNDS exactly, largest first."""
    bounds, counts = zip(*BOUNDS, strict=True)
    within = np.floor(np.interp(np.arange(1, counts[-1] + 1), counts, bounds)).astype(
        int
    )
    return (*TOO_LARGE, *within.tolist(), *TOO_SMALL)
