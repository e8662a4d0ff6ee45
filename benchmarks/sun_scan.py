"""Time the reading of SUN's annotations, beside the bare parser on the same bytes.

    python benchmarks/sun_scan.py [--files 20000] [--keep FOLDER]

Writes a tree in SUN's layout with the quirks of the real one: polygons, deleted
objects, empty names, broken encodings, malformed files, entity bombs, misc and
outliers. Then, in turn and `--repeats` times: the bare parser (each file read and
parsed, on one core), rsbench's scan with an empty cache, and again from the cache.
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

import common

from rsbench.datasets.sun_files import scan
from rsbench.files.places import cores

BARE = "bare parser, one core"

#: Names as people typed them, with words that are dropped and misspelt ones.
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
    """Return a LabelMe annotation of some twenty objects with their polygons."""
    objects = []
    for i in range(rng.randint(3, 35)):
        points = ""
        for _ in range(rng.randint(4, 40)):
            x = rng.randint(0, 999)
            y = rng.randint(0, 999)
            points += f"<pt><x>{x}</x><y>{y}</y></pt>"
        name = ""
        if rng.random() >= 0.01:
            name = rng.choice(OBJECTS)
        deleted = int(rng.random() < 0.03)
        objects.append(
            f"<object><name>{name}</name><deleted>{deleted}</deleted>"
            f"<verified>0</verified><date>01-Jan-2012 00:00:00</date><id>{i}</id>"
            f"<polygon><username>x</username>{points}</polygon></object>"
        )
    content = f"<filename>x.jpg</filename>{''.join(objects)}"
    return f"<annotation>{content}</annotation>".encode()


def write_tree(root: Path, files: int, scenes: int = 600) -> None:
    """Write the tree; some files are broken as in the real one, or worse."""
    rng = random.Random(0)
    for i in range(files):
        scene = rng.randrange(scenes)
        letter = "abcdefghij"[scene % 10]
        folder = root / "Annotations" / letter / f"scene{scene}"
        if scene % 7 == 0:  # the real one has scenes below scenes
            folder = folder / "indoor"
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


def bare_parser(root: Path) -> None:
    """Read and parse every file by the standard library, and do nothing with it."""
    for place, _, names in os.walk(root / "Annotations"):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                content = file.read()
            with contextlib.suppress(ElementTree.ParseError):
                ElementTree.fromstring(content)


def main() -> None:
    """Measure, and print a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the tree here, and leave it")
    args = parser.parse_args()
    # The order matters: the first scan fills the cache that the second reads.
    contestants = {BARE: bare_parser, "scan": scan, "scan, from cache": scan}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    with tempfile.TemporaryDirectory() as scratch:
        root = args.keep or Path(scratch) / "SUN2012"
        if not root.exists():
            write_tree(root, args.files)
        for repeat in range(args.repeats):
            os.environ["RSBENCH_CACHE"] = os.path.join(scratch, f"cache{repeat}")
            for name, run in contestants.items():
                start = time.perf_counter()
                run(root)
                seconds[name].append(time.perf_counter() - start)
        left_out = scan(root).left_out  # from the cache
        size = 0
        for path in (root / "Annotations").rglob("*.xml"):
            size += path.stat().st_size
    about = f"{args.files} files, {size / 1e6:.0f} MB, {cores()} cores"
    print(f"{about}; left out: {left_out}\n")
    floor = statistics.median(seconds[BARE])
    rows = []
    for name, times in seconds.items():
        middle = statistics.median(times)
        spread = f"{min(times):.2f}–{max(times):.2f}"
        rows.append([name, f"{middle:.2f}", spread, f"{middle / floor:.2f}"])
    titles = ["", "median s", "spread s", "ratio to the bare parser"]
    print("\n".join(common.table(titles, rows)))


if __name__ == "__main__":
    main()
