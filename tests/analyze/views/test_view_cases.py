"""Runs cases/*.yaml: rows given to a view's upstream, rows expected of the view."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import yaml

from analyze.query.catalog import NAMES, portable_sql_of, sql_of
from tests.support.open_lake import PORTABLE

CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
]
FORMS = [
    pytest.param(view, sql, case, id=f"{view}{' portable' * number}: {case['name']}")
    for view, case in CASES
    for number, sql in enumerate(dict.fromkeys((sql_of(NAMES[view]), portable_sql_of(NAMES[view]))))
]
"""Every case of every view; a view with a portable form of its own has each of its cases twice."""


@pytest.mark.parametrize(("view", "sql", "case"), FORMS)
def test_view_case(view, sql, case, schemas_of):
    """Rows are sparse: what is not given is null, what is not named is not compared."""
    upstream = set(re.findall(r"\w+", sql)) & schemas_of.keys() - {view}
    assert set(case["given"]) <= upstream
    with duckdb.connect(":memory:") as connection:
        connection.execute(PORTABLE)
        for name in upstream:
            schema = schemas_of[name]
            run = {"run_id": "r"} if "run_id" in schema.names else {}
            given = [run | row for row in case["given"].get(name, [])]
            assert {key for row in given for key in row} <= set(schema.names)
            connection.register(name, pa.Table.from_pylist(given, schema=schema))
        rows = connection.sql(sql).to_arrow_table().to_pylist()

    assert len(rows) == len(case["expect"]), rows
    for wanted in sorted(case["expect"], key=len, reverse=True):
        alike = [row for row in rows if {name: row[name] for name in wanted} == wanted]
        assert alike, (wanted, [{name: row[name] for name in wanted} for row in rows])
        rows.remove(alike[0])


def test_every_view_has_cases():
    assert {view for view, _ in CASES} == NAMES.keys()
