"""The engine's quantiles against numpy's, and the mart's against both."""

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

PROBABILITIES = [0.5, 0.95, 0.99]


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=300))
@settings(max_examples=60, deadline=None)
def test_engine_interpolates_like_numpy(values):
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
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
