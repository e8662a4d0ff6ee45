"""A drop-in learner: the multiclass perceptron, stepping along relevant features."""

from rsbench import hookimpl
from rsbench.learners import RelevanceLearner


class MarkedPerceptron(RelevanceLearner):
    """Steps of a fixed length whenever the margin is below one.

    Parameters
    ----------
    rate : float
        Length of a step, in units of the sample.
    """

    def __init__(self, rate: float = 0.1):
        self.rate = rate

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return self.rate


@hookimpl
def rsbench_learners():
    return {"marked_perceptron": MarkedPerceptron}
