"""Read and learn from texts with marked words: time beside scikit-learn, and memory.

20,000 documents over 100,000 words, about 150 in each and a dozen of them marked, as a
file for `dataset=rationales`. Reading makes a bag of words and votes; beside it stands
scikit-learn's vectoriser on the same texts, read from the same file, which knows of no
marks. Memory is the peak of a whole process that reads the file and learns from it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part

from rsbench.datasets import Rationales

WORDS = 100_000
LENGTH = 150
MARKED = 12

#: By learner, told marks or not, what learns.
LEARNERS = ("lean", "ellipsotron", "contrast", "naive_bayes_marked")

#: Reads the file, learns from all documents but those tested on, and prints the peak.
_MEASURED = """
import json, re, sys
from pathlib import Path
import rsbench.learners, rsbench_whys
from rsbench.aggregators import Sample
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.corruptions import Full
from rsbench.datasets import Rationales
from rsbench.preprocessors import Identity
from rsbench.protocols import Stream

file, name = sys.argv[1:]
offered = {**rsbench.learners.rsbench_learners(), **rsbench_whys.rsbench_learners()}
data = load(Rationales(file), None, file)
protocol = Stream((int((~data.test).sum()),), test="mask")
run_seed(Setup(offered[name](), Sample(), Identity(), protocol, Full()), data, 0)
status = Path("/proc/self/status").read_text()
print(json.dumps(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])))
"""


def write_documents(file: Path, rows: int, seed: int = 0) -> None:
    """Write documents whose words follow Zipf's law; marks are on those of a class."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS + 1) ** 0.8
    share /= share.sum()
    with file.open("w") as out:
        for i in range(rows):
            label = i % 2
            numbers = rng.choice(WORDS, size=LENGTH, p=share)
            own = rng.random(LENGTH) < 0.2
            numbers = np.where(own, numbers - numbers % 2 + label, numbers)
            marked = np.unique(numbers[numbers % 2 == label])[-MARKED:]
            document = {
                "text": " ".join(f"word{number}" for number in numbers),
                "label": ["bad", "good"][label],
                "marks": [f"word{number}" for number in marked],
                "split": ["train", "test"][i % 11 == 0],
            }
            out.write(json.dumps(document) + "\n")


def vectorise(file: Path) -> Any:
    """Read the file, and make tf-idf of its texts as scikit-learn does."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = []
    with file.open() as lines:
        for line in lines:
            texts.append(json.loads(line)["text"])
    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True)
    return vectorizer.fit_transform(texts)


def main(quick: bool) -> Part:
    """Measure reading and learning; a tenth of the documents if it is to be quick."""
    rows = 20_000
    repeats = 5
    if quick:
        rows = 2_000
        repeats = 2
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents.jsonl"
        write_documents(file, rows)
        turns = {
            "TfidfVectorizer": lambda: vectorise(file),
            "dataset=rationales, with marks": lambda: Rationales(str(file)).load(),
        }
        seconds = common.take_turns(turns, repeats)
        found: dict[str, Any] = dict(common.ratios(seconds, "TfidfVectorizer"))
        lines = common.introduction("Texts with marked words", __doc__)
        lines += common.ratio_table(found, f"{rows:,} documents", 1.0, "s")
        cells = []
        for learner in LEARNERS:
            command = [sys.executable, "-c", _MEASURED, str(file), learner]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            peak = json.loads(done.stdout)
            found[f"{learner}_peak_mib"] = peak / 2**20
            cells.append([learner, f"{peak / 2**20:.0f}"])
        lines += ["", *common.table(["learner", "peak of the process MiB"], cells)]
    return [*lines, ""], found


if __name__ == "__main__":
    common.run_alone(main)
