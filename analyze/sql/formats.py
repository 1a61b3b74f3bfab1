"""An answer as data: JSON, CSV, Parquet. Values are exact; what a form cannot say is null."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from analyze.sql.ask import Answer, Column
from schemas.errors import QueryFailed, printable

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet takes a text that begins so, or with their full-width twins, for a formula."""


QUOTE = '"'
NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


def write_json(out: TextIO, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """Write one array with an object a row; integers and decimals keep every digit."""
    names = [json_text(column.name) for column in columns]
    before = "[\n  "
    for row in rows:
        pairs = (f"{name}: {json_text(value)}" for name, value in zip(names, row, strict=True))
        out.write(f"{before}{{{', '.join(pairs)}}}")
        before = ",\n  "
    out.write("[]\n" if before.startswith("[") else "\n]\n")


def json_text(value: Any) -> str:
    """Return a value as JSON: without NaN, and without characters that a terminal obeys."""
    if isinstance(value, str):
        return _json_string(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_json_string(str(key))}: {json_text(kept)}" for key, kept in value.items())
        return f"{{{', '.join(pairs)}}}"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    return _json_string(str(value))


def _json_string(text: str) -> str:
    plain = json.dumps(text, ensure_ascii=False)
    if plain.isprintable():
        return plain
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in plain)


def write_csv(out: TextIO, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """Write a line of names and a line a row; null is empty, an empty text is `""`.

    A text that a spreadsheet would run as a formula gets a `'` in front.
    """
    out.write(_csv_line(column.name for column in columns))
    out.writelines(map(_csv_line, rows))


def _csv_line(values: Iterable[Any]) -> str:
    return ",".join(map(_csv_cell, values)) + "\n"


def _csv_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float | Decimal | list | tuple | dict):
        text = json_text(value)
    else:
        text = _harmless(str(value))
    return f'"{text.replace(QUOTE, QUOTE * 2)}"' if not text or NEEDS_QUOTES.search(text) else text


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


def write_parquet(path: Path, answer: Answer) -> None:
    """Write a Parquet file with the engine's own types; a name that comes again gets a number.

    Raises:
        QueryFailed: a column has a type that Parquet has no form for.
    """
    import pyarrow as pa  # noqa: PLC0415 - costs more than most queries
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema, batches = answer.batches()
    try:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError as exc:
        types = ", ".join(f"`{column.name}` {column.type}" for column in answer.columns)
        message = f"Parquet has no form for a column of {types}; cast it to varchar"
        raise QueryFailed(printable(message)) from exc
