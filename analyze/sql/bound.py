"""Values for the `?` of a query, written into it as the engine writes them.

A query is checked as text before it runs, so its values have to stand in the text. The engine's
own tokenizer says which `?` is a place for a value and which stands in a string or a comment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime

import duckdb

from analyze.lake.raw_tables import literal
from schemas.errors import QueryFailed


def bind(query: str, parameters: Sequence[object]) -> str:
    """Return the query with a value in the place of each `?`.

    Raises:
        QueryFailed: there are more or fewer values than places, or one has no form in SQL.
    """
    if not parameters:
        return query
    raw = encoded(query)  # the tokenizer counts bytes
    operator = duckdb.token_type.operator
    places = [
        at for at, kind in duckdb.tokenize(query) if kind == operator and raw[at : at + 1] == b"?"
    ]
    if len(places) != len(parameters):
        message = f"the query has {len(places)} `?` and there are {len(parameters)} parameters"
        raise QueryFailed(message)
    parts, begin = [], 0
    for at, value in zip(places, parameters, strict=True):
        # in brackets, a value can neither begin a comment nor grow together with what is beside it
        parts += [raw[begin:at], f"({_written(value)})".encode()]
        begin = at + 1
    return b"".join([*parts, raw[begin:]]).decode()


def encoded(text: str) -> bytes:
    """Return the bytes of a text; half a character, as in broken input, is told as a mistake."""
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        message = f"character {exc.start + 1} is none of UTF-8: {text[exc.start]!r}"
        raise QueryFailed(message) from exc


def _written(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        return f"cast({literal(repr(value))} as double)"
    if isinstance(value, str) and "\0" not in value:
        encoded(value)
        return literal(value)
    if isinstance(value, datetime):
        return f"cast({literal(value.isoformat())} as timestamptz)"
    if isinstance(value, date):
        return f"cast({literal(value.isoformat())} as date)"
    message = f"a parameter is text, a finite number, true, false, a date or None, not {value!r}"
    raise QueryFailed(message)
