"""docs/data-dictionary.md: every view and raw table, said once, in SQL files and contracts.

`python -m analyze.query.dictionary`

`--check` writes nothing and fails when the committed page is not what they say.

What there is to ask: each view and raw table with its grain, notes, columns and SQL.
"""

from __future__ import annotations

import functools
import json
import sys
import textwrap
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from analyze.contracts import meaning_of, meanings_of
from analyze.lake.raw_tables import RAW_TABLES, connect, declare
from analyze.query.catalog import NAMES, create_views, grain_of, sql_of
from schemas.errors import ViewNotFound
from schemas.lake.layout import lake_columns

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


PATH = Path(str(files("analyze"))).parent / "docs" / "data-dictionary.md"

HEAD = """\
# Data dictionary

Generated by `make schemas` from analyze/views, analyze/contracts and schemas. Do not edit.

Everything here can be asked with `analyze sql "…"`; `analyze views NAME` says the same in the
terminal. Times are integer milliseconds (`started_at` beside `started_at_ms` is a timestamp in
UTC), rates go from 0 to 1, and what is not known is null.
"""


def dictionary() -> str:
    """Return the page."""
    pages = all_pages()
    parts = [HEAD]
    for layer, title in LAYER_TEXTS.items():
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts += [_section(page) for page in pages.values() if page.layer == layer]
    return "\n".join(parts)


def _section(page: ViewPage) -> str:
    notes = f"\n{_cell(page.notes)}\n" if page.notes else ""
    rows = "".join(
        f"| `{column.name}` | `{_cell(column.type)}` | {_cell(column.meaning or '')} |\n"
        for column in page.columns
    )
    return (
        f"### {page.name}\n\n{_cell(page.grain)}\n{notes}\n"
        f"| column | type | meaning |\n| --- | --- | --- |\n{rows}"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` say whether it is stale; return the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m analyze.query.dictionary [--check]\n")
        return 2
    text = dictionary()
    if not arguments:
        PATH.write_text(text, encoding="utf-8")
        return 0
    if PATH.is_file() and PATH.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{PATH} is not what the views say; run `make schemas`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
