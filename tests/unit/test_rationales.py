"""Texts with marked words: ERASER's folders, and anybody's file."""

import json

import numpy as np
import pytest

from rsbench.aggregators import Sample
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.corruptions import Full
from rsbench.datasets import MovieRationales, Rationales
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron, Lean
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass


def write_folder(root, changes=None, documents=None):
    """Twelve short reviews in ERASER's layout; `changes` are of the first one's fields."""
    (root / "docs").mkdir(parents=True)
    lines = {"train": [], "val": [], "test": []}
    for i in range(12):
        word, label = (("awful", "NEG"), ("lovely", "POS"))[i % 2]
        split = ("train", "train", "val", "test")[i // 2 % 4]
        name = f"r{i}.txt"
        (root / "docs" / name).write_text(f"the film , you know ,\nis {word} indeed .")
        span = {"docid": name, "start_token": 7, "end_token": 9, "text": "x"}
        fields = {
            "annotation_id": name,
            "classification": label,
            "evidences": [[span]],
            "query": "?",
        }
        if i == 0 and changes:
            fields.update(changes)
        lines[split].append(json.dumps(fields))
    for name, content in (documents or {}).items():
        (root / "docs" / name).write_bytes(content)
    for name, content in lines.items():
        (root / f"{name}.jsonl").write_text("\n".join(content) + "\n")
    return str(root)


def setup(learner=None):
    learner = learner or Ellipsotron()
    return Setup(learner, Sample(), Identity(), PerClass(2, test="mask"), Full())


def test_marked_words_are_votes(tmp_path):
    root = write_folder(tmp_path / "movies")
    data = load(MovieRationales(root=root, weights="counts"), None, "movies")
    names = np.array(data.names.features)
    # Marks of punctuation are no words.
    assert sorted(names) == [
        "awful",
        "film",
        "indeed",
        "is",
        "know",
        "lovely",
        "the",
        "you",
    ]
    Z = data.Z.toarray()
    for row, label in zip(Z, data.y, strict=True):
        assert set(names[row > 0]) == {("awful", "lovely")[label], "indeed"}
    assert data.names.classes == ("NEG", "POS")
    assert data.test.sum() == 2 and data.background.shape[0] == 2
    assert data.asked.all() and data.background_y is None
    assert run_seed(setup(), data, 0).rows[-1]["test_error"] == 0


def test_a_review_without_reasons_is_one_that_nobody_was_asked_about(tmp_path):
    root = write_folder(tmp_path / "movies", {"evidences": []})
    data = load(MovieRationales(root=root), None, "movies")
    assert (~data.asked).sum() == 1
    assert len(run_seed(setup(), data, 0).rows) == 2


def test_words_come_from_documents_that_are_not_tested_on(tmp_path):
    documents = {
        "r6.txt": b"nowhere else is awful , indeed nowhere else .",
        "r7.txt": b"nowhere else is lovely , indeed nowhere else .",
    }
    root = write_folder(tmp_path / "movies", documents=documents)
    data = MovieRationales(root=root).load()
    assert data.test.sum() == 2 and "nowhere" not in data.names.features


def test_training_documents_that_are_held_out_too_are_left_out(tmp_path, caplog):
    root = write_folder(tmp_path / "movies")
    train = tmp_path / "movies" / "train.jsonl"
    val = (tmp_path / "movies" / "val.jsonl").read_text()
    train.write_text(train.read_text() + val)
    data = MovieRationales(root=root).load()
    assert len(data.y) == 10 and "2 documents to learn from are also" in caplog.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"evidences": [[{"start_token": 9, "end_token": 99}]]},
            "a span goes from 9 to 99, expected ascending within the 10 words",
        ),
        ({"evidences": [[{"start_token": 5, "end_token": 5}]]}, "goes from 5 to 5"),
        ({"evidences": [[{"start_token": -1, "end_token": 2}]]}, "goes from -1 to 2"),
        ({"evidences": [[{"start_token": 1}]]}, "end_token is None, expected int"),
        ({"evidences": [{}]}, "evidences is no list of lists of spans"),
        ({"evidences": [[3]]}, "a span is 3, expected an object"),
        (
            {"evidences": [[{"docid": "q", "start_token": 1, "end_token": 2}]]},
            "an evidence is in document 'q', expected r0.txt",
        ),
        ({"classification": None}, "classification is None, expected str"),
        ({"annotation_id": "gone.txt"}, "there is no document .*gone.txt"),
        ({"annotation_id": "../../etc/passwd"}, "is no name of a file in docs"),
    ],
)
def test_folders_that_are_wrong_are_named(tmp_path, changes, message):
    root = write_folder(tmp_path / "movies", changes)
    with pytest.raises(UserError, match=message) as caught:
        MovieRationales(root=root).load()
    assert "train.jsonl, line 1" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_documents_that_are_wrong_are_named(tmp_path):
    root = write_folder(tmp_path / "a", documents={"r0.txt": b" \n"})
    with pytest.raises(UserError, match="document r0.txt is empty"):
        MovieRationales(root=root).load()
    root = write_folder(tmp_path / "b", documents={"r0.txt": b"\xff\xfe"})
    with pytest.raises(UserError, match="r0.txt: not UTF-8"):
        MovieRationales(root=root).load()
    root = write_folder(tmp_path / "c")
    (tmp_path / "c" / "train.jsonl").write_text('{"annotation_id": "r0')
    with pytest.raises(UserError, match="train.jsonl, line 1: not JSON"):
        MovieRationales(root=root).load()
    (tmp_path / "c" / "train.jsonl").unlink()
    with pytest.raises(UserError, match="there is no file .*train.jsonl"):
        MovieRationales(root=root).load()


def test_a_word_of_ten_megabytes_is_none(tmp_path):
    long = b"x" * 10_000_000 + b" is awful indeed the film you know , ."
    root = write_folder(tmp_path / "movies", documents={"r0.txt": long, "r1.txt": long})
    data = MovieRationales(root=root, least=1).load()
    assert max(map(len, data.names.features)) < 100


def test_the_stand_in_is_called_one():
    data = load(MovieRationales(source="simulated"), None, "movies")
    assert data.simulated and data.test.any() and data.asked.any()
    assert len(run_seed(setup(Lean()), data, 0).rows) == 2


def test_more_words_than_there_are_may_be_asked_for(tmp_path):
    root = write_folder(tmp_path / "movies")
    assert MovieRationales(root=root, vocabulary=10_000).load().X.shape[1] == 8
    assert MovieRationales(root=root, vocabulary=3).load().X.shape[1] == 3


# Anybody's file.


def write_file(path, *lines):
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return str(path)


def mine(**changes):
    return {"text": "It's GOOD, really good.", "label": "yes", **changes}


OTHER = {"text": "It's bad, really bad.", "label": "no", "marks": ["bad"]}


@pytest.mark.parametrize("marks", [["good"], [[5, 9]], [[6, 7]], ["GOOD"]])
def test_marks_are_words_or_spans_of_characters(tmp_path, marks):
    path = write_file(tmp_path / "m.jsonl", mine(marks=marks), OTHER)
    data = load(Rationales(path, least=1), None, "mine")
    names = np.array(data.names.features)
    row = data.Z.toarray()[0]
    assert set(names[row > 0]) == {"good"}
    assert data.names.classes == ("no", "yes") and data.test is None


def test_without_marks_nobody_was_asked_and_splits_are_kept(tmp_path):
    lines = [mine(), {**OTHER, "marks": []}, {**OTHER, "split": "test"}]
    lines.append(mine(split="validation", label=3))
    path = write_file(tmp_path / "m.jsonl", *lines)
    data = load(Rationales(path, least=1), None, "mine")
    assert data.asked.tolist() == [False, True, True]
    assert data.test.tolist() == [False, False, True]
    assert data.background.shape[0] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"marks": ["nice"]}, "'nice' is marked, and not in the text"),
        ({"marks": [[9, 5]]}, "a span goes from 9 to 5"),
        ({"marks": [[0, 99]]}, "within the 23 characters of the text"),
        ({"marks": [["a", "b"]]}, "a mark is \\['a', 'b'\\], expected"),
        ({"marks": "good"}, "marks is 'good', expected spans"),
        ({"label": None}, "label is None, expected text or a number"),
        ({"label": True}, "label is True"),
        ({"text": ""}, "text has no words"),
        ({"text": 3}, "text is 3, expected str"),
        ({"split": "dev"}, "split is 'dev', expected train, validation or test"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path, changes, message):
    path = write_file(tmp_path / "m.jsonl", OTHER, mine(**changes))
    with pytest.raises(UserError, match=message) as caught:
        Rationales(path).load()
    assert "m.jsonl, line 2" in str(caught.value)


def test_files_that_are_wrong_are_named(tmp_path):
    with pytest.raises(UserError, match="needs a file: dataset.path=FILE.jsonl"):
        Rationales().load()
    with pytest.raises(UserError, match="there is no file"):
        Rationales(str(tmp_path / "none")).load()
    path = write_file(tmp_path / "one.jsonl", OTHER)
    with pytest.raises(UserError, match="documents of one label alone"):
        Rationales(path).load()
    path = write_file(tmp_path / "two.jsonl", OTHER, mine())
    with pytest.raises(UserError, match="no word is in 9 texts or more"):
        Rationales(path, least=9).load()
    (tmp_path / "list.jsonl").write_text("[1]")
    with pytest.raises(UserError, match="line 1: expected an object"):
        Rationales(str(tmp_path / "list.jsonl")).load()
    with pytest.raises(UserError, match="dataset.least=0"):
        Rationales(path, least=0)
    with pytest.raises(UserError, match="dataset.vocabulary=0"):
        MovieRationales(vocabulary=0)
