"""What do made-up annotations do to results?

A file of features may have votes that nobody gave: drawn, image by image, from how
often each attribute is marked in the species. Such votes describe the species better
those of a single annotator. This script learns from really annotated images alone, once
with their own votes and once with votes drawn for them, and tests both on all others.

    python benchmarks/drawn_annotations.py FEATURES.npz

The file is as `dataset.root` and `extractor.path` of +experiment=cub take it, with
`real_annotation` besides.
"""

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rsbench
from rsbench.aggregators import ClassSoft, Sample
from rsbench.core.components import Dataset, fresh
from rsbench.core.seeds import stream
from rsbench.core.statistics import Estimate, over_draws
from rsbench.datasets import CUB
from rsbench.extractors import Precomputed
from rsbench.learners import Ellipsotron
from rsbench.protocols import PerClass

METHODS = {
    "ellipsotron": (Ellipsotron(), Sample()),
    "class_soft": (Ellipsotron(), ClassSoft()),
}
PREPROCESSORS = ("none", "center", "standardize")


class ReallyAnnotated(Dataset):
    """Species with some images that a person annotated, the others to test on.

    Parameters
    ----------
    path : str
        The file.
    images : int
        A species takes part if it has so many really annotated images.
    redraw : bool
        Whether to draw the votes of those images too.
    number : int
        The draw of species.
    """

    def __init__(
        self, path: str, images: int = 2, redraw: bool = False, number: int = 0
    ):
        self.path = path
        self.images = images
        self.redraw = redraw
        self.number = number

    def drawn(self, number: int) -> "ReallyAnnotated":
        """Return another draw of species."""
        return fresh(self, number=self.number + number)

    def load(self) -> rsbench.Data:
        """Return the species' images; the test set is those with made-up votes."""
        birds = CUB(root=self.path, split=(75, 25, 50), annotated=self.images)
        data = birds.drawn(self.number).load()
        if not self.redraw:
            return data
        return dataclasses.replace(data, Z=_redrawn(data, self.number))


def _redrawn(data: rsbench.Data, number: int) -> np.ndarray:
    """Return votes, those to learn from drawn as those of the others were."""
    assert data.test is not None
    rng = stream(number, "redrawn")
    Z = data.Z.copy()
    for c in np.unique(data.y):
        of_class = data.y == c
        shares = data.Z[of_class & data.test].mean(axis=0)
        mine = np.flatnonzero(of_class & ~data.test)
        Z[mine] = rng.random((len(mine), len(shares))) < shares
    return Z


def gains(
    path: str, preprocessor: str, redraw: bool, draws: int, seeds: int, samples: int
) -> Iterator[tuple[str, int, np.ndarray, Estimate]]:
    """Yield each method's gains in test error over its counterpart, by draw, in points.

    Yields
    ------
    method, step : str and int
        Of which method, and after how many samples per class.
    by_draw : array of shape (draws,)
        The gains, seeds averaged inside.
    estimate : Estimate
        Their mean, and how well it is known.
    """
    results = rsbench.run(
        ReallyAnnotated(path, images=samples, redraw=redraw),
        METHODS,
        preprocessor=preprocessor,
        extractor=Precomputed(path=path),
        protocol=PerClass(samples, test="mask"),
        draws=draws,
        seeds=seeds,
    )
    for run in results.runs:
        assert run.counterpart is not None and run.info.data.drawn is not None
        drawn = run.info.data.drawn
        for i, step in enumerate(run.steps):
            without = run.counterpart.by_draw("test_error")[i]
            by_draw = 100 * (without - run.by_draw("test_error")[i]).mean(axis=1)
            estimate = over_draws(by_draw, drawn.classes, drawn.of)
            yield run.info.method, step, by_draw, estimate


def show(args: argparse.Namespace) -> None:
    """Print gains from real and from drawn votes, and by how much they differ."""
    print("| preprocessor | method | samples per class | real votes | drawn votes |")
    print("|---|---|---|---|---|")
    for preprocessor in PREPROCESSORS:
        asked = (args.draws, args.seeds, args.samples)
        real = gains(args.path, preprocessor, False, *asked)
        drawn = gains(args.path, preprocessor, True, *asked)
        for one, two in zip(real, drawn, strict=True):
            method, step, _, estimate = one
            cells = [preprocessor, method, str(step)]
            cells += [_text(estimate), _text(two[3])]
            print(f"| {' | '.join(cells)} |", flush=True)


def _text(estimate: Estimate) -> str:
    interval = estimate.interval()
    return f"{estimate.mean:+.2f} [{interval.low:+.2f} to {interval.high:+.2f}]"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("path", help="npz with features, y, Z and real_annotation")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--samples", type=int, default=2, help="per class, to learn from"
    )
    args = parser.parse_args()
    args.path = str(Path(args.path).resolve())
    show(args)


if __name__ == "__main__":
    main()
