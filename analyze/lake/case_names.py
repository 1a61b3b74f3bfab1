"""Which case of which run has a newer id than the run wrote: a table that raw tables are read with.

Only where the lake has aliases. It goes by run, since a run that asked both ids asked two cases:
there neither is renamed. Needs the engine and nothing else.
"""

from __future__ import annotations

import duckdb

TABLE = "case_names"
"""(run_id, written_id, case_id) of every case that has a newer id than its run wrote."""

NAMED_TABLES = frozenset({"results", "outputs", "plans"})
"""Raw tables that name cases."""

_MADE = """
create or replace table case_names as
with acts as (
    select
        suite_id,
        old_case_id,
        case_id,
        row_number() over (
            partition by suite_id, old_case_id
            order by recorded_at_ms desc, case_id desc nulls last
        ) as age
    from {aliases}
),
newest as (
    select suite_id, old_case_id, case_id from acts where age = 1 and case_id is not null
),
concerned as (
    select suite_id, old_case_id as case_id from newest
    union
    select suite_id, case_id from newest
),
written as (
    select distinct plans.run_id, plans.suite_id, plans.case_id as written_id
    from {plans} as plans
    semi join concerned
        on plans.suite_id = concerned.suite_id and plans.case_id = concerned.case_id
),
named as (
    select
        written.run_id,
        written.written_id,
        coalesce(newest.case_id, written.written_id) as case_id
    from written
    left join newest
        on written.suite_id = newest.suite_id and written.written_id = newest.old_case_id
)
select run_id, written_id, case_id
from (select *, count(*) over (partition by run_id, case_id) as n_ids from named)
where n_ids = 1 and written_id <> case_id
"""


def make_case_names(connection: duckdb.DuckDBPyConnection, aliases: str, plans: str) -> bool:
    """Make the table, and return whether anything is in it.

    Args:
        connection: where to.
        aliases: select of the rows of `aliases`.
        plans: select of the rows of `plans`.
    """
    connection.execute(_MADE.format(aliases=f"({aliases})", plans=f"({plans})")).fetchall()
    return bool(connection.execute(f"select 1 from {TABLE} limit 1").fetchall())  # noqa: S608


def with_newest_ids(sql: str) -> str:
    """Return a select of a raw table with each case under its newest id."""
    return (
        "select written.* replace (coalesce(names.case_id, written.case_id) as case_id) "  # noqa: S608
        f"from ({sql}) as written left join {TABLE} as names "
        "on written.run_id = names.run_id and written.case_id = names.written_id"
    )
