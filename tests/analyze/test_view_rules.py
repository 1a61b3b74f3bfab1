"""The views as a graph: which file may read which, and that the catalog is complete."""

import json
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from analyze.catalog import VIEWS, create_views, grain_of, name_of, sql_of
from analyze.rows import CONTRACTS
from schemas.arrow import arrow_schema
from schemas.errors import ViewError

MAY_READ = {
    "staging/stg": ("raw_",),
    "staging/trials": ("stg_results",),
    "intermediate/int": ("stg_", "trials", "int_"),
    "marts/": ("stg_", "trials", "int_"),
}
"""Start of a view's path to the starts of what it may read; nobody reads a mart."""


def upstream_of(sql: str) -> set[str]:
    """Return the tables a select reads, from the engine's own parser, without its CTEs."""
    rows = duckdb.execute("select json_serialize_sql(?)", [sql]).fetchall()
    tables, ctes = set(), set()

    def walk(node):
        if isinstance(node, list):
            for item in node:
                walk(item)
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE":
                tables.add(node["table_name"])
            if "cte_map" in node:
                ctes.update(entry["key"] for entry in node["cte_map"]["map"])
            for item in node.values():
                walk(item)

    tree = json.loads(rows[0][0])
    assert not tree["error"], tree
    walk(tree)
    return tables - ctes


def test_catalog_lists_exactly_the_files_on_disk():
    root = Path(str(files("analyze") / "views"))
    on_disk = {str(path.relative_to(root).with_suffix("")) for path in root.rglob("*.sql")}

    assert set(VIEWS) == on_disk
    assert len(VIEWS) == len(on_disk)


def test_names_are_unique():
    assert len({name_of(view) for view in VIEWS}) == len(VIEWS)


@pytest.mark.parametrize("view", VIEWS)
def test_view_reads_only_what_its_layer_may(view):
    allowed = next(starts for path, starts in MAY_READ.items() if view.startswith(path))
    upstream = upstream_of(sql_of(view))

    assert upstream
    assert {table for table in upstream if not table.startswith(allowed)} == set()


@pytest.mark.parametrize("view", VIEWS)
def test_view_reads_only_earlier_views(view):
    earlier = {name_of(other) for other in VIEWS[: VIEWS.index(view)]}
    upstream = {table for table in upstream_of(sql_of(view)) if not table.startswith("raw_")}

    assert upstream <= earlier


@pytest.mark.parametrize("view", [view for view in VIEWS if view.startswith("staging/stg")])
def test_staging_neither_joins_nor_groups(view):
    words = sql_of(view).lower().split()

    assert not {"join", "group", "distinct"} & set(words)


@pytest.mark.parametrize("view", VIEWS)
def test_view_begins_with_its_grain(view):
    assert grain_of(sql_of(view)).startswith("One row per ")


@pytest.mark.parametrize("view", [view for view in VIEWS if view.startswith("marts/")])
def test_mart_is_portable_but_for_its_quantiles(view):
    code = "\n".join(line.partition("--")[0] for line in sql_of(view).lower().splitlines())

    for word in ("filter (", "group by all", "qualify", "select *", "approx", ",\nfrom"):
        assert word not in code
    assert "order by" in code


@pytest.mark.parametrize("view", CONTRACTS)
def test_columns_are_those_of_the_contract(view, empty_views):
    declared = arrow_schema(CONTRACTS[view])
    found = empty_views.sql(f"from {view} limit 0").to_arrow_table().schema

    assert [(field.name, field.type) for field in found] == [
        (field.name, field.type) for field in declared
    ]


def test_every_mart_has_a_contract():
    marts = {name_of(view) for view in VIEWS if view.startswith("marts/")}

    assert marts <= CONTRACTS.keys() <= {name_of(view) for view in VIEWS}


def test_comments_tell_grain_and_meaning(empty_views):
    views = empty_views.execute(
        "select view_name, comment from duckdb_views() where not internal"
    ).fetchall()
    (column,) = empty_views.execute(
        "select comment from duckdb_columns() "
        "where table_name = 'model_summary' and column_name = 'coverage'"
    ).fetchall()

    comments = dict(views)
    assert comments["failure_summary"].startswith("One row per run, provider,")
    assert column == ("n_scored / n_scorable.",)


def test_creating_twice_changes_nothing(empty_views):
    before = empty_views.execute("select sql from duckdb_views() order by view_name").fetchall()

    create_views(empty_views)

    after = empty_views.execute("select sql from duckdb_views() order by view_name").fetchall()
    assert after == before


def test_error_names_the_view_and_the_reason():
    with duckdb.connect(":memory:") as connection, pytest.raises(ViewError) as caught:
        create_views(connection)

    assert str(caught.value).startswith("view `stg_results`: ")
    assert "raw_results" in str(caught.value)
