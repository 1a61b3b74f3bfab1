"""Views and raw tables as text and JSON, for people who look around."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import Any

from analyze.query.view_pages import names_by_layer, page_of

LAYER_TEXTS = {
    "marts": "marts: what people ask",
    "intermediate": "intermediate: steps on the way there",
    "staging": "staging: the tables with their names and units in order",
    "raw": "raw: the lake's files as they are",
}

WIDTH = 100


def views_text() -> str:
    """Return every view and raw table with its grain, those for users first."""
    layers = names_by_layer()
    widest = max(len(name) for names in layers.values() for name, _ in names)
    lines = []
    for layer, names in layers.items():
        lines += [LAYER_TEXTS[layer], ""]
        lines += [f"  {name:<{widest}}  {grain}" for name, grain in names]
        lines += [""]
    lines += ["`analyze views NAME` says what the columns of one mean."]
    return "\n".join(lines) + "\n"


def views_json() -> str:
    """Return every view and raw table with its layer and grain, as JSON."""
    return _json(
        [
            {"name": name, "layer": layer, "grain": grain}
            for layer, names in names_by_layer().items()
            for name, grain in names
        ]
    )


def page_text(name: str, *, with_sql: bool = False) -> str:
    """Return all about one view.

    Raises:
        ViewNotFound: there is none by that name.
    """
    page = page_of(name)
    names = max(len(column.name) for column in page.columns)
    kinds = min(24, max(len(column.type) for column in page.columns))
    lines = [f"{page.name} ({page.layer})", page.grain, *textwrap.wrap(page.notes, WIDTH), ""]
    for column in page.columns:
        head = f"  {column.name:<{names}}  {column.type:<{kinds}}  "
        meaning = textwrap.wrap(column.meaning or "", max(40, WIDTH - names - kinds - 6)) or [""]
        lines.append(f"{head}{meaning[0]}".rstrip())
        lines += [" " * (names + kinds + 6) + line for line in meaning[1:]]
    if with_sql and page.sql is not None:
        lines += ["", page.sql.rstrip("\n")]
    return "\n".join(lines) + "\n"


def page_json(name: str) -> str:
    """Return all about one view, as JSON.

    Raises:
        ViewNotFound: there is none by that name.
    """
    return _json(asdict(page_of(name)))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
