"""What a data set promises."""

import os
import pickle
import subprocess
import sys

from rsbench.checks.assertions import adopted, call
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Dataset
from rsbench.core.data import Data, check_data, identity
from rsbench.errors import UserError

#: Plugins are loaded first: a component dropped into a folder is found by no import.
_PRINT_IDENTITY = """
import pickle
import sys
from rsbench.core.data import identity
from rsbench.plugins import registry

registry.load()
make = pickle.load(sys.stdin.buffer)
print(identity(make().load()))
"""


@promise("dataset")
def is_whole(make: Make) -> None:
    """Shapes, types and names fit together, as a run will check them; or there are
    images for an extractor."""
    data = loaded(make)
    assert data.X is not None or data.images, "neither features nor images"
    try:
        check_data(data, "the data set")
    except UserError as error:
        raise AssertionError(str(error)) from error


@promise("dataset")
def is_deterministic(make: Make) -> None:
    """Loading again gives the same arrays, in another process too."""
    first = identity(loaded(make))
    assert identity(loaded(make)) == first, "two loads differ"
    # Kept results are found by it, whatever process computed them.
    elsewhere = _identity_elsewhere(make)
    assert elsewhere in (None, first), "another process loads other arrays"


@promise("dataset")
def says_whether_it_is_simulated(make: Make) -> None:
    """`simulated` is true or false, so that no number can be mistaken for a result on
    real data."""
    simulated = loaded(make).simulated
    assert isinstance(simulated, bool), f"simulated={simulated!r}, expected a bool"


def loaded(make: Make) -> Data:
    """Return the data of a new data set."""
    data = call(adopted(make, Dataset), "load")
    assert isinstance(data, Data), f"load gave {type(data).__name__}, expected Data"
    return data


def _identity_elsewhere(make: Make) -> str | None:
    """Return the data's identity in a process that hashes differently.

    None where the component cannot be sent there: classes that were defined in a
    notebook, say.
    """
    try:
        content = pickle.dumps(make)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    # Sets and dicts of text in another order: what loads by them differs there.
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_IDENTITY],
        input=content,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
    )
    # A class of a test module, say, that the other process cannot import.
    if done.returncode != 0:
        return None
    # What a data set prints while it loads comes before.
    return done.stdout.decode().split()[-1]
