"""Features of mean 0 and standard deviation 1."""

import numpy as np

from rsbench.preprocessors.center import Center


class Standardize(Center):
    """Subtract from each feature its mean, and divide by its standard deviation.

    A feature that does not vary (yet) is only centred.

    Parameters
    ----------
    fit_on : {"background", "seen"}, default "background"
        Where the statistics come from: samples of other classes, or the stream so far.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 7.0], [3.0, 7.0]])
    >>> Standardize().fit(X).transform(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return centred features divided by their deviation, in X's precision."""
        deviation = np.sqrt(self.squares_ / self.n_)
        # Rounding leaves a constant feature a deviation of about 1e-16 of its mean,
        # not zero; dividing by that would blow the rounding up to size 1.
        constant = deviation <= 1e-12 * np.abs(self.mean_)
        scaled = (X - self.mean_) / np.where(constant, 1.0, deviation)
        return scaled.astype(X.dtype, copy=False)
