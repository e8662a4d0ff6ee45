"""Classic online learners, which rsbench finds once this package is installed.

Where the original tells two classes apart, a step here moves the weights of the true
class by it, and those of the hardest other class, the one with the highest score, by
its opposite.
"""

from rsbench import hookimpl
from rsbench_classics.ballseptron import Ballseptron
from rsbench_classics.coin_betting import CoinBetting
from rsbench_classics.confidence import AROW, SCW
from rsbench_classics.perceptron import Perceptron

__all__ = ["AROW", "SCW", "Ballseptron", "CoinBetting", "Perceptron"]


@hookimpl
def rsbench_learners() -> dict[str, type]:
    return {
        "perceptron": Perceptron,
        "ballseptron": Ballseptron,
        "arow": AROW,
        "scw": SCW,
        "coin_betting": CoinBetting,
    }
