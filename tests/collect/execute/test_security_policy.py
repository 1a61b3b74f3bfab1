"""Each option of a security policy acts on a run, and on a later look at its trials."""

import json
import os

import pytest

from tests.support.kept_run import Kept, collect, collect_log
from tests.support.sandboxes import sandboxed

SUITE = ("--suite", "s", "--run-profile", "p")
KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
OWN = "a-value-of-our-own-1234"
HOOK = {"check_id": "own", "python_hook": {"path": "hook.py", "callable_name": "judge"}}


@pytest.fixture
def work(project, endpoint):
    project.model(base_url=endpoint.base_url)
    return project


def profile(project, name="e", **policy):
    fields = {"schema_version": 1, "evaluation_profile_id": name, "title": "E"}
    path = f"configs/evaluation_profiles/{name}.yaml"
    return project.write(path, fields | {"security_policy": policy})


def hooked(project, source, **fields):
    path = project.case(deterministic_checks=[HOOK], **fields)
    (path.parent / "hook.py").write_text(source)


def run(project, *words, code=0, mirrored=False, **environment):
    make = collect if mirrored else collect_log
    done = make(project.root, "run", *SUITE, "--run-id", "r", *words, **environment)
    assert done.returncode == code, done.stderr
    return done


def row_of(project):
    (row,) = Kept(project.root / "runs" / "r").results()
    return row


@pytest.mark.parametrize("redacts", [True, False, None])
def test_what_looks_like_a_key_stays_where_the_policy_says_so_and_our_own_never(
    work, endpoint, redacts
):
    work.case()
    text = f"Take {KEY} and {OWN}."
    endpoint.script = lambda wire, request: wire.answer(
        {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    )
    work.profile(runner_defaults={"stream": False})
    named = ()
    if redacts is not None:
        profile(work, redact_secrets=redacts)
        named = ("--evaluation-profile", "e")

    run(work, *named, SOME_API_KEY=OWN)

    row = row_of(work)
    (final,) = [
        event.content
        for event in Kept(work.root / "runs" / "r").artifact(row).trace
        if event.event_type == "final_output"
    ]
    kept = KEY if redacts is False else "[redacted]"
    assert row["raw_output"] == final == f"Take {kept} and [redacted]."
    assert OWN not in (work.root / "runs" / "r" / "run.log").read_text(errors="replace")


@sandboxed
@pytest.mark.parametrize("allows", [True, False, None])
def test_hooks_run_only_where_the_policy_says_so(work, allows):
    hooked(work, "def judge():\n    return True\n")
    named = ()
    if allows is not None:
        profile(work, allow_local_python_hooks=allows)
        named = ("--evaluation-profile", "e")

    if not allows:
        refused = run(work, *named, code=2)
        assert "check `own` cannot be made: python hooks are switched off" in refused.stderr
        assert "with `allow_local_python_hooks: true` switches them on" in refused.stderr
    run(work, *named, *(() if allows else ("--skip-unevaluable",)))

    (check,) = row_of(work)["checks"]
    if allows:
        assert (check["outcome"], row_of(work)["passed"]) == ("passed", True)
    else:
        assert (check["outcome"], check["reason"]) == ("error", "hooks_disabled")
        assert row_of(work)["passed"] is None


REACHES = """
import socket

def judge():
    with socket.create_connection(("127.0.0.1", {port}), timeout=5):
        return True
"""


@sandboxed
@pytest.mark.parametrize("access", ["allow", "deny", None])
def test_a_hook_reaches_the_network_only_where_the_policy_says_so(work, endpoint, access):
    port = int(endpoint.base_url.split(":")[2].split("/")[0])
    hooked(work, REACHES.format(port=port))
    policy = {} if access is None else {"network_access": access}
    profile(work, allow_local_python_hooks=True, **policy)

    run(work, "--evaluation-profile", "e")

    (check,) = row_of(work)["checks"]
    if access == "allow":
        assert check["outcome"] == "passed", check
    else:
        assert (check["outcome"], check["reason"]) == ("error", "hook_raised")
        assert row_of(work)["passed"] is None, "what a hook does wrong is no failure of the model"


@sandboxed
def test_the_policy_is_in_the_plan_and_in_the_run_and_goes_on_with_it(work, endpoint):
    hooked(work, "def judge():\n    return {'passed': False, 'message': 'no'}\n")
    profile(work, allow_local_python_hooks=True)
    named = ("--evaluation-profile", "e")

    text = collect_log(work.root, "plan", *SUITE, *named).stdout
    assert "evaluation profile e: hooks of 1 case run in a sandbox without network" in text
    planned = json.loads(collect_log(work.root, "plan", *SUITE, *named, "--json").stdout)
    assert planned["evaluation"]["hooked_cases"] == ["one"]
    assert planned["evaluation"]["security_policy"]["allow_local_python_hooks"] is True
    answers = endpoint.script
    endpoint.script = lambda wire, request: wire.answer({"error": "x"}, status=503)
    work.profile(runner_defaults={"retries": 0})
    run(work, *named, code=1)
    endpoint.script = answers

    done = collect_log(work.root, "run", "--resume", "r")

    assert done.returncode == 0, done.stderr
    row = Kept(work.root / "runs" / "r").results()[-1]
    assert (row["passed"], row["checks"][0]["message"]) == (False, "no")
    config = json.loads((work.root / "runs" / "r" / "config.json").read_text())
    assert config["evaluation"]["evaluation_profile_id"] == "e"
    assert os.fspath(work.root) not in json.dumps(config["evaluation"])


@sandboxed
def test_hooks_that_were_off_are_made_later(work):
    hooked(work, "def judge(artifact):\n    return artifact['status'] == 'success'\n")
    run(work, "--skip-unevaluable")
    assert row_of(work)["passed"] is None
    profile(work, allow_local_python_hooks=True)

    without = collect_log(work.root, "check", "r")
    assert without.returncode == 1, without.stderr
    assert "1 as before" in without.stdout
    assert "check own: hooks_disabled: could not look at 1 trial" in without.stdout
    assert "--evaluation-profile E" in without.stdout
    assert not (work.root / "runs" / "r" / "evaluations.jsonl").exists()
    done = collect_log(work.root, "check", "r", "--evaluation-profile", "e", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdicts"] == {"passed": 1, "failed": 0, "open": 0}
    line = json.loads((work.root / "runs/r/evaluations.jsonl").read_text())
    assert (line["passed"], line["evaluation_profile_id"]) == (True, "e")


@sandboxed
@pytest.mark.parametrize("policy", [None, {"allow_local_python_hooks": False}])
def test_a_run_folder_permits_nothing_by_itself(work, policy):
    hooked(work, "def judge():\n    return True\n")
    path = profile(work, allow_local_python_hooks=True)
    run(work, "--evaluation-profile", "e")
    (path.unlink() if policy is None else profile(work, **policy))
    hooked(work, "def judge():\n    return False\n")

    done = collect_log(work.root, "check", "r", "--json")

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["errors"] == {"own: hooks_disabled": 1}
    refused = collect_log(work.root, "run", "--resume", "r")
    assert refused.returncode == 2
    assert "its evaluation profile `e` is not here as it was" in refused.stderr


@sandboxed
def test_hooks_have_the_limits_of_the_run_later_too(work):
    hooked(work, "def judge():\n    return len(bytearray(300_000_000)) > 0\n")
    profile(work, allow_local_python_hooks=True)
    work.profile(sandbox={"limits": {"memory_mb": 200}})
    run(work, "--evaluation-profile", "e")
    assert row_of(work)["checks"][0]["outcome"] == "error"

    done = collect_log(work.root, "check", "r", "--force", "--json")

    (named,) = json.loads(done.stdout)["errors"]
    assert named.startswith("own: hook_")


@sandboxed
def test_answers_that_are_taken_over_say_that_a_check_is_open(work, endpoint):
    hooked(work, "def judge():\n    return True\n")
    run(work, "--skip-unevaluable")
    profile(work, allow_local_python_hooks=True)
    asked = len(endpoint.requests)

    done = collect_log(
        work.root, "run", *SUITE, "--run-id", "s", "--reuse", "--evaluation-profile", "e"
    )  # fmt: skip

    assert len(endpoint.requests) == asked
    assert "1 trial has a check that could not look; `collect check s` makes it" in done.stderr
    checked = collect_log(work.root, "check", "s", "--json")
    assert json.loads(checked.stdout)["verdicts"] == {"passed": 1, "failed": 0, "open": 0}


@sandboxed
def test_where_no_sandbox_holds_hooks_are_refused_or_left_open(work, tmp_path):
    hooked(work, "def judge():\n    return True\n")
    profile(work, allow_local_python_hooks=True)
    (tmp_path / "bin").mkdir()
    nowhere = {"PATH": str(tmp_path / "bin")}
    named = ("--evaluation-profile", "e")

    refused = run(work, *named, code=2, **nowhere)
    assert "bubblewrap is not installed" in refused.stderr
    assert "--skip-unevaluable" in refused.stderr

    run(work, *named, "--skip-unevaluable", mirrored=True, **nowhere)
    assert row_of(work)["checks"][0]["reason"] == "sandbox_missing"


def test_what_is_wrong_with_a_profile_is_said_before_a_request(work, endpoint):
    work.case()
    profile(work, allow_local_python_hooks="yes")

    for command in ("plan", "run"):
        done = collect_log(work.root, command, *SUITE, "--evaluation-profile", "e")
        assert done.returncode == 2
        assert "allow_local_python_hooks" in done.stderr
    missing = collect_log(work.root, "plan", *SUITE, "--evaluation-profile", "f")
    assert missing.returncode == 2
    assert endpoint.requests == []
