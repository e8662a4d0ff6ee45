"""Tables and lists as HTML, with every text in them escaped."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, what it is sorted by, its class, and how warm its background is."""

    text: str
    sort: float | None = None
    look: str = ""
    heat: float | None = None


def table(
    header: list[str],
    rows: list[list[Any]],
    caption: str,
    text: int,
    minor: int = 0,
    tall: bool = False,
) -> str:
    """A table: first `minor` columns that a phone leaves out, then text up to column `text`, then numbers."""

    def kind(j: int) -> str:
        return "minor" if j < minor else "text" if j < text else ""

    head = "".join(
        f"<th scope=col{_class(kind(j))}>{text_of(title)}</th>"
        for j, title in enumerate(header)
    )
    body = "".join(
        f"<tr>{''.join(_cell(cell, kind(j)) for j, cell in enumerate(row))}</tr>"
        for row in rows
    )
    frame = "scroll tall" if tall or len(rows) > 40 else "scroll"
    # Not a caption element: that would be as wide as the table, and cut off on a phone.
    title = f'<p class="caption">{text_of(caption)}</p>' if caption else ""
    return (
        f'{title}<div class="{frame}" tabindex="0" role="region" aria-label="{text_of(caption or header[0])}">'
        f"<table{_class('sortable' if any(header) else '')}><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        "</table></div>"
    )


def _cell(cell: Any, kind: str) -> str:
    cell = cell if isinstance(cell, Cell) else Cell(str(cell))
    look = _class(kind, cell.look, "" if cell.heat is None else "heat")
    look += "" if cell.heat is None else f' style="--v:{cell.heat:.2f}"'
    sort = "" if cell.sort is None else f' data-sort="{cell.sort:.6g}"'
    return f"<td{look}{sort}>{text_of(cell.text)}</td>"


def _class(*words: str) -> str:
    kept = " ".join(word for word in words if word)
    return f' class="{kept}"' if kept else ""


def number(value: float | None, form: str) -> Cell:
    """A number in a format, or a dash."""
    return (
        Cell("–")
        if value is None or not math.isfinite(value)
        else Cell(f"{value:{form}}", float(value))
    )


def plain(value: Any) -> str:
    """A setting's value, briefly."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def bullets(lines: Sequence[str], look: str = "") -> str:
    """A list of lines."""
    return f"<ul{_class(look)}>{''.join(f'<li>{text_of(line)}</li>' for line in lines)}</ul>"


def text_of(value: Any) -> str:
    """Text in which HTML finds nothing but text."""
    return html.escape(str(value))
