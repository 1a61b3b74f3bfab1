"""Judges of a run's own evaluation profile have a say in every verdict (D-A9), and no others do."""

import pytest

from analyze.query.session import open_session
from tests.support.analyze_cli import call
from tests.support.run_rows import sha

JUDGED = {
    "evaluation": {
        "evaluation_profile_id": "strict", "evaluation_profile_path": "e.yaml", "sha256": sha("e"),
        "security_policy": {}, "limits": {},
    },
    "judge_hash": sha("judges"),
}  # fmt: skip


def verdicts(run):
    with open_session(run.runs_dir) as session:
        return dict(session.rows("select case_id, passed from results"))


@pytest.fixture
def run(new_run):
    made = new_run()
    made.config |= JUDGED
    return made


def trial(run, case_id, **fields):
    made = run.plan(case_id)
    run.result(made, **fields)
    return made


def test_every_verdict_is_the_conjunction_of_what_a_trial_has(run):
    """Worked out by hand: without the judge across, what the judge says down."""
    alone = {"passed": None, "objective_pass": None}
    given = {
        "passed_good": ({"passed": True, "objective_pass": True}, 8, True),
        "passed_bad": ({"passed": True, "objective_pass": True}, 2, False),
        "failed_good": ({"passed": False, "objective_pass": False}, 8, False),
        "only_good": (alone, 8, True),
        "only_bad": (alone, 2, False),
        "only_refused": (alone, "refusal", None),
        "passed_refused": ({"passed": True, "objective_pass": True}, "refusal", None),
        "open_good": (alone | {"checks_errored": 1}, 8, None),
        "outage_good": ({"passed": None, "failure_type": "http_500"}, 8, None),
        "empty_good": ({"passed": False, "failure_type": "empty_response"}, 8, False),
    }
    for case_id, (fields, said, _) in given.items():
        run.judged(trial(run, case_id, **fields), said, threshold=5)
    trial(run, "unjudged", passed=True, objective_pass=True)
    run.write()

    assert verdicts(run) == {name: one[2] for name, one in given.items()} | {"unjudged": None}
    with open_session(run.runs_dir) as session:
        written = dict(session.rows("select case_id, passed from raw_recorded_results"))
    assert written == {name: one[0]["passed"] for name, one in given.items()} | {"unjudged": True}


def test_the_newest_judgement_of_the_record_that_counts_decides(run):
    made = trial(run, "a", passed=None, objective_pass=None)
    run.judged(made, 2, threshold=5)
    run.judged(made, 8, threshold=5)
    run.judged(made, 2, threshold=5, evaluated_at_ms=1)
    run.write()
    assert verdicts(run) == {"a": True}

    run.result(made, passed=None, objective_pass=None)
    run.mirror()
    assert verdicts(run) == {"a": None}, "nobody judged that record yet"


def test_another_profile_is_never_mixed_in(run):
    made = trial(run, "a", passed=None, objective_pass=None)
    run.judged(made, 2, threshold=5)
    run.judged(made, 9, threshold=5, evaluation_profile_id="kind")
    other = trial(run, "b", passed=None, objective_pass=None)
    run.judged(other, 9, threshold=5, evaluation_profile_id="kind")
    run.write()

    assert verdicts(run) == {"a": False, "b": None}


@pytest.mark.parametrize("config", [{}, {"evaluation": JUDGED["evaluation"], "judge_hash": None}])
def test_without_judges_that_decide_the_verdict_is_the_runs(new_run, config):
    run = new_run()
    run.config |= config
    run.judged(trial(run, "a", passed=True), 2, threshold=5)
    run.write()

    assert verdicts(run) == {"a": True}


def test_runs_with_and_without_judges_stand_beside_each_other(run, new_run):
    run.judged(trial(run, "a", passed=True, objective_pass=True), 2, threshold=5)
    run.write()
    plain = new_run("run-2", day=1)
    trial(plain, "a", passed=True, objective_pass=True)
    plain.write()

    with open_session(run.runs_dir) as session:
        found = session.rows("select run_id, passed_rate from model_summary order by 1")
    assert found == [("run-1", 0.0), ("run-2", 1.0)]


def test_a_check_made_again_and_a_judge_are_joined(run):
    made = trial(run, "a", passed=False, checks_failed=1)
    run.evaluation(made, checks=[{"check_id": "x"}])
    run.judged(made, 8, threshold=5)
    run.write()
    assert verdicts(run) == {"a": True}


def test_a_gate_goes_by_what_judges_say(run, new_run):
    for case in range(60):
        run.judged(trial(run, f"c{case}", passed=None, objective_pass=None), 9, threshold=5)
    run.write()
    worse = new_run("run-2", day=1)
    worse.config |= JUDGED
    for case in range(60):
        made = trial(worse, f"c{case}", passed=None, objective_pass=None)
        worse.judged(made, 9 if case > 30 else 2, threshold=5)
    worse.write()

    done = call("gate", "run-2", "--baseline", "run-1", "--runs", run.runs_dir)

    assert done.code == 1, done.out + done.err
    assert "passed" in done.out
