"""Settings chosen on held-out classes, by the command."""

from rsbench.store.record import find_records

SMALL = {
    "classes": 4, "samples": 20, "groups": 4, "group_size": 4, "marks": 4.0,
    "families": 2, "background_classes": 5, "background_samples": 12,
}  # fmt: skip


def test_a_run_records_what_was_chosen(rsbench, tmp_path):
    words = [f"dataset.{key}={value}" for key, value in SMALL.items()]
    words += [
        "protocol.samples_per_class=4",
        "seeds=2",
        "tracking=none",
        "+tune.learner.C=[0.00001,1]",
    ]
    done = rsbench(*words)
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path)
    assert set(run.info.tuned) == {"0", "1"}
    assert run.info.tuned["0"].keys() == {"learner.C"}
    wrong = rsbench(*words[:-1], "+tune.learner.Q=[1]")
    assert wrong.returncode == 1
    assert "Q" in wrong.stderr and "Traceback" not in wrong.stderr
