"""`collect check`: edited checks on stored answers, both kept, and nothing of the run changed."""

import contextlib
import json
import os
import shutil
import signal
import time

import psutil
import pytest

from tests.support.kept_run import Kept, begin, collect, collect_log, wait_for
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = sandboxed

SUITE = ("--suite", "s", "--run-profile", "p")
ANSWERED = {"check_id": "answered", "declarative": {"kind": "final_response_present"}}
WRITE = ("write_file", {"path": "report.md", "content": "12 GB free"})
TOOLS = {
    "messages": [{"role": "user", "content": "Write."}],
    "context": {"llm_probe": {"tools": ["write_file"]}},
}


def contains(text, check_id="report", **fields):
    declarative = {"kind": "file_contains", "path": "report.md", "text": text}
    return {"check_id": check_id, "declarative": declarative, **fields}


class Checked:
    """A run of a case whose model writes a file, and looks at it again."""

    def __init__(self, project, endpoint):
        self.project, self.endpoint = project, endpoint
        endpoint.script = ToolModel([WRITE], text="Done.")
        project.model(base_url=endpoint.base_url)
        self.dir = project.root / "runs" / "r"

    def case(self, *checks, case_id="one", **fields):
        self.project.case(
            case_id, **{"input": TOOLS, "deterministic_checks": list(checks)} | fields
        )

    def run(self, *words, mirrored=False):
        make = collect if mirrored else collect_log
        done = make(self.project.root, "run", *SUITE, "--run-id", "r", *words)
        assert done.returncode == 0, done.stderr
        return done

    def check(self, *words, code=0, mirrored=False):
        run = collect if mirrored else collect_log
        done = run(self.project.root, "check", "r", *words)
        assert done.returncode == code, done.stderr + done.stdout
        return done

    def report(self, *words, code=0, mirrored=False):
        return json.loads(self.check("--json", *words, code=code, mirrored=mirrored).stdout)

    def lines(self):
        path = self.dir / "evaluations.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def results(self):
        return (self.dir / "results.jsonl").read_bytes()


@pytest.fixture
def checked(project, endpoint):
    return Checked(project, endpoint)


def test_an_edited_check_is_made_on_the_stored_files_and_no_model_is_asked(checked):
    checked.case(contains("TB"))
    checked.run()
    asked, before = len(checked.endpoint.requests), checked.results()
    assert Kept(checked.dir).results()[0]["passed"] is False

    checked.case(contains("GB"))
    report = checked.report()

    assert len(checked.endpoint.requests) == asked
    assert checked.results() == before, "what the run wrote stays as it is"
    (line,) = checked.lines()
    (row,) = Kept(checked.dir).results()
    log = checked.results().splitlines()
    assert json.loads(log[line["result_no"] - 1])["record_type"] == "result"
    assert (line["passed"], line["kind"]) == (True, "check")
    assert line["case_hash"] != row["case_hash"]
    assert line["checks"][0]["check_hash"] != row["checks"][0]["check_hash"]
    assert report["verdicts"] == {"passed": 1, "failed": 0, "open": 0}
    assert report["before"] == {"passed": 0, "failed": 1, "open": 0}
    (change,) = report["changed"]
    assert (change["case_id"], change["before"], change["now"]) == ("one", False, True)


def test_the_hash_is_that_of_a_new_run_of_the_edited_suite(checked):
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"), ANSWERED)
    checked.check()
    done = collect_log(checked.project.root, "run", *SUITE, "--run-id", "new")
    assert done.returncode in {0, 1}

    (row,) = Kept(checked.project.root / "runs" / "new").results()
    assert checked.lines()[0]["case_hash"] == row["case_hash"]


def test_what_is_as_before_is_not_made_again_unless_it_is_asked_for(checked):
    checked.case(contains("GB"))
    checked.run()

    report = checked.report()
    assert (report["n_evaluated"], report["n_unchanged"], checked.lines()) == (0, 1, [])

    checked.case(contains("GB"), ANSWERED)
    assert checked.report()["n_evaluated"] == 1
    assert checked.report()["n_evaluated"] == 0
    shutil.rmtree(checked.dir / "workspaces" / "m" / "one" / "1" / "workspace")
    report = checked.report()
    assert report["n_unchanged"] == 1, "an outcome that was found stays"

    forced = checked.report("--force", code=1)
    assert forced["errors"] == {"report: workspace_not_kept": 1}
    assert [line["passed"] for line in checked.lines()] == [True, None]


def test_going_back_to_an_earlier_check_takes_its_outcome_over(checked):
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"))
    checked.check()
    shutil.rmtree(checked.dir / "workspaces")
    checked.case(contains("TB", description="Back again", dimensions=["spark"]))

    checked.check()

    last = checked.lines()[-1]
    assert (last["passed"], last["checks"][0]["dimensions"]) == (False, ["spark"])


def test_a_case_that_got_its_first_check_later_gets_a_verdict(checked):
    checked.case(input=TOOLS)
    checked.run()
    assert Kept(checked.dir).results()[0]["passed"] is None

    checked.case(contains("GB"))
    checked.check(mirrored=True)

    (line,) = checked.lines()
    assert (line["passed"], line["is_scorable"]) == (True, True)
    assert Kept(checked.dir).summary()["passed_rate"] == 1.0, "summary.json is of the checks of now"


def test_the_validator_still_counts(checked):
    checked.case(contains("GB"), validator={"type": "exact", "value": "Other."})
    checked.run()
    checked.case(contains("GB"), ANSWERED, validator={"type": "exact", "value": "Other."})

    checked.check()

    assert checked.lines()[0]["passed"] is False


def test_cases_and_models_are_chosen_and_unknown_ones_refused(checked):
    for case_id in ("one", "two"):
        checked.case(contains("TB"), case_id=case_id)
    checked.run()
    for case_id in ("one", "two"):
        checked.case(contains("GB"), case_id=case_id)

    refused = checked.check("--case", "on", code=2)
    assert "`on`" in refused.stderr
    assert "did you mean `one`" in refused.stderr
    assert checked.check("--model", "x", code=2).stderr
    assert checked.report("--case", "two")["n_trials"] == 1
    assert [line["case_id"] for line in checked.lines()] == ["two"]


def test_a_case_that_is_gone_or_asks_something_else_is_named(checked):
    for case_id in ("one", "two"):
        checked.case(contains("TB"), case_id=case_id)
    checked.run()
    checked.case(contains("GB"), input=TOOLS | {"messages": [{"role": "user", "content": "New."}]})
    shutil.rmtree(checked.project.root / "configs" / "cases" / "group" / "two")

    done = checked.check()

    assert "case `two`: the suite does not take it any more" in done.stdout
    assert "case `one`: asks something else by now" in done.stdout
    assert [line["case_id"] for line in checked.lines()] == ["one"]


def test_another_suite_gives_the_checks(checked):
    checked.case(contains("TB"))
    checked.run()
    project = checked.project
    shutil.move(project.suite_path, project.root / "elsewhere.yaml")

    lost = checked.check(code=2)
    assert "the suite of the run is not at" in lost.stderr
    assert "--suite" in lost.stderr

    shutil.move(project.root / "elsewhere.yaml", project.root / "configs" / "suites" / "t.yaml")
    path = project.root / "configs" / "suites" / "t.yaml"
    path.write_text(path.read_text().replace("suite_id: s", "suite_id: t"))
    checked.case(contains("GB"))
    assert checked.report("--suite", "t")["verdicts"]["passed"] == 1


def test_a_failure_that_is_not_the_models_has_nothing_to_look_at(checked):
    checked.project.profile(runner_defaults={"retries": 0})
    checked.case(contains("GB"))
    checked.endpoint.script = lambda wire, request: wire.answer({"error": "x"}, status=503)
    assert collect_log(checked.project.root, "run", *SUITE, "--run-id", "r").returncode == 1
    checked.case(contains("MB"))

    report = checked.report()

    assert (report["n_skipped"], report["n_evaluated"], checked.lines()) == (1, 0, [])
    assert report["verdicts"] == {"passed": 0, "failed": 0, "open": 1}


def test_a_trial_that_was_made_again_is_looked_at_anew(checked):
    checked.project.profile(runner_defaults={"retries": 0})
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"))
    checked.check()
    log = checked.dir / "results.jsonl"
    (first,) = Kept(checked.dir).results()
    n_lines = log.read_text().count("\n")
    log.write_text(log.read_text() + json.dumps(first) + "\n")

    checked.check()

    assert checked.lines()[0]["result_no"] <= n_lines
    assert checked.lines()[1]["result_no"] == n_lines + 1


def test_a_torn_line_is_cut_and_its_trial_looked_at_again(checked):
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"))
    checked.check()
    path = checked.dir / "evaluations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])

    assert checked.report()["n_evaluated"] == 1
    assert len(checked.lines()) == 1
    path.write_bytes(b'{"record_type":"evaluation"}\n' + path.read_bytes())
    assert checked.report()["n_unchanged"] == 1, "a line that is none is passed over"


def test_an_error_is_mended_once_the_files_are_back(checked):
    checked.case(contains("GB"))
    checked.run()
    folder = checked.dir / "workspaces" / "m" / "one" / "1"
    shutil.move(folder, checked.dir / "elsewhere")
    assert checked.report("--force", code=1)["verdicts"]["open"] == 1
    shutil.move(checked.dir / "elsewhere", folder)

    report = checked.report()

    assert report["verdicts"] == {"passed": 1, "failed": 0, "open": 0}
    assert [line["passed"] for line in checked.lines()] == [None, True]
    assert checked.report()["n_unchanged"] == 1


def test_files_outside_of_the_run_are_not_looked_at(checked):
    checked.case(contains("TB"))
    checked.run()
    outside = checked.project.root / "outside" / "workspaces" / "m" / "one" / "1" / "workspace"
    outside.mkdir(parents=True)
    (outside / "report.md").write_text("GB")
    log = checked.dir / "results.jsonl"
    (row,) = Kept(checked.dir).results()
    row["reused_from_run_id"] = "../outside"
    log.write_text(log.read_text() + json.dumps(row) + "\n")
    checked.case(contains("GB"))

    report = checked.report(code=1)

    assert report["errors"] == {"report: workspace_not_kept": 1}


def test_answers_that_were_given_without_files_have_none(checked):
    checked.case(case_id="one", input={"messages": TOOLS["messages"]})
    checked.run()
    checked.case(contains("GB"))

    report = checked.report(code=1)

    assert report["errors"] == {"report: no_workspace": 1}
    assert report["verdicts"]["open"] == 1


def test_a_run_folder_names_no_suite_of_its_own(checked):
    checked.case(contains("GB"))
    checked.run()
    shutil.copytree(checked.project.root / "configs", checked.dir / "evil" / "configs")
    path = checked.dir / "config.json"
    config = json.loads(path.read_text())
    config["suite_path"] = "runs/r/evil/configs/suites/s.yaml"
    path.write_text(json.dumps(config))

    refused = checked.check(code=2)

    assert "the suite of the run lies among the runs" in refused.stderr


def test_a_damaged_plan_is_said(checked):
    checked.case(contains("GB"))
    checked.run()
    (checked.dir / "plan.jsonl").write_text("garbage\n")

    refused = checked.check(code=2)

    assert "plan.jsonl is damaged" in refused.stderr
    assert "collect restore r" in refused.stderr


def test_a_log_that_lost_what_the_lake_has_is_not_written_on(checked):
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"))
    checked.check(mirrored=True)
    path = checked.dir / "evaluations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"")

    refused = checked.check("--force", code=2)

    assert "evaluations.jsonl" in refused.stderr
    assert "collect restore r" in refused.stderr
    assert path.read_bytes() == b""
    assert collect_log(checked.project.root, "restore", "r").returncode == 0
    assert path.read_bytes() == whole
    assert checked.report()["n_unchanged"] == 1


def test_a_run_that_goes_on_is_left_alone(checked):
    checked.case(contains("GB"))
    stuck = []
    checked.endpoint.script = lambda wire, request: stuck.append(wire)
    running = begin(checked.project.root, "run", *SUITE, "--run-id", "r")
    try:
        wait_for(lambda: stuck)
        refused = checked.check(code=2)
        assert f"process {running.pid}" in refused.stderr
        assert checked.lines() == []
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


def test_runs_that_are_not_there_are_refused_by_name(checked):
    checked.case(contains("GB"))
    checked.run()

    done = collect_log(checked.project.root, "check", "q")

    assert done.returncode == 2
    assert "`q`" in done.stderr
    assert "resumed" not in done.stderr
    by_path = collect_log(checked.project.root, "check", "runs/r")
    assert by_path.returncode == 0, by_path.stderr


def test_no_answer_at_all_is_bad_news(checked):
    checked.case(contains("GB"))
    checked.run()
    (checked.dir / "results.jsonl").write_text("")
    shutil.rmtree(checked.dir / "artifacts")

    assert checked.report(code=1)["n_trials"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_interrupted_goes_on_with_what_is_left(checked, number):
    hook = {"check_id": "own", "python_hook": {"path": "hook.py", "callable_name": "judge"}}
    checked.case()
    checked.run()
    checked.case(hook)
    source = checked.project.root / "configs" / "cases" / "group" / "one" / "hook.py"
    source.write_text("import time\n\ndef judge():\n    time.sleep(20)\n")
    checked.project.write(
        "configs/evaluation_profiles/e.yaml",
        {"schema_version": 1, "evaluation_profile_id": "e", "title": "E",
         "security_policy": {"allow_local_python_hooks": True}},
    )  # fmt: skip
    named = ("check", "r", "--evaluation-profile", "e")
    running = begin(checked.project.root, *named)
    wait_for(lambda: is_judging(checked, running))
    running.send_signal(number)
    _, said = running.communicate(timeout=60)

    assert running.returncode == 130, said
    assert "interrupted: `collect check r` goes on" in said
    assert checked.lines() == []
    source.write_text("def judge():\n    return True\n")
    done = collect_log(checked.project.root, *named)
    assert done.returncode == 0, done.stderr
    assert checked.lines()[-1]["passed"] is True


def is_judging(checked, running):
    """Return whether a check holds the run's lock and runs a hook; the first one only tries."""
    lock = checked.dir / ".run.lock"
    if lock.read_text().strip() != str(running.pid):
        return False
    below = psutil.Process(running.pid).children(recursive=True)
    words = []
    for one in below:
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            words += one.cmdline()
    return any("child.pyc" in word for word in words)


def test_a_run_elsewhere_is_found(checked):
    checked.case(contains("TB"))
    checked.run("--runs", "elsewhere")
    checked.dir = checked.project.root / "elsewhere" / "r"
    checked.case(contains("GB"))

    assert checked.report("--runs", "elsewhere")["verdicts"]["passed"] == 1
    assert len(checked.lines()) == 1


def test_what_people_read(checked):
    checked.case(contains("TB"))
    checked.run()
    checked.case(contains("GB"))

    lines = checked.check().stdout.splitlines()

    assert lines == [
        "run r: 1 trial, 1 looked at again, 0 as before",
        "verdicts: 1 passed, 0 failed, 0 open (before: 0 passed, 1 failed, 0 open)",
        "  m one 1: failed -> passed",
    ]
    again = checked.check().stdout.splitlines()
    assert again[0] == "run r: 1 trial, 0 looked at again, 1 as before"


def test_news_is_seen_by_the_next_look_at_the_lake(checked):
    checked.case(contains("TB"))
    checked.run()
    before = (checked.dir / "results.jsonl").stat().st_mtime_ns
    checked.case(contains("GB"))
    time.sleep(0.01)

    checked.check()

    assert (checked.dir / "results.jsonl").stat().st_mtime_ns > before
