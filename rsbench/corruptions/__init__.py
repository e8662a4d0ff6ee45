"""Built-in corruptions: what reaches the learner of the annotations.

Each takes the training pool's votes and a random stream of its own, and its labels if
it names them. They are offered in the config group `annotation`. A vote of NaN was not
given: a sample without any vote given was never annotated, and counts as if all of its
features were relevant.
"""

from rsbench import hookimpl
from rsbench.core.components import Absent
from rsbench.corruptions.budget import Budget
from rsbench.corruptions.full import Full
from rsbench.corruptions.noisy import Noisy
from rsbench.corruptions.random_marks import Random
from rsbench.corruptions.shuffled import Shuffled, ShuffledWithinClass
from rsbench.corruptions.uniform import Uniform

__all__ = [
    "Absent",
    "Budget",
    "Full",
    "Noisy",
    "Random",
    "Shuffled",
    "ShuffledWithinClass",
    "Uniform",
]


@hookimpl
def rsbench_corruptions() -> dict[str, type]:
    """Offer them under the names that configs use."""
    return {
        "full": Full,
        "absent": Absent,
        "uniform": Uniform,
        "shuffled": Shuffled,
        "shuffled_within_class": ShuffledWithinClass,
        "random": Random,
        "budget": Budget,
        "noisy": Noisy,
    }
