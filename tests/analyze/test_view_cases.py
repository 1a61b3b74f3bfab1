"""Runs cases/*.yaml: rows given to a view's upstream, rows expected of the view."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import yaml

from analyze.catalog import VIEWS, name_of, sql_of

CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("view", "case"), CASES)
def test_view_case(view, case, empty_views):
    """Rows are sparse: what is not given is null, what is not named is not compared."""
    (path,) = (path for path in VIEWS if name_of(path) == view)
    with duckdb.connect(":memory:") as connection:
        for name in {*(name_of(other) for other in VIEWS), "raw_results", "raw_plans"} - {view}:
            schema = empty_views.sql(f"from {name} limit 0").to_arrow_table().schema
            rows = [{"run_id": "r", **row} for row in case["given"].get(name, [])]
            assert {key for row in rows for key in row} <= set(schema.names)
            connection.register(name, pa.Table.from_pylist(rows, schema=schema.remove_metadata()))
        table = connection.sql(sql_of(path)).to_arrow_table()

    expected, rows = sorted(case["expect"], key=_key), sorted(table.to_pylist(), key=_key)
    assert len(rows) == len(expected)
    assert [
        {name: row[name] for name in wanted} for row, wanted in zip(rows, expected, strict=True)
    ] == expected


def _key(row):
    """Order by what identifies a row; a missing part comes first."""
    parts = ("provider", "model", "thinking_level", "model_id", "case_id", "repetition")
    counted = ("is_scorable", "n_scored", "n_passed", "n_independent", "n_tool_success")
    return [str(row.get(part) or "") for part in (*parts, "failure_type", *counted)]


def test_every_view_has_cases():
    assert {case.values[0] for case in CASES} == {name_of(view) for view in VIEWS}
