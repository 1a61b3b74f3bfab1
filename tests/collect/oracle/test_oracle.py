"""Cases held against their own checks: `collect validate --oracle`, as people run it."""

import json

import pytest

from tests.support import kept_run
from tests.support.cage import temporary_folder
from tests.support.sandboxes import sandboxed

EXACT = {"type": "exact", "value": "42"}
AGENT = {
    "schema_version": 1, "agent_id": "own", "title": "Own",
    "command": {"argv": ["true"], "prompt": "stdin"},
}  # fmt: skip


def check(check_id="c", **declarative):
    return {"check_id": check_id, "declarative": declarative}


def holds(path, text, check_id="c"):
    return check(check_id, kind="file_contains", path=path, text=text)


HOOK = """
def check(artifact):
    text = artifact.trace[-1].content
    return {"passed": text == "42", "message": f"the answer is {text!r}"}
"""


@pytest.fixture
def oracle(project):
    """Run `collect validate --oracle ...` in the project; return its exit code and its JSON."""

    def run(*arguments):
        done = kept_run.collect(project.root, "validate", "--oracle", "--json", *arguments)
        assert done.returncode in {0, 1}, done.stderr + done.stdout
        said = json.loads(done.stdout)
        assert said["exit_code"] == done.returncode
        return done.returncode, {one["case_id"]: one for one in said["oracle"]}

    return run


def of_agent(project, case_id="one", **fields):
    return project.case(case_id, runner={"type": "command"}, **fields)


def sibling_file(path, name, text):
    file = path.parent / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_solution_passes_and_an_empty_answer_does_not(project, oracle):
    project.case(validator=EXACT, solution={"text": " 42\n"})

    code, found = oracle()

    assert code == 0
    assert found["one"]["defects"] == []
    assert (found["one"]["solution"]["passed"], found["one"]["empty"]["passed"]) == (True, False)


def test_a_solution_that_its_own_case_fails_is_named_with_what_was_found(project):
    path = project.case(
        validator=EXACT,
        deterministic_checks=[check("calls", kind="tool_call_count", count=2)],
        solution={"text": "43", "tool_calls": ["exec_shell"]},
    )

    done = kept_run.collect(project.root, "validate", "--oracle")

    assert done.returncode == 1
    at = f"defect: {path.relative_to(project.root)}: case `one`: its solution fails"
    assert f"{at}: exact_mismatch want='42'\n" in done.stdout
    assert f"{at} check `calls` (tool_call_count): got 1, want 2\n" in done.stdout
    assert done.stdout.endswith("tried 1 solution and 1 empty answer: 1 defective case\n")


def test_calls_of_a_solution_count_as_the_models(project, oracle):
    calls = [check(kind="tool_call_count", count=2)]
    probe = {"llm_probe": {"tools": ["exec_shell"]}}
    message = {"role": "user", "content": "Do it."}
    project.case(
        input={"messages": [message], "context": probe},
        validator={"type": "tool_invocation", "expected_tools": ["exec_shell"]},
        deterministic_checks=calls,
        solution={"text": "Done.", "tool_calls": ["exec_shell", "exec_shell"]},
    )

    code, found = oracle()

    assert (code, found["one"]["solution"]["passed"]) == (0, True)


def test_a_text_is_missing_where_a_model_has_to_have_one(project, oracle):
    project.case(validator=EXACT, solution={"tool_calls": ["exec_shell"]})

    code, found = oracle()

    assert code == 1
    (defect,) = found["one"]["defects"]
    assert defect == (
        "its solution fails: it has no text, and a model's answer without one has failed"
    )


def test_files_of_a_solution_are_what_checks_find(project, oracle):
    checks = [holds("made/report.md", "two"), check("no", kind="file_exists", path="/tmp/none")]
    path = of_agent(project, deterministic_checks=checks, solution={"files": "solved"})
    sibling_file(path, "solved/made/report.md", "one two")

    code, found = oracle()

    assert code == 1
    (defect,) = found["one"]["defects"]
    assert defect.startswith("its solution fails check `no` (file_exists): ")


def test_an_agent_that_does_nothing_must_not_pass(project, oracle):
    project.write("configs/agents/own/agent.yaml", AGENT)
    project.write("configs/agents/own/workspace/report.md", "two")
    of_agent(project, deterministic_checks=[holds("report.md", "two")])

    code, found = oracle()
    assert (code, found["one"]["empty"]["passed"]) == (0, False), "it begins empty"

    code, found = oracle("--agent", "own")
    assert code == 1
    assert found["one"]["defects"] == ["an empty answer passes all its checks"]
    assert found["one"]["solution"] is None


@sandboxed
def test_a_script_works_in_the_workspace_that_the_agent_begins_with(project, oracle):
    project.write("configs/agents/own/agent.yaml", AGENT)
    project.write("configs/agents/own/workspace/data.txt", "6 * 7")
    solution = {"script": "solve.sh", "files": "solved"}
    path = of_agent(
        project,
        validator=EXACT,
        solution=solution,
        deterministic_checks=[holds("out.txt", "6 * 7 = 42")],
    )
    sibling_file(path, "solved/more.txt", " = 42")
    sibling_file(path, "solve.sh", "cat data.txt more.txt > out.txt; cd /; pwd > /tmp/x; echo 42\n")

    code, found = oracle("--agent", "own")

    assert (code, found["one"]["defects"]) == (0, [])
    assert found["one"]["solution"]["passed"] is True, "what it prints is the answer"


@sandboxed
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo first >&2; echo the last word >&2; exit 3", "exit code 3: the last word"),
        ("#!/no/such/interpreter\n", ""),
        ("kill -9 $$", "ended with"),
    ],
)
def test_a_script_that_fails_is_a_defect_of_its_case(project, oracle, script, said):
    path = of_agent(project, validator=EXACT, solution={"script": "solve.sh"})
    sibling_file(path, "solve.sh", script)
    other = of_agent(project, "two", validator=EXACT, solution={"script": "solve.sh"})
    sibling_file(other, "solve.sh", "echo 42")

    code, found = oracle()

    assert code == 1
    (defect,) = found["one"]["defects"]
    assert defect.startswith("its solution could not be tried: ")
    assert said in defect
    assert found["two"]["defects"] == []


@sandboxed
def test_a_script_is_locked_in(project, oracle):
    path = of_agent(project, validator=EXACT, solution={"script": "solve.sh"})
    kept = sibling_file(path, "kept.txt", "x")
    sibling_file(path, "solve.sh", f"rm -f {kept}; touch {path.parent}/made; id -u > out; echo 42")

    with temporary_folder() as temporary:
        code, _ = oracle()
        assert [*temporary.iterdir()] == [], "whoever is root"

    assert code == 0
    assert kept.exists()
    assert not (path.parent / "made").exists()
    assert not (path.parent / "out").exists()


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        ({}, "`solution`: a solution is `text`, `files`, `script` or `tool_calls`"),
        ({"txt": "42"}, "did you mean `text`?"),
        ({"files": "nothing"}, "`solution.files`: is no folder beside test.yaml; found `nothing`"),
        ({"files": "../other"}, "`solution.files`: leaves the case's folder; found ../other"),
        ({"files": "linked"}, "is a link that leaves the workspace"),
        ({"script": "none.sh"}, "`solution.script`: none.sh: "),
        ({"script": "/bin/sh"}, "`solution.script`: leaves the case's folder"),
        ({"script": "inner"}, "`solution.script`: inner: "),
    ],
)
def test_what_is_wrong_with_a_solution_is_told_without_trying_it(project, solution, said):
    path = of_agent(project, validator=EXACT, solution=solution)
    (path.parent / "inner").mkdir()
    (path.parent / "linked").mkdir()
    (path.parent / "linked/out").symlink_to("/etc/passwd")

    for arguments in ((), ("--oracle",)):
        done = kept_run.collect(project.root, "validate", *arguments)

        assert done.returncode == 2
        assert said in done.stdout
        assert "configs/cases/group/one/" in done.stdout


def test_files_are_for_cases_that_have_a_workspace(project):
    path = project.case(validator=EXACT, solution={"text": "42", "files": "solved"})
    sibling_file(path, "solved/x", "x")

    done = kept_run.collect(project.root, "validate")

    assert done.returncode == 2
    assert (
        "`solution.files`: is for cases whose trials have a workspace, and this one's have none"
        in done.stdout
    )


def test_cases_without_a_verdict_are_told_with_the_reason(project):
    project.case("judged", rubric={"criteria": []})
    project.case("open")
    project.case("hooked", deterministic_checks=[
        {"check_id": "h", "python_hook": {"path": "h.py", "callable_name": "check"}}])  # fmt: skip
    (project.root / "configs/cases/group/hooked/h.py").write_text(HOOK)
    project.case("plain", validator=EXACT)

    done = kept_run.collect(project.root, "validate", "--oracle")

    assert done.returncode == 0, done.stdout
    assert "not tried: case `judged`: only a judge gives it a verdict" in done.stdout
    assert "not tried: case `open`: it has no checks" in done.stdout
    assert "not tried: case `hooked`: check `h` cannot look: " in done.stdout
    assert "`--evaluation-profile E` lets hooks run" in done.stdout
    assert done.stdout.endswith(
        "tried 0 solutions and 1 empty answer (1 case without a solution): no defects\n"
    )


@sandboxed
def test_hooks_look_at_solutions_where_a_profile_lets_them(project, oracle):
    hook = {"check_id": "h", "python_hook": {"path": "h.py", "callable_name": "check"}}
    path = project.case(deterministic_checks=[hook], solution={"text": "42"})
    sibling_file(path, "h.py", HOOK)
    wrong = project.case("two", deterministic_checks=[hook], solution={"text": "43"})
    sibling_file(wrong, "h.py", HOOK)
    project.write("configs/evaluation_profiles/e.yaml", {
        "schema_version": 1, "evaluation_profile_id": "e", "title": "E",
        "security_policy": {"allow_local_python_hooks": True},
    })  # fmt: skip

    code, found = oracle("--evaluation-profile", "e")

    assert code == 1
    assert (found["one"]["solution"]["passed"], found["one"]["empty"]["passed"]) == (True, False)
    (defect,) = found["two"]["defects"]
    assert defect.startswith("its solution fails check `h` (python_hook): ")
    assert "the answer is '43'" in defect


def test_a_single_case_is_tried_alone(project, oracle):
    path = project.case("one", validator=EXACT, solution={"text": "42"})
    project.case("two", validator=EXACT, solution={"text": "43"})

    code, found = oracle(str(path))

    assert (code, list(found)) == (0, ["one"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent", "x"), "is for --oracle"),
        (("--evaluation-profile", "x"), "is for --oracle"),
        (("--oracle", "--agent", "nobody"), "nobody"),
        (("--oracle", "--evaluation-profile", "none"), "none"),
    ],
)
def test_what_cannot_be_asked_for_is_told(project, arguments, said):
    project.case(validator=EXACT)

    done = kept_run.collect(project.root, "validate", *arguments)

    assert done.returncode == 2
    assert said in done.stdout + done.stderr


def test_nothing_of_a_solution_is_sent_or_hashed(project):
    project.case(validator=EXACT)
    (before,) = project.load().cases
    project.case(validator=EXACT, solution={"text": "a secret"})

    assert project.load().cases == (before,)
