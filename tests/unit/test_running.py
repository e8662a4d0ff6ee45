"""A run from objects to numbers: seeds kept and resumed, whoever asks for them."""

import dataclasses
import os

import numpy as np
import pytest

from rsbench.aggregators import ClassSoft, ClassThreshold, Ones, Sample
from rsbench.core.components import Told
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.corruptions import Full
from rsbench.datasets import Synthetic
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron, Lean
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass
from rsbench.running import check, compute, describe, identify, one_thread
from rsbench.store.run_info import DataInfo


@pytest.fixture(scope="module")
def data():
    return load(
        Synthetic(
            classes=4, samples=12, groups=4, group_size=4, marks=4.0, families=2,
            background_classes=3, background_samples=8,
        ),
        None,
        "synthetic",
    )  # fmt: skip


def setup(**changes):
    parts = {
        "learner": Ellipsotron(),
        "aggregator": Sample(),
        "preprocessor": Identity(),
        "protocol": PerClass(4),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


def run(data, seeds, made=None, **settings):
    made = made or setup()
    return compute(made, data, seeds, identify(made, data), **settings)


def test_seeds_are_computed_once(data):
    first = run(data, [0, 1])
    assert first.reused == () and list(first.seeds) == [0, 1]
    again = run(data, [1, 2])
    assert again.reused == (1,) and list(again.seeds) == [1, 2]
    assert again.seeds[1] == first.seeds[1]


def test_a_kept_seed_is_what_the_core_computes(data):
    for _ in range(2):
        assert run(data, [3]).seeds[3] == run_seed(setup(), data, 3)


def test_no_seed_depends_on_those_computed_beside_it(data):
    together = run(data, range(3), cache=False)
    for seed in range(3):
        assert run(data, [seed], cache=False).seeds[seed] == together.seeds[seed]


def test_force_computes_anew(data):
    run(data, [0])
    assert run(data, [0], force=True).reused == ()
    assert run(data, [0]).reused == (0,)


def test_without_a_cache_nothing_is_kept_and_nothing_is_taken(data, tmp_path):
    run(data, [0])
    kept = sorted(tmp_path.rglob("*"))
    assert run(data, [0, 1], cache=False).reused == ()
    assert sorted(tmp_path.rglob("*")) == kept


def test_what_was_done_before_an_error_is_kept(data):
    class Stumbles(Lean):
        """Fails under one seed, by its random state."""

        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

        def prequential(self, X, y, classes=None):
            if self.random_state == bad:
                raise UserError("not this one")
            return super().prequential(X, y, classes)

    bad = setup(learner=Stumbles()).new_learner(1).random_state
    made = setup(learner=Stumbles(), aggregator=Ones())
    with pytest.raises(UserError, match="not this one"):
        run(data, [0, 1, 2], made)
    assert run(data, [0, 2], made).reused == (0,)


def test_progress_counts_seeds(data):
    shares = []
    run(data, [5, 6], progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0, 1, 1.25, 1.5, 1.75, 2.0, 2]
    shares.clear()
    run(data, [5, 6], progress=shares.append)
    assert shares == [1, 2]


def test_tuning_is_done_once_and_only_if_something_is_computed(data, monkeypatch):
    made = setup(tune={"learner.C": [0.01, 1.0]})
    tuned = run(data, [0, 1], made)
    values = [result.tuned for result in tuned.seeds.values()]
    assert values[0] == values[1] and set(values[0]) == {"learner.C"}
    monkeypatch.setattr("rsbench.running.tune", lambda *_: pytest.fail("tuned again"))
    assert run(data, [0, 1], made).reused == (0, 1)


def test_what_a_seed_chose_and_what_was_tuned_are_both_told():
    large = Synthetic(
        classes=2, samples=45, groups=4, group_size=4, marks=4.0, families=2,
        background_classes=2, background_samples=40,
    )  # fmt: skip
    made = setup(
        aggregator=ClassThreshold("auto"),
        tune={"learner.C": [1.0]},
        protocol=PerClass(20),
    )
    result = run(load(large, None, "x"), [0], made).seeds[0]
    assert set(result.tuned) == {"learner.C", "theta"}


# The description.


def describe_run(data, outcome, made=None):
    return describe(
        outcome,
        identify(made or setup(), data),
        method="ellipsotron",
        told=Told.VOTES,
        preprocessor="none",
        label="ellipsotron",
        config={},
        data=DataInfo("synthetic", data.identity, True),
        unit="samples per class",
    )


def test_a_record_says_what_the_numbers_were_made_from(data):
    run(data, [1])
    outcome = run(data, [0, 1])
    info = describe_run(data, outcome)
    assert info.seeds == (0, 1) and info.reused == (1,)
    assert info.classes == 4 and (info.samples.pool, info.samples.test) == (16, 32)
    assert info.fingerprint == identify(setup(), data).fingerprint
    assert info.built_in and info.versions["numpy"] == np.__version__
    mean = np.mean([r.bound["as_printed"] for r in outcome.seeds.values()])
    assert info.bound["as_printed"] == pytest.approx(mean)
    assert info.tuned == {} and info.seconds == outcome.seconds
    assert info.id != describe_run(data, outcome).id


def test_rows_come_seed_after_seed(data):
    outcome = run(data, [2, 0])
    assert [row["seed"] for row in outcome.rows] == [2] * 4 + [0] * 4
    assert [row["seed"] for row in outcome.per_class] == [2] * 4 + [0] * 4


# Mistakes that show before any data are read.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"aggregator": ClassSoft(scope="sen")},
            r"aggregator.scope='sen': expected teacher or seen \(ClassSoft\)",
        ),
        ({"learner": Lean(variant="pa3")}, "learner.variant='pa3'|variant='pa3'"),
        ({"protocol": PerClass(0)}, "protocol.samples_per_class=0"),
        ({"tune": {"learner.Q": [1]}}, "Ellipsotron has no parameter 'Q'"),
        ({"tune": {"learner.C": [1, -1]}}, "Ellipsotron: C=-1"),
        ({"tune": {"learner.variant": ["pa", "pb"]}}, "variant='pb'"),
        ({"tune": {"learner.C": 3}}, "tune.learner.C=3, expected a list"),
    ],
)
def test_mistakes_show_before_any_data_are_read(changes, words):
    with pytest.raises(UserError, match=words):
        check(setup(**changes))


def test_numbers_of_numpy_are_no_mistake():
    check(setup(aggregator=ClassThreshold(np.int64(4)), learner=Lean(C=np.float32(2))))


# Threads.


def blas_threads():
    from threadpoolctl import threadpool_info

    return {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    }


def test_linear_algebra_uses_one_thread_and_gets_the_others_back(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = blas_threads()
    with one_thread():
        assert blas_threads() <= {1}
    assert blas_threads() == before


def test_who_sets_the_number_of_threads_gets_it(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(os.cpu_count()))
    before = blas_threads()
    with one_thread():
        assert blas_threads() == before


def test_data_of_other_content_are_another_run(data):
    run(data, [0])
    other = dataclasses.replace(data, identity="other")
    assert run(other, [0]).reused == ()
