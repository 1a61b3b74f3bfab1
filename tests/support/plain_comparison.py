"""A comparison worked out a second time, from the lines of run folders, as plainly as can be.

Reads config.json, plan.jsonl and results.jsonl with json alone, counts in loops, and takes its
statistics from SciPy, statsmodels and exact fractions. It shares no code with what it checks.
"""

import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import groupby
from math import comb

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

Z95, Z90 = stats.norm.ppf(0.975), stats.norm.ppf(0.95)
PARTS = ("settings", "tools", "endpoint", "model_build", "agent", "image", "harness")
AXES = ("case", *PARTS, "judge", "served_model", "routing")
SIDES = ("base", "candidate")
LIMITS = {"pass_rate_margin": 0.05, "ratio_margin": 0.1, "min_coverage": 0.95, "alpha": 0.05}
METRICS = ("e2e_ms", "ttft_ms", "input_tokens", "output_tokens", "cost_usd")
CAUSES = {
    "timeout": "provider", "http_503": "provider", "http_429": "provider",
    "http_401": "configuration", "http_402": "configuration", "http_404": "configuration",
    "connection_error": "infrastructure", "stream_interrupted": "provider",
    "exception": "harness", "sandbox_missing": "infrastructure", None: "unknown",
    "of_a_later_version": "unknown",
}  # fmt: skip
"""Of trials without a verdict; a time-out among them came before the endpoint had the request."""


class Run:
    """One folder: its config, and for each planned trial the last line that tells its result."""

    def __init__(self, path):
        self.config = json.loads((path / "config.json").read_text())
        self.run_id = self.config["run_id"]
        self.plan = [json.loads(line) for line in (path / "plan.jsonl").read_text().splitlines()]
        self.last = {}
        for line in (path / "results.jsonl").read_text().split("\n"):
            try:
                said = json.loads(line)
            except ValueError:  # the torn last line
                continue
            if said.get("record_type") == "result":
                self.last[said["model_id"], said["case_id"], said["repetition"]] = said

    @property
    def group(self):
        return self.config.get("run_group") or "run " + self.run_id

    @property
    def key(self):
        return self.config["started_at_ms"], self.run_id


class Row:
    """What one run planned of one case with one model."""

    def __init__(self, run, plans, lowest, lines):
        """Take the run's plans, the lowest repetition's of all shards, and what all were told."""
        first = min(plans, key=lambda plan: plan["repetition"])
        self.run = run
        self.model = (first["provider"], first["model"], first.get("thinking_level"))
        self.model_id, self.case = first["model_id"], (first["suite_id"], first["case_id"])
        self.tags = tuple(first.get("tags", ()))
        self.values = {
            "case": first["case_hash"],
            "judge": run.config.get("judge_hash"),
            "served_model": sorted({line["served_model"] for line in lines} - {None}),
            "routing": sorted({line["routing"] for line in lines} - {None}),
        } | {name: (first["fingerprint_parts"].get(name) or "")[:16] or None for name in PARTS}
        self.values["settings"] = lowest["fingerprint_parts"]["settings"][:16]
        self.lowest = lowest["repetition"]
        self.trials = [
            (plan, run.last.get((self.model_id, self.case[1], plan["repetition"])))
            for plan in plans
        ]


def rows_of(runs):
    """Every case of runs, run by run."""
    found, lowest, lines, by_case = [], {}, defaultdict(list), defaultdict(list)
    for run in runs.values():
        for plan in run.plan:
            case = plan["model_id"], plan["suite_id"], plan["case_id"]
            by_case[run.run_id, *case].append(plan)
            known = lowest.setdefault((run.group, *case), plan)
            if plan["repetition"] < known["repetition"]:
                lowest[run.group, *case] = plan
        for line in run.last.values():
            lines[run.group, line["model_id"]].append(line)
    for (run_id, *case), plans in by_case.items():
        run = runs[run_id]
        found.append(Row(run, plans, lowest[run.group, *case], lines[run.group, case[0]]))
    return found


def plans_in_time(runs):
    """Lists of run_ids that belong to one plan, in order of their newest start."""
    ordered = sorted(runs.values(), key=lambda run: (run.group, run.key))
    groups = [list(some) for _, some in groupby(ordered, key=lambda run: run.group)]
    groups.sort(key=lambda some: some[-1].key)
    return [[run.run_id for run in some] for some in groups]


def state(axis, one, other):
    """How two rows stand on an axis."""
    a, b = one.values[axis], other.values[axis]
    if axis in {"case", "served_model", "routing"} and (not a or not b):
        return "unknown"
    if axis == "settings" and one.lowest != other.lowest:
        return "unknown"
    return "same" if a == b else "differs"


# ---------- statistics


def wilson(p, n, z):
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return (0.0 if p == 0 else low), (1.0 if p == 1 else high)


def effective_trials(rates, draws):
    """The effective trials of a mean of rates by their formula, in fractions until the end."""
    n, p = len(rates), sum(rates) / len(rates)
    harmonic = n / sum(Fraction(1, m) for m in draws)
    expected = 1 + Fraction(6, 10) * (harmonic - 1)
    weight = n * min(p, 1 - p)
    if weight:
        of_trials = p * (1 - p) * sum(Fraction(1, m) for m in draws) / n**2
        of_cases = sum((rate - p) ** 2 for rate in rates) / (n - 1) / n
        measured = min(max(of_cases / of_trials, 1), harmonic)
    else:
        measured = 1
    return p, n * harmonic * (2 + weight) / (2 * expected + weight * measured)


def rate_interval(k, m):
    """The interval of the mean over cases of k / m, of those with a trial."""
    cases = [(Fraction(a) / b, b) for a, b in zip(k, m, strict=True) if b]
    if len(cases) < 2:
        return None
    p, n_eff = effective_trials(*zip(*cases, strict=True))
    low, high = wilson(float(p), float(n_eff), Z95)
    return {
        "low": low, "high": high, "estimate": float(p), "method": "wilson_shrunk",
        "n_cases": len(cases), "n_clusters": None, "n_eff": float(n_eff),
    }  # fmt: skip


def mover(pairs, z):
    """The interval of a difference by its formula."""
    n = len(pairs)
    x = [[Fraction(k, m) for k, m in side] for side in zip(*pairs, strict=True)]
    limits, means = [], []
    for rates, counts in zip(x, zip(*pairs, strict=True), strict=True):
        p, n_eff = effective_trials(rates, [m for _, m in counts])
        means.append(float(p))
        limits.append(wilson(float(p), float(n_eff), z))
    is_flat = any(len(set(rates)) == 1 for rates in x)
    r = 0 if is_flat else np.corrcoef(np.array(x, dtype=float))[0, 1] * (1 - 1 / n)
    (p_a, p_b), ((l_a, u_a), (l_b, u_b)) = means, limits
    delta = float(sum(b - a for a, b in zip(*x, strict=True)) / n)
    down = (p_b - l_b) ** 2 + (u_a - p_a) ** 2 - 2 * r * (p_b - l_b) * (u_a - p_a)
    up = (u_b - p_b) ** 2 + (p_a - l_a) ** 2 - 2 * r * (u_b - p_b) * (p_a - l_a)
    return delta, delta - math.sqrt(max(down, 0)), delta + math.sqrt(max(up, 0))


def sign_flip(pairs):
    """S6 at equal numbers of trials, by adding up every pattern of signs."""
    d = [Fraction(*b) - Fraction(*a) for a, b in pairs]
    d = [one for one in d if one]
    lcm = math.lcm(*{x[1] for a, b in pairs if Fraction(*a) != Fraction(*b) for x in (a, b)})
    if len(d) > (16 if lcm > 840 else 2000):
        z = float(abs(sum(d))) / math.sqrt(float(sum(one * one for one in d)))
        return "sign_flip_normal", 2 * stats.norm.sf(z), len(d)
    whole = math.lcm(*(one.denominator for one in d))
    d = [int(one * whole) for one in d]
    ways = Counter({0: 1})
    for one in d:
        more = Counter()
        for total, count in ways.items():
            more[total + one] += count
            more[total - one] += count
        ways = more
    s = abs(sum(d))
    above = sum(count for total, count in ways.items() if abs(total) > s)
    at = sum(count for total, count in ways.items() if abs(total) == s)
    p = float(Fraction(2 * above + at, 2 ** (len(d) + 1))) if d else 1.0
    return "sign_flip_mid_p", p, len(d)


def within_cases(pairs):
    """S6 at unequal numbers: twice the smaller tail as mid-p, by the characteristic function."""
    s = sum(Fraction(*b) - Fraction(*a) for a, b in pairs)
    if s == 0:
        return 1.0
    whole = math.lcm(*{m for pair in pairs for _, m in pair})
    cases = []
    for (k_a, m_a), (k_b, m_b) in pairs:
        if 0 < (passed := k_a + k_b) < m_a + m_b:
            least, most = max(0, passed - m_a), min(passed, m_b)
            chance = stats.hypergeom(m_a + m_b, passed, m_b)
            cases.append((whole // m_a + whole // m_b, least, k_b, most, chance))
    grid = math.gcd(*(step for step, *_ in cases))
    behind = sum((most - k if s > 0 else k - least) * step // grid
                 for step, least, k, most, _ in cases)  # fmt: skip
    if (behind + 1) * sum(most - least + 1 for _, least, _, most, _ in cases) > 50_000_000:
        scale = sum((step / whole) ** 2 * chance.var() for step, *_, chance in cases)
        return 2 * stats.norm.sf(float(abs(s)) / math.sqrt(scale))
    size = 1 + sum((most - least) * step // grid for step, least, _, most, _ in cases)
    spectrum = np.ones(size, dtype=complex)
    for step, least, _, most, chance in cases:
        kernel = np.zeros(size)
        kernel[: (most - least) * step // grid + 1 : step // grid] = chance.pmf(
            range(least, most + 1)
        )
        spectrum *= np.fft.fft(kernel)
    spread = np.fft.ifft(spectrum).real
    if s > 0:
        spread = spread[::-1]
    return min(1.0, 2 * spread[:behind].sum() + spread[behind])


def rate_test(pairs):
    """S6: sign flip where each case has as many trials on both sides, else three p's."""
    if all(m_a == m_b for (_, m_a), (_, m_b) in pairs):
        return sign_flip(pairs)
    d = [Fraction(*b) - Fraction(*a) for a, b in pairs]
    n_nonzero = sum(one != 0 for one in d)
    floor = 2.0**-n_nonzero
    of_interval, of_t = 1.0, 1.0
    if sum(d) and len(d) > 1:
        low, high = 0.0, 37.0
        for _ in range(60):
            z = (low + high) / 2
            _, down, up = mover(pairs, z)
            low, high = (low, z) if down <= 0 <= up else (z, high)
        of_interval = math.erfc(high / math.sqrt(2))
    if len(d) >= 5:
        flat = len(set(d)) == 1
        of_t = float(d[0] == 0) if flat else stats.ttest_1samp([float(x) for x in d], 0).pvalue
    p = max(within_cases(pairs), min(of_interval, of_t), floor)
    return "intersection_union", p, n_nonzero


def adjusted(ps):
    """Benjamini and Hochberg over those that are not None."""
    tested = [p for p in ps if p is not None]
    qs = iter(multipletests(tested, method="fdr_bh")[1] if tested else ())
    return [None if p is None else float(next(qs)) for p in ps]


# ---------- one side


def own_of(row):
    """Passes and trials that a run brings to a test: its own, those of the same bytes once."""
    own = [line for _, line in row.trials if line and line["reused_from_run_id"] is None]
    verdicts = [line["passed"] for line in own if line["passed"] is not None]
    answers = [
        line["raw_output"] if line["success"] and line["availability_status"] == "ok" else None
        for line in own
        if line["passed"] is not None or line["success"]
    ]
    is_same = len(answers) > 1 and None not in answers and len(set(answers)) == 1
    if is_same and len(set(verdicts)) == 1:
        verdicts = verdicts[:1]
    return sum(verdicts), len(verdicts)


class Side:
    """One case on one side: its trials in all runs that count."""

    def __init__(self, rows):
        self.run_ids = [row.run.run_id for row in rows]
        self.trials = [trial for row in rows for trial in row.trials]
        lines = [line for _, line in self.trials if line]
        own = [line for line in lines if line["reused_from_run_id"] is None]
        self.scorable = sum(plan["is_scorable"] for plan, _ in self.trials)
        self.total, self.reused = len(lines), len(lines) - len(own)
        verdicts = [line["passed"] for line in lines if line["passed"] is not None]
        self.m, self.k = len(verdicts), sum(verdicts)
        self.missing = max(self.scorable - self.m, 0)
        self.tested = tuple(map(sum, zip(*map(own_of, rows), strict=True)))
        self.timeouts = sum(
            plan["is_scorable"] and line is not None and line["failure_type"] == "timeout"
            for plan, line in self.trials
        )
        self.cut = sum(line["failure_type"] == "output_truncated" for line in lines)
        self.own = [line["passed"] for line in own if line["passed"] is not None]
        answered = [line for line in own if line["success"] and line["availability_status"] == "ok"]
        self.answers = [line["raw_output"] for line in answered]
        lost = any(line["passed"] is not None and line not in answered for line in own)
        self.is_repeated = len(self.answers) > 1
        self.is_identical = self.is_repeated and not lost and len(set(self.answers)) == 1
        first_try = [line for line in answered if line["attempt_count"] == 1]
        self.measured = {
            name: [
                line[name] for line in (first_try if name.endswith("_ms") else own) if line[name]
            ]
            for name in METRICS
        }
        self.free = sum(line["cost_usd"] == 0 for line in own)
        self.causes = Counter(
            "missing" if line is None else CAUSES[line["failure_type"]]
            for plan, line in self.trials
            if plan["is_scorable"] and (line is None or line["passed"] is None)
        )


def share(part, whole):
    return part / whole if whole else None


def facts(model_id, run_ids, rows, cases):
    scorable, m, k = (sum(getattr(c, name) for c in cases) for name in ("scorable", "m", "k"))
    timeouts = sum(c.timeouts for c in cases)
    lengths = [
        line["output_tokens"]
        for row in rows
        for _, line in row.trials
        if line and line["failure_type"] == "output_truncated" and line["output_tokens"]
    ]
    cut_after = [min(lengths), max(lengths)] if lengths else None
    repeated, alike = (sum(getattr(c, n) for c in cases) for n in ("is_repeated", "is_identical"))
    identical = repeated > 0 and alike >= Fraction(95, 100) * repeated
    found = {
        "model_id": model_id, "run_ids": run_ids, "n_cases": len(cases),
        "n_planned": sum(len(c.trials) for c in cases), "n_scorable": scorable,
        "n_total": sum(c.total for c in cases), "n_reused": sum(c.reused for c in cases),
        "n_scored": m, "n_passed": k, "n_timeout": timeouts, "passed_rate": share(k, m),
        "n_truncated": sum(c.cut for c in cases), "truncated_after": cut_after,
        "ci95": rate_interval([c.k for c in cases], [c.m for c in cases]),
        "score_strict": share(k, scorable), "score_upper": share(k + scorable - m, scorable),
        "score_available": share(k, m), "coverage": share(m, scorable),
        "timeout_share": share(timeouts, scorable),
        "causes": dict(sum((c.causes for c in cases), Counter())),
        "served_models": sorted({name for row in rows for name in row.values["served_model"]}),
    }  # fmt: skip
    able = [(len(c.own), sum(c.own)) for c in cases if c.scorable]
    most = max((m for m, _ in able), default=0)
    steps = {k for k in (1, 2, 3, 5, 10, 20, 30, 50, 100, most) if 0 < k <= most}
    if identical:
        steps &= {1}
    for name, value in (
        ("pass_at_k", lambda m, c, k: 1 - Fraction(comb(m - c, k), comb(m, k))),
        ("pass_hat_k", lambda m, c, k: Fraction(comb(c, k), comb(m, k))),
    ):
        found[name] = [
            {
                "k": k,
                "value": float(sum(values) / len(values)),
                "ci95": rate_interval([v * d for v, d in zip(values, draws, strict=True)], draws),
                "n_cases": len(values),
                "n_cases_short": len(able) - len(values),
            }
            for k in sorted(steps)
            for values in [[value(m, c, k) for m, c in able if m >= k]]
            for draws in [[1 if identical else m // k for m, _ in able if m >= k]]
        ]  # fmt: skip
    return found


# ---------- both sides


def mean_rates(pairs):
    sums = [sum(Fraction(*one) for one in side) for side in zip(*pairs, strict=True)]
    return {"base_rate": float(sums[0] / len(pairs)), "candidate_rate": float(sums[1] / len(pairs))}


# ---------- between nights


def past_nights(rows, plans, candidate_ids, model_id, asked, *, any_content):
    """Rows of the last plans before a candidate, a mapping of case to rows each; oldest first."""
    first = min(n for n, plan in enumerate(plans) if set(plan) & set(candidate_ids))
    suites = {case[0] for case in asked}
    found = []
    for plan in plans[max(first - 24, 0) : first]:
        mine = [row for row in rows if row.run.run_id in plan and row.model_id == model_id]
        mine = [row for row in mine if row.case[0] in suites]
        trials = [trial for row in mine for trial in row.trials]
        judged = [line for planned, line in trials if planned["is_scorable"]]
        by_case = defaultdict(list)
        for row in mine:
            by_case[row.case].append(row)
        if judged:
            good, of = sum(bool(x) and x["passed"] is not None for x in judged), len(judged)
        else:
            good, of = sum(bool(Side(r).measured["e2e_ms"]) for r in by_case.values()), len(by_case)
        alike = {
            case: some
            for case, some in by_case.items()
            if case in asked and (any_content or some[0].values["case"] == asked[case] is not None)
        }
        if of and good >= 0.9 * of and len(alike) >= 0.8 * len(asked):
            found.append({case: Side(some) for case, some in alike.items()})
    return found


def within(counts):
    counts = [(k, m) for k, m in counts if m]
    repeated = [k * (m - k) / (m * (m - 1)) for k, m in counts if m > 1]
    p = np.mean([k / m for k, m in counts]) if counts else 0
    return np.mean(repeated) if repeated else p * (1 - p) / 2


def rate_nights(past, cases, sides):
    """Variance of a night, its degrees of freedom, and how many nights there are."""
    tables = [[night[c].tested if c in night else (0, 0) for c in cases] for night in past]
    tables = [table for table in tables if any(m for _, m in table)][-20:]
    if len(tables) < 3:
        return (0.15 * within([c.tested for both in sides for c in both])) ** 2, 4, len(tables)
    w = within([cell for table in tables for cell in table])
    k, m = np.array(tables, dtype=float).transpose(2, 0, 1)
    q = k.sum(axis=0) / np.maximum(m.sum(axis=0), 1)
    x = [
        np.mean([a / b - c for a, b, c in zip(*of, q, strict=True) if b])
        for of in zip(k, m, strict=True)
    ]
    part = np.mean([sum(1 / b for b in of if b) / sum(of > 0) ** 2 for of in m])
    f = len(tables) - 1
    seen = max(np.var(x, ddof=1) - w * part, 0)
    return (4 * (0.15 * w) ** 2 + f * seen) / (4 + f), 4 + f, len(tables)


def log_nights(past, cases, name):
    """The same of a time, a count or a cost, by the least squares of runs + cases."""
    tables = [[night[c].measured[name] if c in night else [] for c in cases] for night in past]
    tables = [table for table in tables if any(table)][-20:]
    if len(tables) < 3:
        return 0.12**2, 3, len(tables)
    cells = [(t, c, np.mean(np.log(values))) for t, table in enumerate(tables)
             for c, values in enumerate(table) if values]  # fmt: skip
    n_runs, there = len(tables), sorted({c for _, c, _ in cells})
    design = np.zeros((len(cells), n_runs + len(there)))
    for row, (t, c, _) in enumerate(cells):
        design[row, t] = design[row, n_runs + there.index(c)] = 1
    y = np.array([value for *_, value in cells])
    fitted, *_ = np.linalg.lstsq(design, y, rcond=None)
    df = len(cells) - len(there) - n_runs + 1
    square = ((y - design @ fitted) ** 2).sum() / df if df > 0 else 0
    part = np.mean([1 / sum(t == run for t, *_ in cells) for run in range(n_runs)])
    seen = max(np.var(fitted[:n_runs], ddof=1) - square * part, 0)
    f = n_runs - 1
    return (3 * 0.12**2 + f * seen) / (3 + f), 3 + f, n_runs


def add_nights(found, nights, n_nights):
    """Add to a difference of rates what nights add to it."""
    variance, df, n_runs = nights
    added = variance * sum(1 / n for n in n_nights)
    d = found["difference"]

    def t_of(side):
        of = side**2 + added
        return math.sqrt(of), min(int(of**2 * df / added**2) if added else 200, 200)

    sides = {
        name: abs(found[name] - d) / z
        for name, z in (("low", Z95), ("high", Z95), ("low90", Z90), ("high90", Z90))
    }
    error, its_df = t_of(sides["low" if d > 0 else "high"])
    night = {"n_runs": n_runs, "n_base_runs": n_nights[0], "n_candidate_runs": n_nights[1]}
    for name, side in sides.items():
        se, se_df = t_of(side)
        half = stats.t.ppf(0.95 if name.endswith("90") else 0.975, se_df) * se
        night[name] = float(np.clip(d + (half if name.startswith("high") else -half), -1, 1))
    p = 2 * stats.t.sf(abs(d) / error, its_df) if error else float(d == 0)
    found["night"], found["night_p"] = night, float(max(p, 1e-12))


# ---------- both sides, again


def rate_figures(sides, margin):
    """Of the sides of every case: test, interval, and what missing verdicts could do."""
    pairs = [(a.tested, b.tested) for a, b in sides if a.tested[1] and b.tested[1]]
    if len(pairs) < 2:
        return None
    failed = [tuple((c.tested[0], c.tested[1] + c.missing) for c in both) for both in sides]
    failed = [(a, b) for a, b in failed if a[1] and b[1]]
    missing_p = None
    if any(c.missing for both in sides for c in both):
        turned = [sum(Fraction(*b) - Fraction(*a) for a, b in some) for some in (pairs, failed)]
        missing_p = rate_test(failed)[1] if turned[0] * turned[1] > 0 else 1.0
    difference, low, high = mover(pairs, Z95)
    _, low90, high90 = mover(pairs, Z90)
    test, p, n_nonzero = rate_test(pairs)
    rate = mean_rates(pairs)["base_rate"]
    room = max(0.01, min(rate, 1 - rate))
    margin = min(margin, room) if room < margin - 1e-12 else margin
    return {
        "margin": margin, "missing_p": missing_p,
        "test": test, "n_cases": len(pairs), "n_nonzero": n_nonzero, "p": p,
        **mean_rates(pairs),
        "difference": difference, "low": low, "high": high, "low90": low90, "high90": high90,
    }  # fmt: skip


def ratio_figures(name, cases, nights=None, n_nights=()):
    both = [(a.measured[name], b.measured[name]) for a, b in cases]
    both = [(a, b) for a, b in both if a and b]
    d = [np.mean(np.log(b)) - np.mean(np.log(a)) for a, b in both]
    totals = [sum(map(np.mean, side)) for side in zip(*both, strict=True)]
    outs, free = [], []
    for side in zip(*cases, strict=True) if cases else ((), ()):
        made = sum(len(c.trials) - c.reused for c in side)
        held = sum(len(c.measured[name]) for c in side)
        n_free = sum(c.free for c in side) if name == "cost_usd" else 0
        free.append(n_free > 0 and not held)  # every known cost is 0
        outs.append(share(made - (held or n_free), made))
    n_cases = len(d)
    if any(free):
        n_cases = sum(all(c.free or c.measured[name] for c in pair) for pair in cases)
    found = {
        "metric": name, "n_cases": n_cases, "free": free, "ratio": None, "low": None, "high": None,
        "low90": None, "high90": None, "left_out_base": outs[0], "left_out_candidate": outs[1],
        "totals_ratio": totals[1] / totals[0] if both else None,
    }  # fmt: skip
    is_censored = None not in outs and abs(outs[0] - outs[1]) > 0.05 + 1e-12
    p = None
    if len(d) >= 5:
        error, df = np.std(d, ddof=1) / math.sqrt(len(d)), len(d) - 1
        if error < 1e-11:  # the same everywhere, but for what floats do to logarithms
            error = 0.0
        if nights is not None:
            error = math.sqrt(error**2 + nights[0] * sum(1 / n for n in n_nights))
            df = min(df, nights[1])
        flat = 0 if abs(np.mean(d)) < 1e-11 else math.inf
        t = abs(np.mean(d)) / error if error else flat
        p = 2 * stats.t.sf(t, df)
        for level, ends in ((0.975, ("low", "high")), (0.95, ("low90", "high90"))):
            half = stats.t.ppf(level, df) * error
            found[ends[0]], found[ends[1]] = (math.exp(np.mean(d) + s * half) for s in (-1, 1))
        found["ratio"] = math.exp(np.mean(d))
    found["p"] = None if is_censored or not d else p
    found["is_barred"] = is_censored or not n_cases
    return found


def ratio_verdict(ratio, limits):
    if all(ratio["free"]) and not ratio["is_barred"]:
        return "unchanged"
    if ratio["p"] is None:
        return "not_comparable"
    margin = limits["ratio_margin"]
    if 1 - margin < ratio["low90"] and ratio["high90"] < 1 + margin:
        return "unchanged"
    if ratio["q"] <= limits["alpha"]:
        return "regressed" if ratio["ratio"] > 1 else "improved"
    return "inconclusive"


def obstacle(base, candidate, n_common, min_coverage):
    """S5, and the beginning of S8."""
    if not base["n_cases"] or not n_common:
        return True
    covers = base["coverage"], candidate["coverage"]
    return min(covers) < min_coverage - 1e-12 or abs(covers[0] - covers[1]) > 0.05 + 1e-12


def verdict(difference, is_barred, limits):
    """S8, in its order."""
    if is_barred:
        return "not_comparable"
    if difference is None:
        return "inconclusive"
    margin = difference["margin"]
    level = "90" if margin == limits["pass_rate_margin"] else ""
    ends = [difference, difference.get("night", difference)]
    low = min(one["low" + level] for one in ends)
    is_inside = -margin < low and max(one["high" + level] for one in ends) < margin
    if is_inside and difference["p"] > limits["alpha"]:
        return "unchanged"
    if is_shown(difference, limits["alpha"]):
        return "improved" if difference["difference"] > 0 else "regressed"
    return "inconclusive"


def is_shown(difference, alpha):
    further = [difference.get("missing_p") or 0, difference.get("night_p") or 0]
    return max(difference["q"], *further) <= alpha


def models_of(rows):
    """model_id to its rows, the newest run last, and what it is there."""
    by_id = defaultdict(list)
    for row in rows:
        by_id[row.model_id].append(row)
    return by_id, {model_id: some[-1].model for model_id, some in by_id.items()}


def matched(base, candidate):
    """Pairs of model_ids: by name, else by provider, model and level where only one has these."""
    found = [(name, name) for name in base if name in candidate]
    for one, model in base.items():
        twins = [name for name, its in candidate.items() if its == model]
        is_only = list(base.values()).count(model) == 1
        if one not in candidate and len(twins) == 1 and is_only and twins[0] not in base:
            found.append((one, twins[0]))
    return found


def text_of(axis, row):
    said = row.values[axis]
    if axis in {"served_model", "routing"}:
        return set(said)
    return {"none" if said is None else said[:16]}


def in_words(model, model_id):
    level = f", thinking {model[2]}" if model[2] is not None else ""
    return f"{model_id} ({model[0]}, {model[1]}{level})"


def order(model, model_id):
    return model[0], model[1], model[2] or "", model_id


def compare_plainly(
    runs, base_ids, candidate_ids, *, only=None, two=None, allow=(), limits=LIMITS, without=()
):
    """Work out a comparison.

    Args:
        runs: by run_id, every run of the folder.
        base_ids: run_ids of the base.
        candidate_ids: run_ids of the candidate.
        only: model_id of the base to those of its run_ids that count for it; else all do.
        two: model_ids of the base and of the candidate, where two models are compared.
        allow: axes.
        limits: names as in benchlake.yaml.
        without: (suite_id, case_id, model_id or None) of cases in quarantine.
    """
    time = [run_id for plan in plans_in_time(runs) for run_id in plan]
    rows = sorted(rows_of(runs), key=lambda row: time.index(row.run.run_id))
    first, its_first = models_of(
        [
            row
            for row in rows
            if row.run.run_id in (only or {}).get(row.model_id, base_ids)
            and (two is None or row.model_id == two[0])
        ]
    )
    second, its_second = models_of(
        [
            row
            for row in rows
            if row.run.run_id in candidate_ids and (two is None or row.model_id == two[1])
        ]
    )
    pairs = [two] if two else matched(its_first, its_second)
    if two:
        allow = {*allow, "endpoint", "model_build", "served_model", "routing"}
    axes = {
        axis: {"n_differ": 0, "n_same": 0, "n_unknown": 0, "base": set(), "candidate": set(),
               "model_ids": set()}
        for axis in AXES
    }  # fmt: skip
    excluded, quarantined, groups = [], [], []
    for one, other in pairs:
        cases, kept = [], ([], [])
        for case in sorted({row.case for row in (*first[one], *second[other])}):
            before = [row for row in first[one] if row.case == case]
            after = [row for row in second[other] if row.case == case]
            if not before or not after:
                excluded.append(
                    (other, *case, "only_in_candidate" if after else "only_in_base", ())
                )
                continue
            newest = after[-1]
            for axis, tally in axes.items():
                states = [(row, state(axis, row, newest)) for row in (*before, *after[:-1])]
                found = {one_state for _, one_state in states}
                worst = next((s for s in ("differs", "unknown") if s in found), "same")
                tally[{"differs": "n_differ", "unknown": "n_unknown", "same": "n_same"}[worst]] += 1
                if worst == "differs":
                    tally["model_ids"].add(other)
                    tally["candidate"] |= text_of(axis, newest)
                    for row, its_state in states:
                        if its_state == "differs":
                            tally["base" if row in before else "candidate"] |= text_of(axis, row)

            def apart(row, newest=newest):
                return [
                    axis
                    for axis in AXES
                    if axis not in allow
                    and (
                        (s := state(axis, row, newest)) == "differs"
                        or (axis == "case" and s == "unknown")
                    )
                ]

            mine = [row for row in before if not apart(row)]
            if not mine:
                blamed = {axis for row in before for axis in apart(row)}
                excluded.append(
                    (other, *case, "axis_differs", tuple(axis for axis in AXES if axis in blamed))
                )
                continue
            theirs = [row for row in after[:-1] if not apart(row)] + [newest]
            kept[0].extend(mine)
            kept[1].extend(theirs)
            sides = Side(mine), Side(theirs)
            if not sides[0].m:
                excluded.append((other, *case, "no_verdict_in_base", ()))
            if not sides[1].m:
                excluded.append((other, *case, "no_verdict_in_candidate", ()))
            if any((*case, name) in without for name in (None, one, other)):
                quarantined.append((other, *case, "quarantined", ()))
            else:
                cases.append((case, newest.tags, sides))
        kept = kept[0] or first[one], kept[1] or second[other]
        used = [[run_id for run_id in time if run_id in {row.run.run_id for row in some}]
                for some in kept]  # fmt: skip
        figures = [
            facts(name, ids, some, [sides[place] for _, _, sides in cases])
            for place, (name, ids, some) in enumerate(zip((one, other), used, kept, strict=True))
        ]
        n_common = sum(bool(a.m and b.m) for _, _, (a, b) in cases)
        plans = [{runs[run_id].group for run_id in ids} for ids in used]
        n_nights, is_apart = tuple(map(len, plans)), plans[0] != plans[1]
        names = [case for case, *_ in cases]
        asked = {row.case: row.values["case"] for run_id in used[1] for row in second[other]
                 if row.run.run_id == run_id and row.case in names}  # fmt: skip
        past = (
            past_nights(
                rows, plans_in_time(runs), used[1], other, asked, any_content="case" in allow
            )
            if asked and is_apart
            else []
        )
        groups.append(
            {
                "keys": (its_first[one], its_second[other], other),
                "model_id": one, "candidate_model_id": other,
                "base": figures[0], "candidate": figures[1], "cases": cases,
                "difference": rate_figures(
                    [sides for *_, sides in cases], limits["pass_rate_margin"]
                ),
                "is_barred": obstacle(*figures, n_common, limits["min_coverage"]),
                "ratios": [
                    ratio_figures(
                        name, [sides for *_, sides in cases],
                        log_nights(past, names, name) if is_apart else None, n_nights,
                    )
                    for name in METRICS
                ],
            }
        )  # fmt: skip
        if is_apart and groups[-1]["difference"]:
            both = [sides for *_, sides in cases]
            add_nights(groups[-1]["difference"], rate_nights(past, names, both), n_nights)
    groups.sort(key=lambda group: order(group["keys"][1], group["candidate_model_id"]))
    ps = [
        group["difference"]["p"] if group["difference"] and not group["is_barred"] else None
        for group in groups
    ]
    for group, q in zip(groups, adjusted(ps), strict=True):
        if group["difference"]:
            group["difference"]["q"] = q
            differs = group["difference"]["low"] > 0 or group["difference"]["high"] < 0
            group["difference"]["is_borderline"] = (
                q is not None and (q <= limits["alpha"]) != differs
            )
        group["verdict"] = verdict(group["difference"], group["is_barred"], limits)
    for group in groups:
        if group["is_barred"] and any(group[side]["n_scorable"] for side in SIDES):
            for ratio in group["ratios"]:
                ratio["p"], ratio["is_barred"] = None, True
    every = [ratio for group in groups for ratio in group["ratios"]]
    for ratio, q in zip(every, adjusted([ratio["p"] for ratio in every]), strict=True):
        ratio["q"] = q
        ratio["verdict"] = ratio_verdict(ratio, limits)
        del ratio["free"], ratio["is_barred"]
    return {
        "axes": [{"axis": axis, **tally} for axis, tally in axes.items()],
        "excluded": [*sorted(excluded), *quarantined],
        "unmatched": [
            *_left(its_first, {one for one, _ in pairs}, "base"),
            *_left(its_second, {other for _, other in pairs}, "candidate"),
        ],
        "groups": groups,
        "overall": _overall([group for group in groups if not group["is_barred"]]),
        "tags": _tags([group for group in groups if not group["is_barred"]]),
        "cases": _changes(groups),
    }


def _left(models, used, what):
    left = sorted((order(model, name), name) for name, model in models.items() if name not in used)
    return [f"only in the {what}: {in_words(models[name], name)}" for _, name in left]


def _plain(name, model_id, pairs):
    if len(pairs) < 2:
        return None
    difference, low, high = mover(pairs, Z95)
    return {
        "name": name, "model_id": model_id, "n_cases": len(pairs), **mean_rates(pairs),
        "difference": difference, "low": low, "high": high,
    }  # fmt: skip


def _overall(groups):
    sums = defaultdict(lambda: np.zeros((2, 2), dtype=int))
    for group in groups:
        for case, _, (a, b) in group["cases"]:
            if a.tested[1] and b.tested[1]:
                sums[case] += np.array([a.tested, b.tested])
    pairs = [tuple(map(tuple, some.tolist())) for some in sums.values()]
    return _plain("overall", None, pairs) if len(groups) > 1 else None


def _tags(groups):
    found = []
    for group in groups:
        for tag in {tag for _, tags, _ in group["cases"] for tag in tags}:
            pairs = [
                (a.tested, b.tested)
                for _, tags, (a, b) in group["cases"]
                if tag in tags and a.tested[1] and b.tested[1]
            ]
            found.append(_plain(tag, group["candidate_model_id"], pairs))
    return sorted(filter(None, found), key=lambda plain: (plain["name"], plain["model_id"]))


def _changes(groups):
    found = []
    for group in groups:
        for case, _, (a, b) in group["cases"]:
            if a.m and b.m and Fraction(a.k, a.m) != Fraction(b.k, b.m):
                sides = [np.sign(2 * side.k - side.m) for side in (a, b)]
                flip = {(1, -1): "broke", (-1, 1): "fixed"}.get(tuple(int(s) for s in sides))
                exact = Fraction(b.k, b.m) - Fraction(a.k, a.m)
                found.append(
                    (
                        (float(exact), *case, group["candidate_model_id"]),
                        (a.k, a.m, b.k, b.m),
                        flip,
                        (a.run_ids[-1], b.run_ids[-1]),
                    )
                )
    return sorted(found, key=lambda change: change[0])


# ---------- a gate


def gate_plainly(groups, metrics, *, max_drop, prove, alpha):
    """S13 for every model and metric: model_id, metric, outcome."""
    found = []
    for group in groups:
        for metric in metrics:
            ratio = next((one for one in group["ratios"] if one["metric"] == metric), None)
            is_blind = group["is_barred"] and any(group[s]["n_scorable"] for s in SIDES)
            if metric == "passed_rate":
                figures, is_barred = group["difference"], group["is_barred"]
            else:
                figures, is_barred = ratio, is_blind or ratio["p"] is None
            outcome = "cannot_judge"
            if ratio and ratio["verdict"] == "unchanged" and ratio["ratio"] is None:
                outcome = "passed" if ratio["n_cases"] >= 5 else outcome
            elif not is_barred and figures and figures["n_cases"] >= 5:
                outcome = _ruled(figures, metric, max_drop, alpha, prove)
            found.append((group["candidate_model_id"], metric, outcome))
    return found


def _ruled(figures, metric, max_drop, alpha, prove):
    if metric == "passed_rate":
        lows = [one["low90"] for one in (figures, figures.get("night", figures))]
        worse, least = -figures["difference"], -min(lows)
    else:
        worse, least = figures["ratio"] - 1, figures["high90"] - 1
    if is_shown(figures, alpha) and worse > max_drop + 1e-12:
        return "failed"
    is_proven = least < max_drop
    if metric == "passed_rate":
        is_proven &= max_drop > 0 and (1 - max_drop) ** figures["n_cases"] <= 0.05
    return "cannot_judge" if prove and not is_proven else "passed"
