"""What a data set promises."""

import os
import pickle
import subprocess
import sys

import numpy as np

from rsbench.checks.assertions import ComponentError, adopted, call
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Dataset
from rsbench.core.data import Data, identity
from rsbench.core.data_checks import check_data
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


@promise("dataset")
def draws_by_number(make: Make) -> None:
    """If there are other draws of its classes (`drawn`), draw 0 is the data set itself,
    the same number gives the same data and another number other data, all with the same
    features; `Data.drawn` says how many classes, of how many."""
    if adopted(make, Dataset).drawn is None:
        return
    itself = loaded(make)
    try:
        first = _drawn(make, 1)
    except ComponentError as failed:
        # One that has nothing to draw, as it is configured, says so.
        if isinstance(failed.error, UserError):
            return
        raise
    second = _drawn(make, 2)
    assert identity(_drawn(make, 0)) == identity(itself), (
        "draw 0 is not the data set itself"
    )
    # All methods learn the classes of a draw, wherever and whenever they are run.
    assert identity(_drawn(make, 1)) == identity(first), "draw 1 is not always the same"
    different = {identity(itself), identity(first), identity(second)}
    assert len(different) == 3, "two of the draws 0, 1 and 2 are the same"
    for draw in (itself, first, second):
        width = draw.Z.shape[1]
        assert width == itself.Z.shape[1], (
            f"a draw has {width} features, another one {itself.Z.shape[1]}"
        )
        assert draw.drawn == itself.drawn, (
            f"a draw says {draw.drawn}, another one {itself.drawn}"
        )
        _check_counts(draw)


def _drawn(make: Make, number: int) -> Data:
    """Return the data of a draw."""
    other = call(adopted(make, Dataset), "drawn", number)
    return loaded(lambda: other)


def _check_counts(data: Data) -> None:
    """Raise an error unless `Data.drawn` counts the classes that there are."""
    if data.drawn is None:
        return
    classes = len(np.unique(data.y))
    right = data.drawn.classes == classes <= data.drawn.of
    assert right, f"it says {data.drawn}, but a draw has {classes} classes"


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
