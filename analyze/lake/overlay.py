"""What raw tables show beyond their files, as SQL that is the same text for every engine.

Where the lake has aliases, a case stands under its newest id. That goes by run, since a run that
asked both ids asked two cases: there neither is renamed. Where it has evaluations, results and
plans say what the newest one of a trial's record says, and where judges of the run's own evaluation
profile decide, or of the one that is asked for, what they say as well; `raw_recorded_results` stay
as they were written.

Needs no engine: DuckDB takes the text as it is, `analyze.spark` writes what Spark has other words
for in those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from importlib import resources
from pathlib import Path

from schemas.failures import FAILURES, classify
from schemas.lake import ALIASES, RECORDED, TABLE_NAMES, lake_columns

TABLE = "case_names"
"""(run_id, written_id, case_id) of every case that has a newer id than its run wrote."""

NAMED_TABLES = frozenset(
    {
        *("results", RECORDED, "outputs", "plans", "steps", "step_texts"),
        *("evaluations", "judge_iterations", "judgements", "pair_iterations", "preferences"),
    }
)
"""Raw tables that name cases."""

OF_FILES = {RECORDED: "results"}
"""Raw tables that have no files of their own, by the table whose files they read."""

SUPERSEDES = "supersedes"

BEFORE_IT = (
    "lag(record_no) over (partition by run_id, model_id, case_id, repetition order by record_no)"
)
"""The record that a record supersedes, from the records themselves; older layouts do not say it."""

EVALUATED_TABLES = frozenset({"results", "plans"})
"""Raw tables in which the newest evaluation of a record decides."""

LATER = ("evaluations", "judgements")
"""Tables whose rows change what others say."""

DECIDING = "deciding_profiles"
"""The raw table of the evaluation profiles whose judges have a say in verdicts."""

RAW_TABLES = (*TABLE_NAMES, RECORDED, ALIASES, DECIDING, "thresholds", "failure_types")
"""Every table that views can read, each as `raw_<table>`; the last three have no files."""

LINE, CELL = ";", ","
"""Between the failures, and between what is known of each: in no name of any."""

Source = Callable[[str], str]
"""Gives the select of a table as its files have it."""


@functools.cache
def read_sql(name: str) -> str:
    """Return the text of a file of SQL in this package, such as `lake/case_names.sql`."""
    return (resources.files("analyze") / name).read_text(encoding="utf-8")


def literal(text: str | Path) -> str:
    """Return a text as SQL writes it; a view takes no parameters."""
    return "'" + str(text).replace("'", "''") + "'"


def overlaid(
    table: str, source: Source, *, there: Collection[str], profile: str | None, is_renamed: bool
) -> str:
    """Return the select of a raw table that is made of files.

    Args:
        table: its name without `raw_`.
        source: of every table.
        there: those of `LATER` that have rows.
        profile: a literal: whose judges have a say in verdicts; None: those of each run's own.
        is_renamed: cases have newer ids, which `TABLE` holds.
    """
    sql = _deciding(source, profile) if table == DECIDING else source(OF_FILES.get(table, table))
    if table in EVALUATED_TABLES and "evaluations" in there:
        sql = _evaluated(table, sql, source)
    if table == "results" and "judgements" in there:
        sql = read_sql("lake/judged_results.sql").format(
            deciding=_deciding(source, profile), judgements=source("judgements"), results=sql
        )
    return _with_newest_ids(sql) if is_renamed and table in NAMED_TABLES else sql


def _evaluated(table: str, sql: str, source: Source) -> str:
    """Return a select of a raw table in which the newest evaluation of a record decides."""
    newest = read_sql("lake/newest_evaluations.sql").format(evaluations=source("evaluations"))
    if table == "results":
        return read_sql("lake/evaluated_results.sql").format(newest=newest, results=sql)
    results = source("results")
    return read_sql("lake/evaluated_plans.sql").format(newest=newest, results=results, plans=sql)


def _deciding(source: Source, profile: str | None) -> str:
    """Return the select of the evaluation profiles that have a say in verdicts, by run."""
    if profile is None:
        return read_sql("lake/deciding_profiles.sql").format(runs=source("runs"))
    return read_sql("lake/asked_profiles.sql").format(
        runs=source("runs"), judgements=source("judgements"), profile=profile
    )


def _with_newest_ids(sql: str) -> str:
    """Return a select of a raw table with each case under its newest id."""
    return (
        "select written.* replace (coalesce(names.case_id, written.case_id) as case_id) "  # noqa: S608
        f"from ({sql}) as written left join {TABLE} as names "
        "on written.run_id = names.run_id and written.case_id = names.written_id"
    )


def thresholds_sql(given: Mapping[str, float | None]) -> str:
    """Return the only row of `thresholds`: what a project says, else the packaged ones."""
    columns = lake_columns()["thresholds"]
    values = {column.name: given.get(column.name, column.default) for column in columns}
    return "select " + ", ".join(
        f"cast({'null' if value is None else repr(value)} as double) as {name}"
        for name, value in values.items()
    )


@functools.cache
def failure_types_sql() -> str:
    """Return the table of failures as a select of one text, cut into lines and cells.

    As five hundred rows of values it would be bound anew by every query that asks for a cause,
    which takes the engine longer than the rest of most queries.
    """
    names = [*FAILURES, *(f"http_{code}" for code in range(100, 600))]
    lines = []
    for name in names:
        kind = classify(name)
        facts = (kind.retryable, kind.counts_against_model)
        cells = (name, kind.availability_status, kind.status, kind.cause, *map(str, facts))
        lines.append(CELL.join(cells))
    columns = ", ".join(
        f"cast(split_part(line, {literal(CELL)}, {place}) as {column.type}) as {column.name}"
        for place, column in enumerate(lake_columns()["failure_types"], start=1)
    )
    text = literal(LINE.join(lines))
    return f"select {columns} from (select unnest(string_split({text}, {literal(LINE)})) as line)"  # noqa: S608
