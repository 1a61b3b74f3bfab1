"""Eight marts over steps say what plain loops say, on made histories of what agents may leave."""

import math
from collections import Counter

import pytest

from analyze.contracts import CONTRACTS
from analyze.lake.raw_tables import connect, declared, fill
from analyze.query.catalog import create_views, sources_of
from tests.support.made_steps import RAW, MadeSteps
from tests.support.mirrored import table_of
from tests.support.plain_marts import marts_of

pytestmark = pytest.mark.peers

SEED = 20261126
N_LAKES, N_HISTORIES = 8, 8
"""Histories of one lake share no run and no suite; to plan a query takes longer than their rows."""

MARTS = (
    "trajectories", "contexts", "trial_times", "stops", "progress", "loops", "tool_errors",
    "error_signatures",
)  # fmt: skip
CLOSE = 1e-9
DUST = 1e-13  # of limits that are 0 but for rounding


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """A connection with the marts, over raw tables that can be written to."""
    with connect(threads=1) as connection:
        with declared(connection):
            for name in RAW:
                connection.execute(f"create table rows_of_{name} as from raw_{name}")
            needed = frozenset(MARTS).union(*map(sources_of, MARTS))
            create_views(connection, described=False, only=needed)
        for name in RAW:
            connection.execute(f"create view raw_{name} as from rows_of_{name}")
        fill(connection, tmp_path_factory.mktemp("none"), ("failure_types",))
        yield connection


def made_rows(first, number=N_HISTORIES, seed=SEED):
    """Return the rows of some histories in one lake, by raw table."""
    histories = [MadeSteps(seed, place).rows for place in range(first, first + number)]
    return {name: [row for rows in histories for row in rows[name]] for name in RAW}


def rows_of(views, rows):
    """Return the rows of each mart over raw rows, in the mart's order."""
    for name in RAW:
        views.register("made", table_of(name, rows[name]))
        views.execute(f"create or replace table rows_of_{name} as from made")
        views.unregister("made")
    found = {}
    for mart in MARTS:
        relation = views.sql(f"from {mart}")
        found[mart] = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return found


def is_same(value, other):
    """Floats up to rounding, everything else exactly, and of the same kind."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=CLOSE, abs_tol=DUST)
    return type(value) is type(other) and value == other


def differing(row, plain):
    """Return what two rows of a mart do not say alike, by column."""
    assert row.keys() == plain.keys()
    return {
        name: (value, plain[name]) for name, value in row.items() if not is_same(value, plain[name])
    }


@pytest.mark.parametrize("lake", range(N_LAKES))
def test_marts_say_what_plain_loops_say(views, lake):
    made = made_rows(lake * N_HISTORIES)
    plain = marts_of(**made)

    for mart, rows in rows_of(views, made).items():
        keys = [term.split()[0] for term in CONTRACTS[mart].order.split(", ")]
        wanted, found = (
            [tuple(row[key] for key in keys) for row in one] for one in (plain[mart], rows)
        )
        assert found == wanted, mart
        unlike = [
            (row, names)
            for row, one in zip(rows, plain[mart], strict=True)
            if (names := differing(row, one))
        ]
        assert unlike == [], mart


def test_made_histories_have_what_may_go_wrong():
    rows = [marts_of(**made_rows(lake * N_HISTORIES)) for lake in range(N_LAKES)]
    marts = {mart: [row for one in rows for row in one[mart]] for mart in MARTS}

    assert min(map(len, marts.values())) > 150
    assert len(Counter(row["stop"] for row in marts["stops"])) == 9
    assert len(Counter(row["period"] for row in marts["loops"])) == 3
    assert {row["is_new"] for row in marts["error_signatures"]} == {None, True, False}
    for mart, mart_rows in marts.items():
        for name in CONTRACTS[mart].model_fields:
            assert len({row[name] for row in mart_rows}) > 1, (mart, name)
