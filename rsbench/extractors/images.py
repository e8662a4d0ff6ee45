"""Features of images: computed once for each image, on all cores, and kept on disk."""

import contextlib
import io
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rsbench.core.components import Extractor
from rsbench.core.data import Data
from rsbench.errors import UserError, first_line
from rsbench.extractors.backbones import (
    Backbone,
    Device,
    Network,
    Precision,
    torch_type,
)
from rsbench.files.atomic import file_hash
from rsbench.files.cache import Cache, key_of
from rsbench.files.places import cores

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

#: Images in an entry of the cache: what an interruption can lose.
IMAGES_PER_ENTRY = 64

#: Images with sides of a greater ratio are taken for damaged; scaled up they would fill
#: the memory.
_THINNEST = 50

#: The hash of an image's content, with its features or what is wrong with it.
_Result = tuple[bytes, "np.ndarray | str"]


class NetworkExtractor(Extractor):
    """Run images through a network; a base for extractors that do.

    Subclasses have these among their parameters.

    Parameters
    ----------
    device : {"cpu", "cuda", "mps"}
        Where the network runs.
    precision : {"float32", "bfloat16"}
        Of the network's numbers.
    batch_size : int or None
        Images in a batch; by default 2 on a CPU, else 64.
    workers : int or None
        Threads that decode and compute; by default one per core.
    """

    device: Device
    precision: Precision
    batch_size: int | None
    workers: int | None

    def check_params(self) -> None:
        """Raise an error for counts below one."""
        super().check_params()
        counts = {"batch_size": self.batch_size, "workers": self.workers}
        for name, count in counts.items():
            if count is not None and count < 1:
                raise UserError(f"extractor.{name}={count}: expected 1 or more")

    def run_network(
        self, data: Data, backbone: Backbone
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Return what `image_features` does, for all images of the data."""
        batch_size = self.batch_size or default_batch_size(self.device)
        return image_features(data.all_images, backbone, batch_size, self.workers)


def default_batch_size(device: Device) -> int:
    """Return how many images go into a batch: few on a CPU, to fit into its caches."""
    if device == "cpu":
        return 2
    return 64


def image_features(
    images: Sequence[Path],
    backbone: Backbone,
    batch_size: int,
    workers: int | None = None,
) -> tuple[np.ndarray, dict[int, str]]:
    """Compute features of images, or find them in the cache.

    Every batch has the same shape, the last ones being filled up, because a network's
    rounding depends on the shape of its batch: so an image's features do not depend on
    what else is computed with it.

    Parameters
    ----------
    images : sequence of Path
        The image files.
    backbone : Backbone
        The network; it is loaded only if some features are not in the cache.
    batch_size : int
        Images in a batch.
    workers : int or None
        Threads that decode and compute; by default one per core.

    Returns
    -------
    features : array of shape (images, p), of float32
        One row per image; zeros for bad ones.
    bad : dict of str
        What is wrong with each bad image, by its position in `images`.
    """
    workers = workers or cores()
    # Other versions decode and round otherwise.
    key = key_of(backbone.identity, batch_size, [version("torch"), version("pillow")])
    # The backbone's name is for people who look into the folder; the key decides.
    cache = Cache(f"features/{Path(backbone.name).name}-{key}")
    hashes, bad = _hash_all(images, workers)
    known = _read_cache(cache)
    # Where all are known, nobody has to wait for the lock.
    if not known.keys() >= set(hashes.values()):
        with cache.lock(f"computing features of images with {backbone.name}"):
            known = _read_cache(cache)  # by now another process may have made them
            # By content: an image that is there twice is computed once.
            todo = {}
            for i, digest in hashes.items():
                if digest not in known:
                    todo[digest] = images[i]
            damaged = _compute(todo, backbone, batch_size, workers, cache, known)
        for i, digest in hashes.items():
            if digest in damaged:
                bad[i] = damaged[digest]
    if len(bad) == len(images):
        raise UserError(
            f"none of the {len(images)} images can be read; the first: {images[0]}: "
            f"{bad[0]}. For features made elsewhere: extractor=precomputed "
            "extractor.path=FILE"
        )
    # All of a network's features are of one width.
    width = len(next(iter(known.values())))
    features = np.zeros((len(images), width), np.float32)
    for i in hashes.keys() - bad.keys():
        features[i] = known[hashes[i]]
    return features, bad


def _hash_all(
    images: Sequence[Path], workers: int
) -> tuple[dict[int, bytes], dict[int, str]]:
    """Return the hash of each image's content, or what is wrong with it."""
    # hashlib lets go of Python's lock, and so do disks: threads are enough.
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(_hash, images))
    hashes = {}
    bad = {}
    for i, result in enumerate(found):
        if isinstance(result, str):
            bad[i] = result
        else:
            hashes[i] = result
    return hashes, bad


def _hash(path: Path) -> bytes | str:
    """Return the hash of a file's content, or what is wrong with it."""
    try:
        return file_hash(path)
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _read_cache(cache: Cache) -> dict[bytes, np.ndarray]:
    """Return features by the hash of their image, from all entries."""
    known = {}
    for entry in cache.entries():
        for digest, row in zip(entry["images"], entry["features"], strict=True):
            known[digest.tobytes()] = row
    return known


def _write_cache(cache: Cache, fresh: dict[bytes, np.ndarray]) -> None:
    """Keep features by the hash of their image, as one entry."""
    images = np.frombuffer(b"".join(fresh), np.uint8).reshape(len(fresh), -1)
    cache.put(key_of(images), images=images, features=np.stack(list(fresh.values())))


def _compute(
    todo: dict[bytes, Path],
    backbone: Backbone,
    batch_size: int,
    workers: int,
    cache: Cache,
    known: dict[bytes, np.ndarray],
) -> dict[bytes, str]:
    """Add features to `known` and to the cache; return what is wrong with others."""
    if not todo:
        return {}
    damaged: dict[bytes, str] = {}
    fresh: dict[bytes, np.ndarray] = {}
    network = backbone.load()
    started = time.perf_counter()  # without the time that loading takes
    for digest, row in _run_all(todo, network, batch_size, workers):
        if isinstance(row, str):
            damaged[digest] = row
        else:
            known[digest] = row
            fresh[digest] = row
        # Kept as they come, so that an interruption loses little.
        if len(fresh) == IMAGES_PER_ENTRY:
            _write_cache(cache, fresh)
            fresh = {}
    if fresh:
        _write_cache(cache, fresh)
    seconds = time.perf_counter() - started
    computed = len(todo) - len(damaged)
    log.info(
        "features of %d images by %s: %.0f images/s",
        computed,
        backbone.name,
        computed / seconds,
    )
    return damaged


def _run_all(
    todo: dict[bytes, Path], network: Network, batch_size: int, workers: int
) -> Iterator[_Result]:
    """Yield the result of each image, in order.

    Each worker decodes and computes whole batches on one thread: that is faster than
    sharing the work of a batch among cores, and keeps results independent of their
    number.
    """
    import torch
    from tqdm import tqdm

    items = list(todo.items())
    starts = range(0, len(items), batch_size)
    batches = [items[start : start + batch_size] for start in starts]

    def run(batch: list[tuple[bytes, Path]]) -> list[_Result]:
        return _run_batch(batch, network, batch_size)

    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    bar = tqdm(
        total=len(items),
        desc="images",
        unit=" images",
        bar_format="{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}, {rate_fmt}, "
        "{remaining} left",
        leave=False,
        disable=not sys.stderr.isatty(),
    )
    with one_thread_each(), pool, bar:
        for done in pool.map(run, batches):
            bar.update(len(done))
            yield from done


def _run_batch(
    batch: list[tuple[bytes, Path]], network: Network, batch_size: int
) -> list[_Result]:
    """Return the results of a batch's images, in order."""
    decoded = [_decode(path, network) for _, path in batch]
    good = [tensor for tensor in decoded if not isinstance(tensor, str)]
    rows: Iterator[np.ndarray] = iter(())
    if good:
        # Always of the same shape, on which a network's rounding depends.
        filling = [good[0]] * (batch_size - len(good))
        rows = iter(_forward(network, good + filling))
    results: list[_Result] = []
    for (digest, _), tensor in zip(batch, decoded, strict=True):
        if isinstance(tensor, str):
            results.append((digest, tensor))
        else:
            # A copy, as a row by itself would keep the whole batch in memory.
            results.append((digest, next(rows).copy()))
    return results


def _forward(network: Network, tensors: "list[torch.Tensor]") -> np.ndarray:
    """Return features of a batch; what a network refuses is an error that says so."""
    import torch

    try:
        with torch.inference_mode():
            batch = torch.stack(tensors).to(
                network.device,
                torch_type(network.precision),
                memory_format=torch.channels_last,
            )
            features = network.forward(batch).float().cpu().numpy()
    except (RuntimeError, ValueError, TypeError) as error:
        raise UserError(
            f"the network cannot take these images: {first_line(error)}"
        ) from error
    # Kept in the cache, they would come back until somebody empties it.
    if not np.isfinite(features).all():
        raise UserError(
            "the network gives NaN or infinite features: its weights are damaged, or "
            "the precision too low"
        )
    return features


def _decode(path: Path, network: Network) -> "torch.Tensor | str":
    """Return the image as a tensor, or what is wrong with it.

    Grayscale, palettes and CMYK become RGB.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            if image.mode[0] in "IF":  # Pillow would clip them to white or black
                return (
                    "not a readable image: more than 8 bits a channel "
                    f"(mode {image.mode})"
                )
            if max(image.size) > _THINNEST * min(image.size):
                return f"not a readable image: {image.width} × {image.height} pixels"
            return network.prepare(image.convert("RGB"))
    except (
        OSError,
        SyntaxError,  # which is how Pillow refuses a broken PNG
        ValueError,
        MemoryError,
        Image.DecompressionBombError,
    ) as error:
        # Without the object's address, which is another one each time.
        cause = str(error).partition(" <_io")[0]
        return f"not a readable image: {cause}"


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Have torch use one thread while the block runs, then as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
