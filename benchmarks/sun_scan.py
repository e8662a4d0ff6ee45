"""How fast SUN's annotations are read, beside the bare parser on the same bytes: ratios from one run.

    python benchmarks/sun_scan.py [--files 20000] [--keep FOLDER]

Writes a tree in SUN's layout with the quirks of the real one: polygons, deleted objects, empty names, broken
encodings, malformed files, entity bombs, misc and outliers. Then, in turn and `--repeats` times: the bare
parser (each file read and parsed, on one core), rsbench's scan with an empty cache, and again from the cache.
Ratios are of medians.
"""

import argparse
import contextlib
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

OBJECTS = (
    "chair",
    "table_occluded",
    "wall",
    "person walking",
    "TV table",
    "tree crop",
    "Window",
    "sky",
    "car_occlulded",
)
BOMB = (
    b'<!DOCTYPE a [<!ENTITY b "boom"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
    b"<annotation><object><name>&c;</name></object></annotation>"
)


def annotation(rng: random.Random) -> bytes:
    """A LabelMe annotation of some twenty objects with their polygons."""
    objects = []
    for i in range(rng.randint(3, 35)):
        points = "".join(
            f"<pt><x>{rng.randint(0, 999)}</x><y>{rng.randint(0, 999)}</y></pt>"
            for _ in range(rng.randint(4, 40))
        )
        name = "" if rng.random() < 0.01 else rng.choice(OBJECTS)
        objects.append(
            f"<object><name>{name}</name><deleted>{int(rng.random() < 0.03)}</deleted><verified>0</verified>"
            f"<date>01-Jan-2012 00:00:00</date><id>{i}</id><polygon><username>x</username>{points}</polygon></object>"
        )
    return f"<annotation><filename>x.jpg</filename>{''.join(objects)}</annotation>".encode()


def write_tree(root: Path, files: int, scenes: int = 600) -> None:
    """The tree; some files are broken in the ways that files of the real one are, or worse."""
    rng = random.Random(0)
    for i in range(files):
        scene = rng.randrange(scenes)
        folder = (
            root
            / "Annotations"
            / "abcdefghij"[scene % 10]
            / f"scene{scene}"
            / ("indoor" if scene % 7 == 0 else "")
        )
        if i % 500 == 7:
            folder = root / "Annotations" / rng.choice(("misc", "outliers"))
        folder.mkdir(parents=True, exist_ok=True)
        content = annotation(rng)
        if i % 1000 == 1:
            content = content.replace(b"<name>", b"<name>caf\xe9 ", 1)
        elif i % 1000 == 2:
            content = content[:-20]
        elif i % 1000 == 3:
            content = BOMB
        (folder / f"sun_{i:06}.xml").write_bytes(content)


def bare(root: Path) -> None:
    """Read and parse every file with the standard library's parser, and do nothing with it."""
    for place, _, names in os.walk(root / "Annotations"):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                content = file.read()
            with contextlib.suppress(ElementTree.ParseError):
                ElementTree.fromstring(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the tree here, and leave it")
    args = parser.parse_args()

    from rsbench.datasets.sun_files import scan
    from rsbench.files.atomic import cores

    with tempfile.TemporaryDirectory() as scratch:
        root = args.keep or Path(scratch) / "SUN2012"
        if not root.exists():
            write_tree(root, args.files)
        seconds: dict[str, list[float]] = {
            "bare parser, one core": [],
            "scan": [],
            "scan, from cache": [],
        }
        for repeat in range(args.repeats):
            os.environ["RSBENCH_CACHE"] = os.path.join(scratch, f"cache{repeat}")
            for name, run in zip(seconds, (bare, scan, scan), strict=True):
                start = time.perf_counter()
                found = run(root)
                seconds[name].append(time.perf_counter() - start)
        size = (
            sum(path.stat().st_size for path in (root / "Annotations").rglob("*.xml"))
            / 1e6
        )
    floor = statistics.median(seconds["bare parser, one core"])
    print(
        f"{args.files} files, {size:.0f} MB, {cores()} cores; left out: {found.left_out}\n"
    )
    print("| | median s | spread s | ratio to the bare parser |\n|---|---:|---:|---:|")
    for name, times in seconds.items():
        middle = statistics.median(times)
        print(
            f"| {name} | {middle:.2f} | {min(times):.2f}–{max(times):.2f} | {middle / floor:.2f} |"
        )


if __name__ == "__main__":
    main()
