"""The files of Hutto and Gilbert's opinions, as a package's source archive has them.

Four corpora of sentences with the mean of what 15 to 100 people said of each, from -4
to 4, and a lexicon of words and emoticons with the mean of ten people's ratings. They
are read from the archive itself: nothing is unpacked, and nothing of it is run.
"""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rsbench.errors import UserError

#: By domain, the beginning of its file's name.
DOMAINS = {
    "tweets": "tweets",
    "movies": "movieReviewSnippets",
    "products": "amazonReviewSnippets",
    "editorials": "nytEditorialSnippets",
}

#: No member that is read is larger than this, 64 MiB.
_LARGEST = 1 << 26

_CORPORA = "hutto_ICWSM_2014.tar.gz"
_LEXICON = "vader_lexicon.txt"


@dataclass(frozen=True)
class Sentence:
    """A sentence, and what people thought it says.

    Parameters
    ----------
    text : str
        The sentence.
    rating : float
        The mean of people's ratings, from -4, most negative, to 4.
    """

    text: str
    rating: float


def read_sentences(archive: Path, domain: str) -> list[Sentence]:
    """Return the sentences of a domain.

    Parameters
    ----------
    archive : Path
        The source archive.
    domain : str
        One of DOMAINS.
    """
    inner = _member(archive, _CORPORA)
    name = f"{DOMAINS[domain]}_GroundTruth.txt"
    text = _text(_member(archive, name, io.BytesIO(inner)), f"{archive}: {name}")
    sentences = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        where = f"{archive}: {name}, line {number}"
        if len(cells) != 3:
            raise UserError(
                f"{where}: {len(cells)} cells, expected id, rating and text with tabs "
                "between them"
            )
        sentences.append(Sentence(cells[2].strip(), _number(cells[1], where)))
    return sentences


def read_lexicon(archive: Path) -> dict[str, float]:
    """Return the mean rating of each word, from -4 to 4."""
    text = _text(_member(archive, _LEXICON), f"{archive}: {_LEXICON}")
    ratings = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{archive}: {_LEXICON}, line {number}"
        word, *cells = line.split("\t")
        if not cells:
            raise UserError(f"{where}: a word without a rating")
        ratings[word.lower()] = _number(cells[0], where)
    return ratings


def _number(text: str, where: str) -> float:
    """Return a rating."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not -4 <= value <= 4:
        raise UserError(f"{where}: the rating is {text!r:.40}, expected -4 to 4")
    return value


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 at byte {error.start}") from None


def _member(archive: Path, name: str, file: IO[bytes] | None = None) -> bytes:
    """Return the content of the member of that name, in whatever folder it is."""
    try:
        with tarfile.open(archive, fileobj=file, mode="r:gz") as tar:
            for member in tar:
                if Path(member.name).name != name or not member.isreg():
                    continue
                if member.size > _LARGEST:
                    raise UserError(
                        f"{archive}: {name} has {member.size:,} bytes, expected at "
                        f"most {_LARGEST:,}"
                    )
                content = tar.extractfile(member)
                assert content is not None  # of a regular file
                return content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{archive}: cannot be read: {error}") from None
    raise UserError(f"{archive}: no {name} in it")
