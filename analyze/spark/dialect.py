"""SQL of the lake as Spark writes it: types, lists of replaced columns, texts put together.

What views say is translated by `portable_sql_of`; here stands what raw tables need beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyze.query.catalog import portable_sql_of
from schemas.lake import LakeColumn

SCALARS = {"VARCHAR": "string", "BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean"}

REPLACED = re.compile(r"(\w+)\.\* replace \(")
"""Every column of a table, some with another value; DuckDB alone has it."""

TERM = re.compile(r"(.*)\bas (\w+)\s*", re.DOTALL)

JOINED = re.compile(r"string_agg\(distinct (\w+), ('[^']*') order by \1\)")

LINES = re.compile(r"unnest\(string_split\(")

TYPE = re.compile(r"\bas (VARCHAR|BIGINT|DOUBLE|BOOLEAN)\)")
"""The type of a cast."""


def type_of(kind: str) -> str:
    """Return a type of a raw table, such as `VARCHAR[]`, as Spark writes it."""
    if kind.endswith("[]"):
        return f"array<{type_of(kind[:-2])}>"
    if kind.startswith("MAP("):
        return f"map<{', '.join(type_of(one) for one in _parts(kind[4:-1]))}>"
    if kind.startswith("STRUCT("):
        fields = (one.split(" ", 1) for one in _parts(kind[7:-1]))
        return f"struct<{', '.join(f'{_name(name)}: {type_of(of)}' for name, of in fields)}>"
    return SCALARS[kind]


def schema_of(columns: Sequence[LakeColumn]) -> str:
    """Return columns as the schema with which Spark reads files; what one lacks is null."""
    return ", ".join(f"{_name(column.name)} {type_of(column.type)}" for column in columns)


def literal(text: str) -> str:
    """Return a text as Spark writes it, in whose literals a backslash stands for more."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def spark_sql_of(sql: str, columns: Sequence[LakeColumn]) -> str:
    """Return a select of a raw table in Spark's words.

    Args:
        sql: as `analyze.lake.overlay` makes it.
        columns: of the table; they stand in the place of a `*` with other values for some.
    """
    while match := REPLACED.search(sql):
        end = _closing(sql, match.end())
        terms = [TERM.fullmatch(one.strip()) for one in _parts(sql[match.end() : end])]
        values = {term[2]: term[1].strip() for term in terms if term}
        alias = match[1]
        listed = ", ".join(
            f"{values.get(one.name, f'{alias}.{one.name}')} as {one.name}" for one in columns
        )
        sql = f"{sql[: match.start()]}{listed}{sql[end + 1 :]}"
    sql = JOINED.sub(r"string_agg(distinct \1, \2) within group (order by \1)", sql)
    sql = LINES.sub("explode(split(", sql)
    return TYPE.sub(lambda found: f"as {SCALARS[found[1]]})", sql)


def view_sql_of(view: str) -> str:
    """Return the select of a view in Spark's words: points in time have no time zone."""
    return portable_sql_of(view).replace("timestamp '", "timestamp_ntz '")


def _name(name: str) -> str:
    bare = name.strip().strip('"')
    return f"`{bare}`"


def _closing(text: str, begin: int) -> int:
    """Return the place of the bracket that closes the one before `begin`."""
    depth = 1
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    message = f"a bracket is not closed: {text[begin - 20 : begin + 20]}"
    raise ValueError(message)


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between commas, but for those in brackets."""
    depth, begin = 0, 0
    for place, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and not depth:
            yield text[begin:place].strip()
            begin = place + 1
    yield text[begin:].strip()
