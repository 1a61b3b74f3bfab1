"""The statistics beside a second writing of them, on random counts with fixed seeds."""

import math

import numpy as np
import pytest

from analyze.stats import exact_tests, intervals, night_noise, paired_rates
from analyze.stats.changepoints import rates as level_shift
from analyze.stats.changepoints import values
from tests.support import plain_statistics as plain

KINDS = ("one", "equal", "unequal", "many")
SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 30)
MARGIN = 0.05
RATIO_MARGIN = 0.1


def some_rates(rng, n):
    """Pass rates of cases: now and then all 0, all 1, or all equal."""
    chance = rng.random()
    if chance < 0.25:
        return np.full(n, rng.choice([0.0, 1.0, rng.random()]))
    return rng.beta(0.8, 0.4, n)


def some_trials(rng, n, kind):
    if kind == "unequal":
        return rng.integers(1, 8, n)
    return np.full(n, {"one": 1, "equal": rng.integers(2, 8), "many": 20}[kind])


def some_pair(rng, n, kind=None):
    """Counts of both sides, of which every other pair has as many trials on both."""
    scored_a = some_trials(rng, n, kind or rng.choice(KINDS))
    scored_b = scored_a if rng.random() < 0.5 else some_trials(rng, n, rng.choice(KINDS[:3]))
    rates_a = some_rates(rng, n)
    rates_b = [rates_a, np.clip(rates_a - rng.random() / 2, 0, 1), some_rates(rng, n)][
        rng.integers(3)
    ]
    return [
        each.tolist()
        for each in (
            rng.binomial(scored_a, rates_a),
            scored_a,
            rng.binomial(scored_b, rates_b),
            scored_b,
        )
    ]


def same(found, expected, rel=1e-8):
    """Whether numbers agree; so far out as 1e-12 a p is only nearly nothing."""
    if found is None or expected is None:
        return found is expected
    return np.allclose(
        np.array(found, float), np.array(expected, float), rtol=rel, atol=2e-12, equal_nan=True
    )


def test_reference_values():
    for k, m, n_eff, low, high in (
        ([1] * 16, [1] * 16, 16, 0.8064, 1),
        ([3, 3, 2, 0, 3, 1], [3] * 6, 7.8261, 0.3358, 0.8878),
        ([3, 1, 0, 2], [3, 1, 2, 3], 4.4944, 0.2608, 0.9190),
        ([20] * 5, [20] * 5, 8.0645, 0.6774, 1),
        ([20] * 4 + [19], [20] * 5, 8.2493, 0.6688, 0.9998),
    ):
        assert plain.rate_interval(k, m)[3] == pytest.approx(n_eff, abs=5e-5)
        assert plain.rate_interval(k, m)[:2] == pytest.approx((low, high), abs=5e-5)
    counts = [[3, 3, 3, 3, 2, 1, 0, 3, 3, 2], [3] * 10, [3, 2, 1, 3, 1, 0, 0, 2, 3, 0], [3] * 10]
    wide = plain.difference_limits(*counts, plain.Z95)
    assert wide == pytest.approx((-0.2667, -0.4324, -0.0753), abs=5e-5)
    narrow = plain.difference_limits(*counts, plain.Z90)
    assert narrow[1:] == pytest.approx((-0.4100, -0.1048), abs=5e-5)
    assert plain.rate_p(*counts) == 0.015625
    for worse, better, p in ((5, 0, 0.03125), (8, 1, 0.021484), (10, 2, 0.022461)):
        assert plain.sign_flip_p([1] * better + [-1] * worse) == pytest.approx(p, abs=5e-7)
    assert plain.tail(4, 0.1) == pytest.approx(0.0023392, abs=5e-8)
    assert plain.tail(4, 0.05) == pytest.approx(0.0030892, abs=5e-8)


def test_a_rate():
    rng = np.random.default_rng(20270401)
    for _ in range(400):
        n = int(rng.choice([*SIZES, 100, 300]))
        scored = some_trials(rng, n, rng.choice(KINDS))
        if rng.random() < 0.2:
            scored = np.where(rng.random(n) < 0.2, 0, scored)
        counts = rng.binomial(scored, some_rates(rng, n)).tolist(), scored.tolist()
        found = intervals.wilson_shrunk(*counts)
        known = found and (found.low, found.high, found.estimate, found.n_eff)
        assert same(known, plain.rate_interval(*counts)), counts


def test_a_difference():
    rng = np.random.default_rng(20270402)
    for _ in range(200):
        counts = some_pair(rng, int(rng.choice([*SIZES, 100])))
        found = paired_rates.rate_difference(*counts)
        if found is None:
            assert len(counts[0]) < 2
            continue
        known = found.difference, found.low, found.high, found.low90, found.high90
        wide = plain.difference_limits(*counts, plain.Z95)
        narrow = plain.difference_limits(*counts, plain.Z90)
        assert same(known, (*wide, *narrow[1:])), counts
    for base_rate in np.linspace(0, 1, 101):
        for margin in (0.005, 0.02, MARGIN, 0.1):
            found = paired_rates.margin_at(base_rate, margin)
            assert found == pytest.approx(plain.effective_margin(base_rate, margin))


def test_the_p_of_a_difference():
    rng = np.random.default_rng(20270403)
    kinds = set()
    for _ in range(150):
        counts = some_pair(rng, int(rng.choice(SIZES)))
        found = paired_rates.rate_test(*counts)
        kinds.add(found.test)
        assert same(found.p, plain.rate_p(*counts), rel=1e-6), counts
        assert same(exact_tests.within_case_p(*counts), plain.within_case_p(*counts)), counts
    assert len(kinds) == 2


@pytest.mark.parametrize(
    ("n_cases", "repetitions"), [(300, 1), (300, 3), (9000, 1), (16, 1009), (30, 1009)]
)
def test_the_p_of_many_trials(n_cases, repetitions):
    rng = np.random.default_rng(20270404)
    rates = rng.beta(2, 1, n_cases)
    scored = [repetitions] * n_cases
    passed = [rng.binomial(repetitions, rates - drop * rates).tolist() for drop in (0, 0.03)]
    counts = passed[0], scored, passed[1], scored
    assert same(paired_rates.rate_test(*counts).p, plain.rate_p(*counts))


def test_the_p_within_very_many_trials():
    rng = np.random.default_rng(20270405)
    rates = rng.beta(2, 1, 3000)
    passed = [rng.binomial(m, rates).tolist() for m in (97, 89)]
    counts = passed[0], [97] * 3000, passed[1], [89] * 3000
    assert same(exact_tests.within_case_p(*counts), plain.within_case_normal_p(*counts))


def test_nights_of_logarithms():
    rng = np.random.default_rng(20270406)
    for _ in range(120):
        n, n_runs = int(rng.integers(1, 15)), int(rng.choice([0, 1, 2, 3, 4, 8, 20]))
        night, residual = rng.choice([0, 0.05, 0.15, 0.4]), rng.choice([0, 0.1, 0.5])
        nights = rng.normal(0, night, (n_runs, 1)) + rng.normal(0, residual, (n_runs, n))
        table = (rng.normal(0, 1, n) + nights).tolist()
        if rng.random() < 0.5:
            table = [[None if rng.random() < 0.15 else x for x in run] for run in table]
        found = night_noise.variance_of_logs(table)
        expected = plain.nights_of_logs(table)
        assert (found.seen is None) == (expected[2] is None)
        assert same(
            (found.variance, found.df, found.seen or 0), (*expected[:2], expected[2] or 0), 1e-6
        ), table
        differences = rng.normal(rng.choice([0, 0.1, 0.5]), 0.2, n).tolist()
        n_base, n_candidate = int(rng.integers(1, 8)), int(rng.integers(1, 3))
        t = night_noise.t_between_nights(differences, found, n_base, n_candidate)
        known = t and (t.mean, t.low, t.high, t.low90, t.high90, t.p)
        assert same(
            known,
            plain.logs_between_nights(differences, found.variance, found.df, n_base, n_candidate),
        ), differences


def test_nights_of_rates():
    rng = np.random.default_rng(20270407)
    for _ in range(150):
        n, n_runs = int(rng.integers(2, 20)), int(rng.choice([0, 1, 2, 3, 4, 8, 20]))
        kind = rng.choice(KINDS[:3])
        scored = np.tile(some_trials(rng, n, kind), (n_runs, 1))
        if rng.random() < 0.3:
            scored = np.where(rng.random((n_runs, n)) < 0.15, 0, scored)
        rates = some_rates(rng, n) + rng.normal(0, rng.choice([0, 0.1]), (n_runs, 1))
        past = rng.binomial(scored, np.clip(rates, 0, 1)).tolist(), scored.tolist()
        counts = some_pair(rng, n, kind)
        sides = [[a + b for a, b in zip(counts[i], counts[i + 2], strict=True)] for i in (0, 1)]
        found = night_noise.variance_of_rates(*past, sides)
        expected = plain.nights_of_rates(*past, sides)
        assert (found.seen is None) == (expected[2] is None)
        assert same(
            (found.variance, found.df, found.seen or 0), (*expected[:2], expected[2] or 0)
        ), (past, sides)
        n_base, n_candidate = int(rng.integers(1, 8)), int(rng.integers(1, 3))
        known = night_noise.rate_between_nights(
            paired_rates.rate_difference(*counts), found, n_base, n_candidate
        )
        limits = known.low, known.high, known.low90, known.high90
        *expected, df = plain.rates_between_nights(
            counts, found.variance, found.df, n_base, n_candidate
        )
        why = counts, found, n_base, n_candidate
        assert same((known.p, *limits), expected), why
        if sum(plain.case_differences(*counts)):  # neither side of the interval faces 0 at 0
            assert known.df == df, why


def test_a_mean_cost():
    rng = np.random.default_rng(20270408)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        trials = some_trials(rng, n, rng.choice(KINDS[:3])).tolist()
        each = rng.lognormal(0, rng.choice([0, 0.2, 1.5]), n) * trials
        totals = [round(x * 10_000) for x in each * (rng.random(n) >= rng.choice([0, 0.2, 1]))]
        unit = intervals.LOG_UNIT
        pairs = list(zip(totals, trials, strict=True))
        logs = [round(math.log(t / m) * unit) for t, m in pairs if t]
        sums = intervals.CaseSums(
            n_cases=n,
            t=sum(totals),
            m=sum(trials),
            tt=sum(t * t for t in totals),
            tm=sum(t * m for t, m in pairs),
            mm=sum(m * m for m in trials),
            n_zero=totals.count(0),
            n_logs=len(logs),
            log=sum(logs),
            log_log=sum(x * x for x in logs),
        )
        expected = plain.mean_limits(totals, trials)
        assert same(intervals.mean_interval(sums), expected, rel=1e-6), (totals, trials)


def facts_of(shifts):
    return [(shift.at, shift.seen_at, shift.direction) for shift in shifts]


def nightly(counted, scan):
    """Alerts of the runs that count, by their places among all runs; and the chance of each."""
    alerts = plain.every_night(len(counted), scan)
    places = [(int(counted[at]), int(counted[seen]), way) for at, seen, _, way in alerts]
    return places, [p for _, _, p, _ in alerts]


def test_level_shifts_of_a_rate():
    rng = np.random.default_rng(20270409)
    n_alerts = 0
    for _ in range(200):
        n, n_runs = int(rng.choice([3, 10, 30])), int(rng.choice([5, 6, 7, 8, 12, 25]))
        rates = np.tile(some_rates(rng, n), (n_runs, 1))
        for steps in ((0, -0.1, -0.2, -0.3, -0.6, 0.4, -1), (0, 0, 0.5)):
            rates[int(rng.integers(n_runs)) :] += rng.choice(steps)
        rates += rng.normal(0, rng.choice([0, 0.1]), (n_runs, 1))
        scored = np.full((n_runs, n), rng.choice([1, 3]))
        chance = rng.random()
        if chance < 0.2:
            scored[:] = rng.integers(1, 6, n)
        elif chance < 0.4:
            scored[:] = rng.integers(1, 6, (n_runs, 1))
        elif chance < 0.6:
            scored[:, 1:] *= rng.random((n_runs, n - 1)) > 0.08
        passed = rng.binomial(scored, np.clip(rates, 0, 1))
        coverage = rng.choice([1, 0.95, 0.9, 0.89], n_runs, p=[0.7, 0.2, 0.05, 0.05])
        found = level_shift.scan_rate(
            np.zeros((n_runs, n), int), passed, scored, coverage, margin=MARGIN
        ).shifts
        points = np.flatnonzero(coverage >= 0.9)
        k, m = passed[points], scored[points]
        places, chances = nightly(
            points,
            lambda start, end, k=k, m=m: plain.scan_rates(k[start:end], m[start:end], MARGIN),
        )
        assert facts_of(found) == places, (passed, scored)
        assert same([shift.p for shift in found], chances, rel=1e-6)
        n_alerts += len(found)
    assert n_alerts > 20


def test_level_shifts_of_a_time():
    rng = np.random.default_rng(20270410)
    n_alerts = 0
    for _ in range(200):
        n, n_runs = int(rng.choice([3, 10, 30])), int(rng.choice([5, 6, 7, 8, 12, 25]))
        nights = rng.normal(0, rng.choice([0.02, 0.1]), (n_runs, 1))
        logs = rng.normal(0, 1, n) + nights + rng.normal(0, 0.1, (n_runs, n))
        for steps in ((0, 0.09, 0.12, 0.2, -0.3, 1), (0, 0.5)):
            logs[int(rng.integers(n_runs)) :] += rng.choice(steps)
        if rng.random() < 0.3:
            logs[int(rng.integers(n_runs))] += 2
        counts = rng.integers(1, 6, (n_runs, n))
        if rng.random() < 0.4:
            counts[:, 1:] *= rng.random((n_runs, n - 1)) > 0.08
        logs[counts == 0] = np.nan
        coverage = rng.choice([1, 0.9, 0.89], n_runs, p=[0.9, 0.05, 0.05])
        found = values.scan_values(
            np.zeros((n_runs, n), int), logs, counts, coverage, ratio_margin=RATIO_MARGIN
        ).shifts
        points = np.flatnonzero(coverage >= 0.9)
        x = logs[points]
        places, chances = nightly(
            points, lambda start, end, x=x: plain.scan_logs(x[start:end], RATIO_MARGIN)
        )
        assert facts_of(found) == places, logs
        assert same([shift.p for shift in found], chances, rel=1e-6)
        n_alerts += len(found)
    assert n_alerts > 20


def test_a_level_that_is_back():
    rng = np.random.default_rng(20270411)
    answers = []
    for _ in range(300):
        n, n_runs = int(rng.choice([1, 3, 10, 100])), int(rng.integers(1, 15))
        scored_before, rates = rng.integers(0, 40, n), some_rates(rng, n)
        passed_before = rng.binomial(scored_before, rates)
        low, high = (3, 4) if rng.random() < 0.5 else (0, 4)
        scored = rng.integers(low, high, (n_runs, n))
        drop = rng.choice([0, 0.02, 0.03, 0.1])
        passed = rng.binomial(scored, np.clip(rates - drop, 0, 1))
        counts = passed_before, scored_before, passed, scored
        found = values.rate_is_back(*counts, margin=MARGIN).tolist()
        assert found == plain.rate_is_back(*counts, MARGIN), counts
        answers += found
        before = rng.normal(0, 1, n)
        logs = before + rng.normal(rng.choice([0, 0.04, 0.05, 0.2]), 0.05, (n_runs, n))
        logs[rng.random((n_runs, n)) < rng.choice([0, 0.2])] = np.nan
        before[rng.random(n) < 0.1] = np.nan
        found = values.value_is_back(before, logs, ratio_margin=RATIO_MARGIN).tolist()
        assert found == plain.value_is_back(before, logs, RATIO_MARGIN), (before, logs)
    assert 0.1 < np.mean(answers) < 0.9
