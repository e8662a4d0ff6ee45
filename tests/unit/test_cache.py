"""The cache: what is there is not made again, whoever made it."""

import contextlib

import numpy as np
import pytest

from rsbench.files.cache import Cache


def test_an_entry_is_made_once():
    cache, made = Cache("things"), []
    for _ in range(3):
        found = cache.make("a", "making", lambda: made.append(1) or {"x": np.arange(3)})
        np.testing.assert_array_equal(found["x"], np.arange(3))
    assert made == [1]


def test_what_another_process_made_meanwhile_is_taken(monkeypatch):
    cache = Cache("things")

    @contextlib.contextmanager
    def waited(what, key):
        cache.put("a", x=np.arange(3))  # by whoever held the lock
        yield

    monkeypatch.setattr(cache, "lock", waited)
    found = cache.make("a", "making", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(found["x"], np.arange(3))
