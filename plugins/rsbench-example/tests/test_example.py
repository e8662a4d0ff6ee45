"""The example's components keep their promises, one test for each."""

import numpy as np
import pytest
from rsbench_example import Prototypes, Rare

import rsbench.checks


@pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
def test_prototypes_keep_their_promises(promise):
    promise.check(Prototypes)


@pytest.mark.parametrize("promise", rsbench.checks.promises("aggregator"), ids=str)
def test_rare_keeps_its_promises(promise):
    promise.check(Rare)


def test_rare_marks_count_more():
    Z = np.array([[1, 1], [1, 0], [1, 0], [1, 0]], bool)
    worth = Rare().fit(Z, np.zeros(4, int)).relevance(Z, np.zeros(4, int))[0]
    assert worth[1] > worth[0] == 1.0
