"""The perceptron."""

from rsbench.learners import LinearLearner


class Perceptron(LinearLearner):
    """Step by the sample itself whenever it is predicted wrongly, or tied.

        w_pos += x    w_neg -= x

    References
    ----------
    Rosenblatt, "The Perceptron", Psychological Review 1958; Crammer, Singer,
    "Ultraconservative Online Algorithms for Multiclass Problems", JMLR 2003.
    """

    def tau(self, loss: float, squared_norm: float) -> float:
        """Return one after a mistake, zero else.

        Parameters
        ----------
        loss : float
            The hinge loss, one or more if the margin is zero or less.
        squared_norm : float
            Of no importance.

        Returns
        -------
        float
            How many times the sample the weights move.
        """
        return float(loss >= 1.0)
