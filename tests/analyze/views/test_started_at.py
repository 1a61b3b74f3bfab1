"""`started_at` of the marts: the start as a timestamp, for people who look."""

import json

import pytest

from analyze.contracts import CONTRACTS
from analyze.lake.sync import sync
from analyze.query.session import Session
from tests.support.analyze_cli import call

START_MS = 1_763_762_400_123
LAST_MS = 253_402_300_799_999
"""The last moment of the year 9999."""

STAMPED = [name for name, row in CONTRACTS.items() if "started_at_ms" in row.model_fields]


@pytest.fixture(scope="module")
def runs(shared_run):
    """Four runs of one cell that flips: two as they are, two where a client has no word."""
    for number, started_at_ms in enumerate((0, START_MS, LAST_MS, LAST_MS + 1)):
        run = shared_run(f"r{number}", started_at_ms=started_at_ms)
        run.traced(run.plan(), passed=number % 2 == 0)
        run.result(run.plan("c2"), failure_type="timeout")
        run.write()
    sync(run.runs_dir)
    return run.runs_dir


def test_every_mart_with_a_start_has_it_as_a_timestamp(runs):
    assert {"runs", "results", "attempts", "failures", "cells", "flips"} <= {*STAMPED}
    with Session(runs) as session:
        for mart in STAMPED:
            rows = session.rows(
                f"select started_at_ms, started_at, epoch_ms(started_at), typeof(started_at) "
                f"from {mart}"
            )
            assert {row[3] for row in rows} == {"TIMESTAMP"}, mart
            for started_at_ms, started_at, same, _ in rows:
                assert same == (started_at_ms if started_at_ms <= LAST_MS else None), mart
                assert (started_at is None) == (started_at_ms > LAST_MS), mart


def test_a_timestamp_is_utc_and_exact_to_the_millisecond(runs):
    query = "select started_at from runs order by run_id"
    done = call("sql", query, "--json", "--runs", runs)

    assert [row["started_at"] for row in json.loads(done.out)] == [
        "1970-01-01 00:00:00", "2025-11-21 22:00:00.123", "9999-12-31 23:59:59.999", None,
    ]  # fmt: skip
    assert "2025-11-21 22:00:00.123" in call("sql", query, "--runs", runs).out
