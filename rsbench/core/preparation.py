"""What a learner is told before the stream: other classes, class votes, names.

It asks by naming arguments of `prepare`, which is called once. What it names is what it
was told, and stands in the record.
"""

import dataclasses
import inspect
from typing import Any

import numpy as np

from rsbench.core.components import name_of
from rsbench.core.data import Background, Data
from rsbench.core.evaluation import Features
from rsbench.core.sparse import SparseVotes, by_class, dense, is_sparse
from rsbench.core.told import OfBackground
from rsbench.errors import UserError, did_you_mean

#: Names that a learner can ask for, with the words that tables have for them.
NAMES = {
    "feature_names": "feature names",
    "concept_names": "concept names",
    "class_names": "class names",
}

#: What a learner can ask for by naming it as an argument of `prepare`.
BEFORE_THE_STREAM = ("background", "class_votes", *NAMES)


def asked_before(learner: Any) -> dict[str, inspect.Parameter]:
    """Return what a learner asks for before the stream, by the names of `prepare`.

    Raises
    ------
    UserError
        If it asks for something that a run does not give, or does not say by name.
    """
    if learner.prepare is None:
        return {}
    name = name_of(learner)
    asked = dict(inspect.signature(learner.prepare).parameters)
    for word, parameter in asked.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError(f"{name}.prepare takes *{word}: name what it wants instead")
        if word not in BEFORE_THE_STREAM:
            raise UserError(
                f"{name}.prepare asks for '{word}'. "
                f"{did_you_mean(word, BEFORE_THE_STREAM)}"
            )
    return asked


def wanted_of_background(learner: Any) -> OfBackground:
    """Return how much of the background a learner says it wants.

    Raises
    ------
    UserError
        If it says something else than a word of `OfBackground`.
    """
    try:
        return OfBackground(learner.of_background)
    except ValueError:
        raise UserError(
            f"{name_of(learner)}.of_background is {learner.of_background!r}, expected "
            f"{', '.join(OfBackground)}"
        ) from None


def asks_for_background(learner: Any) -> bool:
    """Tell whether a learner asks for samples of other classes."""
    wants_none = wanted_of_background(learner) is OfBackground.NOTHING
    return "background" in asked_before(learner) and not wants_none


def told_of_background(learner: Any, data: Data) -> OfBackground:
    """Return how much of a data set's background a learner is told."""
    if not asks_for_background(learner) or data.background is None:
        return OfBackground.NOTHING
    there = OfBackground.FEATURES
    if data.background_y is not None:
        there = OfBackground.LABELS
    if data.background_y is not None and data.background_Z is not None:
        there = OfBackground.ANNOTATIONS
    return min(there, wanted_of_background(learner), key=lambda each: each.rank)


def told_names(learner: Any, data: Data) -> tuple[str, ...]:
    """Return of which of a data set's names a learner is told, in tables' words."""
    found = []
    for name in asked_before(learner):
        if name in NAMES and _names(data, name):
            found.append(NAMES[name])
    return tuple(sorted(found))


def _names(data: Data, name: str) -> tuple[str, ...]:
    """Return the data set's own names of what a learner asks to know the names of."""
    if name == "class_names":
        return data.names.classes
    if name == "concept_names" and not data.concepts_are_features:
        return data.names.concepts
    return data.names.features


def prepare(
    learner: Any,
    data: Data,
    features: Features,
    Z: Any,
    y: np.ndarray,
    pool: np.ndarray,
    classes: np.ndarray,
    is_absent: bool = False,
) -> None:
    """Give a learner what it asks for before the stream.

    Parameters
    ----------
    learner : Learner
        The learner; one without `prepare` is left as it is.
    data : Data
        The data set.
    features : Features
        Preprocesses the background as it does the stream.
    Z : array or SparseVotes of shape (n, d)
        Votes of all samples, as the corruption left them.
    y : array of shape (n,)
        Classes of all samples, -1 for those that are not in use.
    pool : array of int
        The training pool, over which class votes are counted.
    classes : array of shape (K,)
        All classes.
    is_absent : bool
        Whether nobody annotates anything: there are then no class votes.
    """
    given: dict[str, Any] = {}
    for name, parameter in asked_before(learner).items():
        if name == "background":
            found = _background(learner, data, features)
            is_optional = parameter.default is not parameter.empty
            wants_none = not asks_for_background(learner)
            if found is None and not (is_optional or wants_none):
                raise UserError(
                    f"{name_of(learner)} asks for samples of other classes, and the "
                    "data set has none: an arrays file has them in `background`"
                )
            given[name] = found
        elif name == "class_votes":
            given[name] = None
            if not is_absent:
                given[name] = class_votes(Z[pool], y[pool], len(classes))
        elif name == "class_names":
            given[name] = _names_in_use(data, y, len(classes))
        else:
            given[name] = _names(data, name)
    if given:
        learner.prepare(**given)


def _background(learner: Any, data: Data, features: Features) -> Background | None:
    """Return as much of the background as the learner is told."""
    told = told_of_background(learner, data)
    if told is OfBackground.NOTHING:
        return None
    background = Background(features.other(data.background))
    if told.rank >= OfBackground.LABELS.rank and data.background_y is not None:
        # Numbered anew: which classes of all there are says nothing.
        _, y = np.unique(data.background_y, return_inverse=True)
        background = dataclasses.replace(background, y=y)
    if told is OfBackground.ANNOTATIONS:
        Z = data.background_Z
        if is_sparse(Z):
            Z = SparseVotes(Z, np.ones(Z.shape[0], bool))
        if not learner.takes_sparse:
            Z = dense(Z, name_of(learner))
        background = dataclasses.replace(background, Z=Z)
    return background


def class_votes(Z: Any, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the share of votes that each concept has in each class.

    Parameters
    ----------
    Z : array or SparseVotes of shape (n, m)
        Votes, NaN where nobody was asked.
    y : array of shape (n,)
        The classes that they are of, 0 to K-1.
    n_classes : int
        The number of classes, K.

    Returns
    -------
    array of shape (K, m)
        Shares; NaN where nobody of a class was asked.
    """
    if isinstance(Z, SparseVotes):
        votes = by_class(Z[Z.asked].matrix, y[Z.asked], n_classes)
        asked = np.bincount(y[Z.asked], minlength=n_classes)[:, None]
    else:
        missing = np.isnan(Z)
        votes = by_class(np.where(missing, 0.0, Z), y, n_classes)
        asked = by_class(~missing, y, n_classes)
    with np.errstate(invalid="ignore"):  # where nobody was asked: 0 of 0
        return votes / asked


def _names_in_use(data: Data, y: np.ndarray, n_classes: int) -> tuple[str, ...]:
    """Return the names of the classes in use, in the order of their numbers."""
    if not data.names.classes:
        return ()
    names = [""] * n_classes
    for own, number in zip(data.y.tolist(), y.tolist(), strict=True):
        if number >= 0:
            names[number] = data.names.classes[own]
    return tuple(names)
