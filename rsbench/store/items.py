"""What became of each test sample, as one compact file per run."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rsbench.core.items import TestItems
from rsbench.errors import UserError
from rsbench.files.arrays import read_npz

ITEMS_FILE = "items.npz"

#: A draw of classes and a seed, by their numbers.
Unit = tuple[int, int]


def items_bytes(tested: Mapping[Unit, TestItems]) -> bytes:
    """Return a file of test samples, by draw and seed.

    Right or wrong takes one bit a sample and step; the same content gives the same
    bytes.
    """
    arrays: dict[str, np.ndarray] = {}
    for (draw, seed), items in tested.items():
        name = f"draw{draw}.seed{seed}"
        arrays[f"{name}.steps"] = items.steps
        arrays[f"{name}.items"] = items.items
        arrays[f"{name}.labels"] = items.labels
        arrays[f"{name}.wrong"] = np.packbits(items.wrong, axis=1)
        arrays[f"{name}.margin_steps"] = items.margin_steps
        arrays[f"{name}.margins"] = items.margins.astype(np.float32)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def read_items(path: Path) -> dict[Unit, TestItems]:
    """Return the test samples of a file, by draw and seed.

    Raises
    ------
    UserError
        If it cannot be read, or is not such a file.
    """
    arrays = read_npz(path)
    found = {}
    try:
        for name in arrays:
            unit, _, field = name.rpartition(".")
            if field != "steps":
                continue
            draw, _, seed = unit.removeprefix("draw").partition(".seed")
            n = len(arrays[f"{unit}.items"])
            found[int(draw), int(seed)] = TestItems(
                steps=arrays[name],
                items=arrays[f"{unit}.items"],
                labels=arrays[f"{unit}.labels"],
                wrong=np.unpackbits(arrays[f"{unit}.wrong"], axis=1, count=n).astype(
                    bool
                ),
                margin_steps=arrays[f"{unit}.margin_steps"],
                margins=arrays[f"{unit}.margins"],
            )
    except (KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
        cause = f"{type(error).__name__}: {error}"
        raise UserError(f"{path}: not readable ({cause})") from None
    return found
