"""A document as HTML: elements without attributes but a class, everything else as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from analyze.render.document import Document, Facts, Item, Items, Lines, Part, Sentence, Table
from analyze.render.text import Column, line_of

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""


def html_page(document: Document) -> str:
    """Return a document as a page of its own, without scripts or anything from elsewhere.

    Its title is the first heading, wherever it stands among those of a Markdown page.
    """
    style = (files("analyze.render") / "document.css").read_text(encoding="utf-8")
    lines = [_heading(1, document.title)]
    for section in document.shown("page"):
        body = [line for part in section.parts for line in _lines(part)]
        if section.title and body:
            lines.append(_heading(2 + section.depth, section.heading))
        lines += body
    title = f"<title>{_text(document.title)}</title>"
    head = f"{HEAD}{title}\n<style>\n{style}</style>\n</head>"
    return "\n".join([head, "<body>", *lines, "</body>", "</html>"]) + "\n"


def _heading(level: int, title: str) -> str:
    return f"<h{level}>{_text(title)}</h{level}>"


def _text(text: str) -> str:
    return escape(line_of(text))


def _lines(part: Part) -> Iterator[str]:
    match part:
        case str() if part:
            yield f"<p>{_text(part)}</p>"
        case Sentence(text, label):
            yield f"<p>{_text(f'{label.capitalize()}: {text}')}</p>"
        case Items() | Facts():
            yield from _list(map(_item, part.points))
        case Table(columns, rows) if rows:
            yield '<div class="wide"><table>'
            yield f"<thead>{_row(columns, [one.title for one in columns], 'th')}</thead>"
            yield "<tbody>"
            yield from (_row(columns, row, "td") for row in rows)
            yield "</tbody></table></div>"
        case Lines(lines, _, lead):
            if lead:
                yield f"<p>{_text(lead)}</p>"
            pasted = escape("\n".join(lines))
            yield f"<pre><code>{pasted}</code></pre>"


def _list(points: Iterable[str]) -> list[str]:
    lines = [f"<li>{point}</li>" for point in points]
    return ["<ul>", *lines, "</ul>"] if lines else []


def _item(item: Item) -> str:
    text = _text(item.page_text)
    head = f"<strong>{text}</strong>" if item.is_strong else text
    return "".join([head, *_list(map(_text, item.notes))])


def _row(columns: Iterable[Column], cells: Iterable[str], element: str) -> str:
    looks = (' class="n"' if column.side == "right" else "" for column in columns)
    made = (
        f"<{element}{look}>{_text(one)}</{element}>" for look, one in zip(looks, cells, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"
