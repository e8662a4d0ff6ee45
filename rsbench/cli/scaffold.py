"""Plugins to start from: each runs at once and keeps its promises.

The files in `templates/` are what is written, but for a few words: `$name` and `$cls`
are the component's, `$kind` is what it is.
"""

from pathlib import Path
from string import Template

from rsbench import __version__
from rsbench.errors import UserError
from rsbench.plugins import kinds
from rsbench.plugins.discovery import plugin_folders

#: The kinds of components that there is a template for: all of them.
TEMPLATES = tuple(kinds.BY_NAME)

_FOLDER = Path(__file__).parent / "templates"


def write_file(kind: str, name: str) -> list[Path]:
    """Write a single file into the first plugin folder.

    Parameters
    ----------
    kind : str
        One of `TEMPLATES`.
    name : str
        What the component is to be called.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    UserError
        If the file is there already, or cannot be written.
    """
    # RSBENCH_PLUGINS may be empty, and so name no folder.
    folders = [*plugin_folders(), Path("plugins")]
    content = _filled(f"{kind}.py", _words(kind, name))
    return [_write(folders[0] / f"{name}.py", content)]


def write_package(kind: str, name: str) -> list[Path]:
    """Write a package with tests, in a folder of its own.

    Parameters
    ----------
    kind : str
        One of `TEMPLATES`.
    name : str
        What the component is to be called.

    Returns
    -------
    list of Path
        What was written, `pyproject.toml` first.

    Raises
    ------
    UserError
        If the folder is there already, or cannot be written to.
    """
    words = _words(kind, name)
    root = Path(f"rsbench-{words['dashed']}")
    if root.exists():
        raise UserError(f"{root} is there already: remove it, or choose another name")
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"rsbench_{name}/__init__.py": f"{kind}.py",
        f"tests/test_{name}.py": "test.py",
    }
    # A preset shows how a package brings a method of its own.
    if kind == "learner":
        templates[f"rsbench_{name}/conf/method/{name}_slow.yaml"] = "method.yaml"
    written = []
    for path, template in templates.items():
        written.append(_write(root / path, _filled(template, words)))
    return written


def _words(kind: str, name: str) -> dict[str, str]:
    """Return what stands for the `$words` of a template."""
    # The kind at the end keeps a class from the names of what it is made with.
    parts = [*name.split("_"), kind]
    cls = "".join(part.capitalize() for part in parts)
    return {
        "kind": kind,
        "name": name,
        "cls": cls,
        "dashed": name.replace("_", "-"),
        "group": kinds.BY_NAME[kind].group,
        "version": __version__,
    }


def _filled(template: str, words: dict[str, str]) -> str:
    """Return a template's text with the words filled in."""
    text = (_FOLDER / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _write(path: Path, content: str) -> Path:
    """Write a new file; one that is there already is never touched."""
    if path.exists():
        raise UserError(f"{path} is there already: remove it, or choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return path
