"""Kept seeds: readable files, shared between processes, computed again when damaged."""

import dataclasses
import io
import json
import logging
import multiprocessing
import os
import time

import numpy as np
import pytest

from rsbench.core.experiment import SeedResult
from rsbench.core.items import TestItems
from rsbench.errors import UserError
from rsbench.store.seeds import seed_result
from tests.helpers import same

FINGERPRINT = "0123456789abcdef" * 4


def result(seed=0, error=1 / 3, **changes):
    made = SeedResult(
        rows=[{"seed": seed, "step": 1, "samples": 3, "test_error": error}],
        classes=3,
        samples={"pool": 20, "test": 10},
        tuned={"theta": 4},
        per_class=[{"seed": seed, "class": "a", "samples": 10, "test_error": error}],
        bound={"as_printed": 2.5},
        tested=TestItems(
            steps=np.array([1]),
            items=np.arange(3),
            labels=np.array([0, 1, 2]),
            wrong=np.array([[True, False, False]]),
            margin_steps=np.array([1]),
            margins=np.array([[-1.0, error, 2.0]], np.float32),
        ),
    )
    return dataclasses.replace(made, **changes)


def assert_gives(found, expected, known):
    """A result, and whether it had been computed before."""
    assert same(found[0], expected)
    assert found[1] is known


def never():
    raise AssertionError("it is kept already")


@pytest.fixture
def path(tmp_path):
    """Where the seed's file is, after it was kept."""

    def find():
        (found,) = (tmp_path / "cache").rglob("*.json")
        return found

    return find


def test_what_was_computed_once_is_not_computed_again():
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert_gives(seed_result(FINGERPRINT, 0, never), result(), True)


def test_seeds_and_fingerprints_are_told_apart():
    seed_result(FINGERPRINT, 0, result)
    for fingerprint, seed in ((FINGERPRINT, 1), ("f" + FINGERPRINT[1:], 0)):
        made, known = seed_result(fingerprint, seed, lambda s=seed: result(s))
        assert not known and same(made, result(seed))


def test_a_kept_seed_is_a_json_file_that_a_person_can_read(path):
    seed_result(FINGERPRINT, 7, lambda: result(7))
    assert path().name == "7.json" and FINGERPRINT.startswith(path().parent.name)
    text = path().read_text()
    values = dataclasses.asdict(result(7))
    del values["tested"]  # in a file beside it, one bit a sample and step
    assert json.loads(text)["result"] == values
    # A line for each row, neither all on one line nor a line for each number.
    rows = len(result(7).rows) + len(result(7).per_class)
    assert rows < len(text.splitlines()) < rows + 15


def test_a_fresh_result_and_a_kept_one_cannot_differ():
    """Whatever an aggregator gave for what it tuned, and tuples as well."""

    def compute():
        return result(tuned={"theta": np.float64(0.1), "k": np.int64(3), "at": (1, 2)})

    fresh, _ = seed_result(FINGERPRINT, 0, compute)
    kept, known = seed_result(FINGERPRINT, 0, never)
    assert known and same(fresh, kept)
    assert fresh.tuned == {"theta": 0.1, "k": 3, "at": [1, 2]}
    assert type(fresh.tuned["theta"]) is float


def test_numbers_keep_all_of_their_digits():
    value = 0.1 + 0.2
    seed_result(FINGERPRINT, 0, lambda: result(error=value))
    kept, _ = seed_result(FINGERPRINT, 0, never)
    assert kept.rows[0]["test_error"] == value


def test_force_computes_anew_and_keeps_that():
    seed_result(FINGERPRINT, 0, result)
    other = result(error=0.5)
    assert_gives(seed_result(FINGERPRINT, 0, lambda: other, force=True), other, False)
    assert_gives(seed_result(FINGERPRINT, 0, never), other, True)


def edited(text):
    """Somebody wished for a better result."""
    content = json.loads(text)
    content["result"]["rows"][0]["test_error"] = 0.0
    return json.dumps(content)


DAMAGE = {
    "edited": edited,
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no JSON": lambda text: "nonsense",
    "a list": lambda text: "[1, 2]",
    "a number": lambda text: "3",
    "something else's": lambda text: '{"result": {"a": 1}, "sha256": "x"}',
    "without a digest": lambda text: json.dumps({"result": json.loads(text)["result"]}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_one_is_computed_again_with_a_warning(damage, path, caplog):
    seed_result(FINGERPRINT, 0, result)
    path().write_text(DAMAGE[damage](path().read_text()))
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert "0.json is damaged: computed again" in caplog.text
    assert_gives(seed_result(FINGERPRINT, 0, never), result(), True)


def test_bytes_that_are_no_text_are_damage_too(path, caplog):
    seed_result(FINGERPRINT, 0, result)
    path().write_bytes(b"\xff\xfe\x00")
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert "is damaged" in caplog.text


ITEMS_DAMAGE = {
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "garbage": lambda content: b"nonsense",
    "another archive": lambda content: npz(a=np.arange(3)),
    # It reads well, and is not what was computed.
    "edited": lambda content: npz(**with_fewer_errors(content)),
}


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def with_fewer_errors(content):
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    arrays["draw0.seed0.wrong"] = np.zeros_like(arrays["draw0.seed0.wrong"])
    return arrays


@pytest.mark.parametrize("damage", ITEMS_DAMAGE)
def test_damaged_test_samples_are_computed_again_with_a_warning(damage, path, caplog):
    seed_result(FINGERPRINT, 0, result)
    items = path().with_suffix(".npz")
    items.write_bytes(ITEMS_DAMAGE[damage](items.read_bytes()))
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert "0.json is damaged: computed again" in caplog.text
    assert_gives(seed_result(FINGERPRINT, 0, never), result(), True)


def test_lost_test_samples_are_computed_again_with_a_warning(path, caplog):
    seed_result(FINGERPRINT, 0, result)
    path().with_suffix(".npz").unlink()
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert "0.json is damaged: computed again" in caplog.text


def test_test_samples_of_another_computation_are_not_taken(path, caplog):
    """As a crash between the two files would leave them."""
    seed_result(FINGERPRINT, 0, result)
    values = path().read_bytes()
    other = result(error=0.25)
    seed_result(FINGERPRINT, 0, lambda: other, force=True)
    path().write_bytes(values)
    assert_gives(seed_result(FINGERPRINT, 0, lambda: other), other, False)
    assert "is damaged" in caplog.text


def test_a_crash_between_the_two_files_leaves_no_seed(path, monkeypatch):
    """The test samples come first: the other file says that a seed is there."""
    real = os.replace

    def dying(a, b):
        if b.suffix == ".json":
            raise KeyboardInterrupt
        real(a, b)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            seed_result(FINGERPRINT, 0, result)
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)
    assert_gives(seed_result(FINGERPRINT, 0, never), result(), True)


def test_another_seeds_file_is_not_taken_for_this_ones(path, caplog):
    seed_result(FINGERPRINT, 0, result)
    path().with_suffix(".npz").rename(path().with_name("1.npz"))
    path().rename(path().with_name("1.json"))
    assert_gives(seed_result(FINGERPRINT, 1, lambda: result(1)), result(1), False)
    assert "1.json is damaged" in caplog.text


def test_a_file_of_an_earlier_release_is_passed_over(tmp_path):
    """Binary, and under another name."""
    folder = tmp_path / "cache" / "seeds"
    folder.mkdir(parents=True)
    (folder / f"{FINGERPRINT[:32]}-0.cache").write_bytes(b"PK\x03\x04")
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)


def test_what_fails_is_not_kept(tmp_path):
    def fail():
        raise UserError("the learner's scores are not finite")

    with pytest.raises(UserError, match="not finite"):
        seed_result(FINGERPRINT, 0, fail)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)


def test_what_is_interrupted_is_not_kept(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seed_result(FINGERPRINT, 0, interrupted)
    assert_gives(seed_result(FINGERPRINT, 0, result), result(), False)


def test_a_folder_that_cannot_be_used_is_named_with_the_fix(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(UserError, match="RSBENCH_CACHE"):
        seed_result(FINGERPRINT, 0, result)


def slowly(diary):
    """Note that it was computed, and take a while."""
    with open(diary, "a") as file:
        file.write("computed\n")
    time.sleep(0.3)
    return result()


def ask(diary, answers):
    logging.disable()
    answers.put(seed_result(FINGERPRINT, 0, lambda: slowly(diary)))


def test_two_processes_that_want_the_same_seed_share_it(tmp_path):
    """One computes it, while the other waits and finds it there."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    diary = tmp_path / "diary"
    workers = [context.Process(target=ask, args=(diary, answers)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join(timeout=30)
    assert diary.read_text() == "computed\n"
    assert sorted(known for _, known in found) == [False, True]
    assert same(found[0][0], result()) and same(found[1][0], result())


def test_nothing_but_the_seeds_is_left_behind(tmp_path):
    for seed in (0, 1):
        seed_result(FINGERPRINT, seed, lambda s=seed: result(s))
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["0.json", "0.npz", "1.json", "1.npz"]
