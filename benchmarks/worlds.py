"""Made-up worlds in which the truth about methods is known.

A sample has features that all methods see and, for each method, some that it alone
sees: its view. Views are exchangeable, so all methods have the same expected error, yet
no two make the same errors. The learner is a real one, the nearest class mean. A method
whose annotated samples are worth k labels learns from k times as many samples.

All functions return errors of shape (views, sizes, units...). Sizes are the samples
learned from: per class, but of both classes together in `fixed_test_set`.
"""

from collections.abc import Sequence

import numpy as np

#: Features that all views see, and as many again that a single view sees.
_FEATURES = 3

#: Of a fixed test set: so many that there is something to learn from 400 samples too.
_MANY_FEATURES = 20


def splits_of_one_sample(
    rng: np.random.Generator,
    views: int,
    sizes: Sequence[int],
    seeds: int,
    pool: int = 25,
    test: int = 35,
    classes: int = 10,
) -> np.ndarray:
    """Return errors on fresh splits of the same few samples, one for each seed.

    Claims are about these classes: each view has the same class means, so that no view
    is better on them.

    Parameters
    ----------
    rng : Generator
        Decides classes, samples and splits.
    views, seeds : int
        How many there are.
    sizes : sequence of int
        Samples per class to learn from, growing.
    pool, test : int
        Samples per class in the training pool, and in the test.
    classes : int
        Number of classes.

    Returns
    -------
    array of shape (views, sizes, seeds)
    """
    common = rng.normal(size=(1, classes, 1, _FEATURES))
    own = rng.normal(size=(1, classes, 1, _FEATURES))
    samples = _around(rng, common, own, views, pool + test)
    return np.stack(
        [_split_errors(rng, samples, sizes, test) for _ in range(seeds)], axis=-1
    )


def draws_of_classes(
    rng: np.random.Generator,
    views: int,
    sizes: Sequence[int],
    draws: int,
    of: int | None = None,
    classes: int = 10,
    seeds: int = 2,
    pool: int = 20,
    test: int = 10,
) -> np.ndarray:
    """Return errors on draws of classes, averaged over the seeds inside.

    Claims are about classes like these: class means differ between views, so that some
    view may be better on the classes at hand, but none on classes to come.

    Parameters
    ----------
    rng : Generator
        Decides classes, samples, draws and splits.
    views, draws, seeds : int
        How many there are; so many seeds in each draw.
    sizes : sequence of int
        Samples per class to learn from, growing.
    of : int, optional
        Draws take classes of so many; None if every draw has classes of its own.
    classes : int
        Classes in a draw.
    pool, test : int
        Samples per class in the training pool, and in the test.

    Returns
    -------
    array of shape (views, sizes, draws)
    """
    found = []
    for number in range(draws):
        if number == 0 or of is None:
            there = of or classes
            common = rng.normal(size=(1, there, 1, _FEATURES))
            own = rng.normal(size=(views, there, 1, _FEATURES))
            everything = _around(rng, common, own, views, pool + test)
        drawn = rng.permutation(there)[:classes]
        samples = tuple(part[:, drawn] for part in everything)
        errors = [_split_errors(rng, samples, sizes, test) for _ in range(seeds)]
        found.append(np.mean(errors, axis=0))
    return np.stack(found, axis=-1)


def fixed_test_set(
    rng: np.random.Generator,
    views: int,
    sizes: Sequence[int],
    seeds: int,
    pool: int = 1600,
    test: int = 200,
) -> np.ndarray:
    """Return errors on the items of one test set, of two classes, for all seeds.

    Each seed learns from samples of its own of the same pool. Class means are the same
    in each view.

    Parameters
    ----------
    rng : Generator
        Decides classes, samples and what each seed learns from.
    views, seeds : int
        How many there are.
    sizes : sequence of int
        Samples to learn from, growing.
    pool, test : int
        Samples in the training pool, and in the test.

    Returns
    -------
    array of shape (views, sizes, seeds, items)
        Zeros and ones.
    """
    # So close that errors are about 35 % after 40 samples, and 20 % after 400.
    common = 0.2 * rng.normal(size=(1, 2, 1, _MANY_FEATURES))
    own = 0.2 * rng.normal(size=(1, 2, 1, _MANY_FEATURES))
    samples = _around(rng, common, own, views, (pool + test) // 2)
    half = test // 2
    orders = np.argsort(rng.random((seeds, pool)), axis=1)
    errors = np.empty((views, len(sizes), seeds, test), np.float32)
    for at, size in enumerate(sizes):
        scores: np.ndarray | float = 0.0
        for part in samples:
            scores = scores + _two_class_scores(part, orders[:, :size], half)
        errors[:, at] = scores <= 0
    return errors


def _two_class_scores(part: np.ndarray, learned: np.ndarray, half: int) -> np.ndarray:
    """Return margins (views, seeds, items) of the test items by nearest means.

    Of each class, the first `half` samples are test items.
    """
    views, _, _, features = part.shape
    pooled = part[:, :, half:]
    in_class = pooled.shape[2]
    means = []
    for label in range(2):
        # A seed's mean is a product with the samples that it has taken.
        taken = np.zeros((len(learned), in_class), np.float32)
        for seed, indices in enumerate(learned):
            mine = indices[indices // in_class == label] % in_class
            # Of twenty samples, once in a million none is of this class.
            taken[seed, mine] = 1 / max(len(mine), 1)
        means.append(taken @ pooled[:, label])
    weights = means[1] - means[0]
    middle = (means[1] + means[0]) / 2
    offsets = (weights * middle).sum(axis=-1)[..., None]
    items = part[:, :, :half].reshape(views, -1, features)
    scores = weights @ items.transpose(0, 2, 1) - offsets
    signs = np.repeat([-1, 1], half)
    return scores * signs


def _around(
    rng: np.random.Generator,
    common: np.ndarray,
    own: np.ndarray,
    views: int,
    samples: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return features (views, classes, samples, ...) around means: common and own."""
    _, classes, _, features = common.shape
    shape = (classes, samples, features)
    # Single precision: twice as fast, and far finer than what is measured.
    shared = rng.standard_normal((1, *shape), np.float32)
    alone = rng.standard_normal((views, *shape), np.float32)
    return shared + common.astype(np.float32), alone + own.astype(np.float32)


def _split_errors(
    rng: np.random.Generator,
    samples: tuple[np.ndarray, ...],
    sizes: Sequence[int],
    test: int,
) -> np.ndarray:
    """Return errors (views, sizes) of nearest class means on a fresh split."""
    _, classes, in_class, _ = samples[0].shape
    orders = np.argsort(rng.random((1, classes, in_class, 1)), axis=2)
    shuffled = [np.take_along_axis(part, orders, axis=2) for part in samples]
    labels = np.repeat(np.arange(classes), test)
    errors = []
    for size in sizes:
        scores: np.ndarray | float = 0.0
        for part in shuffled:
            scores = scores + _scores(part[:, :, :test], part[:, :, test : test + size])
        errors.append((scores.argmax(axis=-1) != labels).mean(axis=-1))
    return np.stack(errors, axis=-1)


def _scores(items: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Return scores (views, items, classes): the closer to a class mean, the higher."""
    means = learned.mean(axis=2)
    lengths = (means**2).sum(axis=-1)
    rows = items.reshape(len(items), -1, items.shape[-1])
    return rows @ means.transpose(0, 2, 1) - lengths[:, None] / 2
