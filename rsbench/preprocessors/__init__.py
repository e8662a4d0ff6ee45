"""Built-in preprocessors. They decide who wins, so they are an axis of the benchmark.

One that has `fit` says in `fit_on` where its statistics come from: `background` (other
classes) or `seen` (the stream so far). The test set is never among them. One without
`fit` changes each sample by itself; the built-in ones take `fit_on` all the same, so
that a sweep over preprocessors can set it.
"""

from rsbench import hookimpl
from rsbench.preprocessors.center import Center
from rsbench.preprocessors.identity import Identity
from rsbench.preprocessors.l2 import L2
from rsbench.preprocessors.scale import Scale
from rsbench.preprocessors.standardize import Standardize

__all__ = ["L2", "Center", "Identity", "Scale", "Standardize"]


@hookimpl
def rsbench_preprocessors() -> dict[str, type]:
    """Offer them under the names that configs use."""
    return {
        "none": Identity,
        "center": Center,
        "standardize": Standardize,
        "scale": Scale,
        "l2": L2,
    }
