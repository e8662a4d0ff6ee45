"""Built-in corruptions: what reaches the learner of the annotations.

Each takes the training pool's votes and a random stream of its own. They are offered in
the config group `annotation`. A vote of NaN was not given: a sample without any vote
given was never annotated, and counts as if all of its features were relevant.
"""

from rsbench import hookimpl
from rsbench.corruptions.budget import Budget
from rsbench.corruptions.full import Full
from rsbench.corruptions.noisy import Noisy
from rsbench.corruptions.random_marks import Random
from rsbench.corruptions.shuffled import Shuffled

__all__ = ["Budget", "Full", "Noisy", "Random", "Shuffled"]


@hookimpl
def rsbench_corruptions() -> dict[str, type]:
    """Offer them under the names that configs use."""
    return {
        "full": Full,
        "shuffled": Shuffled,
        "random": Random,
        "budget": Budget,
        "noisy": Noisy,
    }
