"""Every view in reading order: creates them on a connection and reads them as declared rows.

Each view is one select in one file below `views/`: staging, intermediate, marts. What a column
means is said there or in `analyze.contracts`, never here. Every error of the engine becomes a
ViewError.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from analyze.lake.overlay import RAW_TABLES, literal, read_sql
from analyze.lake.raw_tables import declared, engine_errors, fill

if TYPE_CHECKING:
    from analyze.contracts.base import ViewRow

VIEWS = (
    "staging/stg_deciding_profiles",
    "staging/stg_runs",
    "staging/stg_plans",
    "staging/stg_results",
    "staging/stg_outputs",
    "staging/stg_events",
    "staging/stg_evaluations",
    "staging/stg_judge_iterations",
    "staging/stg_judgements",
    "staging/stg_pair_iterations",
    "staging/stg_preferences",
    "staging/stg_steps",
    "staging/stg_step_texts",
    "staging/stg_recorded_results",
    "staging/stg_case_aliases",
    "staging/stg_thresholds",
    "staging/stg_failure_types",
    "staging/trials",
    "intermediate/int_run_models",
    "intermediate/int_failures",
    "intermediate/int_case_clusters",
    "intermediate/int_case_passes",
    "intermediate/int_case_tool_use",
    "intermediate/int_pass_counts",
    "intermediate/int_tool_counts",
    "intermediate/int_group_models",
    "intermediate/int_group_costs",
    "intermediate/int_group_tool_counts",
    "intermediate/int_cell_hashes",
    "intermediate/int_cell_counts",
    "intermediate/int_cell_pairs",
    "intermediate/int_case_outcomes",
    "intermediate/int_evaluations",
    "intermediate/int_checks",
    "intermediate/int_scores",
    "intermediate/int_limits",
    "intermediate/int_steps",
    "intermediate/int_answers",
    "intermediate/int_tool_calls",
    "marts/runs",
    "marts/models",
    "marts/cases",
    "marts/case_aliases",
    "marts/planned_trials",
    "marts/results",
    "marts/attempts",
    "marts/failures",
    "marts/outputs",
    "marts/events",
    "marts/evaluations",
    "marts/judgements",
    "marts/judge_iterations",
    "marts/preferences",
    "marts/pair_iterations",
    "marts/checks",
    "marts/scores",
    "marts/steps",
    "marts/step_texts",
    "marts/trajectories",
    "marts/contexts",
    "marts/trial_times",
    "marts/stops",
    "marts/progress",
    "marts/loops",
    "marts/tool_errors",
    "marts/error_signatures",
    "marts/run_summary",
    "marts/model_summary",
    "marts/failure_summary",
    "marts/repetitions",
    "marts/cells",
    "marts/cell_history",
    "marts/pairs",
    "marts/flips",
    "marts/case_matrix",
    "marts/tool_use",
    "marts/tiers",
    "marts/latency_histogram",
    "marts/v_inspect_evals",
    "marts/v_inspect_samples",
    "marts/cost_quality",
)
"""Every view; each reads only tables and views that stand before it."""

Row = TypeVar("Row", bound="ViewRow")

WORD = re.compile(r"\w+")
COMMENT = re.compile(r"--[^\n]*")

QUANTILES = re.compile(r"quantile_cont\((\w+), \[([\d., ]+)\]\) as (\w+)_quantiles")
"""Several quantiles of a column as one list, which no other engine has."""

LABEL = re.compile(r"map_extract\(([\w.]+), ([\w.]+)\)\[1\]")
"""The value of a key; DuckDB before 1.2 takes `map[key]` for a list."""

UNNESTED = re.compile(r"\bunnest\((\w+)\)")
"""A row a member of a list, which Spark calls another way."""

MEMBER = "list_extract("
"""One member of a list, counted from 1, or null beyond its end."""

LOOKING_AROUND = re.compile(
    r"\b(show|information_schema|duckdb_\w+|pragma_\w+|pg_\w+|sqlite_\w+)\b", re.IGNORECASE
)
"""What a text says that asks which views there are."""


def name_of(view: str) -> str:
    """Return the name of a view: the last part of its path."""
    return view.rpartition("/")[2]


NAMES = {name_of(view): view for view in VIEWS}
"""Every view by its name, in reading order."""

EVERYTHING = frozenset(NAMES) | {f"raw_{table}" for table in RAW_TABLES}
"""Every view and raw table."""


def sql_of(view: str) -> str:
    """Return the select of a view."""
    return read_sql(f"views/{view}.sql")


def portable_sql_of(view: str) -> str:
    """Return the select of a view for other engines: of standard SQL and arrays from 1.

    Lists of quantiles become a column a quantile, `x_quantiles[2]` becomes `x_p95`; a list is
    taken apart by `explode` and asked by `try_element_at`, as Spark does.
    """
    sql = UNNESTED.sub(r"explode(\1)", LABEL.sub(r"\1[\2]", sql_of(view)))
    sql = sql.replace(MEMBER, "try_element_at(")
    if (match := QUANTILES.search(sql)) is None:
        return sql
    quantiles = match[2].split(", ")
    names = [f"_p{round(100 * float(one))}" for one in quantiles]
    lines: list[str] = []
    for line in sql.splitlines():
        if "_quantiles" not in line:
            lines.append(line)
        elif "_quantiles[" in line:
            lines.append(re.sub(r"_quantiles\[(\d)\]", lambda at: names[int(at[1]) - 1], line))
        else:
            lines += [
                QUANTILES.sub(
                    rf"percentile_cont({quantile}) within group (order by \1) as \3_quantiles", line
                ).replace("_quantiles", name)
                for quantile, name in zip(quantiles, names, strict=True)
            ]
    return "\n".join(lines) + "\n"


def select_of(name: str) -> str:
    """Return the select of a view without its comments, for the one question that needs it."""
    return COMMENT.sub("", sql_of(NAMES[name]))


def grain_of(sql: str) -> str:
    """Return the first comment line of a view: what one row of it is."""
    return sql.partition("\n")[0].removeprefix("--").strip()


def named_in(text: str) -> frozenset[str]:
    """Return every view and raw table that a text of SQL names, with all that stands behind.

    Goes by the words, so a column that is called as a view brings the view along: no harm.
    """
    words = {word.lower() for word in WORD.findall(text)}
    named = words & NAMES.keys()
    return (EVERYTHING & words).union(*(sources_of(name) for name in named))


@functools.cache
def sources_of(name: str) -> frozenset[str]:
    """Return the views and raw tables that a view reads, those behind them included."""
    words = {word.lower() for word in WORD.findall(COMMENT.sub("", sql_of(NAMES[name])))}
    earlier = dict.fromkeys(itertools.takewhile(lambda other: other != name, NAMES))
    found = words & {f"raw_{table}" for table in RAW_TABLES}
    for other in words & earlier.keys():
        found |= {other} | sources_of(other)
    return frozenset(found)


def named_by(text: str) -> frozenset[str]:
    """Return every view and raw table that a query may read: all where it asks which there are."""
    return EVERYTHING if LOOKING_AROUND.search(text) else named_in(text)


def create_views(
    connection: duckdb.DuckDBPyConnection,
    *,
    described: bool = True,
    only: Collection[str] | None = None,
) -> None:
    """Create every view, with its grain and its columns' meaning as comments.

    Args:
        connection: where the raw tables are.
        described: write the comments, for people who look around; a summary needs none.
        only: the names of views to create; those behind them are to be among them.

    Raises:
        ViewError: one cannot be created; names it and gives the engine's words.
    """
    for name, view in NAMES.items():
        if only is None or name in only:
            sql = sql_of(view)
            with engine_errors(name):
                connection.execute(f"create or replace view {name} as\n{sql}").fetchall()
                if described:
                    _describe(connection, name, grain_of(sql))


def prepare(
    connection: duckdb.DuckDBPyConnection,
    lake: Path,
    needed: Collection[str],
    *,
    run_id: str | None = None,
    evaluation_profile: str | None = None,
    described: bool = False,
) -> list[Path]:
    """Create views and the raw tables behind them, and return the files that these read.

    Args:
        connection: where to.
        lake: the lake's folder; it need not exist.
        needed: names of views and raw tables, with all that stand behind them.
        run_id: only the rows of this run.
        evaluation_profile: as `fill` takes it.
        described: write the comments as well.

    Raises:
        SchemaError: a file of the lake is not ours, or of a newer version.
        ViewError: a view cannot be created, or a file not be read.
    """
    tables = [table for table in RAW_TABLES if f"raw_{table}" in needed]
    with declared(connection, tables):
        create_views(connection, only=needed, described=described)
    return fill(connection, lake, tables, run_id=run_id, evaluation_profile=evaluation_profile)


def _describe(connection: duckdb.DuckDBPyConnection, name: str, grain: str) -> None:
    from analyze.contracts import meanings_of  # noqa: PLC0415 - contracts cost 0.3 s to import

    connection.execute(f"comment on view {name} is {literal(grain)}").fetchall()
    for column, meaning in meanings_of(connection, name).items():
        comment = f'comment on column {name}."{column}" is {literal(meaning)}'
        connection.execute(comment).fetchall()


def read_view(
    connection: duckdb.DuckDBPyConnection,
    contract: type[Row],
    where: str = "",
    parameters: Sequence[object] = (),
) -> list[Row]:
    """Return the rows of a view in the contract's order, which ends in a unique key.

    Args:
        connection: where the view is.
        contract: the record of the view.
        where: a condition in SQL, with `?` for each parameter; by default every row.
        parameters: values of the condition.

    Raises:
        ViewError: the view failed while it was read.
    """
    columns = list(contract.model_fields)
    condition = f" where {where}" if where else ""
    names = ", ".join(f'"{name}"' for name in columns)  # one may be a word of SQL
    with engine_errors(contract.view):
        rows = connection.execute(
            # names and order are declared in `rows`; a parameter cannot stand for a name
            f"select {names} from {contract.view}{condition} "  # noqa: S608
            f"order by {contract.order}",
            list(parameters),
        ).fetchall()
    return [contract(**dict(zip(columns, row, strict=True))) for row in rows]
