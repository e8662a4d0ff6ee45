"""A plugin for tests of interruption: a learner that takes its time, and notes each seed it begins, with process and threads."""

import os
import time

from threadpoolctl import threadpool_info

from rsbench import hookimpl
from rsbench.learners import Lean


class Dawdler(Lean):
    """Lean learning with a nap before each step.

    Parameters
    ----------
    C : float
        Aggressiveness, a name for the job here.
    nap : float
        Seconds to sleep.
    """

    def __init__(self, C: float = 1.0, nap: float = 0.05):
        super().__init__(C=C)
        self.nap = nap

    def prequential(self, X, y, classes=None):
        """As lean learning does."""
        if not hasattr(self, "coef_"):
            pools = threadpool_info()
            threads = max(p["num_threads"] for p in pools if p["user_api"] == "blas")
            with open(os.environ["RSBENCH_TEST_DIARY"], "a") as diary:
                diary.write(f"{self.C} {os.getpid()} {threads}\n")
        time.sleep(self.nap)
        return super().prequential(X, y, classes)


@hookimpl
def rsbench_learners():
    return {"dawdler": Dawdler}
