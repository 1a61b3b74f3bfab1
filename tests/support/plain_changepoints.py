"""Level shifts by plain loops, one night after the other: what the scans have to agree with."""

import math
import statistics

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from analyze.stats.changepoints.rates import scan_rate
from analyze.stats.changepoints.values import scan_values

MARGIN = 0.05
RATIO_MARGIN = 0.1


def rates(k, m, hashes=None, coverage=None, margin=MARGIN):
    """Scan counts of runs x cases; by default the same cases in every run, all of it covered."""
    k, m = np.asarray(k), np.asarray(m)
    hashes = np.tile(np.arange(m.shape[1]), (len(m), 1)) if hashes is None else np.asarray(hashes)
    coverage = np.ones(len(m)) if coverage is None else coverage
    return scan_rate(hashes, k, m, coverage, margin=margin)


def times(logs, counts=None, hashes=None, coverage=None, margin=RATIO_MARGIN):
    """Scan logarithms of runs x cases, or of one case when there is one number a run."""
    logs = np.asarray(logs, dtype=float)
    logs = logs[:, None] if logs.ndim == 1 else logs
    counts = np.isfinite(logs).astype(int) if counts is None else counts
    hashes = np.zeros(logs.shape, dtype=int) if hashes is None else hashes
    coverage = np.ones(len(logs)) if coverage is None else coverage
    return scan_values(hashes, logs, counts, coverage, ratio_margin=margin)


def counted(rng, rate_of_run, n_cases=30, repetitions=3):
    """Draw passes for runs whose true rate is given; cases differ as with ICC 0.5."""
    easy = rng.beta(0.8, 0.2, size=n_cases)
    chances = np.clip(np.asarray(rate_of_run)[:, None] / 0.8 * easy, 0, 1)
    passed = rng.binomial(repetitions, chances)
    return passed, np.full(passed.shape, repetitions)


def news(scan):
    return [(shift.at, shift.direction) for shift in scan.shifts]


def by_night(hashes, coverage, has_value, judge):
    """Return (at, seen, direction, p) of every alert, from a history told night by night."""
    start, alerts, points = 0, [], []
    for night in range(len(hashes)):
        planned = {case for case, version in enumerate(hashes[night]) if version >= 0}
        if not coverage[night] >= 0.9 or not any(has_value(night, case) for case in planned):
            continue
        points.append(night)
        while True:
            segment, common = [], None
            for run in (one for one in points if one >= start):
                here = {case: v for case, v in enumerate(hashes[run]) if v >= 0}
                if common is not None:
                    left = {case: v for case, v in common.items() if here.get(case) == v}
                    n_first = sum(version >= 0 for version in hashes[start])
                    if len(left) / len(here) < 0.8 - 1e-9 or len(left) / n_first < 0.8 - 1e-9:
                        start, segment, common = run, [run], here
                        continue
                    common = left
                else:
                    start, common = run, here
                segment.append(run)
            versions = {
                case: {hashes[run][case] for run in segment} - {-1}
                for case in range(len(hashes[night]))
            }
            cases = {
                run: [
                    case
                    for case, seen in versions.items()
                    if len(seen) == 1 and hashes[run][case] >= 0 and has_value(run, case)
                ]
                for run in segment
            }
            runs = [run for run in segment if cases[run]]
            if len(runs) < 6 or runs[-1] != night:
                break
            found = judge(runs, cases)
            if found is None:
                break
            split, direction, p = found
            if not of_both_levels(runs, cases, split):
                break
            start = runs[split]
            alerts.append((start, night, direction, p))
    return alerts


def of_both_levels(runs, cases, split):
    """Whether either level has three runs with a case that the other level has too."""
    old, new = runs[:split], runs[split:]
    both = {case for run in old for case in cases[run]} & {
        case for run in new for case in cases[run]
    }
    return all(sum(bool(both & set(cases[run])) for run in level) >= 3 for level in (old, new))


def run_values(runs, cases, value, level):
    """The mean over the cases of each run of value - level, plus the mean of all levels."""
    every = sorted({case for run in runs for case in cases[run]})
    overall = statistics.fmean(level(case) for case in every)
    return [
        overall + statistics.fmean(value(run, case) - level(case) for case in cases[run])
        for run in runs
    ]


def naive_rates(hashes, k, m, coverage, margin):
    def judge(runs, cases):
        length = len(runs)

        def counted_runs(case):
            return [run for run in runs if case in cases[run]]

        def level(case):
            here = counted_runs(case)
            return sum(k[run][case] for run in here) / sum(m[run][case] for run in here)

        def within(case):
            n = sum(m[run][case] for run in counted_runs(case))
            return level(case) * (1 - level(case)) * n / (n - 1) if n > 1 else 0.0

        x = run_values(runs, cases, lambda run, case: k[run][case] / m[run][case], level)
        of_runs = [
            sum(within(case) / m[run][case] for case in cases[run]) / len(cases[run]) ** 2
            for run in runs
        ]
        per_trial = [sum(1 / m[run][case] for case in cases[run]) / len(cases[run]) ** 2
                     for run in runs]  # fmt: skip
        variance = max(statistics.fmean(of_runs), (statistics.fmean(per_trial) / 4) ** 2)
        best = None
        for split in range(3, length - 2):
            step = statistics.fmean(x[split:]) - statistics.fmean(x[:split])
            b = abs(step) / math.sqrt(1 / split + 1 / (length - split))
            if best is None or b > best[0] * (1 + 1e-9) + 1e-12:
                best = (b, split, step)
        b, split, step = best
        old, new = x[:split], x[split:]
        rss = sum((v - statistics.fmean(old)) ** 2 for v in old)
        rss += sum((v - statistics.fmean(new)) ** 2 for v in new)
        variance = max(variance, rss / max(length - 5, 2 * length / 3))
        mean = statistics.fmean(per_trial)
        of_step = statistics.fmean(per_trial[:split]) / split
        of_step += statistics.fmean(per_trial[split:]) / (length - split)
        unequal = of_step / (mean * (1 / split + 1 / (length - split)))
        p = tail(b / math.sqrt(variance * max(1, unequal)), length)
        if p < 0.001 and abs(step) >= margin - 1e-9 and held(old, new):
            return split, "up" if step > 0 else "down", p
        return None

    return by_night(hashes, coverage, lambda run, case: m[run][case] > 0, judge)


def naive_values(hashes, logs, coverage, margin):
    def judge(runs, cases):
        length = len(runs)

        def level(case):
            return statistics.fmean(logs[run][case] for run in runs if case in cases[run])

        x = run_values(runs, cases, lambda run, case: logs[run][case], level)
        left = [
            sum((v - statistics.fmean(x[:split])) ** 2 for v in x[:split])
            + sum((v - statistics.fmean(x[split:])) ** 2 for v in x[split:])
            for split in range(3, length - 2)
        ]
        split = 3 + next(at for at, error in enumerate(left) if error <= min(left) + 1e-12)
        old, new = x[:split], x[split:]
        if max(x) - min(x) < 1e-9:
            return None
        p = min(1, stats.ttest_ind(old, new).pvalue * len(left))
        ratio = math.exp(statistics.fmean(new) - statistics.fmean(old))
        if p < 5e-4 and held(old, new) and not 1 - margin <= ratio <= 1 + margin:
            return split, "up" if ratio > 1 else "down", p
        return None

    return by_night(hashes, coverage, lambda run, case: math.isfinite(logs[run][case]), judge)


def held(old, new):
    middle = (statistics.fmean(old) + statistics.fmean(new)) / 2
    up = statistics.fmean(new) > statistics.fmean(old)
    above_old, above_new = [v - middle for v in old], [v - middle for v in new]
    old_side = [v < -1e-12 if up else v > 1e-12 for v in above_old]
    new_side = [v > 1e-12 if up else v < -1e-12 for v in above_new]
    return all(sum(side) >= 3 and sum(side) > len(side) / 2 for side in (old_side, new_side))


def tail(b, length):
    epsilon = 3 / length
    if b < 1:
        return 1.0
    inner = (b - 1 / b) * 2 * math.log((1 - epsilon) / epsilon) + 4 / b
    return float(stats.norm.pdf(b)) * inner


@st.composite
def histories(draw):
    """A history whose level jumps, whose cases come, go and change, and that has holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_runs, n_cases = draw(st.integers(0, 34)), draw(st.sampled_from([1, 2, 5, 12]))
    jumps = rng.random(n_runs) < draw(st.sampled_from([0.0, 0.08]))
    level = jumps.cumsum()
    touched = rng.random((n_runs, n_cases)) < draw(st.sampled_from([0.0, 0.005, 0.05]))
    hashes = touched.cumsum(axis=0)
    hashes[rng.random(hashes.shape) < draw(st.sampled_from([0.0, 0.0, 0.01]))] = -1
    coverage = np.where(rng.random(n_runs) < 0.06, 0.5, 1.0)
    coverage[rng.random(n_runs) < 0.02] = np.nan
    m = rng.binomial(
        draw(st.sampled_from([1, 3, 8])), draw(st.sampled_from([0.5, 0.95, 1])), (n_runs, n_cases)
    )
    m = np.where(hashes >= 0, m, 0)
    chances = np.array([0.95, 0.2, 0.7, 0.05])[level % 4, None]
    k = rng.binomial(m, np.broadcast_to(chances, m.shape))
    noise = rng.normal(0, 0.08, size=m.shape) + 5 * (rng.random(m.shape) < 0.02)
    logs = np.where(
        m > 0, np.round(7 + np.array([0, 0.5, -0.3, 0.05])[level % 4, None] + noise, 2), np.nan
    )
    return hashes, k, m, logs, coverage
