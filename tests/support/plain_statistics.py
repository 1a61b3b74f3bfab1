"""The settled statistics a second time: plain loops, numpy, scipy and fractions.

Written from the specification's words and from what the pages decide, not from the code that it is
held against; nothing of the project is imported. Slow and simple on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import comb, exp, floor, lcm, log, pi, sqrt

import numpy as np
from scipy import optimize, stats

Z95 = float(stats.norm.ppf(0.975))
Z90 = float(stats.norm.ppf(0.95))
DUST = 1e-12  # what is that near is equal


# One rate


def effective(k, m):
    """Mean of the case rates, and the effective number of trials behind it."""
    n = len(k)
    rates = [Fraction(a, b) for a, b in zip(k, m, strict=True)]
    p = sum(rates) / n
    inverse = sum(Fraction(1, each) for each in m)
    m_h = n / inverse
    prior = 1 + Fraction(6, 10) * (m_h - 1)
    unclustered = p * (1 - p) * inverse / n**2
    r = n * min(p, 1 - p)
    design = Fraction(1)  # its weight r is 0 where it cannot be measured
    if unclustered and n > 1:
        spread = sum((each - p) ** 2 for each in rates) / (n - 1)
        design = min(max(spread / n / unclustered, Fraction(1)), m_h)
    d = (2 * prior + r * design) / (2 + r)
    return float(p), float(n * m_h / d)


def wilson(p, n, z):
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def rate_interval(k, m):
    """Low, high, p, n_eff; None below two cases with a verdict."""
    scored = [(a, b) for a, b in zip(k, m, strict=True) if b > 0]
    if len(scored) < 2:
        return None
    p, n_eff = effective(*zip(*scored, strict=True))
    return *wilson(p, n_eff, Z95), p, n_eff


# A difference of rates


def difference_limits(k_a, m_a, k_b, m_b, z):
    """Difference, low and high at a normal quantile; None below two cases."""
    n = len(k_a)
    if n < 2:
        return None
    p_a, n_eff_a = effective(k_a, m_a)
    p_b, n_eff_b = effective(k_b, m_b)
    rates_a = [a / b for a, b in zip(k_a, m_a, strict=True)]
    rates_b = [a / b for a, b in zip(k_b, m_b, strict=True)]
    r = 0.0
    if (
        len({Fraction(*x) for x in zip(k_a, m_a, strict=True)})
        > 1
        < len({Fraction(*x) for x in zip(k_b, m_b, strict=True)})
    ):
        r = float(np.corrcoef(rates_a, rates_b)[0, 1]) * (1 - 1 / n)
    l_a, u_a = wilson(p_a, n_eff_a, z)
    l_b, u_b = wilson(p_b, n_eff_b, z)
    delta = float(np.mean(rates_b) - np.mean(rates_a))

    def joined(x, y):
        return sqrt(max(x * x + y * y - 2 * r * x * y, 0.0))

    return delta, delta - joined(p_b - l_b, u_a - p_a), delta + joined(u_b - p_b, p_a - l_a)


def case_differences(k_a, m_a, k_b, m_b):
    return [Fraction(c, d) - Fraction(a, b) for a, b, c, d in zip(k_a, m_a, k_b, m_b, strict=True)]


def sign_flip_p(differences):
    """Two-sided mid-p of the sum under random signs; normal where exact is not asked for."""
    nonzero = [d for d in differences if d]
    if not nonzero:
        return 1.0
    scale = lcm(*[d.denominator for d in nonzero])
    if len(nonzero) > 2000 or (scale > 840 and len(nonzero) > 16):
        z = sum(nonzero) / sqrt(sum(d * d for d in nonzero))
        return float(2 * stats.norm.sf(abs(z)))
    whole = [int(d * scale) for d in nonzero]
    ways = {0: 1}
    for step in whole:
        after = defaultdict(int)
        for total, count in ways.items():
            after[total + step] += count
            after[total - step] += count
        ways = after
    seen = abs(sum(whole))
    beyond = sum(count for total, count in ways.items() if abs(total) > seen)
    equal = sum(count for total, count in ways.items() if abs(total) == seen)
    return float(Fraction(2 * beyond + equal, 2 ** (len(whole) + 1)))


def within_case_p(k_a, m_a, k_b, m_b):
    """Passes of a case dealt to all its trials: the tail that was seen doubled, mid-p."""
    scale = lcm(*m_a, *m_b)
    ways = {0: 1}
    seen = 0
    for a, n_a, b, n_b in zip(k_a, m_a, k_b, m_b, strict=True):
        passed = a + b
        dealt = {}
        for x in range(max(0, passed - n_a), min(n_b, passed) + 1):
            value = x * (scale // n_b) - (passed - x) * (scale // n_a)
            dealt[value] = comb(n_b, x) * comb(n_a, passed - x)
        after = defaultdict(int)
        for total, count in ways.items():
            for value, more in dealt.items():
                after[total + value] += count * more
        ways = after
        seen += b * (scale // n_b) - a * (scale // n_a)
    everything = sum(ways.values())
    equal = ways[seen]
    above = sum(count for total, count in ways.items() if total > seen)
    beyond = above if seen > 0 else everything - above - equal
    return min(1.0, float(Fraction(2 * beyond + equal, everything))) if seen else 1.0


def within_case_normal_p(k_a, m_a, k_b, m_b):
    """What the permutation within cases comes to with very many trials."""
    seen, variance = 0.0, 0.0
    for a, n_a, b, n_b in zip(k_a, m_a, k_b, m_b, strict=True):
        n = n_a + n_b
        q = (a + b) / n
        seen += b / n_b - a / n_a
        variance += q * (1 - q) * n / (n - 1) * (1 / n_a + 1 / n_b)
    return float(2 * stats.norm.sf(abs(seen) / sqrt(variance)))


def p_of_interval(k_a, m_a, k_b, m_b):
    """The level at which the interval of the difference just excludes 0."""
    if len(k_a) < 2:
        return 1.0
    delta = sum(case_differences(k_a, m_a, k_b, m_b))
    if delta == 0:
        return 1.0

    def facing(z):
        _, low, high = difference_limits(k_a, m_a, k_b, m_b, z)
        return low if delta > 0 else -high

    if facing(1e-9) <= 0:
        return 1.0
    if facing(37.0) > 0:
        return float(2 * stats.norm.sf(37.0))
    return float(2 * stats.norm.sf(optimize.brentq(facing, 1e-9, 37.0, xtol=1e-14)))


def paired_t_p(differences):
    if len(set(differences)) == 1:
        return 0.0 if differences[0] else 1.0
    values = [float(d) for d in differences]
    return float(stats.ttest_1samp(values, 0.0).pvalue)


def rate_p(k_a, m_a, k_b, m_b):
    """p of a rate difference; of unequal repetitions both questions have to be answered alike."""
    differences = case_differences(k_a, m_a, k_b, m_b)
    if list(m_a) == list(m_b):
        return sign_flip_p(differences)
    others = p_of_interval(k_a, m_a, k_b, m_b)
    if len(differences) >= 5:
        others = min(others, paired_t_p(differences))
    fewest = 0.5 ** sum(1 for d in differences if d)
    return max(within_case_p(k_a, m_a, k_b, m_b), others, fewest)


def effective_margin(base_rate, margin):
    return min(margin, max(0.01, min(base_rate, 1 - base_rate)))


# Nights


def drawn(usual, df, seen, n_runs):
    """Variance, degrees of freedom, what the runs show; the assumption below three runs."""
    if n_runs < 3:
        return usual, df, None
    f = n_runs - 1
    return (df * usual + f * seen) / (df + f), df + f, seen


def nights_of_logs(table):
    """Table of past runs x cases, None where there is no value."""
    cells = [(t, i, x) for t, run in enumerate(table) for i, x in enumerate(run) if x is not None]
    runs = sorted({t for t, _, _ in cells})
    cases = sorted({i for _, i, _ in cells})
    if len(runs) < 3:
        return drawn(0.12**2, 3, None, len(runs))
    design = np.zeros((len(cells), len(runs) + len(cases)))
    for row, (t, i, _) in enumerate(cells):
        design[row, runs.index(t)] = 1
        design[row, len(runs) + cases.index(i)] = 1
    known = np.array([x for _, _, x in cells])
    fit, _, rank, _ = np.linalg.lstsq(design, known, rcond=None)
    left = float(((known - design @ fit) ** 2).sum())
    free = len(cells) - rank
    square = left / free if free else 0.0
    per_run = [sum(1 for t, _, _ in cells if t == run) for run in runs]
    explained = square * float(np.mean([1 / n for n in per_run]))
    seen = max(0.0, float(np.var(fit[: len(runs)], ddof=1)) - explained)
    return drawn(0.12**2, 3, seen, len(runs))


def within(passed, scored):
    """Mean variance of a trial within its case."""
    repeated = [(k, m) for k, m in zip(passed, scored, strict=True) if m > 1]
    if repeated:
        return float(np.mean([k * (m - k) / (m * (m - 1)) for k, m in repeated]))
    asked = [(k, m) for k, m in zip(passed, scored, strict=True) if m]
    if not asked:
        return 0.0
    p = float(np.mean([k / m for k, m in asked]))
    return p * (1 - p) / 2


def nights_of_rates(passed, scored, sides):
    """Tables of past runs x cases, and the counts of both compared sides."""
    pairs = [(k, m) for k, m in zip(passed, scored, strict=True) if sum(m)]
    if len(pairs) < 3:
        return drawn((0.15 * within(*sides)) ** 2, 4, None, len(pairs))
    k = np.array([each for each, _ in pairs])
    m = np.array([each for _, each in pairs])
    w = within(k.ravel().tolist(), m.ravel().tolist())
    values, explained = [], []
    for t in range(len(pairs)):
        here = [i for i in range(k.shape[1]) if m[t, i]]
        values.append(np.mean([k[t, i] / m[t, i] - k[:, i].sum() / m[:, i].sum() for i in here]))
        explained.append(w * sum(1 / m[t, i] for i in here) / len(here) ** 2)
    seen = max(0.0, float(np.var(values, ddof=1) - np.mean(explained)))
    return drawn((0.15 * w) ** 2, 4, seen, len(pairs))


def logs_between_nights(differences, variance, df, n_base, n_candidate):
    """Mean, 95 % limits, 90 % limits and p; None below five pairs."""
    n = len(differences)
    if n < 5:
        return None
    mean = float(np.mean(differences))
    error = sqrt(np.var(differences, ddof=1) / n + variance * (1 / n_base + 1 / n_candidate))
    df = min(df, n - 1)
    p = float(2 * stats.t.sf(abs(mean) / error, df))
    limits = [mean + sign * stats.t.ppf(q, df) * error for q in (0.975, 0.95) for sign in (-1, 1)]
    return [mean, *limits, p]


def rates_between_nights(counts, variance, df, n_base, n_candidate):
    """p, 95 % limits, 90 % limits, degrees of freedom of the p."""
    added = variance * (1 / n_base + 1 / n_candidate)

    def error_and_df(side, z):
        own = (side / z) ** 2
        free = (own + added) ** 2 * df / added**2 if added else np.inf
        return sqrt(own + added), floor(min(free, 200))

    delta, low, high = difference_limits(*counts, Z95)
    _, low90, high90 = difference_limits(*counts, Z90)
    error, free = error_and_df(delta - low if delta > 0 else high - delta, Z95)
    p = float(2 * stats.t.sf(abs(delta) / error, free))
    limits = []
    for side, sign, z, q in (
        (delta - low, -1, Z95, 0.975),
        (high - delta, 1, Z95, 0.975),
        (delta - low90, -1, Z90, 0.95),
        (high90 - delta, 1, Z90, 0.95),
    ):
        each, its = error_and_df(side, z)
        limits.append(min(1.0, max(-1.0, delta + sign * float(stats.t.ppf(q, its)) * each)))
    return [p, *limits, free]


# Mean costs


def mean_limits(totals, trials):
    """95 % limits of the mean over trials of several cases; None below two cases."""
    n = len(totals)
    if n < 2:
        return None
    ratio = sum(totals) / sum(trials)
    if ratio == 0:
        return 0.0, 0.0
    left = sum((t - ratio * m) ** 2 for t, m in zip(totals, trials, strict=True))
    relative = sqrt(n / (n - 1) * left) / sum(trials) / ratio
    if all(totals):
        square = float(np.var([log(t / m) for t, m in zip(totals, trials, strict=True)], ddof=1))
        relative = max(relative, sqrt(square / n + square**2 / (2 * (n - 1))))
    half = float(stats.t.ppf(0.975, n - 1)) * relative
    return ratio * exp(-half), ratio * exp(half)


# Level shifts


def tail(b, epsilon):
    """Chance that the best of all splits of an unchanged series is as good as b."""
    density = exp(-b * b / 2) / sqrt(2 * pi)
    return density * ((b - 1 / b) * 2 * log((1 - epsilon) / epsilon) + 4 / b)


def holds(before, after):
    """Three runs, and most runs, of either level lie on their own side of the middle."""
    middle = (np.mean(before) + np.mean(after)) / 2
    sign = 1 if np.mean(after) > np.mean(before) else -1
    there = sum(1 for x in before if sign * (x - middle) < -DUST)
    here = sum(1 for x in after if sign * (x - middle) > DUST)
    return there >= 3 and here >= 3 and 2 * there > len(before) and 2 * here > len(after)


def best_split(x):
    """Place of the split of the least square error, with the step and that error."""
    found = None
    for k in range(3, len(x) - 2):
        before, after = x[:k], x[k:]
        error = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
        if found is None or error < found[2] - DUST:
            found = k, float(after.mean() - before.mean()), error
    return found


def run_values(y, levels):
    """Each run's mean over its cases, each less its own level, plus the mean of all levels."""
    middle = np.nanmean(levels)
    return np.array([np.nanmean(run - levels) + middle for run in y])


def scan_rates(k, m, margin):
    """Place, p, step and whether this is an alert, of one prefix; runs x cases."""
    length = len(k)
    if length < 6:
        return None
    cases = [i for i in range(k.shape[1]) if m[:, i].sum()]
    k, m = k[:, cases], m[:, cases]
    y = np.where(m > 0, k / np.maximum(m, 1), np.nan)
    total = m.sum(axis=0)
    q = k.sum(axis=0) / total
    x = run_values(y, q)
    of_runs, floors = [], []
    for t in range(length):
        here = [i for i in range(len(cases)) if m[t, i]]
        parts = [
            q[i] * (1 - q[i]) * total[i] / (total[i] - 1) / m[t, i] for i in here if total[i] > 1
        ]
        of_runs.append(sum(parts) / len(here) ** 2)
        floors.append(1 / (4 * m[t].sum()))
    variance = max(float(np.mean(of_runs)), float(np.mean(floors)) ** 2)
    place, step, error = best_split(x)
    variance = max(variance, error / max(length - 5, 2 * length / 3))
    sure = sqrt(variance * (1 / place + 1 / (length - place)))
    trials = [sum(1 / each for each in run if each) / sum(run > 0) ** 2 for run in m]
    usual = np.mean(trials) * (1 / place + 1 / (length - place))
    own = np.sum(trials[:place]) / place**2 + np.sum(trials[place:]) / (length - place) ** 2
    sure *= sqrt(max(1.0, own / usual))  # few trials next to the break say less of its step
    b = abs(step) / sure
    p = min(1.0, tail(b, 3 / length)) if b > 1 else 1.0
    is_alert = p < 0.001 and abs(step) >= margin - DUST and holds(x[:place], x[place:])
    return place, p, step, is_alert


def scan_logs(logs, ratio_margin):
    """The same of the mean logarithms of a time or a cost, nan where there is none."""
    length = len(logs)
    if length < 6:
        return None
    logs = logs[:, ~np.isnan(logs).all(axis=0)]
    x = run_values(logs, np.nanmean(logs, axis=0))
    place, step, error = best_split(x)
    pooled = sqrt(error / (length - 2) * (1 / place + 1 / (length - place)))
    one = float(2 * stats.t.sf(abs(step) / pooled, length - 2)) if pooled else float(step == 0)
    p = min(1.0, one * (length - 5))
    outside = not 1 - ratio_margin <= exp(step) <= 1 + ratio_margin
    is_alert = p < 5e-4 and outside and holds(x[:place], x[place:])
    return place, p, step, is_alert


def every_night(n_runs, scan):
    """Alerts of a series that is looked at every night: first run, seen at, p, direction."""
    alerts = []
    start = 0
    for night in range(n_runs):
        found = scan(start, night + 1)
        if found and found[3]:
            place, p, step, _ = found
            start += place
            alerts.append((start, night, p, "up" if step > 0 else "down"))
    return alerts


# An open shift


def rate_is_back(passed_before, scored_before, passed, scored, margin):
    """After which runs since a drop the rate was back."""
    answers = []
    for t in range(len(passed)):
        first = max(0, t - 6)
        if t + 1 - first < 4:
            answers.append(False)
            continue
        k = np.sum(passed[first : t + 1], axis=0)
        m = np.sum(scored[first : t + 1], axis=0)
        cases = [i for i in range(len(k)) if m[i] and scored_before[i]]
        if not cases:
            answers.append(False)
            continue
        change = sum(
            Fraction(int(k[i]), int(m[i])) - Fraction(int(passed_before[i]), int(scored_before[i]))
            for i in cases
        ) / len(cases)
        variance = 0.0
        for i in cases:
            n = int(m[i] + scored_before[i])
            q = (k[i] + passed_before[i]) / n
            variance += q * (1 - q) * n / (n - 1) * (1 / m[i] + 1 / scored_before[i])
        error = sqrt(variance) / len(cases)
        near = change >= -Fraction(str(margin)) / 2
        answers.append(bool(near and float(change) >= -Z90 * error - DUST))
    return answers


def value_is_back(logs_before, logs, ratio_margin):
    """After which runs since a rise the mean logarithm was back."""
    answers = []
    for t in range(len(logs)):
        first = max(0, t - 6)
        if t + 1 - first < 4:
            answers.append(False)
            continue
        changes = []
        for i, before in enumerate(logs_before):
            own = [x for x in logs[first : t + 1, i] if not np.isnan(x)]
            if own and not np.isnan(before):
                changes.append(np.mean(own) - before)
        answers.append(bool(changes) and bool(np.mean(changes) <= log(1 + ratio_margin / 2) + DUST))
    return answers
