"""The views as a graph: which file may read which, how each is written, what it says of itself."""

import json
import re
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from analyze.contracts import CONTRACTS, meanings_of
from analyze.query.catalog import VIEWS, create_views, grain_of, name_of, portable_sql_of, sql_of
from schemas.errors import ViewError
from schemas.io.arrow import arrow_schema

MAY_READ = {
    "staging/stg": ("raw_",),
    "staging/trials": ("stg_results",),
    "intermediate/int": ("stg_", "trials", "int_"),
    "marts/": ("stg_", "trials", "int_"),
}
"""Start of a view's path to the starts of what it may read; nobody reads a mart."""

VIEW_FILES = Path(str(files("analyze") / "views"))
LISTS = re.compile(
    r"quantile|percentile|_p\d\d|model_labels|unnest|explode|list_extract|try_element_at"
)
MARTS = tuple(view for view in VIEWS if view.startswith("marts/"))


def code_of(view: str, read=sql_of) -> str:
    """Return a select in lower case, without its comments."""
    return "\n".join(line.partition("--")[0] for line in read(view).lower().splitlines())


def order_of(view: str) -> str:
    """Return what the last `order by` of a select names, without tables' names; '': none is."""
    _, found, order = code_of(view).rpartition("\norder by")
    return re.sub(r"\b\w+\.", "", " ".join(order.split())) if found else ""


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
    on_disk = {str(path.relative_to(VIEW_FILES))[:-4] for path in VIEW_FILES.rglob("*.sql")}

    assert {*VIEWS} == on_disk
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
    before = VIEWS[: VIEWS.index(view)]
    earlier = {name_of(other) for other in before}
    upstream = {table for table in upstream_of(sql_of(view)) if not table.startswith("raw_")}

    assert upstream <= earlier


@pytest.mark.parametrize("view", [view for view in VIEWS if view.startswith("staging/stg")])
def test_staging_neither_joins_nor_groups(view):
    words = sql_of(view).lower().split()

    assert not {"join", "group", "distinct"} & set(words)


@pytest.mark.parametrize("view", VIEWS)
def test_view_begins_with_its_grain(view):
    assert grain_of(sql_of(view)).startswith("One row per ")
    assert ";" not in code_of(view)


@pytest.mark.parametrize("view", VIEWS)
def test_view_is_written_for_other_engines_too(view):
    code = code_of(view, portable_sql_of)

    for word in (
        "filter (",
        "group by all",
        "qualify",
        "approx",
        "quantile_cont",
        "map_extract",
        "::",
        "using",
    ):
        assert word not in code
    assert not re.search(r",\s*(from|\))", code), "a comma at the end of a list"
    assert not re.search(r"(?<!percentile_cont\()\b\d+\.\d+\b(?!e)", code), "a decimal: 8e-1"


def test_the_portable_form_differs_in_quantiles_maps_and_lists_taken_apart_only():
    differs = {}
    for view in VIEWS:
        own, other = sql_of(view).splitlines(), portable_sql_of(view).splitlines()
        if own != other:
            differs[name_of(view)] = (own, other)
            left, right = (
                [one for one in lines if not LISTS.search(one)] for lines in (own, other)
            )
            assert left == right

    names = {"model_summary", "models", "int_checks", "int_scores", "v_inspect_samples"}
    assert differs.keys() == names


@pytest.mark.parametrize("view", MARTS)
def test_mart_names_its_columns_and_ends_in_its_contracts_order(view):
    contract = CONTRACTS[name_of(view)]

    assert "select *" not in code_of(view)
    assert order_of(view) == (" ".join(contract.order.split()) if contract.is_sorted else "")
    for part in contract.order.split(", "):
        name, _, nulls = part.partition(" ")
        nullable = arrow_schema(contract).field(name).nullable
        assert not nullable or "nulls" in nulls, f"{name}: where do nulls stand?"


@pytest.mark.parametrize("view", CONTRACTS)
def test_columns_are_those_of_the_contract(view, empty_views):
    empty_views.register("declared", arrow_schema(CONTRACTS[view]).empty_table())
    declared, found = (
        empty_views.execute(f"select column_name, column_type from (describe {name})").fetchall()
        for name in ("declared", view)
    )
    empty_views.unregister("declared")

    assert found == declared


@pytest.mark.parametrize("view", CONTRACTS)
def test_every_column_is_described_and_has_its_unit_in_words(view):
    units = {"_ms": r"\bms\b", "_usd": r"\bUSD\b"}
    for name, field in CONTRACTS[view].model_fields.items():
        assert (field.description or "").endswith("."), name
        for suffix, unit in units.items():
            if re.search(rf"{suffix}(_p?\d*|_mean)?$", name):
                assert re.search(unit, field.description), name


def test_every_column_of_every_view_means_something(empty_views):
    for view in map(name_of, VIEWS):
        columns = [row[0] for row in empty_views.execute(f"describe {view}").fetchall()]
        assert [*meanings_of(empty_views, view)] == columns, view


@pytest.mark.parametrize(
    ("view", "column", "meaning"),
    [
        ("trials", "started_at_ms", "Wall clock before the trial"),
        ("stg_runs", "started_at_ms", "Wall clock at the run's start"),
        ("int_cell_counts", "started_at_ms", "Start of the run"),
        ("int_failures", "started_at_ms", "Wall clock before the trial"),
        ("stg_runs", "n_planned", "Trials of the plan"),
        ("trials", "record_no", "Line number in results.jsonl"),
        ("trials", "cost_nano_usd", "Cost in whole nano-dollars"),
        ("int_cell_pairs", "cost_nano_usd", "Sum of their costs"),
        ("int_cell_pairs", "run_no", "Place among the runs that planned the cell"),
    ],
)
def test_a_column_means_what_its_own_table_says(view, column, meaning, empty_views):
    assert meanings_of(empty_views, view)[column].startswith(meaning)


def test_every_mart_has_a_contract():
    marts = {name_of(view) for view in MARTS}

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

    first = name_of(VIEWS[0])
    assert str(caught.value).startswith(f"view `{first}`: ")
    assert first.replace("stg_", "raw_") in str(caught.value)
