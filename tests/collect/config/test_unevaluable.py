"""What a run cannot do is said before it runs, and never marks a model down."""

import json
import re

import pytest
import yaml

from tests.support.kept_run import Kept, collect
from tests.support.paths import ROOT

SUITE = ("--suite", "s", "--run-profile", "p")
HOOK = {"check_id": "own", "python_hook": {"import_path": "m", "callable_name": "f"}}
FILE = {
    "check_id": "report",
    "declarative": {"kind": "file_contains", "path": "report.md", "text": "GB"},
}
ARTIFACT = {"check_id": "made", "declarative": {"kind": "output_artifact_present"}}
DIFF = {
    "check_id": "diff",
    "declarative": {"kind": "openclaw_workspace_file_present", "relative_path": "a"},
}
ANSWERED = {"check_id": "answered", "declarative": {"kind": "final_response_present"}}
TOOLS = {
    "messages": [{"role": "user", "content": "x"}],
    "context": {"llm_probe": {"tools": ["exec_shell"]}},
}


def documented():
    """Return the case that docs/configuration.md shows."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    blocks = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    (case,) = [block for block in blocks if block.get("case_id") == "disk_report"]
    return case


@pytest.fixture
def work(project, endpoint):
    project.case("plain", validator={"type": "exact", "value": "Hello there."})
    project.model(base_url=endpoint.base_url)
    return project


def test_the_documented_example_is_warned_of_and_refused_by_name_before_a_request(work, endpoint):
    work.case(**documented())

    checked = collect(work.root, "validate", "--json")
    warnings = json.loads(checked.stdout)["warnings"]
    assert checked.returncode == 0
    assert all("test.yaml:" in one for one in warnings)
    assert [one.endswith("; a run refuses it") for one in warnings] == [True] * 2

    for command in ("plan", "run"):
        done = collect(work.root, command, *SUITE)
        assert done.returncode == 2, done.stdout
        for check in ("`report`", "`own`"):
            assert f"check {check} cannot be made" in done.stderr
        assert "--skip-unevaluable" in done.stderr
    assert endpoint.requests == []
    assert not (work.root / "runs").exists()


def test_what_is_skipped_has_no_verdict_and_is_named(work, endpoint):
    work.case(**documented())

    done = collect(work.root, "run", *SUITE, "--skip-unevaluable", "--run-id", "r")

    assert done.returncode == 0, done.stderr
    for check in ("`report`", "`own`"):
        assert f"warning: case `disk_report`: no verdict, since check {check}" in done.stderr
    by_case = {row["case_id"]: row for row in Kept(work.root / "runs" / "r").results()}
    assert by_case["plain"]["passed"] is True
    row = by_case["disk_report"]
    assert row["passed"] is None
    assert {one["check_id"]: one["reason"] for one in row["checks"]} == {
        "answered": None, "report": "no_workspace", "own": "hooks_disabled",
    }  # fmt: skip
    (group,) = json.loads((work.root / "runs/r/summary.json").read_text())["models"]
    assert (group["n_scorable"], group["coverage"], group["passed_rate"]) == (1, 1.0, 1.0)
    assert json.loads((work.root / "runs/r/config.json").read_text())["skip_unevaluable"] is True


@pytest.mark.parametrize(
    ("checks", "n_refused"),
    [([ANSWERED], 0), ([HOOK], 1), ([FILE], 1), ([ARTIFACT, DIFF], 2), ([ANSWERED, HOOK, FILE], 2)],
    ids=["answered", "hook", "file", "workspace", "mixed"],
)
def test_each_check_that_cannot_look_is_refused(work, checks, n_refused):
    work.case("checked", deterministic_checks=checks)

    done = collect(work.root, "plan", *SUITE)

    assert done.stderr.count("cannot be made") == n_refused
    assert done.returncode == (2 if n_refused else 0)


def test_a_check_of_a_file_beside_the_case_can_look(work):
    path = work.case("checked", deterministic_checks=[FILE])
    (path.parent / "report.md").write_text("3 GB")

    assert collect(work.root, "plan", *SUITE).returncode == 0


def test_cases_whose_sandbox_is_not_there_are_recorded_and_not_asked(work, endpoint, tmp_path):
    work.case("tools", input=TOOLS, validator={"type": "exact", "value": "x"})
    (tmp_path / "bin").mkdir()
    path = {"PATH": str(tmp_path / "bin")}

    for command in ("plan", "run"):
        refused = collect(work.root, command, *SUITE, **path)
        assert refused.returncode == 2
        assert "bubblewrap is not installed; needed by the tools of case `tools`" in refused.stderr
        assert "apt-get install bubblewrap; or --skip-unevaluable" in refused.stderr

    done = collect(work.root, "run", *SUITE, "--skip-unevaluable", "--run-id", "r", **path)

    assert done.returncode == 0, done.stderr
    assert "case `tools`: skipped, no model is asked: bubblewrap is not installed" in done.stderr
    assert len(endpoint.requests) == 1
    by_case = {row["case_id"]: row for row in Kept(work.root / "runs" / "r").results()}
    row = by_case["tools"]
    assert (row["availability_status"], row["failure_type"], row["passed"]) == (
        "skipped_unavailable", "sandbox_missing", None,
    )  # fmt: skip
    assert "bubblewrap is not installed" in row["error_message"]
    assert (row["attempt_count"], row["error_code"]) == (0, "unevaluable")
    (group,) = json.loads((work.root / "runs/r/summary.json").read_text())["models"]
    assert (group["n_scorable"], group["coverage"], group["score_strict"]) == (2, 0.5, 0.5)

    again = collect(work.root, "run", "--resume", "r")
    assert again.returncode == 0, again.stderr
    assert len(endpoint.requests) == 1, "it stays as it was planned"


def test_a_resumed_run_keeps_what_it_skipped(work, endpoint, tmp_path):
    """The flag is of the plan: a run that is gone on with has it, whatever the YAML says now."""
    work.case("tools", input=TOOLS, validator={"type": "exact", "value": "x"})
    work.case("hooked", deterministic_checks=[ANSWERED, HOOK])
    answers = endpoint.script
    endpoint.script = lambda wire, request: wire.answer({"error": {"message": "no"}}, status=503)
    work.profile(runner_defaults={"retries": 0})
    nothing = {"PATH": str(tmp_path / "nowhere")}
    collect(work.root, "run", *SUITE, "--skip-unevaluable", "--run-id", "r", **nothing)
    endpoint.script = answers
    asked = len(endpoint.requests)

    done = collect(work.root, "run", "--resume", "r")

    assert done.returncode == 0, done.stderr
    assert len(endpoint.requests) == asked + 2
    newest = {row["case_id"]: row for row in Kept(work.root / "runs" / "r").results()}
    assert newest["plain"]["passed"] is True
    assert newest["hooked"]["checks"][1]["reason"] == "hooks_disabled"
    assert (newest["hooked"]["passed"], newest["tools"]["passed"]) == (None, None)

    refused = collect(work.root, "run", "--resume", "r", "--skip-unevaluable")
    assert refused.returncode == 2
    assert "--skip-unevaluable" in refused.stderr


def test_cases_for_a_judge_run_with_a_notice(work):
    for name in ("a", "b", "c", "d"):
        work.case(name, expectations={"hard_expectations": [{"text": "Good."}]})

    done = collect(work.root, "plan", *SUITE)

    assert done.returncode == 0
    (line,) = [one for one in done.stdout.splitlines() if "without a judge" in one]
    assert line.startswith("warning: cases `a`, `b`, `c` and 1 more: no verdict without a judge")
