"""The contract, promise by promise: what a component must keep for a fair benchmark.

In a plugin's own tests, one pytest id per promise:

    @pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
    def test_keeps_its_promises(promise):
        promise.check(MyLearner)

`check` takes anything that makes a fresh component when called: the class, or a
`functools.partial` of it. A broken promise is an AssertionError that says what was
seen.
"""

# Each module makes its kind's promises known when it is imported.
from rsbench.checks import (
    aggregator,
    corruption,
    dataset,
    extractor,
    learner,
    preprocessor,
    protocol,
)
from rsbench.checks.promise import Make, Promise, Verdict, promises, verdicts

__all__ = [
    "Make",
    "Promise",
    "Verdict",
    "aggregator",
    "corruption",
    "dataset",
    "extractor",
    "learner",
    "preprocessor",
    "promises",
    "protocol",
    "verdicts",
]
