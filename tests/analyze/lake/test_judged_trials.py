"""Judges of a run's own evaluation profile have a say in every verdict (D-A9), and no others do."""

import json
import shlex

import duckdb
import pytest

from analyze.api import open_history
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


def passed_of(run, profile, view="results"):
    with open_session(run.runs_dir, evaluation_profile=profile) as session:
        return dict(session.rows(f"select case_id, passed from {view}"))


@pytest.fixture
def judged_twice(run):
    """The own profile fails what another one passes; a validator fails one case of its own."""
    for case_id, fields in (
        ("a", {"passed": None, "objective_pass": None}),
        ("b", {"passed": False, "objective_pass": False}),
    ):
        made = trial(run, case_id, **fields)
        run.judged(made, 2, threshold=5)
        run.judged(made, 9, threshold=5, evaluation_profile_id="kind", judge_hash=sha("kind"))
        run.judged(made, 9, evaluation_profile_id="idle")
    trial(run, "unjudged", passed=True, objective_pass=True)
    run.write()
    return run


def test_the_profile_that_is_asked_for_decides_and_is_named(judged_twice):
    own = {"a": False, "b": False, "unjudged": None}
    assert passed_of(judged_twice, None) == passed_of(judged_twice, "strict") == own
    assert passed_of(judged_twice, "kind") == {"a": True, "b": False, "unjudged": None}

    question = "select distinct deciding_profile_id, judge_hash from runs"
    with open_session(judged_twice.runs_dir) as session:
        assert session.rows(question) == [("strict", sha("judges"))]
    with open_session(judged_twice.runs_dir, evaluation_profile="kind") as session:
        assert session.rows(question) == [("kind", sha("kind"))]
        assert session.rows("select distinct deciding_profile_id from results") == [("kind",)]
        with session.as_written() as written:
            assert dict(written.rows("select case_id, passed from results"))["a"] is True


def test_a_run_that_the_profile_never_judged_is_open(judged_twice, new_run):
    other = new_run("run-2", day=1)
    for case_id, passed in (("good", True), ("bad", False)):
        trial(other, case_id, passed=passed, objective_pass=passed)
    other.write()

    assert passed_of(judged_twice, "kind") == {
        "a": True, "b": False, "unjudged": None, "good": None, "bad": False,
    }  # fmt: skip
    with open_session(other.runs_dir, evaluation_profile="kind") as session:
        found = session.rows("select deciding_profile_id, judge_hash from runs order by run_id")
    assert found == [("kind", sha("kind")), ("kind", None)]


def test_ways_to_judge_that_differ_within_a_run_are_both_named(run):
    for case_id, hashed in (("a", "1"), ("b", "2"), ("c", None)):
        made = trial(run, case_id, passed=None, objective_pass=None)
        run.judged(made, 3, threshold=5, evaluation_profile_id="kind", judge_hash=sha("before"))
        run.judged(
            made,
            9,
            threshold=5,
            evaluation_profile_id="kind",
            judge_hash=None if hashed is None else sha(hashed),
        )
    run.write()

    with open_session(run.runs_dir, evaluation_profile="kind") as session:
        ((found,),) = session.rows("select judge_hash from runs")
    assert found == "+".join(sorted((sha("1"), sha("2"))))


COMMANDS = (
    *("runs", "report", "chart leaderboard run-1 -o x.svg", "summarize run-1", "steps run-1"),
    *("compare run-1 run-1", "gate run-1 --baseline run-1", "regressions", "flaky", "tiers"),
    *("power", "route", "export swebench run-1", "open --db DB"),
    "sql 'select passed from results'",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_verdicts_refuses_a_profile_that_decides_none(
    judged_twice, command, tmp_path
):
    words = [str(tmp_path / "x.duckdb") if one == "DB" else one for one in shlex.split(command)]
    runs_dir = judged_twice.runs_dir
    where = ("report", runs_dir) if words[0] == "report" else (*words, "--runs", runs_dir)
    asked = (*where, "--evaluation-profile")

    unknown = call(*asked, "kidn")
    assert unknown.code == 2
    assert "evaluation profile kidn: no run in" in unknown.err
    assert "there is idle, kind, strict" in unknown.err
    assert "collect evaluate RUN --evaluation-profile kidn" in unknown.err
    idle = call(*asked, "idle")
    assert idle.code == 2
    assert "it has no pass_threshold" in idle.err


def test_a_database_file_and_a_question_in_sql_go_by_the_profile(judged_twice, tmp_path):
    runs_dir, path = judged_twice.runs_dir, tmp_path / "kind.duckdb"
    question = "select count(*) as n from results where passed"

    made = call("open", "--db", path, "--runs", runs_dir, "--evaluation-profile", "kind")
    assert made.code == 0, made.err
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute(question).fetchall() == [(1,)]
    asked = call("sql", question, "--json", "--runs", runs_dir, "--evaluation-profile", "kind")
    assert json.loads(asked.out) == [{"n": 1}]
    with open_history(runs_dir, evaluation_profile="kind") as history:
        assert history.sql(question).rows() == [(1,)]
        assert history.view("results").collect()["passed"].sum() == 1


def test_a_summary_by_another_profile_is_printed_and_not_kept(judged_twice):
    runs_dir = judged_twice.runs_dir
    kept = judged_twice.path / "summary.json"

    done = call("summarize", "run-1", "--json", "--runs", runs_dir, "--evaluation-profile", "kind")
    assert json.loads(done.out)["models"][0]["passed_rate"] == 0.5
    assert not kept.exists()
    assert call("summarize", "run-1", "--runs", runs_dir).code == 0
    assert json.loads(kept.read_text())["models"][0]["passed_rate"] == 0


def test_a_report_by_another_profile_says_so(judged_twice):
    asked = ("report", judged_twice.runs_dir, "--run", "run-1", "--format", "json")

    plain, by_kind = (
        json.loads(call(*asked, *more).out) for more in ((), ("--evaluation-profile", "kind"))
    )

    assert "other_profile" not in [one["code"] for one in plain["doubts"]]
    (doubt,) = [one for one in by_kind["doubts"] if one["code"] == "other_profile"]
    assert "evaluation profile kind, which was asked for; its own is strict" in doubt["sentence"]
    decides = {one["evaluation_profile_id"]: one["decides"] for one in by_kind["judged"]["scores"]}
    assert decides == {"kind": True, "strict": False, "idle": False}


def test_a_comparison_by_the_profile_goes_by_its_way_to_judge(judged_twice, new_run):
    """Same way: comparable; another one: the judge differs."""
    for run_id, hashed in (("run-2", "kind"), ("run-3", "kinder")):
        later = new_run(run_id, day=int(run_id[-1]))
        later.config |= JUDGED
        for case_id in ("a", "b"):
            made = trial(later, case_id, passed=None, objective_pass=None)
            later.judged(made, 9, threshold=5, evaluation_profile_id="kind", judge_hash=sha(hashed))
        later.write()

    def judge_axis(other):
        asked = ("compare", "run-1", other, "--runs", later.runs_dir, "--json")
        found = json.loads(call(*asked, "--evaluation-profile", "kind").out)
        (axis,) = [one for one in found["axes"] if one["axis"] == "judge"]
        return axis["n_same"], axis["n_differ"]

    assert judge_axis("run-2") == (2, 0)
    assert judge_axis("run-3") == (0, 2)
