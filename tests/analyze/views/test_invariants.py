"""What holds of every history: queries that must return no rows, and the grain of every view."""

import shutil

import pytest

from analyze.contracts import CONTRACTS
from analyze.query.catalog import read_view
from analyze.query.session import open_session
from tests.support.made_history import MadeHistory
from tests.support.paths import SAMPLES

NEVER = {
    "counts fall from planned to success": """
        select * from model_summary
        where not (n_success <= n_ok and n_ok <= n_total and n_total <= n_planned)
    """,
    "a verdict belongs to a trial that can get one": """
        select * from model_summary
        where not (n_passed <= n_scored and n_scored <= n_scorable and n_scorable <= n_planned)
    """,
    "every trial has one availability": """
        select * from model_summary
        where n_total
            <> n_ok + n_skipped_unavailable + n_auth_error + n_rate_limited + n_error
    """,
    "parts are not more than the whole": """
        select * from model_summary
        where n_latency > n_success or n_ttft > n_success or n_timeout > n_total - n_success
            or n_reused > n_total
            or n_objective_scored > n_success or n_objective_passed > n_objective_scored
            or n_tool_success > n_tool_trials or n_tool_trials > n_ok
            or n_cost_known > n_total or n_tokens_known > n_total
    """,
    "a trajectory took what its requests took": """
        select * from trajectories inner join contexts using (run_id, record_no, trajectory)
        where trajectories.input_tokens is distinct from contexts.input_tokens
    """,
    "percentiles rise": """
        select * from model_summary
        where e2e_ms_p50 > e2e_ms_p95 or e2e_ms_p95 > e2e_ms_p99
            or ttft_ms_p50 > ttft_ms_p95 or ttft_ms_p95 > ttft_ms_p99
    """,
    "a rate is null exactly when nothing was counted": """
        select * from model_summary
        where (passed_rate is null) <> (n_scored = 0)
            or (coverage is null) <> (n_scorable = 0)
            or (success_rate_ok is null) <> (n_ok = 0)
            or (tool_use_rate is null) <> (n_tool_trials = 0)
            or (e2e_ms_p50 is null) <> (n_latency = 0)
            or (cost_usd is null) <> (n_cost_known = 0)
            or passed_rate not between 0 and 1 or score_strict > passed_rate
    """,
    "a run is the sum of its models": """
        select run_id from run_summary
        full join (
            select
                run_id, count(*) as n_models, sum(n_planned) as n_planned,
                sum(n_total) as n_total, sum(n_ok) as n_ok, sum(n_success) as n_success,
                sum(n_reused) as n_reused, sum(n_scorable) as n_scorable, sum(n_scored) as n_scored,
                sum(n_passed) as n_passed, sum(input_tokens) as input_tokens,
                sum(output_tokens) as output_tokens, sum(n_cost_known) as n_cost_known
            from model_summary group by run_id
        ) as models using (run_id)
        where (
            run_summary.n_models, run_summary.n_planned, run_summary.n_total, run_summary.n_ok,
            run_summary.n_success, run_summary.n_reused, run_summary.n_scorable,
            run_summary.n_scored, run_summary.n_passed, run_summary.input_tokens,
            run_summary.output_tokens, run_summary.n_cost_known
        ) is distinct from (
            models.n_models, models.n_planned, models.n_total, models.n_ok, models.n_success,
            models.n_reused, models.n_scorable, models.n_scored, models.n_passed,
            models.input_tokens, models.output_tokens, models.n_cost_known
        )
    """,
    "a model is the sum of its runs": """
        select * from models
        full join (
            select
                provider, model, thinking_level, model_id, count(*) as n_runs,
                sum(n_planned) as n_planned, sum(n_total) as n_total, sum(n_success) as n_success
            from model_summary group by all
        ) as runs
            on (models.provider, models.model, models.model_id)
                = (runs.provider, runs.model, runs.model_id)
            and models.thinking_level is not distinct from runs.thinking_level
        where (models.n_runs, models.n_planned, models.n_total, models.n_success)
            is distinct from (runs.n_runs, runs.n_planned, runs.n_total, runs.n_success)
    """,
    "every trial without success is a failure of one type": """
        select run_id from model_summary
        left join (
            select run_id, model_id, sum(n_trials) as n_failed from failure_summary group by all
        ) as summed using (run_id, model_id)
        left join (
            select run_id, model_id, count(*) as n_failed from failures group by all
        ) as listed using (run_id, model_id)
        where n_total - n_success <> coalesce(summed.n_failed, 0)
            or n_total - n_success <> coalesce(listed.n_failed, 0)
    """,
    "a failure that counts against the model is never a pass, any other has no verdict": """
        select * from failures
        where passed or (not counts_against_model and passed is not null)
    """,
    "results, texts, current attempts and present trials are the same trials": """
        (
            select run_id, model_id, case_id, repetition, record_no from results
            union all select run_id, model_id, case_id, repetition, record_no from outputs
            union all
            select run_id, model_id, case_id, repetition, record_no from attempts where is_current
            union all
            select run_id, model_id, case_id, repetition, record_no from planned_trials
            where state = 'present'
        )
        except all (
            select run_id, model_id, case_id, repetition, record_no from results
            union all select run_id, model_id, case_id, repetition, record_no from results
            union all select run_id, model_id, case_id, repetition, record_no from results
            union all select run_id, model_id, case_id, repetition, record_no from results
        )
    """,
    "a record replaces an earlier one of its own trial": """
        select later.* from attempts as later
        left join attempts as earlier
            on earlier.run_id = later.run_id and earlier.record_no = later.supersedes
        where later.supersedes is not null and (
            earlier.record_no is null or earlier.record_no >= later.record_no
            or (earlier.model_id, earlier.case_id, earlier.repetition)
                <> (later.model_id, later.case_id, later.repetition)
        )
    """,
    "every result was planned, with the same provider, model and thinking level": """
        select results.run_id from results
        left join planned_trials as plans
            on (plans.run_id, plans.model_id, plans.case_id, plans.repetition)
                = (results.run_id, results.model_id, results.case_id, results.repetition)
        where (plans.provider, plans.model, plans.thinking_level)
            is distinct from (results.provider, results.model, results.thinking_level)
    """,
    "a model_id is one model inside a run": """
        select run_id, model_id from model_summary group by run_id, model_id having count(*) > 1
    """,
    "every run with a plan is described, and counts what it planned": """
        select run_id from run_summary full join runs using (run_id)
        where runs.n_planned is distinct from run_summary.n_planned
    """,
    "the run before is of the same suite and one place before": """
        select runs.* from runs left join runs as before on before.run_id = runs.previous_run_id
        where (runs.run_no > 1) <> (before.run_id is not null)
            or before.suite_id <> runs.suite_id or before.run_no <> runs.run_no - 1
    """,
    "cases hold every planned trial once, and each case has one current content": """
        select suite_id, case_id from cases
        full join (
            select suite_id, case_id, count(*) as n_planned from planned_trials group by all
        ) as plans using (suite_id, case_id)
        group by suite_id, case_id
        having sum(cases.n_planned) <> max(plans.n_planned)
            or count(case when is_current then 1 end) <> 1
    """,
    "repeated cases are cases, identical ones are repeated": """
        select run_id from repetitions inner join model_summary using (run_id, model_id)
        where n_identical_cases > n_repeated_cases or n_repeated_cases > n_cases
            or repetitions > n_planned or n_cases > n_planned
    """,
    "cases counted together are as many as cases, with as many passes": """
        select run_id from (
            select
                run_id, model_id, sum(n_cases) as n_cases, sum(n_cases * n_scored) as n_scored,
                sum(n_cases * n_passed) as n_passed
            from int_pass_counts group by all
        ) as counted
        full join model_summary using (run_id, model_id)
        full join repetitions using (run_id, model_id)
        where (counted.n_cases, counted.n_scored, counted.n_passed) is distinct from
            (repetitions.n_cases, model_summary.n_scored, model_summary.n_passed)
    """,
    "tool use counted together is tool use": """
        select run_id from (
            select
                run_id, model_id, sum(n_cases * n_tool_trials) as n_tool_trials,
                sum(n_cases * n_tool_success) as n_tool_success
            from int_tool_counts group by all
        ) as counted
        right join model_summary using (run_id, model_id)
        where coalesce(counted.n_tool_trials, 0) <> model_summary.n_tool_trials
            or coalesce(counted.n_tool_success, 0) <> model_summary.n_tool_success
    """,
}
"""What a query looks for, which no history has, by the rule that it would break."""


@pytest.fixture(scope="module")
def made():
    with MadeHistory().connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """The sample runs of the repository, in a folder of their own."""
    if not SAMPLES.is_dir():
        pytest.skip("data/samples/runs is not there")
    runs_dir = tmp_path_factory.mktemp("samples") / "runs"
    shutil.copytree(SAMPLES, runs_dir)
    with open_session(runs_dir, progress=lambda _: None) as session:
        yield session


@pytest.mark.parametrize("rule", NEVER)
def test_no_made_history_breaks(rule, made):
    assert made.execute(NEVER[rule]).fetchall() == []


@pytest.mark.parametrize("rule", NEVER)
def test_no_sample_breaks(rule, samples):
    assert samples.rows(NEVER[rule]) == []


def doubles_of(view: str) -> str:
    """Return a query for rows of a view that share its key."""
    order = CONTRACTS[view].order.replace(" nulls first", "").replace(" nulls last", "")
    keys = order.replace(" desc", "")
    return f"select {keys} from {view} group by {keys} having count(*) > 1"


@pytest.mark.parametrize("view", CONTRACTS)
def test_key_of_a_view_is_unique(view, made):
    assert made.execute(doubles_of(view)).fetchall() == []


@pytest.mark.parametrize("view", CONTRACTS)
def test_key_of_a_view_is_unique_in_samples(view, samples):
    assert samples.rows(doubles_of(view)) == []


@pytest.mark.parametrize("view", CONTRACTS)
def test_rows_of_a_view_fit_its_contract(view, made):
    contract = CONTRACTS[view]
    rows = read_view(made, contract)

    assert rows, "a history without such a row proves nothing"


def test_made_history_has_every_kind_of_row(made):
    (counts,) = made.execute(
        "select count(supersedes), count(reused_from_run_id), count(distinct failure_type), "
        "count(case when cost_usd = 0 then 1 end), count(*) - count(cost_usd) from raw_results"
    ).fetchall()
    (missing,) = made.execute(
        "select count(*) from planned_trials where state = 'missing'"
    ).fetchall()
    causes = made.execute("select distinct cause from failures where failure_type = 'timeout'")

    assert all(counts)
    assert missing[0] > 0
    assert {cause for (cause,) in causes.fetchall()} == {"model", "provider"}
