"""Loops that the view finds in traces of a generator that knows nothing of it."""

from collections import defaultdict

import duckdb
import pytest

from analyze.query.catalog import NAMES, sql_of
from schemas.lake.rows.tables import TABLES, arrays_of, table_from
from schemas.lake.rows.trace_steps import steps_of
from tests.support.made_loops import made_kinds

N_TRACES = 800
ROUNDS = 4
"""From how many on a loop counts here."""

MODELS = ("m", None)


@pytest.fixture(scope="module")
def found():
    """Loops as they were made, and as they are found: by trajectory of a trace, as ranges."""
    rows, labels = [], defaultdict(list)
    for number, (_, events, loops) in enumerate(made_kinds(7, N_TRACES), 1):
        key = {"run_id": "r", "model_id": "m", "case_id": "c", "repetition": 1, "attempt": 1}
        steps = [row for part in steps_of(events, "a#0", MODELS) for row in part.rows]
        rows += [row | key | {"record_no": number} for row in steps]
        for loop in loops:
            calls = [
                row["step_no"]
                for row in steps
                if row["kind"] == "tool_call" and row["trajectory"] == loop.trajectory
            ]
            place = (calls[loop.first_call], calls[loop.last_call], loop.rounds, loop.period)
            labels[number, loop.trajectory].append(place)
    schema = TABLES["steps"]
    columns = {name: [row[name] for row in rows] for name in schema.names}
    views = defaultdict(list)
    with duckdb.connect() as connection:
        connection.register("raw_steps", table_from(arrays_of(columns, schema), schema))
        connection.execute(
            "create view trials as select distinct run_id, record_no, 's' as suite_id, "
            "'p' as provider, 'x' as model, null as thinking_level, true as is_measured "
            "from raw_steps"
        )
        connection.execute(
            "create view int_answers as select *, 0 as cost_nano_usd from raw_steps where false"
        )
        for view in ("stg_steps", "int_tool_calls", "loops"):
            connection.execute(f"create view {view} as {sql_of(NAMES[view])}")
        for *key, first, last, rounds, period in connection.sql(
            "select record_no, trajectory, first_step_no, last_step_no, n_rounds, period from loops"
        ).fetchall():
            views[tuple(key)].append((first, last, rounds, period))
    return labels, views


def met(place, others):
    """Return whether a range has a step in common with one of others."""
    return any(place[0] <= other[1] and other[0] <= place[1] for other in others)


def test_hardly_any_loop_is_found_that_is_none(found):
    labels, views = found
    loops = [
        (key, place) for key, places in views.items() for place in places if place[2] >= ROUNDS
    ]

    assert len(loops) > 200
    assert sum(met(place, labels[key]) for key, place in loops) >= 95e-2 * len(loops)


def test_most_loops_are_found(found):
    labels, views = found
    made = [(key, place) for key, places in labels.items() for place in places]
    long = [(key, place) for key, place in made if place[2] >= ROUNDS]

    assert len(long) > 200
    assert sum(met(place, views[key]) for key, place in long) >= 80e-2 * len(long)


def test_a_loop_that_is_found_is_found_from_its_first_call_with_its_rounds(found):
    labels, views = found
    made = [(key, place) for key, places in labels.items() for place in places]
    known = [(key, place) for key, place in made if place[2] >= ROUNDS and place[3] <= 3]

    exact = [
        any(place[0] == other[0] and place[2:] == other[2:] for other in views[key])
        for key, place in known
    ]
    assert sum(exact) >= 95e-2 * len(exact)
