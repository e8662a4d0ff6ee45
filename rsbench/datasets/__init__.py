"""Built-in data sets."""

from rsbench import hookimpl
from rsbench.datasets.arrays import Arrays
from rsbench.datasets.cub import CUB
from rsbench.datasets.opinions import Opinions
from rsbench.datasets.rationales import MovieRationales, Rationales
from rsbench.datasets.sun import SUN
from rsbench.datasets.synthetic import Synthetic

__all__ = [
    "CUB",
    "SUN",
    "Arrays",
    "MovieRationales",
    "Opinions",
    "Rationales",
    "Synthetic",
]


@hookimpl
def rsbench_datasets() -> dict[str, type]:
    return {
        "arrays": Arrays,
        "synthetic": Synthetic,
        "cub": CUB,
        "sun": SUN,
        "opinions": Opinions,
        "movie_rationales": MovieRationales,
        "rationales": Rationales,
    }
