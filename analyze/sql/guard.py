"""What a query of a user may be: one statement that reads, and reads nothing but the lake.

Two walls. The text is parsed by the engine itself and refused unless each part of it is known to do
no more than read. Then it runs on a connection that may open the lake's live files only, with
settings that can no longer be changed: what the first wall overlooks, the second stops.

Since the text is checked before it runs, the values for its `?` have to stand in it. The engine's
own tokenizer says which `?` is a place for a value and which stands in a string or a comment.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from analyze.lake.overlay import literal
from analyze.lake.raw_tables import no_pattern
from schemas.errors import QueryFailed, QueryRefused, printable

READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Parts of a query that only read; a `with` may also hold an insert or a copy."""

TABLE_FUNCTIONS = frozenset({
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_tables", "duckdb_types",
    "duckdb_views", "generate_series", "json_each", "json_tree", "pragma_table_info",
    "pragma_version", "range", "repeat", "repeat_row", "unnest",
})  # fmt: skip
"""Functions that stand where a table stands and make rows out of what they are given."""

OTHER_THAN_VALUES = frozenset({
    "current_setting", "currval", "getenv", "getvariable", "json_execute_serialized_sql",
    "json_serialize_plan", "nextval", "pg_sleep", "setval", "sleep_ms", "write_log",
})  # fmt: skip
"""Functions that do or tell something beside the value they return."""

SETTINGS_TABLES = frozenset({"pg_settings"})
"""Tables of the engine that tell what `current_setting` would."""

ADVICE = "a query is one statement that reads the lake: SELECT, FROM, WITH, VALUES or DESCRIBE"


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse a text that is anything but one statement which reads; of the engine only parses it.

    Raises:
        QueryRefused: says in one sentence why.
    """
    if (reason := _reason_against(connection, sql)) is not None:
        raise QueryRefused(reason)


def _reason_against(connection: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    try:
        sql.encode()
        statements = connection.extract_statements(sql)
    except UnicodeEncodeError as exc:
        return f"the query is not UTF-8: character {exc.start + 1} is {sql[exc.start]!r}"
    except duckdb.Error as exc:
        return f"the query cannot be read: {first_line(exc)}"
    if not statements:
        return f"there is no query; {ADVICE}"
    if len(statements) > 1:
        return f"there are {len(statements)} statements; {ADVICE}"
    kind = statements[0].type.name
    if kind == "MULTI":
        return "PIVOT needs its values written out, as in `pivot t on a in ('x', 'y') using sum(b)`"
    if kind != "SELECT":
        return f"{kind.replace('_', ' ')} is not let through; {ADVICE}"
    ((serialized,),) = connection.execute("select json_serialize_sql(?)", [sql]).fetchall()
    try:
        tree = json.loads(serialized)
    except RecursionError:
        return "the query is nested too deeply to be checked"
    if tree["error"]:
        return f"{printable(tree['error_message'])}; {ADVICE}"
    return next((reason for part in _parts(tree) if (reason := _against_part(part))), None)


def _against_part(part: dict[str, Any]) -> str | None:
    kind = part["type"]
    if kind.endswith("_NODE") and kind not in READING_NODES:
        word = kind.removesuffix("_NODE").removesuffix("_QUERY").replace("_", " ")
        return f"{word} is not let through inside a query; {ADVICE}"
    if kind == "VALUE_PARAMETER":
        return "a query has no parameters; write the values into it"
    if kind == "BASE_TABLE" and str(part.get("table_name")).lower() in SETTINGS_TABLES:
        return f"`{part['table_name']}` is not let through: a query reads the lake and nothing else"
    if kind == "TABLE_FUNCTION":
        name = str(part["function"].get("function_name"))
        if name.lower() not in TABLE_FUNCTIONS:
            what = f"`{printable(name)}` is not let through"
            return f"{what}: a query reads the lake and nothing else"
    elif (name := str(part.get("function_name")).lower()) in OTHER_THAN_VALUES:
        return f"`{name}` is not let through: it does more than compute"
    return None


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a parsed query that has a kind."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("type"), str):
                yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], temporary: Path) -> None:
    """Let a connection open these files and nothing else, for good.

    Args:
        connection: with every view that is needed.
        files: what may be read.
        temporary: an empty folder of its own, for what does not fit into memory.
    """
    # a path with wildcards in it is asked for as a pattern that only it fits
    names = dict.fromkeys(name for path in files for name in (str(path), no_pattern(path)))
    for statement in (
        f"set temp_directory = {literal(temporary)}",
        f"set memory_limit = '{memory_limit_mb()}MB'",
        "set max_temp_directory_size = '16GB'",
        f"set allowed_paths = [{', '.join(map(literal, names))}]",
        "set allow_community_extensions = false",
        "set enable_external_access = false",
        "set lock_configuration = true",
    ):
        connection.execute(statement).fetchall()


def memory_limit_mb() -> int:
    """Return what a query may take: a quarter of the machine's memory, at least 1 GB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1_000, memory // 4_000_000)


def first_line(exc: duckdb.Error) -> str:
    """Return what the engine says in its first line, without the name of the kind of error."""
    line = str(exc).strip().partition("\n")[0]
    kind, colon, rest = line.partition(" Error: ")
    said = rest if colon and " " not in kind.replace("Invalid Input", "") else line
    return printable(said.rstrip("!. "))


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
