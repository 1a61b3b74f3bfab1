"""What there is to ask: each view and raw table with its grain, notes, columns and SQL.

Views and raw tables as text and JSON, for people who look around.
"""

from __future__ import annotations

import functools
import json
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from analyze.contracts.meanings import meaning_of, meanings_of
from analyze.lake.raw_tables import RAW_TABLES, connect, declare
from analyze.query.catalog import NAMES, create_views, grain_of, sql_of
from schemas.errors import ViewNotFound
from schemas.lake.columns import lake_columns

RAW_GRAINS = {
    "results": "One row per line of type `result` in results.jsonl, superseded ones included.",
    "outputs": "One row per line of type `result` in results.jsonl: the text of the answer.",
    "events": "One row per line of type `event` in results.jsonl.",
    "plans": "One row per trial of a run's plan.",
    "runs": "One row per run, and one more each time its labels are changed.",
    "aliases": "One row per case id and each time that it was joined to another or taken back.",
    "thresholds": "One row: where numbers become verdicts. Not a file: the packaged defaults.",
    "failure_types": "One row per way a trial can fail. Not a file: the table of this version.",
}
"""What one row of each raw table is."""

LAYERS = ("marts", "intermediate", "staging", "raw")
"""Folders of the views, those for users first; tables of the lake last."""


@dataclass(frozen=True)
class ColumnPage:
    """One column: what it is called, the engine's type, what it means."""

    name: str
    type: str
    meaning: str | None


@dataclass(frozen=True)
class ViewPage:
    """One view or raw table."""

    name: str
    layer: str
    grain: str
    notes: str
    columns: tuple[ColumnPage, ...]
    sql: str | None
    """Its select; None for a raw table."""


def names_by_layer() -> dict[str, list[tuple[str, str]]]:
    """Return the name and grain of every view and raw table, by layer."""
    found: dict[str, list[tuple[str, str]]] = {layer: [] for layer in LAYERS}
    for name, view in NAMES.items():
        found[view.partition("/")[0]].append((name, grain_of(sql_of(view))))
    found["raw"] = [(f"raw_{table}", RAW_GRAINS[table]) for table in RAW_TABLES]
    return found


def page_of(name: str) -> ViewPage:
    """Return what there is to know about a view or raw table.

    Raises:
        ViewNotFound: there is none by that name; names the nearest.
    """
    pages = all_pages()
    if name.lower() not in pages:
        raise ViewNotFound(name, pages)
    return pages[name.lower()]


@functools.cache
def all_pages() -> dict[str, ViewPage]:
    """Return every view and raw table by its name, those for users first."""
    connection = connect()
    try:
        declare(connection)
        create_views(connection, described=False)
        pages = {}
        for layer, names in names_by_layer().items():
            for name, grain in names:
                described = connection.execute(f"describe {name}").fetchall()
                types = {column: kind for column, kind, *_ in described}
                pages[name] = _page(layer, name, grain, types, meanings_of(connection, name))
        return pages
    finally:
        connection.close()


def _page(
    layer: str, name: str, grain: str, types: dict[str, str], meanings: dict[str, str]
) -> ViewPage:
    if layer == "raw":
        raw = lake_columns()[name.removeprefix("raw_")]
        columns = tuple(ColumnPage(one.name, one.type, meaning_of(one) or None) for one in raw)
        return ViewPage(name, layer, grain, "", columns, None)
    sql = sql_of(NAMES[name])
    columns = tuple(
        ColumnPage(column, kind, meanings.get(column)) for column, kind in types.items()
    )
    return ViewPage(name, layer, grain, notes_of(sql), columns, sql)


def notes_of(sql: str) -> str:
    """Return the comment below a view's first line, as one paragraph."""
    notes = []
    for line in sql.splitlines()[1:]:
        if not line.startswith("--"):
            break
        notes.append(line.removeprefix("--").strip())
    return " ".join(notes)


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
