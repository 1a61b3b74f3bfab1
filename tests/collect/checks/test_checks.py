"""Declarative checks: what each looks at, and how they join the verdict."""

import json

import pytest

from collect.checks.declarative import run_check
from collect.checks.left import Trial
from collect.execute.outcome import passed_of
from schemas.config.checks import DeterministicCheck

HOOK = {"check_id": "h", "python_hook": {"import_path": "m", "callable_name": "f"}}


@pytest.fixture
def trial(tmp_path):
    folder = tmp_path / "case"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("Hello World")
    (folder / "raw.bin").write_bytes(b"\xff")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return Trial(final_text=" hi ", n_tool_calls=2, folder=folder)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"kind": "final_response_present"}, "passed"),
        ({"kind": "tool_call_count", "count": 2}, "passed"),
        ({"kind": "tool_call_count", "count": 1}, "failed"),
        ({"kind": "status_is", "status": "success"}, "passed"),
        ({"kind": "status_is", "status": "timed_out"}, "failed"),
        ({"kind": "file_exists", "path": "a.txt"}, "passed"),
        ({"kind": "file_exists", "path": "sub"}, "failed"),
        ({"kind": "file_exists", "path": "no.txt"}, "failed"),
        ({"kind": "file_exists", "path": "link.txt"}, "failed"),
        ({"kind": "file_exists", "path": "/etc/passwd"}, "failed"),
        ({"kind": "path_exists", "path": "sub"}, "passed"),
        ({"kind": "file_contains", "path": "a.txt", "text": "o W"}, "passed"),
        ({"kind": "file_contains", "path": "a.txt", "text": "hello"}, "failed"),
        ({"kind": "file_contains", "path": "no.txt", "text": ""}, "failed"),
        ({"kind": "file_contains", "path": "raw.bin", "text": "x"}, "error"),
        ({"kind": "output_artifact_present", "artifact_type": "report"}, "failed"),
        ({"kind": "openclaw_workspace_file_present", "relative_path": "a.txt"}, "failed"),
    ],
)
def test_each_kind_finds_what_it_should_beside_a_case(trial, fields, outcome):
    check = DeterministicCheck.model_validate({"check_id": "c", "declarative": fields})

    found = run_check(check, trial)

    assert (found.check_id, found.kind, found.outcome) == ("c", fields["kind"], outcome)
    assert (found.message is None) == (outcome == "passed")
    assert found.reason == ("unreadable" if outcome == "error" else None)


PASS = {"kind": "final_response_present"}
FAIL = {"kind": "tool_call_count", "count": 9}


def checked(*fields):
    return [
        HOOK if one is HOOK else {"check_id": f"c{n}", "declarative": one}
        for n, one in enumerate(fields)
    ]


JOINED = [
    (None, [PASS], True),
    (None, [PASS, FAIL], False),
    ("Hello there.", [PASS], True),
    ("Hello there.", [FAIL], False),
    ("no", [PASS], False),
    ("Hello there.", [HOOK], None),
    ("no", [HOOK], None),
    (None, [HOOK], None),
    (None, [FAIL, HOOK], None),
    (None, [{"kind": "file_contains", "path": "no.txt", "text": "x"}], None),
    (None, [{"kind": "file_contains", "path": "raw.bin", "text": "x"}], None),
]
"""Validator, checks, and what they come to together."""


def test_checks_join_the_verdict(project, endpoint, tmp_path):
    """Through a whole run: the conjunction of the validator and all checks (D-A9)."""
    from tests.collect.execute.test_run import Made, Quiet, run_in

    for number, (validator, checks, _) in enumerate(JOINED):
        fields = {"deterministic_checks": checked(*checks)}
        if validator:
            fields["validator"] = {"type": "exact", "value": validator}
        case = project.case(f"v{number:02d}", **fields)
        (case.parent / "raw.bin").write_bytes(b"\xff")
    project.model(base_url=endpoint.base_url)
    run_dir = tmp_path / "runs" / "r"

    made = Made(run_dir, run_in(run_dir, project.load(skip=True), Quiet()), [])

    lines = {line["case_id"]: line for line in made.results()}
    planned = [json.loads(line) for line in (run_dir / "plan.jsonl").read_text().splitlines()]
    is_scorable = {trial["case_id"]: trial["is_scorable"] for trial in planned}
    assert len(lines) == len(planned) == len(JOINED)
    for number, (_, checks, passed) in enumerate(JOINED):
        line = lines[f"v{number:02d}"]
        assert line["passed"] is passed, number
        assert line["checks_passed"] + line["checks_failed"] + line["checks_errored"] == len(checks)
        assert [one["check_id"] for one in line["checks"]] == [
            "h" if one is HOOK else f"c{n}" for n, one in enumerate(checks)
        ]
        cannot_look = HOOK in checks or any(check.get("path") == "no.txt" for check in checks)
        assert is_scorable[f"v{number:02d}"] is not cannot_look, number
    (group,) = made.summary().models
    assert group.n_scorable == sum(is_scorable.values())


def test_a_trial_the_model_never_saw_is_not_checked(project, endpoint, tmp_path):
    from tests.collect.execute.test_run import Made, Quiet, run_in
    from tests.support.forked_mirror import no_mirrors

    project.case(deterministic_checks=checked(PASS))
    project.profile(runner_defaults={"retries": 0})
    project.model(base_url=endpoint.base_url)
    endpoint.script = lambda wire, request: wire.answer({"error": "x"}, status=503)
    run_dir = tmp_path / "runs" / "r"

    report = run_in(run_dir, project.load(), Quiet(), mirrors=no_mirrors)

    (line,) = Made(run_dir, report, []).results()

    assert (line["checks"], line["passed"]) == ([], None)


def test_nothing_to_judge_by_is_no_verdict():
    from collect.checks.base import Verdict
    from collect.providers.base import Reply
    from tests.collect.execute.test_outcome import execution

    assert passed_of(execution(Reply(text="x")), Verdict(None, None, None)) is None
