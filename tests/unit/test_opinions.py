"""Sentences and words that people rated: read from a package's source archive, of which nothing is run."""

import io
import tarfile

import numpy as np
import pytest

from rsbench.aggregators import Sample
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.corruptions import Full
from rsbench.datasets import Opinions
from rsbench.datasets.opinions import words
from rsbench.errors import UserError
from rsbench.files import package_index
from rsbench.files.package_index import SourceArchive, fetch, is_whole, pip_settings
from rsbench.learners import Ellipsotron
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass

LEXICON = "good\t2.0\t0.5\t[2]\r\nbad\t-3.0\t0.5\t[-3]\r\n:)\t1.0\t0.1\t[1]\r\n"


def sentences(n=60):
    """Good ones and bad ones, and a few that are neither."""
    lines = []
    for i in range(n):
        word, rating = (("good", 1.5), ("bad", -2.0), ("so", 0.1))[i % 3]
        lines.append(f"{i}\t{rating}\tThe thing{i % 5} is {word}, truly! :)")
    return "\r\n".join(lines) + "\r\n"


def packed(files):
    """A tar.gz of texts, by name."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            if isinstance(content, str):
                content = content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def write_archive(path, lexicon=LEXICON, text=None):
    corpora = {"hutto/tweets_GroundTruth.txt": text or sentences()}
    files = {
        "v-1/vaderSentiment/vader_lexicon.txt": lexicon,
        "v-1/additional_resources/hutto_ICWSM_2014.tar.gz": packed(corpora),
        "v-1/setup.py": "raise SystemExit('this must never run')",
    }
    path.write_bytes(packed(files))
    return str(path)


@pytest.fixture
def archive(tmp_path):
    return write_archive(tmp_path / "v.tar.gz")


def test_sentences_become_bags_of_words_and_votes_for_rated_ones(archive):
    data = load(Opinions(root=archive, weights="counts"), None, "opinions")
    names = np.array(data.names.features)
    X, Z = data.X.toarray(), data.Z.toarray()
    # Forty of sixty are far enough from zero; a part of them is background.
    assert len(data.y) + data.background.shape[0] == 40
    assert {"good", "bad", ":)", "the", "truly"} <= set(names)
    good = names == "good"
    np.testing.assert_array_equal(X[:, good].ravel() > 0, data.y == 1)
    np.testing.assert_allclose(Z[:, good].max(), 2.0 / 4)
    np.testing.assert_allclose(Z[:, names == "bad"].max(), 3.0 / 4)
    assert not Z[:, names == "the"].any()
    assert data.names.classes == ("negative", "positive") and not data.simulated
    # The background is of the same classes, so that nobody is told its labels.
    assert data.background_y is None and data.background_Z is None
    assert 0 < data.test.sum() < len(data.y)


def test_words_come_from_the_background_alone(tmp_path):
    """A word that only other sentences have is no feature."""
    text = sentences().replace("truly", "really")
    whole = Opinions(root=write_archive(tmp_path / "a.tar.gz", text=text)).load()
    counts = np.asarray((whole.background > 0).sum(axis=0)).ravel()
    assert counts.min() >= 2
    rare = sentences() + "999\t3.0\tunheard of\r\n"
    data = Opinions(root=write_archive(tmp_path / "b.tar.gz", text=rare)).load()
    assert "unheard" not in data.names.features


@pytest.mark.parametrize("weights", ["tfidf", "counts", "binary"])
def test_a_run_learns_from_them(archive, weights):
    data = load(Opinions(root=archive, weights=weights), None, "opinions")
    parts = (Ellipsotron(), Sample(), Identity(), PerClass(5), Full())
    assert run_seed(Setup(*parts), data, 0).rows[-1]["test_error"] < 0.2


def test_levels_are_about_equally_many(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{i}\t{r:.6f}\tword{i % 7} good\n"
        for i, r in enumerate(rng.uniform(-3, 3, 900))
    ]
    path = write_archive(tmp_path / "v.tar.gz", text="".join(lines))
    data = Opinions(root=path, levels=3, margin=0.0).load()
    assert data.names.classes == ("level 1", "level 2", "level 3")
    assert np.bincount(data.y).min() > 0.28 * len(data.y)
    # The third of the ratings that is highest is the last level.
    signs = Opinions(root=path, margin=0.0).load()
    assert (signs.y[data.y == 2] == 1).all() and (signs.y[data.y == 0] == 0).all()


def test_words_keep_emoticons_and_lose_punctuation():
    lexicon = {":)": 1.0, "can't": -1.0}
    found = words("Can't STOP (really)... :) -- ok!!", lexicon)
    assert found == ["can't", "stop", "really", ":)", "ok"]


def test_the_stand_in_is_called_one():
    data = load(Opinions(source="simulated"), None, "opinions")
    assert data.simulated and set(data.y) == {0, 1}
    assert 0 < (data.Z > 0).sum() < (data.X > 0).sum()
    other = Opinions(source="simulated", draw=1).load()
    assert other.X.shape != data.X.shape


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "1\t2.0\n"}, "line 1: 2 cells, expected id, rating and text"),
        (
            {"text": "1\tnine\thello\n"},
            "line 1: the rating is 'nine', expected -4 to 4",
        ),
        ({"text": "1\t9\thello\n"}, "line 1: the rating is '9'"),
        ({"text": "1\t1\thi\n\n2\tnan\thi\n"}, "line 3: the rating is 'nan'"),
        ({"text": b"1\t1\t\xff\n"}, "not UTF-8 at byte 4"),
        ({"lexicon": "good\n"}, "vader_lexicon.txt, line 1: a word without a rating"),
        ({"text": "1\t1\thello\n"}, "of 2 classes"),
    ],
)
def test_archives_that_are_wrong_are_named(tmp_path, changes, message):
    path = write_archive(tmp_path / "v.tar.gz", **changes)
    with pytest.raises(UserError, match=message) as caught:
        Opinions(root=path).load()
    assert "\n" not in str(caught.value)


def test_files_that_are_no_archive_are_named(tmp_path):
    with pytest.raises(UserError, match="there is no file"):
        Opinions(root=str(tmp_path / "none.tar.gz")).load()
    (tmp_path / "text.tar.gz").write_text("not an archive")
    with pytest.raises(UserError, match="text.tar.gz: cannot be read"):
        Opinions(root=str(tmp_path / "text.tar.gz")).load()
    (tmp_path / "empty.tar.gz").write_bytes(packed({"a": "b"}))
    with pytest.raises(UserError, match="empty.tar.gz: no hutto_ICWSM_2014.tar.gz in"):
        Opinions(root=str(tmp_path / "empty.tar.gz")).load()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": 4}, "dataset.margin=4, expected 0 to below 4"),
        ({"levels": 1}, "dataset.levels=1, expected 2 to 9"),
        ({"least": 0}, "dataset.least=0, expected 1 or more"),
        ({"background": 1.0}, "dataset.background=1.0, expected a share"),
        ({"test": 0.0}, "dataset.test=0.0, expected a share"),
        ({"test": 0.5, "background": 0.5}, "leave nothing to learn from"),
        ({"draw": -1}, "dataset.draw=-1, expected 0 or more"),
    ],
)
def test_parameters_that_make_no_sense_are_named(changes, message):
    with pytest.raises(UserError, match=message):
        Opinions(**changes)


def test_a_vocabulary_that_is_empty_is_named(archive):
    with pytest.raises(UserError, match="no word is in 99 texts or more"):
        Opinions(root=archive, least=99).load()


# From an index.


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip is told to look into, and nowhere else."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def pinned(path):
    import hashlib

    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return SourceArchive("thing", "1.0", sha256)


def test_an_archive_is_fetched_once_as_pip_is_configured(tmp_path, index):
    assert pip_settings()["find-links"] == [str(index)]
    write_archive(index / "thing-1.0.tar.gz")
    wanted = pinned(index / "thing-1.0.tar.gz")
    assert fetch(wanted, tmp_path / "data")
    assert is_whole(wanted, tmp_path / "data" / "thing-1.0.tar.gz")
    assert not fetch(wanted, tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["thing-1.0.tar.gz"]


def test_another_archive_than_the_pinned_one_is_refused(tmp_path, index):
    write_archive(index / "thing-1.0.tar.gz")
    wanted = SourceArchive("thing", "1.0", "0" * 64)
    with pytest.raises(UserError, match="gave an archive with sha256 .*, expected 000"):
        fetch(wanted, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_without_an_index_the_stand_in_is_taken_and_said(tmp_path, index, caplog):
    with pytest.raises(UserError, match="thing==1.0 cannot be fetched: none of the in"):
        fetch(SourceArchive("thing", "1.0", "0" * 64), tmp_path / "data")
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setenv("RSBENCH_DATA", str(tmp_path / "data"))
        assert Opinions().load().simulated
        assert "cannot be fetched" in caplog.text
        with pytest.raises(UserError, match="is not there. Get the real one with"):
            Opinions(source="disk").load()


def test_an_environment_without_pip_asks_the_public_index(monkeypatch):
    monkeypatch.setattr(package_index.sys, "executable", "/nowhere/python")
    assert pip_settings() == {}
    (source,) = package_index._sources({})
    assert source["index_urls"] == []
