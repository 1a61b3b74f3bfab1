"""The summary of a whole run, from records on disk: what counts, what does not, what is null."""

import pytest

from schemas.lake.rows.tables import TABLES

RATES = ("success_rate_ok", "objective_pass_rate", "passed_rate", "score_available")


def test_missing_trials_lower_the_strict_score_and_no_other_rate(run):
    trials = [run.plan(f"c{n}") for n in range(10)]
    for trial in trials[:6]:
        run.result(trial)

    group = run.group()

    assert (group.n_planned, group.n_total, group.n_scorable) == (10, 6, 10)
    assert group.passed_rate == group.score_available == group.success_rate_ok == 1
    assert group.score_strict == group.coverage == 0.6


def test_missing_trials_of_a_case_with_checks_lower_the_strict_score_too(run):
    done, _missing = (run.plan("c1", n, validator_type=None, is_scorable=True) for n in (1, 2))
    run.result(done, passed=True, checks_passed=2)

    group = run.group()

    assert (group.score_strict, group.coverage) == (0.5, 0.5)


def test_run_without_a_single_result_has_groups_and_no_rates(run):
    run.plan("c1")
    run.plan("c2")

    summary = run.summary()
    (group,) = summary.models

    assert (summary.generated_at, summary.run_wall_clock_ms) == (None, None)
    assert (group.n_planned, group.n_total) == (2, 0)
    assert [getattr(group, rate) for rate in RATES] == [None] * len(RATES)
    assert (group.score_strict, group.coverage) == (0, 0)
    assert group.passed_ci95 is None
    assert group.latency_ms.p50 is group.latency_ms.mean is group.wall_clock_ms is None
    assert group.tool_use.tier is group.tool_use.tier_label is group.tool_use.rate is None
    assert (group.pass_at_k, group.pass_hat_k, group.failures) == ((), (), {})


def test_without_an_ok_trial_rates_are_null_and_auth_errors_are_counted(run):
    for failure in ("http_401", "api_key_missing", "http_429", "connection_error", "http_500"):
        run.result(run.plan(f"c{len(run.trials)}"), failure_type=failure)

    group = run.group()

    assert (group.n_total, group.n_ok, group.n_auth_error) == (5, 0, 2)
    assert (group.n_rate_limited, group.n_skipped_unavailable, group.n_error) == (1, 1, 1)
    assert [getattr(group, rate) for rate in RATES] == [None] * len(RATES)
    assert (group.score_strict, group.coverage) == (0, 0)
    assert group.failures == {
        "api_key_missing": 1,
        "connection_error": 1,
        "http_401": 1,
        "http_429": 1,
        "http_500": 1,
    }


@pytest.mark.parametrize(
    ("failure", "n_ok", "passed_rate", "coverage"),
    [
        ("empty_response", 2, 0.5, 1),
        ("max_turns_exceeded", 2, 0.5, 1),
        ("timeout", 1, 0.5, 1),
        ("http_500", 1, 1, 0.5),
        ("exception", 1, 1, 0.5),
    ],
)
def test_a_failure_counts_against_whom_it_belongs_to(run, failure, n_ok, passed_rate, coverage):
    run.result(run.plan("c1"))
    run.result(run.plan("c2"), failure_type=failure)

    group = run.group()

    assert (group.n_ok, group.n_success) == (n_ok, 1)
    assert group.success_rate_ok == 1 / n_ok
    assert (group.passed_rate, group.coverage) == (passed_rate, coverage)
    assert group.score_strict == 0.5
    assert group.n_timeout == (failure == "timeout")


def test_objective_pass_rate_is_of_successes_that_a_validator_judged(run):
    run.result(run.plan("c1"))
    run.result(run.plan("c2"), passed=False, objective_pass=False)
    run.result(run.plan("c3", validator_type="noop"), objective_pass=None)
    run.result(run.plan("c4"), failure_type="empty_response")

    group = run.group()

    assert group.objective_pass_rate == 0.5
    assert group.passed_rate == pytest.approx(1 / 3)
    assert (group.n_scorable, group.n_planned) == (3, 4)


def test_the_later_record_of_a_trial_counts(run):
    trial = run.plan("c1")
    run.result(trial, failure_type="http_500")
    run.result(trial)
    other = run.plan("c2")
    run.result(other)
    run.result(other, passed=False, e2e_ms=900)

    group = run.group()

    assert (group.n_total, group.n_ok, group.n_error) == (2, 2, 0)
    assert group.passed_rate == 0.5
    assert group.latency_ms.p50 == 650
    assert group.failures == {}


def test_a_result_outside_the_plan_is_in_no_rate(run, new_run):
    run.result(run.plan("c1"))
    run.result(new_run().plan("c9"), passed=False)

    assert (run.group().n_total, run.group().passed_rate) == (1, 1)


def test_reused_answers_keep_their_verdict_and_lend_no_time_and_no_cost(run):
    run.result(run.plan("c1"), e2e_ms=100, cost_usd=0.5, passed=False)
    run.result(
        run.plan("c2"),
        reused_from_run_id="older",
        started_at_ms=500,
        ended_at_ms=2**42,
        e2e_ms=9000,
        cost_usd=7.0,
    )

    summary = run.summary()
    (group,) = summary.models

    assert (group.n_total, group.n_success, group.passed_rate) == (2, 2, 0.5)
    assert (group.latency_ms.n, group.latency_ms.p99) == (1, 100)
    assert (group.cost_usd, group.n_cost_known, group.tokens.n_known) == (0.5, 1, 1)
    assert group.wall_clock_ms == summary.run_wall_clock_ms == 400
    assert [point.n_cases for point in group.pass_at_k] == [1]


def test_the_runs_own_clock_is_how_long_it_took_where_every_trial_of_it_has_one(run):
    end = run.started_at_ms
    run.result(run.plan("c1"), elapsed_ms=700)
    run.result(run.plan("c2"), elapsed_ms=950, started_at_ms=end - 9_000, ended_at_ms=end - 8_000)
    reused = {"reused_from_run_id": "older", "started_at_ms": 500, "ended_at_ms": 2**42}
    run.result(run.plan("c3"), elapsed_ms=None, **reused)
    run.result(run.plan("c4"), elapsed_ms=10**9, **reused)

    assert run.summary().run_wall_clock_ms == 950


def test_without_a_clock_of_its_own_a_run_has_the_wall_clock(run):
    run.result(run.plan("c1"), elapsed_ms=700)
    run.result(run.plan("c2"))

    assert run.summary().run_wall_clock_ms == 1_400


def test_groups_are_split_by_model_id_and_sorted_with_null_thinking_first(run):
    def plan(model_id, **fields):
        run.result(run.plan("c1", model_id=model_id, **fields))

    plan("z", provider="openrouter", model="b", thinking_level="low")
    plan("y", provider="openrouter", model="b")
    plan("x", provider="openrouter", model="b")
    plan("w", provider="ollama_openai", model="zz")
    plan("v", provider="openrouter", model="B")

    keys = [(g.model, g.thinking_level, g.model_id) for g in run.summary().models]

    assert keys == [
        ("zz", None, "w"),
        ("B", None, "v"),
        ("b", None, "x"),
        ("b", None, "y"),
        ("b", "low", "z"),
    ]


@pytest.mark.parametrize(
    ("used", "tried", "tier"), [(4, 5, 1), (159, 200, 2), (1, 2, 2), (99, 200, 3), (0, 1, 3)]
)
def test_tier_follows_the_rate_without_a_gap(run, used, tried, tier):
    for n in range(tried):
        trial = run.plan(f"c{n}", expected_tools=("free",))
        run.result(trial, tool_use_success=n < used)

    group = run.group()

    assert (group.tool_use.n, group.tool_use.rate) == (tried, used / tried)
    assert group.tool_use.tier == tier
    assert group.tool_use.tier_label.startswith(f"Tier {tier} ")


def test_tier_leaves_out_trials_that_were_not_served_or_expect_nothing(run):
    run.result(run.plan("c1", expected_tools=("free",)), tool_use_success=True)
    run.result(run.plan("c2", expected_tools=("free",)), failure_type="http_500")
    run.result(run.plan("c3"))
    run.result(run.plan("c4", expected_tools=("free",)), failure_type="empty_response")

    tool_use = run.group().tool_use

    assert (tool_use.n, tool_use.rate, tool_use.tier) == (2, 0.5, 2)
    assert tool_use.tier_confident is False


def test_one_tool_case_has_a_tier_and_no_confidence(run):
    run.result(run.plan("c1", expected_tools=("free",)), tool_use_success=True)

    tool_use = run.group().tool_use

    assert (tool_use.tier, tool_use.ci95, tool_use.tier_confident) == (1, None, None)


def test_interval_is_clustered_by_case(run):
    for case, passes in enumerate([3, 3, 2, 0, 3, 1]):
        for repetition in (1, 2, 3):
            run.result(run.plan(f"c{case}", repetition), passed=repetition <= passes)

    group = run.group()

    assert group.passed_ci95.n_eff == pytest.approx(7.8261, abs=5e-5)
    assert group.passed_ci95.low == pytest.approx(0.3358, abs=5e-5)
    assert group.passed_ci95.high == pytest.approx(0.8878, abs=5e-5)
    assert (group.repetitions, group.repetitions_identical) == (3, False)
    assert [point.k for point in group.pass_at_k] == [1, 2, 3]
    assert group.pass_at_k[2].value == pytest.approx(5 / 6)
    assert group.pass_hat_k[2].value == 0.5


def test_identical_answers_leave_one_step_of_k(run):
    for case in ("c1", "c2"):
        for repetition in (1, 2, 3):
            run.result(run.plan(case, repetition), raw_output=case)

    group = run.group()

    assert group.repetitions_identical is True
    assert [point.k for point in group.pass_hat_k] == [1]


def test_numbers_beyond_32_bits_arrive(run):
    big = 3_000_000_000
    for case in ("c1", "c2"):
        run.result(run.plan(case), e2e_ms=big, input_tokens=big, output_tokens=big)

    group = run.group()

    assert (group.tokens.input, group.tokens.output) == (2 * big, 2 * big)
    assert group.latency_ms.mean == big
    assert group.output_tokens_per_s == 1000


def test_small_costs_add_up_exactly(run):
    for n in range(10):
        run.result(run.plan(f"c{n}"), cost_usd=0.1, cost_source="provider")

    assert run.group().cost_usd == 1.0


def test_generated_at_is_the_last_end_in_utc(run):
    run.result(run.plan("c1"), ended_at_ms=1_763_762_400_123)

    assert run.summary().generated_at == "2025-11-21T22:00:00.123Z"


def test_counts_add_up_whatever_happened(run):
    failures = (None, "timeout", "http_403", "http_429", "http_404", "http_502", "empty_response")
    for n in range(60):
        trial = run.plan(f"c{n % 12}", 1 + n // 12, model_id=f"m{n % 2}")
        if n % 11:
            run.result(trial, failure_type=failures[n % len(failures)])

    for group in run.summary().models:
        refused = group.n_skipped_unavailable + group.n_auth_error + group.n_rate_limited
        assert group.n_success <= group.n_ok <= group.n_total <= group.n_planned
        assert group.n_ok + refused + group.n_error == group.n_total
        assert group.n_timeout <= group.n_error
        assert group.n_scorable <= group.n_planned
        assert sum(group.failures.values()) == group.n_total - group.n_success
        assert group.score_strict <= group.score_available
        assert group.score_strict <= group.coverage <= 1
        assert group.passed_ci95.low <= group.passed_rate <= group.passed_ci95.high


def test_no_summary_reads_text():
    """The columns that the views stand on hold no answer; answers lie in a table of their own."""
    assert "raw_output" not in TABLES["results"].names


def test_a_record_that_was_superseded_counts_nowhere(run):
    trial = run.plan()
    run.result(trial, failure_type="timeout", cost_usd=1.0, e2e_ms=9_000)
    run.result(trial, cost_usd=0.25, e2e_ms=100)

    group = run.group()

    assert (group.n_total, group.n_success, group.failures) == (1, 1, {})
    assert (group.cost_usd, group.latency_ms.p50, group.n_timeout) == (0.25, 100, 0)


def test_a_moment_past_the_calendar_has_no_text(run):
    run.result(run.plan(), started_at_ms=2**53 - 5, ended_at_ms=2**53)

    assert run.summary().generated_at is None
