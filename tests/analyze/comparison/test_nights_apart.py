"""A night is one draw: what nights vary by is in verdicts between nights, and in none in one."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from analyze.api import open_history
from analyze.stats.changepoints.rates import scan_rate
from analyze.stats.changepoints.values import scan_values
from analyze.stats.night_noise import (
    rate_between_nights,
    t_between_nights,
    variance_of_logs,
    variance_of_rates,
    variance_within,
)
from analyze.stats.paired_rates import rate_difference
from analyze.stats.power.nights import level_of_logs, level_of_rates, may_have_shifted
from benchmarks.nights_apart import passes, rate_p, shared, time_p, times
from schemas.output.comparison import Comparison
from tests.support.analyze_cli import call
from tests.support.nights import Nights

pytestmark = pytest.mark.peers

NIGHTS = 34


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """Nights in which nothing changes but what all cases of a night share; the last is worse."""
    runs = tmp_path_factory.mktemp("nights") / "runs"
    nights, dice = Nights(runs, n_cases=15, repetitions=3), random.Random(5)
    for _ in range(NIGHTS):
        rate = 1 / (1 + math.exp(-1.6 - dice.gauss(0, 0.2)))
        nights.add(rates={"m": rate}, e2e_ms=400 * math.exp(dice.gauss(0, 0.1)))
    nights.add(rates={"m": 0.3}, e2e_ms=800)
    with open_history(runs) as history:
        yield history


def test_wrong_1_a_gate_on_times_fails_unchanged_nights_because_a_night_is_one_draw(unchanged):
    failed = called = 0
    for night in range(2, NIGHTS + 1):
        names = f"night-{night - 1:03d}", f"night-{night:03d}"
        found = unchanged.gate(
            names[1], baseline=names[0], metrics=("passed_rate", "e2e_ms"), max_drop=0.1
        )
        assert found.exit_code != 3
        failed += found.exit_code == 1
        e2e = found.comparison.groups[0].ratios[0]
        called += e2e.verdict in {"regressed", "improved"}

    assert failed <= 2
    assert called <= 2


def test_a_worse_night_after_them_is_found_by_the_commands(unchanged):
    runs = ("--runs", unchanged.path)
    slower = call("gate", "--baseline", "history", "--metric", "e2e_ms", "--max-drop", "0.1", *runs)
    worse = call("gate", "--baseline", "history", *runs)
    compared = call("compare", "last:7", "latest", *runs)

    assert (slower.code, worse.code, compared.code) == (1, 1, 1)
    assert "20 runs vary by" in " ".join(slower.out.split())
    assert "slower: answer time" in compared.out
    assert "between nights: 20 runs vary by" in compared.out


def test_without_a_history_it_is_said_that_nights_are_assumed(unchanged):
    done = call("compare", "night-001", "night-002", "--json", "--runs", unchanged.path)
    (group,) = Comparison.model_validate_json(done.out).groups
    text = call("compare", "night-001", "night-002", "--runs", unchanged.path, columns=140).out

    night = group.ratios[0].night
    assert (night.basis, night.n_runs, night.sd, night.df) == ("assumed", 1, 0.12, 3)
    assert (group.difference.night.basis, group.difference.night.df) == ("assumed", 4)
    assert group.difference.night.low <= group.difference.low
    assert "assumed: 12.0 %" in text
    assert "between nights: assumed: nights vary by" in text


def test_later_nights_and_the_candidate_are_no_history(unchanged):
    done = call("compare", "night-010", "night-005", "--json", "--runs", unchanged.path)
    (group,) = Comparison.model_validate_json(done.out).groups

    assert group.ratios[0].night.n_runs == 4


def test_two_models_of_one_run_share_its_night(tmp_path):
    nights = Nights(tmp_path / "runs")
    nights.add(4, rates={"a": 0.9, "b": 0.5})
    with open_history(tmp_path / "runs") as history:
        (of_one,) = history.compare("latest", model="a", against="b").groups
        (of_two,) = history.compare("previous", model="a", against="b", candidate="latest").groups

    assert (of_one.difference.night, of_one.difference.night_p) == (None, None)
    assert {ratio.night for ratio in of_one.ratios} == {None}
    assert of_two.difference.night.n_runs == 3


def test_the_history_of_a_verdict_begins_with_the_level_that_holds(tmp_path):
    nights = Nights(tmp_path / "runs")
    nights.add(8, rates={"m": 0.7}, e2e_ms=100)
    nights.add(9, rates={"m": 0.7}, e2e_ms=300)
    nights.add(1, rates={"m": 0.7}, lost=0.5)
    nights.add(1, rates={"m": 0.7}, only=3)
    nights.add(1, rates={"m": 0.7}, hashes="edited")
    nights.add(1, rates={"m": 0.7}, e2e_ms=300)
    with open_history(tmp_path / "runs") as history:
        (group,) = history.compare("night-017", "latest").groups

    assert group.difference.night.n_runs == 17
    assert group.ratios[0].night.n_runs == 9
    assert group.ratios[0].night.seen_sd < 0.05


# ---------- formulas


def test_the_variance_of_nights_is_that_of_the_run_means_without_what_cases_explain():
    rng = np.random.default_rng(3)
    table = rng.normal(0, 1, 12) + rng.normal(0, 0.1, (9, 1)) + rng.normal(0, 0.2, (9, 12))
    left = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    square = (left**2).sum() / (8 * 11)
    seen = max(table.mean(axis=1).var(ddof=1) - square / 12, 0)
    found = variance_of_logs(table.tolist())

    assert found.variance == pytest.approx((3 * 0.12**2 + 8 * seen) / 11)
    assert (found.df, found.n_runs) == (11, 9)


def test_holes_are_fitted_by_least_squares():
    rng = np.random.default_rng(4)
    table = rng.normal(0, 1, 8) + rng.normal(0, 0.1, (6, 1)) + rng.normal(0, 0.2, (6, 8))
    holes = rng.random((6, 8)) < 0.2
    rows, columns = np.nonzero(~holes)
    design = np.zeros((len(rows), 14))
    design[range(len(rows)), rows] = 1
    design[range(len(rows)), 6 + columns] = 1
    fitted, *_ = np.linalg.lstsq(design, table[~holes], rcond=None)
    square = ((table[~holes] - design @ fitted) ** 2).sum() / (len(rows) - 13)
    seen = fitted[:6].var(ddof=1) - square * np.mean(1 / (~holes).sum(axis=1))
    rows_of = [
        [None if h else v for v, h in zip(*pair, strict=True)]
        for pair in zip(table, holes, strict=True)
    ]

    assert variance_of_logs(rows_of).seen == pytest.approx(max(seen, 0), abs=1e-9)


@pytest.mark.parametrize("n_runs", [0, 1, 2])
def test_fewer_than_three_runs_say_nothing(n_runs):
    of_logs = variance_of_logs([[1.0 * n, 2.0] for n in range(n_runs)])
    of_rates = variance_of_rates([[1, 2]] * n_runs, [[3, 3]] * n_runs, ([1, 2], [3, 3]))

    assert (of_logs.variance, of_logs.df, of_logs.seen) == (0.12**2, 3, None)
    assert of_rates.variance == pytest.approx((0.15 / 3) ** 2)
    assert (of_rates.df, of_rates.seen, of_rates.n_runs) == (4, None, n_runs)


def test_runs_without_a_value_are_none():
    empty = [None, None]
    assert variance_of_logs([[1.0, 2.0], empty, [1.5, 2.5], empty]).n_runs == 2
    assert variance_of_logs([empty] * 5).variance == 0.12**2
    assert variance_of_rates([[0, 0]] * 4, [[0, 0]] * 4, ([], [])).variance == 0


def test_the_variance_within_cases_is_unbiased_and_half_without_repetitions():
    assert variance_within([1, 3], [3, 3]) == pytest.approx((2 / 6 + 0) / 2)
    assert variance_within([1, 0, 1, 1], [1, 1, 1, 1]) == pytest.approx(0.75 * 0.25 / 2)
    assert variance_within([1, 2], [1, 4]) == pytest.approx(2 * 2 / (4 * 3))
    assert variance_within([], []) == variance_within([0], [0]) == 0


def test_a_ratio_between_nights_is_a_t_of_cases_and_nights():
    rng = np.random.default_rng(5)
    d, nights = rng.normal(0.3, 0.2, 30), variance_of_logs(rng.normal(0, 0.1, (12, 30)).tolist())
    error = math.sqrt(stats.sem(d) ** 2 + nights.variance * (1 + 1 / 4))
    found = t_between_nights(d.tolist(), nights, 4, 1)

    assert found.p == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, nights.df))
    assert (found.low, found.high) == pytest.approx(
        stats.t.interval(0.95, nights.df, d.mean(), error)
    )
    assert t_between_nights(d[:4].tolist(), nights, 4, 1) is None
    assert t_between_nights([0.2] * 5, nights, 1, 1).high > 0.2
    with pytest.raises(ValueError, match="finite"):
        t_between_nights([math.nan] * 5, nights, 1, 1)


def test_a_rate_between_nights_has_the_degrees_of_freedom_of_satterthwaite():
    k_a, k_b, m = [3] * 20 + [2] * 10, [3] * 12 + [1] * 18, [3] * 30
    found = rate_difference(k_a, m, k_b, m)
    nights = variance_of_rates([k_a, k_b, k_a, k_b], [m] * 4, (k_a, m))
    apart = rate_between_nights(found, nights, 1, 1)
    added, side = 2 * nights.variance, (found.high - found.difference) / stats.norm.ppf(0.975)
    df = math.floor((side**2 + added) ** 2 * nights.df / added**2)
    error = math.sqrt(side**2 + added)

    assert apart.df == min(df, 200)
    assert apart.p == pytest.approx(2 * stats.t.sf(-found.difference / error, apart.df))
    assert apart.high == pytest.approx(found.difference + stats.t.ppf(0.975, apart.df) * error)
    assert apart.low < found.low < found.low90
    assert apart.low90 < found.low90


def test_nights_that_never_vary_add_nothing():
    k, m = [3] * 30, [3] * 30
    found = rate_difference(k, m, k, m)
    apart = rate_between_nights(found, variance_of_rates([k] * 5, [m] * 5, (k, m)), 1, 1)

    assert apart.p == 1
    assert (apart.low, apart.high) == pytest.approx((found.low, found.high), rel=0.01)


def test_tables_with_unequal_rows_are_refused():
    with pytest.raises(ValueError, match="every run has a place for every case"):
        variance_of_logs([[1.0], [1.0, 2.0], [1.0]])


# ---------- levels


@pytest.mark.parametrize("seed", range(60))
def test_what_a_scan_calls_a_shift_is_never_passed_over(seed):
    rng = np.random.default_rng(seed)
    n_runs, n_cases, m = rng.integers(6, 25), rng.choice([5, 30]), rng.choice([1, 3])
    at, step = rng.integers(3, 21), rng.choice([0, 0.1, 0.2, 0.4])
    fallen = np.where(np.arange(n_runs) >= at, step, 0)
    hashes = np.zeros((n_runs, n_cases), int)
    k = rng.binomial(m, 0.85 - fallen[:, None], (n_runs, n_cases))
    scored = np.full(k.shape, m)
    logs = rng.normal(0, 0.1, k.shape) + rng.normal(0, 0.05, (n_runs, 1)) + fallen[:, None]
    whole = np.ones(n_runs)
    of_rates = scan_rate(hashes, k, scored, whole, margin=0.05).segments[-1].first
    of_logs = scan_values(hashes, logs, scored, whole, ratio_margin=0.1).segments[-1].first
    planned = np.ones_like(k).tolist()

    assert level_of_rates(k.tolist(), scored.tolist(), planned, 0.05) == of_rates
    assert level_of_logs(logs.tolist(), planned, 0.1) == of_logs


def test_too_few_nights_cannot_have_shifted():
    assert not may_have_shifted([], 0.1)
    assert not may_have_shifted([0.0, 0.0, 5.0, 5.0, 5.0], 0.1)
    assert may_have_shifted([0.0, 0.01, 0.0, 5.0, 5.01, 5.0], 0.1)


# ---------- simulated


@pytest.mark.parametrize(("sd", "ar"), [(0.0, 0.0), (0.08, 0.0), (0.15, 0.0), (0.15, 0.5)])
def test_times_of_unchanged_nights_are_rarely_called_different(sd, ar):
    rng = np.random.default_rng(11)
    false = sum(
        next(time_p(times(rng, shared(rng, n + 1, sd, ar)), n, [k]))[1] <= 0.05
        for _ in range(60)
        for n, k in ((1, 1), (7, 1), (7, 7), (20, 1))
    )

    assert false <= 240 * 0.06 + 2 * math.sqrt(240 * 0.06)


def test_slower_nights_are_found_once_there_is_a_history():
    rng, found = np.random.default_rng(12), {(1, 1): 0, (7, 1): 0, (7, 7): 0}
    for key, (n, k) in zip(found, found, strict=True):
        for _ in range(80):
            moves = shared(rng, n + 1, 0.08)
            moves[-1] += math.log(2)
            found[key] += next(time_p(times(rng, moves), n, [k]))[1] <= 0.05

    assert found[1, 1] >= 80 * 0.7
    assert found[7, 1] >= 80 * 0.95
    assert found[7, 7] >= 80 * 0.95


@pytest.mark.parametrize("sd", [0.0, 0.2])
def test_pass_rates_of_unchanged_nights_are_rarely_called_different(sd):
    rng = np.random.default_rng(13)
    down = up = 0
    for n, k in ((1, 1), (7, 1), (7, 7)):
        for _ in range(50):
            d, p, _ = next(rate_p(passes(rng, shared(rng, n + 1, sd), 100, 3), 3, n, [k]))
            down += p <= 0.05 and d < 0
            up += p <= 0.05 and d > 0

    assert max(down, up) <= 150 * 0.05 + 2 * math.sqrt(150 * 0.05)
