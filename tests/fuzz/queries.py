"""Queries of users: what is let through is run, beside files that nobody may read or write."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

import duckdb

from analyze.lake.raw_tables import connect
from analyze.sql.ask import ask
from analyze.sql.guard import check_query
from schemas.errors import AnalyzeError
from tests.analyze.sql.test_guard import HOSTILE
from tests.support.mirrored import mirror_run
from tests.support.run_rows import config, line_of, planned, result

SECRET = "canary 7f3a"

SYNTAX = """
select from where with recursive as materialized values union all except intersect order by limit
offset group having qualify window over partition lateral join left full asof positional cross on
using natural describe summarize show tables pivot unpivot in exists any case when then end cast
try_cast interval struct_pack map {} [] :: -> ->> => := lambda x: * , ( ) ; . $$ $1 ? -- /* */ '
" e'\\n' null true 1 1e308 0x1 distinct ignore nulls tablesample at (timestamp collate
copy to attach detach install load set reset pragma call export import checkpoint create or replace
temp table view macro secret insert into delete update alter drop prepare execute explain analyze
begin vacuum use comment returning merge format parquet csv json partition_by overwrite
memory. main. temp. system. information_schema. pg_catalog. sqlite_master duckdb_ raw_results trials
run_summary results
"""

FILES = [
    "'{secret}'",
    '"{secret}"',
    "'{folder}/*'",
    "'{folder}/**/*.csv'",
    "'{out}'",
    "'file://{secret}'",
    "'/proc/self/environ'",
    "(select '{secret}')",
    "['{secret}']",
]

TIME_LIMIT_S = 1.0


@cache
def _engine_names():
    """Return the names of every function of the engine: those of tables, and those of values."""
    with duckdb.connect() as engine:
        rows = engine.execute(
            "select distinct function_type, function_name from duckdb_functions()"
        ).fetchall()
    return sorted(
        name for kind, name in rows if kind in {"table", "pragma", "table_macro"}
    ), sorted(name for kind, name in rows if kind not in {"table", "pragma", "table_macro"})


def words():
    """Return pieces of queries: the hostile ones, syntax, and every function of the engine."""
    tables, values = _engine_names()
    pieces = [f"{word} " for word in SYNTAX.split()] + [f"{name} " for name in FILES]
    pieces += [f"from {name}({file}) " for name in tables for file in FILES[:2]]
    pieces += [f"select {name}({file}) " for name in values for file in FILES[:1]]
    return [piece.encode() for piece in pieces] + MORE


MORE = [sql.encode() for sql in HOSTILE if len(sql) < 300 and sql.isprintable() and sql.strip()]
"""Inputs beside the stored ones; each has a test of its own."""


@cache
def _parser():
    return connect()


@cache
def _runs():
    """Return a folder of runs with a lake of one run, and a file beside it that is a canary."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-lake-"))
    run_dir = root / "runs" / "r"
    run_dir.mkdir(parents=True)
    trial = planned(0, case_id="one")
    (run_dir / "config.json").write_text(config().model_dump_json())
    (run_dir / "plan.jsonl").write_bytes(line_of(trial))
    (run_dir / "results.jsonl").write_bytes(line_of(result()))
    mirror_run(run_dir, root / "runs" / "lake")
    (root / "secret.csv").write_text(f"name\n{SECRET}\n")
    return root


def close():
    """Remove the lake."""
    if _runs.cache_info().currsize:
        shutil.rmtree(_runs(), ignore_errors=True)
        _runs.cache_clear()


def check(data):
    """Nothing is read but the lake, nothing is written, and every no is one sentence."""
    root = _runs()
    sql = data.decode("utf-8", "surrogateescape")
    for name, path in (("secret", root / "secret.csv"), ("folder", root), ("out", root / "out")):
        sql = sql.replace(f"{{{name}}}", str(path))
    before = _files(root)
    try:
        check_query(_parser(), sql)  # most are refused here, at a hundredth of the price
        reply = ask(root / "runs", sql, _answer, timeout_s=TIME_LIMIT_S)
    except AnalyzeError as exc:
        reply = str(exc)
        assert "\n" not in reply, f"more than one sentence: {reply!r}"
    assert SECRET not in reply, "the query read the canary"
    assert _files(root) == before, "the query wrote"


def _answer(answer):
    rows = []
    for row in answer.rows():
        rows.append(repr(row))
        if len(rows) > 1000:
            break
    return "\n".join(rows)


def _files(root):
    return {
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }
