"""Parts of a report that are drawn: matrix, history, latency, frontier and failures of a run."""

import math
import shutil
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analyze.query.session import open_session
from analyze.report.sections.cost_frontier import frontier_of
from analyze.report.sections.failures import (
    MAX_CASES,
    MAX_CELLS,
    MAX_KINDS,
    MAX_MARKS,
    failures_of,
    latency_of,
    matrix_of,
)
from analyze.report.sections.history import MAX_POINTS, MAX_RUNS, history_of
from analyze.stats.intervals import LOG_UNIT, CaseSums, mean_interval
from schemas.run.config import Narrowed
from tests.support.compared_runs import Runs
from tests.support.paths import SAMPLES
from tests.support.report_context import context_of, open_context

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

NIGHTS = sorted(path.name for path in SAMPLES.glob("night_*"))
DAY_MS = 86_400_000


def part_of(run, part):
    """Write a run and return a part of its report."""
    run.write()
    with open_context(run.runs_dir, run.run_id) as of:
        return part(of)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A lake of the samples."""
    runs = tmp_path_factory.mktemp("marts") / "runs"
    shutil.copytree(SAMPLES, runs, ignore=shutil.ignore_patterns("lake", "artifacts"))
    with open_session(runs) as session:
        yield session


@pytest.fixture(scope="module")
def nights(samples):
    """The context of every run of the samples, by its name."""
    return {run_id: context_of(samples, run_id) for run_id in [*NIGHTS, "older_tool"]}


@pytest.fixture(scope="module")
def groups(nights):
    """What the summaries of all nights say, by run and model."""
    return {
        (run_id, group.model_id): group
        for run_id, of in nights.items()
        for group in of.summary.models
    }


@pytest.fixture(scope="module")
def long_suite(shared_run):
    """A suite of more runs than a report shows, each with several models."""
    for night in range(MAX_RUNS + 2):
        models = [f"m{number}" for number in range(7 if night % 2 else 5)]
        run = shared_run(f"night-{night:03d}", day=night)
        run.night(["c1"], night % 3 != 0, models=models)
    with open_session(run.runs_dir) as session:
        yield session


@pytest.mark.parametrize("night", NIGHTS)
def test_every_point_is_what_the_summary_of_its_run_says(nights, groups, night):
    points = history_of(nights[night])

    assert night in {point.run_id for point in points}
    for point in points:
        group = groups[point.run_id, point.model_id]
        interval = group.passed_ci95
        assert (point.low, point.high) == (interval.low, interval.high)
        assert point.passed_rate == group.passed_rate
        assert (point.coverage, point.e2e_ms_p50) == (group.coverage, group.latency_ms.p50)
        assert point.is_this_run == (point.run_id == night)
        assert point.is_part == (point.run_id == "night_11_tools")


def test_runs_of_the_suite_stand_from_old_to_new_and_other_suites_are_not_there(nights):
    points = history_of(nights["night_02"])

    starts = [point.started_at_ms for point in points]
    assert starts == sorted(starts)
    assert {point.run_id for point in points} <= set(NIGHTS)


def test_a_part_of_the_suite_is_no_point_unless_it_is_reported(samples, nights):
    (part,) = samples.rows("select run_id from runs where is_narrowed")[0]

    others = {point.run_id for point in history_of(nights[NIGHTS[0]])}
    own = {point.run_id for point in history_of(context_of(samples, part))}

    assert part not in others
    assert own == others | {part}


def test_a_shard_of_a_whole_plan_is_a_point_and_what_was_only_tried_is_none(new_run):
    runs = Runs(new_run, is_mirrored=False)
    runs.add("whole", 0)
    runs.add("shard", 1, run_group="g", narrowed={"shard": "1/2"})
    runs.add("tried", 2, narrowed={"tags": ["fast"]})
    runs.add("now", 3)

    with open_context(runs.runs_dir, "now") as of:
        assert [point.run_id for point in history_of(of)] == ["whole", "shard", "now"]


def test_one_run_of_a_suite_is_no_history(nights):
    assert history_of(nights["older_tool"]) == ()


def test_a_run_without_any_verdict_is_no_point(new_run):
    for minute, passed in enumerate((True, None, False)):
        run = new_run(f"r{minute}", started_at_ms=1_763_762_400_000 + minute)
        trial = run.plan()
        if passed is not None:
            run.result(trial, passed=passed)
        run.write()

    with open_context(run.runs_dir, "r1") as of:
        points = history_of(of)

    assert [(point.run_id, point.low) for point in points] == [("r0", None), ("r2", None)]


def test_shards_of_a_plan_are_one_run_of_the_history(new_run):
    """Every n-th trial is a shard's: repetitions of one case lie in both."""
    began = 1_763_762_400_000
    verdicts = {"a": (True, False), "b": (True, True), "c": (False, None)}
    for number, run_id in enumerate(("one", "other", "whole"), start=1):
        run = new_run(run_id, started_at_ms=began + 1000 * number)
        if run_id != "whole":
            run.config = {"run_group": "g", "narrowed": Narrowed(shard=f"{number}/2")}
        run.night(
            list(verdicts),
            lambda trial: {"passed": verdicts[trial.case_id][trial.repetition - 1]},
            repetitions=(1, 2) if run_id == "whole" else (number,),
        )

    found = {}
    for reported in ("whole", "one", "other"):
        with open_context(run.runs_dir, reported) as of:
            found[reported] = history_of(of)

    merged, whole = found["whole"]
    assert (merged.run_id, merged.started_at_ms, whole.run_id) == ("one", began + 1000, "whole")
    for field in ("passed_rate", "low", "high", "coverage", "n_scored"):
        assert getattr(merged, field) == getattr(whole, field), field
    assert (merged.is_this_run, whole.is_this_run) == (False, True)
    for reported in ("one", "other"):
        assert [(point.run_id, point.is_this_run) for point in found[reported]] == [
            (reported, True), ("whole", False),
        ]  # fmt: skip
        assert found[reported][0].passed_rate == whole.passed_rate


def test_of_many_runs_the_newest_and_the_reported_one_are_there(long_suite):
    points = history_of(context_of(long_suite, "night-000"))

    shown = sorted({point.run_id for point in points})
    assert len(points) <= MAX_POINTS
    assert len(shown) == MAX_RUNS
    assert shown[:2] == ["night-000", "night-003"]
    assert [point.run_id for point in points if point.is_this_run] == ["night-000"] * 5
    per_run = Counter(point.run_id for point in points)
    assert {per_run["night-100"], per_run["night-101"]} == {5, 7}


def test_points_beyond_the_most_are_left_out_by_whole_runs(new_run):
    n_models = MAX_POINTS // 4 - 1
    for night in range(5):
        run = new_run(f"r{night}", started_at_ms=1_763_762_400_000 + night)
        run.night(["c1"], models=[f"m{number:03d}" for number in range(n_models)])

    with open_context(run.runs_dir, "r0") as of:
        points = history_of(of)

    assert Counter(point.run_id for point in points) == dict.fromkeys(
        ("r0", "r2", "r3", "r4"), n_models
    )


def test_cells_show_each_repetition_in_order(run):
    verdicts = {1: True, 2: False, 3: "no verdict", 4: "missing"}
    for repetition in (3, 1, 4, 2):
        trial = run.plan("c", repetition)
        if verdicts[repetition] == "no verdict":
            run.result(trial, failure_type="http_500")
        elif verdicts[repetition] != "missing":
            run.result(trial, passed=verdicts[repetition])

    (cell,) = part_of(run, matrix_of).cells

    assert cell.marks == ("passed", "failed", "no_verdict", "missing")
    assert (cell.n_planned, cell.n_scored, cell.n_passed, cell.passed_rate) == (4, 2, 1, 0.5)


def test_the_hardest_case_of_all_models_comes_first_and_one_without_a_verdict_last(run):
    passes = {"half": (True, False), "easy": (True, True), "hard": (False, False)}
    passes |= {"also_half": (False, True)}
    for case_id, verdicts in passes.items():
        for model_id, passed in zip(("m2", "m1"), verdicts, strict=True):
            run.result(run.plan(case_id, model_id=model_id), passed=passed)
    run.plan("a_never_ran")

    matrix = part_of(run, matrix_of)

    order = list(dict.fromkeys(cell.case_id for cell in matrix.cells))
    assert order == ["hard", "also_half", "half", "easy", "a_never_ran"]
    assert [cell.model_id for cell in matrix.cells] == ["m1", "m2"] * 4 + ["m1"]
    assert matrix.cells[-1].passed_rate is None
    assert (matrix.n_cases, matrix.n_shown) == (5, 5)


@pytest.mark.parametrize("n_models", [1, 8])
def test_a_large_run_shows_its_hardest_cases(run, n_models):
    n_cases = MAX_CASES + 5
    for case in range(n_cases):
        for model in range(n_models):
            trial = run.plan(f"c{case:03d}", model_id=f"m{model}")
            run.result(trial, passed=case < 5)

    matrix = part_of(run, matrix_of)

    n_shown = min(MAX_CASES, MAX_CELLS // n_models)
    assert (matrix.n_cases, matrix.n_shown) == (n_cases, n_shown)
    assert len(matrix.cells) == n_shown * n_models
    assert {cell.n_passed for cell in matrix.cells} == {0}
    assert matrix.cells[0].case_id == "c005"


def test_of_many_repetitions_the_first_are_marked_and_all_are_counted(run):
    for repetition in range(1, MAX_MARKS + 11):
        run.result(run.plan("c", repetition), passed=repetition > MAX_MARKS)

    (cell,) = part_of(run, matrix_of).cells

    assert cell.marks == ("failed",) * MAX_MARKS
    assert (cell.n_planned, cell.n_passed) == (MAX_MARKS + 10, 10)


def test_more_models_than_cells_leave_the_matrix_out(run):
    for model in range(MAX_CELLS + 1):
        run.plan(model_id=f"m{model}")

    matrix = part_of(run, matrix_of)

    assert (matrix.n_cases, matrix.n_shown, matrix.cells) == (1, 0, ())


@pytest.mark.parametrize("night", NIGHTS)
def test_cells_of_the_samples_add_up_to_the_summary(nights, night):
    of = nights[night]
    cells = matrix_of(of).cells

    for group in of.summary.models:
        own = [cell for cell in cells if cell.model_id == group.model_id]
        marks = Counter(mark for cell in own for mark in cell.marks)
        assert sum(cell.n_planned for cell in own) == marks.total() == group.n_planned
        assert marks["missing"] == group.n_planned - group.n_total
        n_scored = marks["passed"] + marks["failed"]
        assert (marks["passed"] / n_scored if n_scored else None) == group.passed_rate


@pytest.mark.parametrize("night", [*NIGHTS, "older_tool"])
def test_bins_hold_the_successes_of_the_summary(nights, night):
    of = nights[night]
    held = Counter()
    for one in latency_of(of):
        assert one.bin_from_ms < one.bin_to_ms
        held[one.model_id, one.metric] += one.n_trials

    expected = Counter()
    for group in of.summary.models:
        expected[group.model_id, "e2e_ms"] += group.latency_ms.n
        expected[group.model_id, "ttft_ms"] += group.ttft_ms.n
    assert held == +expected


def test_both_times_have_bins_of_their_own(run):
    run.result(run.plan(), e2e_ms=1_700, ttft_ms=42)

    bins = part_of(run, latency_of)

    assert [(one.metric, one.bin_from_ms, one.bin_to_ms) for one in bins] == [
        ("e2e_ms", 1_500, 2_000),
        ("ttft_ms", 40, 45),
    ]


def sums_of(totals, trials):
    """The sums of whole numbers, one a case."""
    pairs = [(int(t), int(m)) for t, m in zip(totals, trials, strict=True)]
    logs = [round(math.log(t / m) * LOG_UNIT) for t, m in pairs if t and m]
    return CaseSums(
        n_cases=len(pairs),
        t=sum(t for t, _ in pairs),
        m=sum(m for _, m in pairs),
        tt=sum(t * t for t, _ in pairs),
        tm=sum(t * m for t, m in pairs),
        mm=sum(m * m for _, m in pairs),
        n_zero=sum(t == 0 for t, _ in pairs),
        n_logs=len(logs),
        log=sum(logs),
        log_log=sum(log * log for log in logs),
    )


def limits_by_numpy(totals, trials):
    """The interval by another way: the spread of weighted case means, and of their logarithms."""
    totals, trials = np.asarray(totals, float), np.asarray(trials, float)
    n, mean = len(totals), totals.sum() / trials.sum()
    weighted = (totals - mean * trials) / trials.mean()
    error = math.sqrt((weighted**2).sum() / (n - 1)) / math.sqrt(n) / mean
    judged = trials > 0
    if totals.all() and judged.sum() > 1:
        variance = np.var(np.log(totals[judged] / trials[judged]), ddof=1)
        k = judged.sum()
        error = max(error, math.sqrt(variance / k + variance**2 / (2 * (k - 1))))
    half = stats.t.ppf(0.975, n - 1) * error
    return mean * math.exp(-half), mean * math.exp(half)


@pytest.mark.parametrize("n", [2, 3, 10, 500, 3_000])
def test_one_trial_a_case_gives_a_factor_of_the_mean_with_the_t_of_scipy(n):
    values = np.random.default_rng(n).integers(100, 10_000, n)

    low, high = mean_interval(sums_of(values, np.ones(n)))

    logs = np.log(values)
    spread, variance = stats.sem(values) / values.mean(), logs.var(ddof=1)
    cox = math.sqrt(variance / n + variance**2 / (2 * (n - 1)))
    factor = math.exp(stats.t.ppf(0.975, n - 1) * max(spread, cox))
    assert (low, high) == pytest.approx((values.mean() / factor, values.mean() * factor), rel=1e-6)


@pytest.mark.parametrize("n", [2, 7, 40, 2_000])
def test_cases_weigh_as_many_trials_as_they_have(n):
    random = np.random.default_rng(n)
    trials = random.integers(1, 9, n)
    totals = trials * random.integers(100, 10_000, n)

    assert mean_interval(sums_of(totals, trials)) == pytest.approx(
        limits_by_numpy(totals, trials), rel=1e-6
    )


def test_below_two_cases_and_without_trials_there_is_none():
    assert mean_interval(sums_of([], [])) is None
    assert mean_interval(sums_of([5], [1])) is None
    assert mean_interval(sums_of([5, 7], [0, 0])) is None


def test_cases_that_agree_have_an_interval_without_width():
    assert mean_interval(sums_of([3, 6, 9], [9, 18, 27])) == (1 / 3, 1 / 3)
    assert mean_interval(sums_of([0, 0], [1, 1])) == (0, 0)


def test_a_free_case_leaves_the_spread_of_the_costs_themselves():
    low, high = mean_interval(sums_of([0, 1_000, 2_000, 4_000], [1] * 4))

    factor = math.exp(stats.t.ppf(0.975, 3) * stats.sem([0, 1_000, 2_000, 4_000]) / 1_750)
    assert (low, high) == pytest.approx((1_750 / factor, 1_750 * factor), rel=1e-9)
    assert low > 0


def test_limits_farther_apart_than_numbers_go_are_none():
    assert mean_interval(sums_of([1, 10**17], [1, 1])) is None


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(1, 50)), min_size=2, max_size=30))
@settings(deadline=None)
def test_limits_lie_around_the_mean_in_any_order_of_cases(cases):
    totals, trials = zip(*cases, strict=True)

    found = mean_interval(sums_of(totals, trials))

    assert mean_interval(sums_of(totals[::-1], trials[::-1])) == found
    if found is not None:
        assert 0 <= found[0] <= sum(totals) / sum(trials) <= found[1] < math.inf


@pytest.mark.parametrize(
    ("draw", "least", "most"),
    [
        (lambda random, n: random.normal(1_000, 200, n), 0.93, 0.98),
        (lambda random, n: random.exponential(1_000, n), 0.93, 1.0),
        (lambda random, n: 1_000 * random.lognormal(-0.5, 1, n), 0.92, 0.98),
        (lambda random, n: np.where(random.random(n) < 0.2, 5_000, 0) * random.random(n) * 2,
         0.87, 0.98),
    ],
    ids=["normal", "exponential", "lognormal", "mostly free"],
)  # fmt: skip
def test_about_19_of_20_intervals_hold_the_mean_whatever_the_costs_look_like(draw, least, most):
    """A true mean of 1,000, thirty cases with one to three trials of the case's cost."""
    random = np.random.default_rng(5)
    held = []
    for _ in range(600):
        trials = random.integers(1, 4, 30)
        found = mean_interval(sums_of(np.rint(draw(random, 30)).clip(0) * trials, trials))
        held.append(found is not None and found[0] <= 1_000 <= found[1])

    assert least <= np.mean(held) <= most


@pytest.fixture(scope="module")
def priced(shared_run):
    """A run of two models with every kind of trial that a mean must weigh or leave out."""
    run, random = shared_run("priced"), np.random.default_rng(8)
    for model_id in ("m1", "m2"):
        for case in range(12):
            for repetition in range(1, 5):
                fields = {
                    "cost_usd": round(float(random.uniform(1e-5, 1e-2)), 9),
                    "e2e_ms": int(random.integers(100, 9_000)),
                    "passed": bool(random.random() < 0.6),
                }
                chance = random.random()
                if chance < 0.15:
                    fields |= {"failure_type": "http_500", "passed": None}
                elif chance < 0.3:
                    fields |= {"cost_usd": None}
                elif chance < 0.4:
                    fields |= {"reused_from_run_id": "older", "passed": True}
                elif chance < 0.5:
                    continue
                run.result(run.plan(f"c{case:02d}", repetition, model_id), **fields)
    run.write()
    with open_context(run.runs_dir, "priced") as of:
        yield of


def test_intervals_of_cost_and_time_are_those_of_an_independent_computation(priced):
    trials = priced.session.rows(
        "select model_id, case_id, cost_usd, passed, is_success, e2e_ms from results "
        "where run_id = 'priced' and reused_from_run_id is null"
    )
    costs, times = defaultdict(list), defaultdict(list)
    for model_id, case_id, cost, passed, is_success, e2e_ms in trials:
        if cost is not None:
            costs[model_id, case_id].append((cost, passed is not None))
        if is_success and e2e_ms is not None:
            times[model_id, case_id].append((e2e_ms, 1))

    points = frontier_of(priced)

    assert [point.model_id for point in points] == ["m1", "m2"]
    for point in points:
        for found, mean, low, high in (
            (costs, point.cost_usd_per_scored, point.cost_low, point.cost_high),
            (times, point.e2e_ms_mean, point.e2e_ms_low, point.e2e_ms_high),
        ):
            own = [np.sum(rows, axis=0) for key, rows in found.items() if key[0] == point.model_id]
            totals, counted = np.transpose(own)
            assert mean == pytest.approx(totals.sum() / counted.sum(), rel=1e-9)
            assert (low, high) == pytest.approx(limits_by_numpy(totals, counted), rel=1e-6)
            assert low < mean < high


def test_rate_and_its_interval_are_the_summarys(priced):
    groups = {group.model_id: group for group in priced.summary.models}

    for point in frontier_of(priced):
        group = groups[point.model_id]
        assert point.passed_rate == group.passed_rate
        assert (point.low, point.high) == (group.passed_ci95.low, group.passed_ci95.high)


def test_one_case_has_means_and_no_limits(run):
    for repetition in (1, 2):
        run.result(run.plan("c", repetition), cost_usd=0.001 * repetition, e2e_ms=100)

    (point,) = part_of(run, frontier_of)

    assert (point.cost_usd_per_scored, point.e2e_ms_mean) == (0.0015, 100.0)
    assert (point.low, point.cost_low, point.cost_high) == (None, None, None)
    assert (point.e2e_ms_low, point.e2e_ms_high) == (None, None)


def test_the_frontier_of_time_follows_the_rule_of_the_frontier_of_money(run):
    random = np.random.default_rng(11)
    for model in range(40):
        ms, n_passed = int(random.integers(1, 12)) * 100, int(random.integers(0, 8))
        for case in range(8):
            trial = run.plan(f"c{case}", model_id=f"m{model:02d}")
            run.result(trial, e2e_ms=ms, cost_usd=ms * 1e-6, passed=case < n_passed)

    points = part_of(run, frontier_of)

    on = [point.is_on_frontier for point in points]
    assert [point.is_on_time_frontier for point in points] == on
    assert 1 < sum(on) < len(on)


def test_an_unknown_price_or_rate_is_on_no_frontier(run):
    for case in "abcde":
        run.result(run.plan(case, model_id="free"), cost_usd=0.0)
        run.result(run.plan(case, model_id="unpriced"), cost_usd=None)
        run.result(run.plan(case, model_id="down"), failure_type="http_500")

    points = {point.model_id: point for point in part_of(run, frontier_of)}

    known = {name: (p.is_on_frontier, p.is_on_time_frontier) for name, p in points.items()}
    assert known == {"free": (True, True), "unpriced": (None, True), "down": (None, None)}


def test_a_model_that_may_not_be_named_best_is_on_no_frontier_and_nobodys_rival(run):
    for n in range(20):
        for model, is_down in (("whole", False), ("torn", n < 2), ("torn_less", n < 1)):
            trial = run.plan(f"c{n:02d}", model_id=model)
            if is_down:
                run.result(trial, failure_type="http_500")
            else:
                dear = 0.003 if model == "whole" else 0.001
                run.result(
                    trial, cost_usd=dear, passed=model != "torn_less", e2e_ms=int(1e5 * dear)
                )
    for n in range(4):
        run.result(run.plan(f"c{n:02d}", model_id="few"), cost_usd=0.0001, e2e_ms=1)
    for n in range(5):
        run.result(run.plan(f"c{n:02d}", model_id="five"), cost_usd=0.002, passed=n > 0, e2e_ms=200)

    points = {point.model_id: point for point in part_of(run, frontier_of)}

    known = {name: (p.is_on_frontier, p.is_on_time_frontier) for name, p in points.items()}
    assert known == {
        "whole": (True, True), "five": (True, True), "torn_less": (True, True),
        "torn": (None, None), "few": (None, None),
    }  # fmt: skip


def test_a_run_without_any_verdict_has_no_frontier(run):
    run.result(run.plan("a"), failure_type="http_500", cost_usd=0.1)

    assert part_of(run, frontier_of) == ()


def test_a_run_may_cost_more_than_a_trial_ever_could(run):
    for case_id, cost in (("a", 1e6), ("b", 1e6), ("c", 4e5)):
        run.result(run.plan(case_id), cost_usd=cost)

    (point,) = part_of(run, frontier_of)

    assert point.cost_usd_per_scored == pytest.approx(8e5)
    assert point.cost_high > 1e6
    assert run.group().cost_usd == pytest.approx(2.4e6)


def test_ways_to_fail_are_counted_by_cause(run):
    for number, (failure_type, fields) in enumerate(
        (
            ("http_500", {}),
            ("timeout", {}),
            ("timeout", {}),
            ("timeout", {"passed": None}),
            ("empty_response", {}),
        )
    ):
        run.result(run.plan(f"c{number}"), failure_type=failure_type, **fields)
    run.result(run.plan("good"), passed=False)

    counts = part_of(run, failures_of)

    found = [
        (one.failure_type, one.cause, one.counts_against_model, one.n_trials) for one in counts
    ]
    assert found == [
        ("timeout", "model", True, 2),
        ("empty_response", "model", True, 1),
        ("http_500", "provider", False, 1),
        ("timeout", "provider", False, 1),
    ]


def test_a_failure_that_nobody_knows_has_no_cause(run):
    trial = run.plan()
    run.result(trial, failure_type="<b>later</b>")

    (count,) = part_of(run, failures_of)

    assert (count.failure_type, count.cause) == ("<b>later</b>", None)


def test_of_ever_new_names_the_most_frequent_are_kept(run):
    for number in range(MAX_KINDS + 20):
        for repetition in (1, 2) if number > MAX_KINDS else (1,):
            run.result(run.plan(f"c{number}", repetition), failure_type=f"kind-{number}")

    counts = part_of(run, failures_of)

    assert len(counts) == MAX_KINDS
    assert [one.n_trials for one in counts[:20]] == [2] * 19 + [1]


@pytest.mark.parametrize("night", [*NIGHTS, "older_tool"])
def test_failures_of_the_samples_are_those_of_the_summary(nights, night):
    of = nights[night]
    found = defaultdict(Counter)
    for one in failures_of(of):
        found[one.model_id][one.failure_type] += one.n_trials

    for group in of.summary.models:
        assert found[group.model_id] == group.failures


@pytest.mark.parametrize("part", [matrix_of, history_of, latency_of, frontier_of, failures_of])
def test_a_part_does_not_depend_on_the_number_of_threads(samples, nights, part):
    with open_context(samples.runs_dir, NIGHTS[6], threads=1) as alone:
        assert part(alone) == part(nights[NIGHTS[6]])
