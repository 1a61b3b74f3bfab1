"""What a query of a user may be on Spark: one statement that reads the lake's tables and views.

Spark's own parser takes the text apart, since no other knows its SQL; what is not known to read
alone is refused. There is no second wall as there is for DuckDB: a session of Spark opens what its
user may open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyze.sql.guard import ADVICE
from schemas.errors import QueryRefused, printable

READING = frozenset({
    "Aggregate", "AggregateInPandas", "AsOfJoin", "CTERelationDef", "Deduplicate", "Distinct",
    "Except", "Expand", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin",
    "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "PipeOperator", "Pivot", "Project",
    "Range", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail",
    "UnresolvedHaving", "UnresolvedHint", "UnresolvedInlineTable",
    "UnresolvedRelation", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases",
    "UnresolvedTableValuedFunction", "UnresolvedWith", "Union", "Unpivot", "UnionLoop", "Window",
    "WithWindowDefinition",
})  # fmt: skip
"""Parts of a query that only read."""

LOOKING = frozenset({
    "CurrentNamespace$", "DescribeColumn", "DescribeQueryCommand", "DescribeRelation",
    "ShowColumns", "ShowTables", "ShowViews", "UnresolvedTableOrView",
})  # fmt: skip
"""Statements that say which tables and columns there are."""

TABLE_FUNCTIONS = frozenset({
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode",
    "posexplode_outer", "range", "sql_keywords", "stack",
})  # fmt: skip
"""Functions that stand where a table stands and make rows out of what they are given."""

OTHER_THAN_VALUES = frozenset({"java_method", "reflect", "try_reflect"})
"""Functions that call into Java."""


def check_query(session: Any, sql: str) -> None:
    """Refuse a text that is anything but one statement which reads; Spark only parses it.

    Args:
        session: of Spark, in this machine's JVM.
        sql: what a user wrote.

    Raises:
        QueryRefused: says in one sentence why.
        PySparkException: Spark cannot read it.
    """
    if not sql.strip().rstrip(";").strip():
        message = f"there is no query; {ADVICE}"
        raise QueryRefused(message)
    plan = session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    for part in _parts(plan):
        if (reason := _against(part)) is not None:
            raise QueryRefused(reason)


def _against(part: Any) -> str | None:
    kind = str(part.getClass().getSimpleName())
    if kind not in READING and kind not in LOOKING:
        word = kind.removesuffix("$").removesuffix("Command").removesuffix("Statement")
        return f"{word} is not let through; {ADVICE}"
    if kind == "UnresolvedTableValuedFunction":
        name = ".".join(_members(part.name()))
        if name.lower() not in TABLE_FUNCTIONS:
            return (
                f"`{printable(name)}` is not let through: a query reads the lake and nothing else"
            )
    if kind in {"UnresolvedRelation", "UnresolvedTableOrView"}:
        names = list(_members(part.multipartIdentifier()))
        if len(names) > 1:
            shown = printable(".".join(names))
            return f"`{shown}` is not in the lake; a query reads its tables and views only"
    for expression in _members(part.expressions()):
        for one in _tree(expression):
            if one.getClass().getSimpleName() != "UnresolvedFunction":
                continue
            name = ".".join(_members(one.nameParts())).lower()
            if name.rpartition(".")[2] in OTHER_THAN_VALUES:
                return f"`{name}` is not let through: it does more than compute"
    return None


def _parts(plan: Any) -> Iterator[Any]:
    """Yield every part of a parsed query, those of its sub-queries included."""
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        yield part
        kind = str(part.getClass().getSimpleName())
        waiting += _members(part.children())
        waiting += _members(part.subqueries())
        if kind == "UnresolvedWith":
            waiting += _members(part.innerChildren())
        elif kind == "DescribeQueryCommand":
            waiting.append(part.plan())


def _tree(expression: Any) -> Iterator[Any]:
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += _members(one.children())


def _members(sequence: Any) -> Iterator[Any]:
    """Yield the members of a sequence of Scala."""
    return (sequence.apply(place) for place in range(sequence.size()))
