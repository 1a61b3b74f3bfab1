"""The newest evaluation of a trial's record decides what every view says of the trial."""

import json

import pyarrow.parquet as pq
import pytest

from analyze.lake.raw_tables import connect
from analyze.lake.sync import sync
from analyze.query.session import open_session
from schemas.lake import Join, join, live_files
from tests.support.analyze_cli import call
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import sha

EDITED = sha("edited")
OLD, NEW = "a" * 16, "b" * 16


@pytest.fixture
def run(new_run):
    """Two cases with a check each that failed at the run."""
    made = new_run()
    failed = {"check_id": "x", "kind": "contains", "outcome": "failed", "check_hash": OLD}
    made.night("ab", {"passed": False, "checks_failed": 1, "checks": (failed,)})
    return made


def asked(run, sql):
    with open_session(run.runs_dir) as session:
        return session.rows(sql)


def look(run, trial, outcome="passed", check_hash=NEW, **fields):
    check = {"check_id": "x", "outcome": outcome, "check_hash": check_hash}
    return run.evaluation(trial, **({"case_hash": EDITED, "checks": [check]} | fields))


VERDICTS = """
    select case_id, passed, checks_passed, checks_failed, case_hash, checks[1].check_hash
    from results order by case_id
"""
PLANNED = "select case_id, passed, case_hash, is_scorable from planned_trials order by case_id"


def test_the_newest_look_decides_and_what_was_written_stays(run):
    a, _ = run.trials
    look(run, a, "failed", evaluated_at_ms=7)
    look(run, a, evaluated_at_ms=9)
    look(run, a, "error", evaluated_at_ms=8)
    run.write()

    assert asked(run, VERDICTS) == [
        ("a", True, 1, 0, EDITED, NEW),
        ("b", False, 0, 1, sha("b"), OLD),
    ]
    assert asked(run, PLANNED) == [("a", True, EDITED, True), ("b", False, sha("b"), True)]
    recorded = "select case_id, passed, case_hash from raw_recorded_results order by 1"
    assert asked(run, recorded) == [("a", False, sha("a")), ("b", False, sha("b"))]
    assert asked(run, "select evaluation_no, is_current from evaluations") == [
        (1, False), (2, True), (3, False),
    ]  # fmt: skip
    assert asked(run, "select passed_rate, coverage from model_summary") == [(0.5, 1.0)]
    assert run.group().passed_rate == 0.5


def test_of_one_moment_the_later_line_counts_and_a_verdict_may_go(run):
    look(run, run.trials[0], evaluated_at_ms=9)
    look(run, run.trials[0], checks=[], is_scorable=False, evaluated_at_ms=9)
    run.write()

    assert asked(run, VERDICTS)[0] == ("a", None, 0, 0, EDITED, None)
    assert asked(run, PLANNED)[0] == ("a", None, EDITED, False)


def test_a_later_record_makes_an_evaluation_void(run):
    look(run, run.trials[0])
    run.mirror()
    assert asked(run, PLANNED)[0] == ("a", True, EDITED, True)

    run.result(run.trials[0], passed=False)
    run.mirror()

    assert asked(run, VERDICTS)[0] == ("a", False, 0, 0, sha("a"), None)
    assert asked(run, PLANNED)[0] == ("a", False, sha("a"), True)
    assert asked(run, "select is_current from evaluations") == [(False,)]
    assert asked(run, "select count(*) from checks where case_id = 'a'") == [(0,)]
    look(run, run.trials[0])
    run.mirror()
    assert asked(run, PLANNED)[0] == ("a", True, EDITED, True)


@pytest.mark.parametrize("fields", [{"result_no": 2}, {"result_no": 99}])
def test_a_look_at_another_trials_line_or_at_none_counts_for_nobody(run, fields):
    before = asked(run, VERDICTS), asked(run, PLANNED)
    look(run, run.trials[0], **fields)
    run.mirror()

    assert (asked(run, VERDICTS), asked(run, PLANNED)) == before


def test_runs_that_were_looked_at_again_compare_with_runs_of_the_edited_case(run, new_run):
    new_run("run-2", day=1).night("ab", True, plan={"case_hash": EDITED})
    run.mirror()
    assert compared(run) == ("not_comparable", 0)
    assert asked(run, "select case_id from flips") == []

    for trial in run.trials:
        look(run, trial, "failed")
    run.mirror()

    assert compared(run) == ("inconclusive", 2)
    assert asked(run, "select case_id from flips order by 1") == [("a",), ("b",)]


def compared(run):
    """Return the verdict on two runs, and how many cases are the same in both."""
    done = call("compare", "run-1", "run-2", "--runs", run.runs_dir, "--json")
    (group,) = json.loads(done.out)["groups"]
    return group["verdict"], group["n_cases"]


def test_a_check_and_its_edited_form_stand_side_by_side(run):
    check = {"check_id": "x", "outcome": "error", "check_hash": NEW, "reason": "not_a_file"}
    run.evaluation(run.trials[0], case_hash=EDITED, checks=[check], evaluated_at_ms=5)
    run.write()

    found = asked(run, """
        select case_id, record_no, check_hash, outcome, reason, evaluated_at_ms, evaluation_no,
            is_current
        from checks
    """)  # fmt: skip
    assert found == [
        ("a", 1, OLD, "failed", None, None, None, False),
        ("a", 1, NEW, "error", "not_a_file", 5, 1, True),
        ("b", 2, OLD, "failed", None, None, None, True),
    ]


def test_show_has_the_newest_checks_with_reason_and_message(run):
    check = {"check_id": "x", "outcome": "error", "reason": "not_a_file", "message": "out.txt"}
    run.evaluation(run.trials[0], checks=[check])
    run.write()

    said = call("show", "run-1", "a", "m1", "--runs", run.runs_dir).out

    assert "x (contains): error, not_a_file: out.txt" in said
    assert said.count("check x") == 1


def test_renamed_cases_are_renamed_in_their_evaluations(run):
    look(run, run.trials[0])
    run.mirror()
    join(run.lake, "smoke", [Join("a", "z")], "person")

    for view in ("evaluations", "checks", "raw_evaluations", "raw_recorded_results"):
        assert ("z",) in asked(run, f"select distinct case_id from {view}"), view
    assert asked(run, PLANNED)[1] == ("z", True, EDITED, True)


def test_without_evaluations_the_raw_tables_read_files_alone(run):
    run.mirror()
    view = "select sql from duckdb_views() where view_name in ('raw_results', 'raw_plans')"
    with open_session(run.runs_dir) as session:
        session.rows("select count(*) from planned_trials")
        plain = session.connection.execute(view).fetchall()
    look(run, run.trials[0])
    run.mirror()
    with open_session(run.runs_dir) as session:
        joined = session.connection.execute(view).fetchall()

    assert all("join" not in sql.lower() for (sql,) in plain)
    assert all("join" in sql.lower() for (sql,) in joined)


def test_one_runs_tables_know_its_evaluations_alone(run, new_run):
    look(run, run.trials[0])
    run.mirror()
    other = new_run("run-2")
    other.night("ab", False)

    assert run.group().passed_rate == 0.5
    assert other.group().passed_rate == 0.0


def test_files_with_checks_of_four_fields_are_read_and_put_together(run):
    look(run, run.trials[0])
    run.mirror()
    (path,) = live_files(run.lake, "results")
    older = "list_transform(checks, lambda one: struct_pack(check_id := one.check_id, "
    older += "kind := one.kind, outcome := one.outcome, message := one.message))"
    with connect() as connection:
        files = f"read_parquet('{path}', hive_partitioning = false)"
        sql = f"select * replace ({older} as checks) from {files}"
        table = connection.sql(sql).to_arrow_table()
    facts = pq.ParquetFile(path).schema_arrow.metadata
    pq.write_table(table.replace_schema_metadata(facts), path)
    RunBuilder(run.runs_dir, "run-2").night("c", {"checks": ({"check_id": "y", "kind": "k",
        "outcome": "passed", "dimensions": ("d",)},)})  # fmt: skip
    assert sync(run.runs_dir).problems == ()

    found = "select case_id, outcome, reason, check_hash, dimensions from checks order by all"
    expected = [
        ("a", "failed", None, None, None), ("a", "passed", None, NEW, []),
        ("b", "failed", None, None, None), ("c", "passed", None, None, ["d"]),
    ]  # fmt: skip
    assert asked(run, found) == expected
    assert len(live_files(run.lake, "results")) == 1, "put together"
