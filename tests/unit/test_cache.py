"""The cache: what is there is not made again, whoever made it."""

import contextlib

import numpy as np
import pytest

from rsbench.files.cache import Cache, key_of


def test_an_entry_is_made_once():
    cache, made = Cache("things"), []
    for _ in range(3):
        found = cache.make("a", "making", lambda: made.append(1) or {"x": np.arange(3)})
        np.testing.assert_array_equal(found["x"], np.arange(3))
    assert made == [1]


def test_an_entry_is_made_again_to_replace_it():
    cache = Cache("things")
    cache.put("a", x=np.arange(3))
    made = cache.make("a", "making", lambda: {"x": np.ones(2)}, replace=True)
    np.testing.assert_array_equal(made["x"], np.ones(2))
    np.testing.assert_array_equal(cache.get("a")["x"], np.ones(2))


def test_what_another_process_made_meanwhile_is_taken(monkeypatch):
    cache = Cache("things")

    @contextlib.contextmanager
    def waited(what, key):
        cache.put("a", x=np.arange(3))  # by whoever held the lock
        yield

    monkeypatch.setattr(cache, "lock", waited)
    found = cache.make("a", "making", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(found["x"], np.arange(3))


def test_what_fails_is_not_kept():
    cache = Cache("things")

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.make("a", "making", fail)
    assert cache.get("a") is None and list(cache.entries()) == []


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 1000])
def test_a_damaged_entry_counts_as_none_and_is_removed(damage, caplog):
    cache = Cache("things")
    cache.put("a", x=np.arange(3))
    (entry,) = cache.folder.glob("*.cache")
    entry.write_bytes(damage)
    assert cache.get("a") is None and not entry.exists()
    assert "is damaged: to be made again" in caplog.text


def test_entries_have_locks_of_their_own_that_leave_no_file():
    cache = Cache("things")
    with cache.lock("making a", "a"), cache.lock("making b", "b"):
        cache.put("a", x=np.arange(3))
    assert [path.name for path in cache.folder.iterdir()] == ["a.cache"]


def test_what_a_killed_process_left_is_removed():
    cache = Cache("things")
    cache.folder.mkdir(parents=True)
    for key in ("a", "b"):
        (cache.folder / f".{key}.cache.host-1.tmp").touch()
    with cache.lock("making", "a"):
        left = [path.name for path in cache.folder.glob(".*.tmp")]
    assert left == [".b.cache.host-1.tmp"]  # which may be another's, being written
    with cache.lock("making all"):
        assert not list(cache.folder.glob(".*.tmp"))


def test_keys_tell_apart_what_differs_in_content_type_or_place():
    numbers = np.arange(4)
    parts = [
        (numbers,),
        (numbers.astype(float),),
        (numbers.reshape(2, 2),),
        (numbers[:2], numbers[2:]),
        (b"ab", b"c"),
        (b"a", b"bc"),
        (["ab", "c"],),
    ]
    assert len({key_of(*each) for each in parts}) == len(parts)
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
