"""The engine's quantiles against numpy's, and the mart's against both."""

import math

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

PROBABILITIES = [0.5, 0.95, 0.99]


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect(":memory:") as connection:
        yield connection


@given(values=st.lists(st.integers(0, 2**40), min_size=1, max_size=300))
@settings(max_examples=60, deadline=None)
def test_engine_interpolates_like_numpy(engine, values):
    rows = engine.execute(
        f"select quantile_cont(cast(x as double), {PROBABILITIES}) from unnest(?) as t (x)",
        [values],
    ).fetchall()

    assert rows[0][0] == pytest.approx(np.quantile(values, PROBABILITIES).tolist(), rel=1e-12)


def test_summary_has_the_same_percentiles(run):
    generator = np.random.default_rng(7)
    latencies = generator.integers(1, 100_000, size=137).tolist()
    for n, e2e_ms in enumerate(latencies):
        run.result(run.plan(f"c{n}"), e2e_ms=e2e_ms, ttft_ms=e2e_ms // 3)

    group = run.group()

    expected = np.quantile(latencies, PROBABILITIES)
    found = (group.latency_ms.p50, group.latency_ms.p95, group.latency_ms.p99)
    assert found == pytest.approx(expected.tolist(), rel=1e-12)
    assert group.latency_ms.mean == sum(latencies) / len(latencies)
    assert group.latency_ms.supported.model_dump() == {"p50": True, "p95": True, "p99": False}
    first = np.quantile([e2e_ms // 3 for e2e_ms in latencies], 0.5)
    assert group.ttft_ms.p50 == pytest.approx(first, rel=1e-12)


def ranked(times, n_timeouts, q):
    """Return a percentile where a time-out is later than every success; None: beyond the limit."""
    rank = [*sorted(times), *[math.inf] * n_timeouts]
    place = (len(rank) - 1) * q
    low, high = rank[math.floor(place)], rank[math.ceil(place)]
    if high == math.inf:
        return None
    return low + (high - low) * (place - math.floor(place))


@pytest.mark.parametrize("n_timeouts", [0, 1, 4, 5, 6, 33, 50, 99, 100])
def test_a_time_out_is_later_than_every_success(run, n_timeouts):
    generator = np.random.default_rng(n_timeouts)
    times = generator.integers(1, 30_000, size=100 - n_timeouts).tolist()
    for n, e2e_ms in enumerate(times):
        run.result(run.plan(f"c{n}"), e2e_ms=e2e_ms, ttft_ms=e2e_ms // 3)
    for n in range(n_timeouts):
        run.result(run.plan(f"late{n}"), failure_type="timeout", e2e_ms=None, ttft_ms=None)

    group = run.group()

    for found, known in ((group.latency_ms, times), (group.ttft_ms, [ms // 3 for ms in times])):
        is_known = bool(known) or found is group.latency_ms
        expected = {
            name: ranked(known, n_timeouts, q) if is_known else None
            for name, q in zip(("p50", "p95", "p99"), PROBABILITIES, strict=True)
        }
        for name, value in expected.items():
            assert getattr(found, name) == (value and pytest.approx(value, rel=1e-12))
        beyond = tuple(name for name, value in expected.items() if value is None)
        assert found.beyond_limit == (beyond if is_known else ())
        assert (found.n, found.n_timeouts) == (len(known), n_timeouts if is_known else 0)
        assert found.mean == (sum(known) / len(known) if known else None)
        assert found.supported.p95 is is_known


def test_a_time_out_that_is_not_the_models_is_in_no_percentile(run):
    for n in range(20):
        run.result(run.plan(f"c{n}"), e2e_ms=100)
    run.result(run.plan("unaccepted"), failure_type="timeout", passed=None)
    run.result(run.plan("unjudged", validator_type=None), failure_type="timeout", passed=None)
    run.result(run.plan("older"), failure_type="timeout", reused_from_run_id="older")

    group = run.group()

    assert (group.n_timeout, group.latency_ms.n_timeouts) == (3, 0)
    assert (group.latency_ms.p99, group.latency_ms.beyond_limit) == (100, ())


@pytest.mark.parametrize(("n_timeouts", "is_supported"), [(3, False), (4, True)])
def test_time_outs_support_a_percentile_like_successes(run, n_timeouts, is_supported):
    for n in range(96):
        run.result(run.plan(f"c{n}"), e2e_ms=100 + n)
    for n in range(n_timeouts):
        run.result(run.plan(f"late{n}"), failure_type="timeout")

    found = run.group().latency_ms

    assert found.supported.p95 is is_supported
    assert found.p95 == pytest.approx(100 + 0.95 * (95 + n_timeouts))
    assert found.beyond_limit == ("p99",)
