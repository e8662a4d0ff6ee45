"""Tables and lists as HTML, with every text in them escaped."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, what it is sorted by, and how it looks."""

    text: str
    sort: float | None = None
    style: str = ""


def table(header: list[str], rows: list[list[Any]], caption: str, text: int, tall: bool = False, skip: int = 0) -> str:
    """A table whose first columns are text (but for the first `skip` ones) and the others numbers."""

    def istext_of(j: int) -> bool:
        return skip <= j < text

    head = "".join(
        f"<th scope=col{' class=text' if istext_of(j) else ''}>{text_of(h)}</th>" for j, h in enumerate(header)
    )
    lines = []
    for row in rows:
        cells = []
        for j, cell in enumerate(row):
            cell = cell if isinstance(cell, Cell) else Cell(str(cell))
            name, _, style = cell.style.partition(";")
            classes = " ".join(word for word in ("text" if istext_of(j) else "", name) if word)
            sort = "" if cell.sort is None else f' data-sort="{cell.sort:.6g}"'
            look = (f' class="{classes}"' if classes else "") + (f' style="{style}"' if style else "")
            cells.append(f"<td{look}{sort}>{text_of(cell.text)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    frame = "scroll tall" if tall or len(rows) > 40 else "scroll"
    title = f"<caption>{text_of(caption)}</caption>" if caption else ""
    return (
        f'<div class="{frame}" tabindex="0" role="region" aria-label="{text_of(caption or header[0])}">'
        f"<table{' class=sortable' if any(header) else ''}>{title}"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def number(value: float | None, form: str) -> Cell:
    return Cell("–") if value is None or not math.isfinite(value) else Cell(f"{value:{form}}", float(value))


def plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def bullets(lines: Sequence[str], name: str = "") -> str:
    look = f' class="{name}"' if name else ""
    return f"<ul{look}>{''.join(f'<li>{text_of(line)}</li>' for line in lines)}</ul>"


def text_of(value: Any) -> str:
    return html.escape(str(value))
