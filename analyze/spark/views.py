"""The lake's tables and views in a session of Spark, over the files that DuckDB reads.

Files are read by a schema of ours, so that Spark opens none of them before it is asked, and what a
file lacks is null. Beside `raw_results` and so on stand `stored_results` …: the rows of files,
before newest ids, evaluations and judges.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from analyze.lake.overlay import (
    BEFORE_IT,
    LATER,
    NAMED_TABLES,
    OF_FILES,
    RAW_TABLES,
    SUPERSEDES,
    TABLE,
    failure_types_sql,
    overlaid,
    read_sql,
    thresholds_sql,
)
from analyze.query.catalog import NAMES, named_by
from analyze.query.session import require_deciding
from analyze.spark.dialect import literal, schema_of, spark_sql_of, view_sql_of
from analyze.spark.files import PUSH, STORED, StoredLake, StoredTable
from schemas.lake import ALIASES, lake_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AS_THEY_STAND = {"__globPaths__": "false"}
"""Tells Spark that a path is none of a pattern: a folder may be called `runs [old]`."""

PUSHES = "counting_pushes"
"""(run_id, push) of every run of a shared lake: the rows that count."""


def create_views(
    session: SparkSession,
    stored: StoredLake,
    needed: Collection[str],
    *,
    evaluation_profile: str | None = None,
    kept: bool = False,
) -> None:
    """Create temporary views over a lake: raw tables, and of the portable views those needed.

    Args:
        session: of Spark; its own views of these names are replaced.
        stored: the lake's files.
        needed: names of views and raw tables, with all that stand behind them.
        evaluation_profile: whose judges have a say in verdicts; by default those of each run's own.
        kept: what marts stand on is computed now and kept by the session, so that later questions
            are planned quickly; by default nothing is computed before it is asked for.
    """
    if stored.pushes is not None:
        pushes = session.createDataFrame(list(stored.pushes), f"run_id string, {PUSH} string")
        pushes.createOrReplaceTempView(PUSHES)
    for table in STORED:
        _rows_of_files(session, stored, table).createOrReplaceTempView(f"stored_{table}")
    is_renamed = not NAMED_TABLES.isdisjoint(_raw(needed)) and _create_names(session, stored)
    profile = None if evaluation_profile is None else literal(evaluation_profile)
    for table in _raw(needed):
        if table == "thresholds":
            sql = thresholds_sql({})
        elif table == "failure_types":
            sql = failure_types_sql()
        else:
            there = [one for one in LATER if one in stored.tables]
            sql = overlaid(table, _source, there=there, profile=profile, is_renamed=is_renamed)
        sql = spark_sql_of(sql, lake_columns()[OF_FILES.get(table, table)])
        session.sql(sql).createOrReplaceTempView(f"raw_{table}")
    for name, view in NAMES.items():
        if name in needed:
            frame = session.sql(view_sql_of(view))
            is_kept = kept and not view.startswith("marts/")
            (frame.localCheckpoint() if is_kept else frame).createOrReplaceTempView(name)


def require_profile(session: SparkSession, stored: StoredLake, asked: str, place: str) -> None:
    """Refuse an evaluation profile that decides nothing in a lake.

    Args:
        session: of Spark.
        stored: the lake's files.
        asked: the profile.
        place: where the lake is, for people.

    Raises:
        ConfigError: no run was judged by it, or it had no threshold; says what to do.
    """
    create_views(session, stored, named_by("stg_judgements"))
    said = session.sql(
        "select evaluation_profile_id, count(pass_threshold) from stg_judgements "
        "group by evaluation_profile_id order by evaluation_profile_id"
    ).collect()
    require_deciding(dict(map(tuple, said)), asked, place)


def _raw(needed: Collection[str]) -> list[str]:
    return [table for table in RAW_TABLES if f"raw_{table}" in needed]


def _source(table: str) -> str:
    return f"select * from stored_{table}"  # noqa: S608 - names are declared ones


def _rows_of_files(session: SparkSession, stored: StoredLake, table: str) -> DataFrame:
    """Return the rows of a table's files, in the declared columns."""
    columns = lake_columns()[table]
    of = stored.tables.get(table, StoredTable())
    names = [column.name for column in columns]
    is_pushed = stored.pushes is not None and table != ALIASES
    schema = schema_of(columns) + (f", {PUSH} string" if is_pushed else "")
    reader = session.read.schema(schema).options(**AS_THEY_STAND)
    parts: list[DataFrame] = []
    if of.files:
        rows = reader.parquet(*of.files)
        if is_pushed:
            rows = rows.join(session.table(PUSHES), ["run_id", PUSH], "left_semi")
        parts.append(rows.select(*names))
    if of.older:
        terms = [f"{BEFORE_IT} as {name}" if name == SUPERSEDES else name for name in names]
        parts.append(reader.parquet(*of.older).selectExpr(*terms))
    if not parts:
        return session.createDataFrame([], schema_of(columns))
    return parts[0] if len(parts) == 1 else parts[0].union(parts[1])


def _create_names(session: SparkSession, stored: StoredLake) -> bool:
    """Note which cases have a newer id than their run wrote; return whether any has.

    They are few and found once: every table that names a case is joined with them.
    """
    if ALIASES not in stored.tables or "plans" not in stored.tables:
        return False
    sources = {"aliases": f"stored_{ALIASES}", "plans": "stored_plans"}
    found = session.sql(read_sql("lake/case_names.sql").format(**sources)).collect()
    if found:
        schema = "run_id string, written_id string, case_id string"
        session.createDataFrame(found, schema).createOrReplaceTempView(TABLE)
    return bool(found)
