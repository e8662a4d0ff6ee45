"""Features of images: computed once for each image, on all cores, and kept on disk by content."""

import contextlib
import ctypes
import dataclasses
import io
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.data import Data, Training
from rsbench.errors import UserError, first_line
from rsbench.extractors.backbones import Backbone, Network
from rsbench.files.atomic import cores, file_hash
from rsbench.files.cache import Cache, key_of

log = logging.getLogger(__name__)

#: Images in an entry of the cache: what an interruption can lose.
_ENTRY = 64

#: Images with sides of a greater ratio are taken for damaged; scaled up they would fill the memory.
_THINNEST = 50


def image_features(
    images: Sequence[Path],
    backbone: Backbone,
    batch_size: int,
    workers: int | None = None,
) -> tuple[np.ndarray, dict[int, str]]:
    """One row per image (of zeros for bad ones), and which images are bad, and why.

    Every batch has the same shape, the last ones being filled up, because a network's rounding depends on
    the shape of its batch: so an image's features do not depend on what else is computed with it.
    """
    workers = workers or cores()
    key = key_of(backbone.identity, batch_size, [version("torch"), version("pillow")])
    cache = Cache(f"features/{Path(backbone.name).name}-{key}")
    with ThreadPoolExecutor(workers) as pool:
        read = list(pool.map(_hash, images))
    hashes = {i: digest for i, digest in enumerate(read) if isinstance(digest, bytes)}
    bad = {i: cause for i, cause in enumerate(read) if isinstance(cause, str)}
    known = _known(cache)
    if not known.keys() >= set(hashes.values()):
        with cache.lock(f"computing features of images with {backbone.name}"):
            known = _known(cache)  # by now another process may have made them
            todo = {
                digest: images[i] for i, digest in hashes.items() if digest not in known
            }
            damaged = _compute(todo, backbone, batch_size, workers, cache, known)
        bad |= {i: damaged[digest] for i, digest in hashes.items() if digest in damaged}
    if len(bad) == len(images):
        raise UserError(
            f"none of the {len(images)} images can be read; the first: {images[0]}: {bad[0]}. For features made "
            "elsewhere: extractor=precomputed extractor.path=FILE"
        )
    width = len(next(iter(known.values())))
    features = np.zeros((len(images), width), np.float32)
    for i in hashes.keys() - bad.keys():
        features[i] = known[hashes[i]]
    return features, bad


def _hash(path: Path) -> bytes | str:
    """The hash of a file's content, or why it cannot be read."""
    try:
        return file_hash(path)
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _known(cache: Cache) -> dict[bytes, np.ndarray]:
    """Features by the hash of their image, from all entries."""
    return {
        digest.tobytes(): row
        for entry in cache.entries()
        for digest, row in zip(entry["images"], entry["features"], strict=True)
    }


def _compute(
    todo: dict[bytes, Path],
    backbone: Backbone,
    batch_size: int,
    workers: int,
    cache: Cache,
    known: dict[bytes, np.ndarray],
) -> dict[bytes, str]:
    """Add the features of all images in `todo` to `known` and to the cache; which images are damaged, and why."""
    if not todo:
        return {}
    damaged: dict[bytes, str] = {}
    fresh: dict[bytes, np.ndarray] = {}
    network = backbone.load()
    started = time.perf_counter()
    for digest, row in _stream(todo, network, batch_size, workers):
        if isinstance(row, str):
            damaged[digest] = row
        else:
            known[digest] = fresh[digest] = row
        if len(fresh) == _ENTRY:
            _keep(fresh, cache)
            fresh = {}
    if fresh:
        _keep(fresh, cache)
    seconds = time.perf_counter() - started
    computed = len(todo) - len(damaged)
    log.info(
        "features of %d images by %s: %.0f images/s",
        computed,
        backbone.name,
        computed / seconds,
    )
    return damaged


def _keep(fresh: dict[bytes, np.ndarray], cache: Cache) -> None:
    images = np.frombuffer(b"".join(fresh), np.uint8).reshape(len(fresh), -1)
    cache.put(key_of(images), images=images, features=np.stack(list(fresh.values())))


def _stream(
    todo: dict[bytes, Path], network: Network, batch_size: int, workers: int
) -> Iterator[tuple[bytes, np.ndarray | str]]:
    """Hash and features (or what is wrong) of each image, in order.

    Each worker decodes and computes whole batches on one thread: that is faster than sharing the work of
    a batch among cores, and keeps results independent of their number.
    """
    import torch
    from tqdm import tqdm

    _keep_memory()
    items = list(todo.items())
    batches = [
        items[start : start + batch_size] for start in range(0, len(items), batch_size)
    ]

    def run(batch: list[tuple[bytes, Path]]) -> list[tuple[bytes, np.ndarray | str]]:
        tensors = [_decode(path, network) for _, path in batch]
        good = [tensor for tensor in tensors if not isinstance(tensor, str)]
        if not good:
            return [
                (digest, str(cause))
                for (digest, _), cause in zip(batch, tensors, strict=True)
            ]
        rows = iter(_forward(network, good + [good[0]] * (batch_size - len(good))))
        return [
            (digest, tensor if isinstance(tensor, str) else next(rows).copy())
            for (digest, _), tensor in zip(batch, tensors, strict=True)
        ]

    with (
        one_thread_each(),
        ThreadPoolExecutor(
            workers, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool,
    ):
        look = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {rate_fmt}, {remaining} left"
        bar = tqdm(
            total=len(items),
            desc="images",
            unit=" images",
            bar_format=look,
            leave=False,
            disable=_quiet(),
        )
        with bar:
            for done in pool.map(run, batches):
                bar.update(len(done))
                yield from done


def _forward(network: Network, tensors: list[Any]) -> np.ndarray:
    """Features of a batch; what a network refuses is an error that says so."""
    import torch

    try:
        with torch.inference_mode():
            dtype = getattr(torch, network.precision)
            batch = torch.stack(tensors).to(
                network.device, dtype, memory_format=torch.channels_last
            )
            features = network.forward(batch).float().cpu().numpy()
    except (RuntimeError, ValueError, TypeError) as error:
        raise UserError(
            f"the network cannot take these images: {first_line(error)}"
        ) from error
    if not np.isfinite(features).all():
        raise UserError(
            "the network gives NaN or infinite features: its weights are damaged, or the precision too low"
        )
    return features


def _keep_memory() -> None:
    """Ask the C library not to give freed memory back at once: a network asks for the same again and again.

    Where it is not glibc, nothing happens. Fetching fresh pages took up to a quarter of the time.
    """
    mallopt = (
        getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    )
    if mallopt is not None:
        trim_threshold, top_pad, mmap_threshold = -1, -2, -3
        mallopt(mmap_threshold, 32 << 20)
        mallopt(trim_threshold, 512 << 20)
        mallopt(top_pad, 32 << 20)


def _decode(path: Path, network: Network) -> Any:
    """The image as a tensor, or what is wrong with it. Grayscale, palettes and CMYK become RGB."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            if image.mode[0] in "IF":  # Pillow would clip them to white or black
                return f"not a readable image: more than 8 bits a channel (mode {image.mode})"
            if max(image.size) > _THINNEST * min(image.size):
                return f"not a readable image: {image.width} × {image.height} pixels"
            return network.prepare(image.convert("RGB"))
    except (
        OSError,
        SyntaxError,
        ValueError,
        MemoryError,
        Image.DecompressionBombError,
    ) as error:
        return "not a readable image: " + str(error).partition(" <_io")[0]


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Torch on one thread; as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_counts(extractor: Any) -> None:
    """Raise an error unless batch size and workers, if given, are 1 or more."""
    for name in ("batch_size", "workers"):
        value = getattr(extractor, name)
        if value is not None and value < 1:
            raise UserError(f"extractor.{name}={value}: expected 1 or more")


def batch_images(given: int | None, device: str) -> int:
    """Images in a batch: few on a CPU, whose caches they fit in."""
    return given or (2 if device == "cpu" else 64)


def _quiet() -> bool:
    return not sys.stderr.isatty()


def without_bad(data: Data, bad: dict[int, str]) -> tuple[Data, np.ndarray]:
    """The data without bad images, if that is the policy, and which of all images are left.

    `bad` counts through the samples' images, then the training images.
    """
    everything = data.all_images
    keep = np.array([i not in bad for i in range(len(everything))])
    if not bad:
        return data, keep
    listed = "; ".join(
        f"{everything[i]}: {cause}" for i, cause in sorted(bad.items())[:3]
    )
    if data.on_bad_image == "error":
        raise UserError(
            f"{len(bad)} of {len(everything)} images cannot be used: {listed}{'; …' if len(bad) > 3 else ''}. "
            "Repair them, or leave them out with dataset.on_bad_image=drop"
        )
    log.warning("%d of %d images left out: %s", len(bad), len(everything), listed)
    kept = keep[: len(data.y)]
    _, y = np.unique(data.y[kept], return_inverse=True)
    left = np.isin(np.arange(len(data.names.classes)), data.y[kept])
    classes = tuple(
        name for name, there in zip(data.names.classes, left, strict=True) if there
    )
    details = {
        "dropped_images": {
            "count": len(bad),
            "first": [str(everything[i].name) for i in sorted(bad)[:10]],
        }
    }
    return dataclasses.replace(
        data,
        y=y,
        Z=data.Z[kept],
        visible=None if data.visible is None else data.visible[kept],
        test=None if data.test is None else data.test[kept],
        images=_where(data.images or (), kept),
        training=_keep_training(data.training, keep[len(data.y) :]),
        names=dataclasses.replace(data.names, classes=classes),
        details={**data.details, **details},
    ), keep


def _keep_training(training: Training | None, kept: np.ndarray) -> Training | None:
    if training is None:
        return None
    return Training(
        _where(training.images, kept),
        training.y[kept],
        training.Z[kept],
        training.validation[kept],
    )


def _where(images: Sequence[Path], kept: np.ndarray) -> tuple[Path, ...]:
    return tuple(path for path, keep in zip(images, kept, strict=True) if keep)
