"""Whether a level is back, and which shifts still stand: beside plain loops, and by simulation."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from analyze.comparison.evidence.outcomes import LN_SCALE
from analyze.regressions.detect import scan
from analyze.regressions.points import Point
from analyze.regressions.series import Series
from analyze.regressions.standing import standing_shifts
from analyze.stats.changepoints.values import change_of_rates, rate_is_back, value_is_back
from schemas.config.project import Thresholds
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("warm_engines")

LIMITS = Thresholds()

PER_POINT = ("hashes", "scored", "passed", "coverage", "is_own")


def plainly_back(old, runs, margin):
    """Say after each run whether a rate is back; runs are lists of (passed, scored) by case."""
    said = []
    for end in range(1, len(runs) + 1):
        window = runs[max(0, end - 7) : end]
        changes, variance, n = [], 0.0, 0
        for case, (k0, m0) in enumerate(old):
            k1, m1 = (sum(run[case][part] for run in window) for part in (0, 1))
            if m0 and m1:
                q, trials = (k0 + k1) / (m0 + m1), m0 + m1
                changes.append(k1 / m1 - k0 / m0)
                variance += q * (1 - q) * trials / (trials - 1) * (1 / m0 + 1 / m1)
                n += 1
        if len(window) < 4 or not n:
            said.append(False)
            continue
        change, error = sum(changes) / n, math.sqrt(variance) / n
        said.append(change >= -margin / 2 - 1e-12 and change >= -1.6448536269514722 * error - 1e-12)
    return said


@pytest.mark.parametrize("seed", range(30))
def test_a_rate_is_back_as_plain_loops_say(seed):
    rng = np.random.default_rng(seed)
    n_cases, n_runs = int(rng.integers(1, 9)), int(rng.integers(0, 15))
    chance = rng.random(n_cases)
    m0, m = rng.integers(0, 20, n_cases), rng.integers(0, 4, (n_runs, n_cases))
    k0, k = rng.binomial(m0, chance), rng.binomial(m, chance)
    found = rate_is_back(k0, m0, k, m, margin=0.05)

    runs = [list(zip(k[n].tolist(), m[n].tolist(), strict=True)) for n in range(n_runs)]
    old = list(zip(k0.tolist(), m0.tolist(), strict=True))
    assert found.tolist() == plainly_back(old, runs, 0.05)


def test_four_runs_are_the_fewest_and_half_the_margin_the_most():
    old = [100] * 40, [100] * 40
    runs = np.full((6, 40), 3)
    passed = runs.copy()
    passed[:, 0] = 0  # one case of forty: 2.5 points, and by no chance
    near = rate_is_back(*old, runs, runs, margin=0.05)

    assert near.tolist() == [False, False, False, True, True, True]
    assert not rate_is_back(*old, passed, runs, margin=0.05).any()


def test_a_case_that_one_side_lacks_plays_no_part():
    found = change_of_rates([5, 9], [10, 0], [[1, 3], [0, 3]], [[2, 3], [0, 3]])

    assert found.change[0] == 0
    assert math.isnan(found.change[1])


def test_a_time_is_back_within_half_the_margin():
    old = np.log([100.0, 400.0])
    runs = np.tile(old, (5, 1))

    assert value_is_back(old, runs + math.log(1.05), ratio_margin=0.1).tolist() == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert not value_is_back(old, runs + math.log(1.051), ratio_margin=0.1).any()
    runs[:, 0] = np.nan
    assert value_is_back(old, runs, ratio_margin=0.1)[-1]


def series(rates, *, n_cases=20, trials=3, hashes=None, coverage=None):
    """Return nights in which a share of the cases always passes and the others never do."""
    m = np.full((len(rates), n_cases), trials)
    k = np.array(
        [[trials * (case < round(rate * n_cases)) for case in range(n_cases)] for rate in rates]
    )
    names = [f"n{n}" for n in range(len(rates))]
    return Series(
        suite_id="s", model_id="m",
        points=tuple(Point("s", name, (name,), 0, False, 60, (), (), ()) for name in names),
        n_parts=0, case_ids=tuple(map(str, range(n_cases))), clusters=(None,) * n_cases,
        hashes=np.zeros(m.shape, int) if hashes is None else hashes,
        scored=m, passed=k, measured={},
        coverage=np.ones(len(rates)) if coverage is None else coverage, is_scorable=True,
        is_own=np.ones(len(rates), bool),
    )  # fmt: skip


def test_a_time_stands_until_it_is_back():
    rng = np.random.default_rng(3)
    logs = np.log(400) + np.array([0.0] * 20 + [0.5] * 12 + [0.0] * 20) + rng.normal(0, 0.02, 52)
    timed = series([1.0] * 52)
    sums = np.round(np.tile(logs[:, None], (1, 20)) * 3 * LN_SCALE).astype(int)
    timed = replace(timed, measured={"e2e_ms": (np.full(sums.shape, 3), sums)})

    def at(n):
        cut = {name: getattr(timed, name)[:n] for name in PER_POINT}
        measured = {"e2e_ms": tuple(one[:n] for one in timed.measured["e2e_ms"])}
        until = replace(timed, points=timed.points[:n], measured=measured, **cut)
        return standing_shifts(until, "e2e_ms", scan(until, "e2e_ms", LIMITS), LIMITS)

    (found,) = at(32)
    assert found.shift.at == 20
    assert (found.before, found.after) == pytest.approx((400, 660), rel=0.05)
    assert found.size == pytest.approx(math.exp(0.5), rel=0.05)
    assert len(at(37)) == 1
    assert at(39) == at(52) == []


def standing(*args, **fields):
    until = series(*args, **fields)
    found = standing_shifts(until, "passed_rate", scan(until, "passed_rate", LIMITS), LIMITS)
    return [(one.shift.at, round(one.now - one.before, 3), one.n_runs) for one in found]


def test_a_drop_stands_and_a_rise_does_not():
    assert standing([0.9] * 8 + [0.7] * 4) == [(8, -0.2, 4)]
    assert standing([0.7] * 8 + [0.9] * 4) == []


def test_what_rose_a_part_of_the_way_stands_by_what_is_left():
    assert standing([0.9] * 8 + [0.6] * 8 + [0.8] * 8) == [(8, -0.1, 16)]


def test_two_steps_down_stand_each_against_the_level_before_it():
    assert standing([0.9] * 8 + [0.75] * 8 + [0.6] * 8) == [(8, -0.3, 16), (16, -0.15, 8)]


def test_a_drop_after_a_return_is_a_new_one():
    assert standing([0.9] * 8 + [0.7] * 8 + [0.9] * 8 + [0.7] * 5) == [(24, -0.2, 5)]


def test_another_suite_for_a_night_does_not_close_a_shift():
    hashes = np.zeros((20, 20), int)
    hashes[14, :10] = 1
    rates = [0.9] * 8 + [0.7] * 12

    assert standing(rates, hashes=hashes)[0][:2] == (8, -0.2)
    hashes[14:, :10] = 1  # for good: nothing says anything about the old level any more
    assert standing(rates, hashes=hashes) == []


def test_runs_that_lost_their_verdicts_do_not_count():
    coverage = np.ones(14)
    coverage[11] = 0.5

    assert standing([0.9] * 8 + [0.7] * 6, coverage=coverage) == [(8, -0.2, 5)]


def test_simulated_nights_are_red_as_long_as_they_should_be():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from measures import nights_to_heal, open_drops
        from scenarios import Nights, Size, passes_of_nights
    finally:
        sys.path.pop(0)

    def drawn(n, **fields):
        nights = Nights(Size(30, 3), nights=90, noise=0.2, **fields)
        return [passes_of_nights(nights, np.random.default_rng([5, one])) for one in range(n)]

    assert sum(map(bool, open_drops(drawn(60), 90))) == 0
    assert sum(map(bool, open_drops(drawn(60, shift_at=30, change=-0.1), 90))) >= 57
    healing = nights_to_heal(drawn(30, shift_at=30, change=-0.1, heals_at=60), 60, 30)
    assert 5 <= np.median(healing) <= 7
