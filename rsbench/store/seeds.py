"""Finished seeds, kept one by one: a seed that was computed once, by whatever command, is not computed again.

A seed is found by its run's fingerprint and its number. Each is made under a lock of its own, so parallel jobs
work side by side, and two that want the same one share it. What fails is not kept.
"""

import dataclasses
import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from rsbench.core.experiment import SeedResult
from rsbench.files.cache import Cache

log = logging.getLogger(__name__)


def seed_result(
    fingerprint: str, seed: int, compute: Callable[[], SeedResult], force: bool = False
) -> tuple[SeedResult, bool]:
    """The result of a seed, computed only if it is not kept (or by force); and whether it was reused."""
    computed = []

    def make() -> dict[str, np.ndarray]:
        computed.append(seed)
        content = json.dumps(dataclasses.asdict(compute()), default=_plain)
        return {"json": np.frombuffer(content.encode(), np.uint8)}

    def keep(anew: bool) -> SeedResult | None:
        cache = Cache(f"seeds/{fingerprint[:32]}")
        # Read back also when it is new, so that a fresh result and a reused one cannot differ.
        return _read(
            cache.make(
                str(seed), f"computing seed {seed}", make, side_by_side=True, anew=anew
            ),
            seed,
        )

    result = keep(force)
    if result is None:
        log.warning("what was kept of seed %d is not its result: computed again", seed)
        result = keep(anew=True)
        assert result is not None
    return result, not computed


def _read(entry: dict[str, np.ndarray], seed: int) -> SeedResult | None:
    """The result in an entry; None if it is another seed's, or something else."""
    try:
        result = SeedResult(**json.loads(entry["json"].tobytes()))
        return (
            result
            if {row["seed"] for row in (*result.rows, *result.per_class)} == {seed}
            else None
        )
    except (KeyError, TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """NumPy's scalars, which an aggregator may give for what it tuned, as plain ones."""
    return value.item()
