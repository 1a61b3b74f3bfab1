"""Parts that an installed package adds, as tests/support/example_package does."""

import json
import os
import re
import subprocess
import sys
import tomllib
from shutil import rmtree

import pytest

from analyze.importers import IMPORTERS
from schemas.errors import ConfigError
from schemas.registry import Registry
from tests.support.analyze_cli import process
from tests.support.endpoint import stream_of
from tests.support.paths import ROOT
from tests.support.project import Project
from tests.support.tool_endpoint import ToolModel

pytestmark = pytest.mark.peers

PACKAGE = ROOT / "tests" / "support" / "example_package"


def installed(folder, project, groups):
    """Write what an installer leaves of a package, but for its code."""
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head)
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def path(tmp_path):
    """Return where Python finds benchlake and the installed example package."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    installed(site, project, project["entry-points"])
    return os.pathsep.join(map(str, (ROOT, site, PACKAGE)))


@pytest.fixture
def analyze(path, tmp_path):
    """Call `analyze` where the example package is installed."""
    return lambda *words: process(*words, cwd=tmp_path, PYTHONPATH=path)


@pytest.fixture
def collect(path, tmp_path):
    """Call `collect` there."""
    return lambda *words: subprocess.run(
        [sys.executable, "-W", "error", "-m", "collect", *words],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def test_a_format_of_a_package_is_read_and_written_like_any_other(analyze, tmp_path):
    (tmp_path / "one.tally").write_text("a pass\nb fail\nc pass\n")

    done = analyze("import", "tally", "one.tally", "--json")
    assert done.code == 0, done.err
    (written,) = json.loads(done.out)
    assert written["n_trials"] == 3
    rows = analyze("sql", "select case_id, passed from trials order by 1", "--json")
    assert json.loads(rows.out) == [
        {"case_id": "a", "passed": True},
        {"case_id": "b", "passed": False},
        {"case_id": "c", "passed": True},
    ]
    done = analyze("export", "tally", "latest", "-o", "again.tally")
    assert done.code == 0, done.err
    assert (tmp_path / "again.tally").read_text() == (tmp_path / "one.tally").read_text()


def test_a_provider_of_a_package_is_asked_like_any_other(collect, analyze, tmp_path):
    project = Project(tmp_path)
    project.model(provider="parrot", requested_model="grey")
    project.case("hello", validator={"type": "exact", "value": "Say hello."})

    done = collect("run", "--suite", "s", "--run-profile", "p")
    assert done.returncode == 0, done.stderr
    rows = analyze("sql", "select provider, model, passed from trials", "--json")
    assert json.loads(rows.out) == [{"provider": "parrot", "model": "grey", "passed": True}]


def test_a_provider_of_a_package_stands_in_errors_and_keeps_its_key(collect, tmp_path):
    project = Project(tmp_path)
    project.case("hello")

    project.model(provider="parot", requested_model="grey")
    done = collect("validate")
    assert done.returncode == 2
    assert "looks like the transport or server `parrot`" in done.stderr + done.stdout
    project.model(
        provider="openai_chat", requested_model="m", base_url="https://elsewhere.example/v1",
        api_key_env="PARROT_API_KEY",
    )  # fmt: skip
    done = collect(
        "plan", "--suite", "s", "--run-profile", "p", "--allow-host", "elsewhere.example"
    )
    assert done.returncode == 2
    assert "needs a key variable of its own" in done.stderr


def test_a_command_of_a_package_answers_and_stands_in_its_panel_and_in_completion(
    analyze, path, tmp_path
):
    (tmp_path / "one.tally").write_text("a pass\nb fail\nc pass\n")
    assert analyze("import", "tally", "one.tally").code == 0

    assert analyze("tally").out == "2 of 3 passed\n"
    assert "Example: analyze tally latest" in analyze("tally", "--help").out
    look = analyze("--help").out.partition("\nLook:\n")[2].partition("\n\n")[0]
    assert look.splitlines()[-1].split(maxsplit=1) == [
        "tally", "Say how many trials of a run passed.",
    ]  # fmt: skip
    assert "'tally'" in analyze("tall").err
    shell = {"_ANALYZE_COMPLETE": "complete_bash", "COMP_WORDS": "analyze ta", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys, analyze.cli as a; sys.argv = ['analyze']; a.main()"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path} | shell, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["tally"], done.stderr


def test_a_validator_of_a_package_judges_and_is_stored_like_any_other(collect, analyze, tmp_path):
    project = Project(tmp_path)
    project.model(provider="parrot", requested_model="grey")
    loud = {"messages": [{"role": "user", "content": "HELLO!"}]}
    project.case("loud", validator={"type": "shouted", "word": "hello"}, input=loud)
    project.case("soft", validator={"type": "shouted", "word": "hello"})

    done = collect("run", "--suite", "s", "--run-profile", "p")
    assert done.returncode == 0, done.stderr
    (log,) = tmp_path.glob("runs/*/results.jsonl")
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    rmtree(tmp_path / "runs" / "lake")
    done = collect("run", "--resume", "latest")
    assert done.returncode == 0, done.stderr
    query = "select case_id, validator_type, passed, violation from trials order by case_id"
    assert json.loads(analyze("sql", query, "--json").out) == [
        {"case_id": "loud", "validator_type": "shouted", "passed": True, "violation": None},
        {"case_id": "soft", "validator_type": "shouted", "passed": False,
         "violation": "not_shouted want='HELLO'"},
    ]  # fmt: skip


def test_a_check_of_a_package_is_made_like_any_other(collect, analyze, tmp_path):
    project = Project(tmp_path)
    project.model(provider="parrot", requested_model="grey")
    check = {"check_id": "c", "declarative": {"kind": "shorter_than", "path": "note.txt"}}
    for case_id in ("short", "very_long"):
        project.case(case_id, deterministic_checks=[check])
        project.write(f"configs/cases/group/{case_id}/note.txt", "x" * 10)
    project.case("nowhere", deterministic_checks=[check])

    words = ("run", "--suite", "s", "--run-profile", "p")
    assert "`c` cannot be made: it looks into a workspace" in collect(*words).stderr
    done = collect(*words, "--skip-unevaluable")
    assert done.returncode == 0, done.stderr
    query = "select case_id, passed, checks from trials order by case_id"
    said = {row["case_id"]: row for row in json.loads(analyze("sql", query, "--json").out)}
    assert {name: row["passed"] for name, row in said.items()} == {
        "nowhere": None, "short": True, "very_long": False,
    }  # fmt: skip
    assert "14 of 10 characters" in str(said["very_long"]["checks"])

    check["declarative"]["kind"] = "shorter_then"
    project.case("slip", deterministic_checks=[check])
    wrong = "`deterministic_checks[0].declarative.kind`: unknown value; found `shorter_then`; "
    done = collect("validate")
    assert f"{wrong}allowed: 'final_response_present', " in done.stdout
    assert "'shorter_than'; did you mean `shorter_than`?" in done.stdout


def test_a_tool_of_a_package_is_called_like_any_other(collect, analyze, endpoint, tmp_path):
    project = Project(tmp_path)
    project.model(base_url=endpoint.base_url)
    project.profile(runner_defaults={"retries": 0})
    messages = [{"role": "user", "content": "Say it."}]
    context = {"llm_probe": {"tools": ["echo"]}}
    for case_id in ("loud", "odd"):
        project.case(case_id, input={"messages": messages, "context": context})
    words = [("echo", {"text": "hello"})], [("echo", {"text": ""})]
    scripts = iter([ToolModel(words[0]), ToolModel(words[1])])
    script = []

    def each(wire, request):
        if len(request.body["messages"]) == 1:
            script[:] = [next(scripts)]
        script[0](wire, request)

    endpoint.script = each

    done = collect("run", "--suite", "s", "--run-profile", "p")
    assert done.returncode == 1, done.stderr
    query = (
        "select case_id, failure_type, error_message, tool_calls from results "
        "join outputs using (run_id, record_no, case_id) order by case_id"
    )
    rows = json.loads(analyze("sql", query, "--json").out)
    assert [row["failure_type"] for row in rows] == [None, "tool_unavailable"]
    assert rows[1]["error_message"] == "tool `echo`: IndexError: string index out of range"
    assert [row["tool_calls"] for row in rows] == [["echo"], []]
    assert '"echo":"HELLO"' in endpoint.requests[1].body["messages"][2]["content"]

    context["llm_probe"]["tools"] = ["ecko"]
    project.case("slip", input={"messages": messages, "context": context})
    said = collect("validate").stdout
    assert "unknown tool; found `ecko`; allowed: exec_shell" in said
    assert "echo; did you mean `echo`?" in said


def test_a_mistake_of_a_package_costs_a_verdict_and_not_the_answer(
    collect, analyze, mixed, tmp_path
):
    mixed.case("a_chat", validator={"type": "shouted", "word": ""})
    check = {"check_id": "c", "declarative": {"kind": "shorter_than", "path": "note.txt"}}
    mixed.case("c_chat", deterministic_checks=[check])
    mixed.write("configs/cases/group/c_chat/note.txt", "")
    mixed.profile(
        execution_policy={"max_concurrency": 1, "stop_on_runner_error": False},
        runner_defaults={"retries": 0},
    )
    (tmp_path / "odd").touch()

    assert collect(*RUN).returncode == 1
    query = (
        "select a.case_id, a.passed, failure_type, o.error_message, raw_output, checks "
        "from results a join outputs o using (run_id, record_no) where a.case_id < 'd' order by 1"
    )
    done = analyze("sql", "--json", query)
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert [row["case_id"] for row in rows] == ["a_chat", "b_crew", "c_chat"]
    assert [row["passed"] for row in rows] == [None] * 3
    assert [row["raw_output"] for row in rows] == ["Hello.", "said before", "Hello."]
    assert [row["failure_type"] for row in rows] == ["exception", "exception", None]
    assert rows[0]["error_message"] == "validator `shouted`: IndexError: string index out of range"
    assert rows[1]["error_message"] == "a runner's failure_type that nobody knows: bored"
    assert rows[2]["checks"][0]["message"] == "ZeroDivisionError: division by zero"


def test_a_validator_of_a_package_stands_in_errors(collect, tmp_path):
    project = Project(tmp_path)
    project.case("slip", validator={"type": "shoutd", "word": "hello"})
    project.case("field", validator={"type": "shouted", "words": "hello"})

    done = collect("validate")
    assert done.returncode == 2
    assert "`validator.type`: unknown value; found `shoutd`; allowed: 'noop', " in done.stdout
    assert "'tool_invocation', 'shouted'; did you mean `shouted`?" in done.stdout
    assert "`validator.words`: unknown key; did you mean `word`?" in done.stdout


@pytest.fixture
def mixed(tmp_path, endpoint):
    """Return a project of one model, asked by chat cases and by those of the package's runner."""
    endpoint.script = lambda wire, _: wire.stream(stream_of("Hello."))
    project = Project(tmp_path)
    project.model(base_url=endpoint.base_url, warmup=2)
    project.profile(execution_policy={"max_concurrency": 1}, runner_defaults={"retries": 0})
    hello = {"type": "exact", "value": "Hello."}
    for case_id in ("a_chat", "c_chat"):
        project.case(case_id, validator=hello)
    said = {"kind": "file_contains", "path": "said.txt", "text": "HELLO."}
    crew = {
        "runner": {"type": "crew"},
        "deterministic_checks": [{"check_id": "left", "declarative": said}],
    }
    for case_id in ("b_crew", "d_crew"):
        messages = [{"role": "user", "content": "Hello."}]
        project.case(case_id, input={"messages": messages, "turns": messages}, **crew)
    return project


RUN = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r")
ROWS = (
    "sql", "--json",
    "select case_id, runner_type, passed, failure_type from results where run_id = 'r' order by 1",
)  # fmt: skip


def rows_of(analyze):
    done = analyze(*ROWS)
    assert done.code == 0, done.err
    return [tuple(row.values()) for row in json.loads(done.out)]


def test_a_runner_of_a_package_runs_its_cases_beside_chats(
    collect, analyze, mixed, endpoint, tmp_path
):
    done = collect(*RUN)
    assert done.returncode == 0, done.stderr
    assert rows_of(analyze) == [
        ("a_chat", "llm_probe", True, None), ("b_crew", "crew", True, None),
        ("c_chat", "llm_probe", True, None), ("d_crew", "crew", True, None),
    ]  # fmt: skip
    assert len(endpoint.requests) == 4, "two to warm the model up, and one a chat"
    assert (tmp_path / "runs/r/workspaces/m/b_crew/1/workspace/said.txt").read_text() == "HELLO."
    page = [
        " ".join(line.split()) for line in analyze("show", "r", "b_crew", "m", "1").out.splitlines()
    ]
    assert {"turns 2", "workspace workspaces/m/b_crew/1"} <= set(page)


def test_a_run_of_two_runners_goes_on_with_what_failed_of_one(
    collect, analyze, mixed, endpoint, tmp_path
):
    (tmp_path / "down").touch()
    done = collect(*RUN)
    assert done.returncode == 1
    assert [row[3] for row in rows_of(analyze)] == [None, "connection_error"] * 2
    assert len(endpoint.requests) == 4

    (tmp_path / "down").unlink()
    done = collect("run", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert [row[2] for row in rows_of(analyze)] == [True] * 4
    assert len(endpoint.requests) == 6, "the model is warmed up again, and no chat repeated"


def test_a_mistake_of_one_runner_stops_the_model_for_both(collect, analyze, mixed, tmp_path):
    (tmp_path / "bug").touch()

    assert collect(*RUN).returncode == 1
    assert [row[0] for row in rows_of(analyze)] == ["a_chat", "b_crew"]


def test_an_endpoint_is_given_up_by_what_both_runners_find(collect, analyze, mixed, tmp_path):
    (tmp_path / "down").touch()
    mixed.model(base_url="http://0.0.0.0:9/v1")

    assert collect(*RUN).returncode == 1
    done = analyze("sql", "--json", "select error_code from results order by case_id")
    codes = [row["error_code"] for row in json.loads(done.out)]
    assert "endpoint_given_up" not in codes[:3], "one that refuses, one that is down, another one"
    assert codes[3] == "endpoint_given_up"


def test_a_case_of_a_runner_that_is_not_there_is_refused(collect, mixed, tmp_path):
    mixed.case("e_crew", runner={"type": "crow"})

    for words in (("validate",), ("plan", "--suite", "s", "--run-profile", "p"), RUN):
        done = collect(*words)
        assert done.returncode == 2
        assert (
            "`runner.type`: unknown value; found `crow`; allowed: llm_probe, openclaw, command or "
            "crew; did you mean `crew`?" in done.stderr + done.stdout
        )
    assert not (tmp_path / "runs").exists()


def test_a_section_of_a_package_stands_in_every_form_of_a_report(analyze, tmp_path):
    (tmp_path / "one.tally").write_text("a pass\nb fail\nc pass\n")
    assert analyze("import", "tally", "one.tally").code == 0

    found = json.loads(analyze("report", "--format", "json").out)
    assert found["added"] == {"tally": [{"model_id": "one", "n_passed": 2}]}
    assert "\n\n## Tally\n\n- one: 2\n\n## Go deeper\n" in analyze("report", "--format", "md").out
    done = analyze("report", "-o", "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert '<a href="#tally">Tally</a>' in page
    section = page.partition('<section id="tally"')[2].partition("</section>")[0]
    assert "Trials that passed, repetitions and all." in section
    assert re.sub(r"<[^>]+>", " ", section).split()[-2:] == ["one", "2"]


def test_a_chart_of_a_package_is_drawn(analyze, tmp_path):
    (tmp_path / "one.tally").write_text("a pass\nb fail\nc pass\n")
    assert analyze("import", "tally", "one.tally").code == 0

    assert " judges or tally." in " ".join(analyze("chart", "--help").out.split())
    done = analyze("chart", "tally", "-o", "tally.svg")
    assert (done.code, done.out) == (0, "tally.svg\n"), done.err
    assert ">Tally of one<" in (tmp_path / "tally.svg").read_text()


def test_a_format_of_a_package_stands_in_choices_and_errors(analyze):
    assert " or tally." in " ".join(analyze("import", "--help").out.split())
    done = analyze("import", "tall", "x")
    assert done.code == 2
    assert "no such format; found tall; allowed: " in done.err
    assert "swebench, tally; did you mean `tally`?" in done.err
    done = analyze("import", "tally", "x", "--suite", "s")
    assert done.code == 2
    allowed = ", ".join(one for one in IMPORTERS.names if "--suite" in IMPORTERS[one].options)
    assert done.err == f"error: `--suite`: tally has no such option; allowed: {allowed}\n"


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """Return a registry of paths, to which installed packages of the test add."""
    from schemas import registry as module

    monkeypatch.syspath_prepend(tmp_path)
    module._added_groups.cache_clear()
    yield lambda: Registry("paths", type(ROOT), {"own": "tests.support.paths:ROOT"})
    module._added_groups.cache_clear()


def paths(tmp_path, name, **entries):
    installed(tmp_path, {"name": name, "version": "1.0"}, {"benchlake.paths": entries})


def test_what_is_generated_for_everyone_is_of_our_own_parts(path):
    done = subprocess.run(
        [sys.executable, "-m", "schemas.publish", "--check"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_part_of_our_own_is_never_replaced(registry, tmp_path):
    paths(tmp_path, "bad", own="nowhere:AT_ALL", b="tests.support.paths:ROOT", a="os:sep")

    found = registry()
    assert found.names == ("own", "a", "b")
    assert str(found) == "own, a or b"
    assert found["own"] == found["b"] == ROOT


def test_what_cannot_be_loaded_is_an_error_that_names_the_package(registry, tmp_path):
    (tmp_path / "broken_part.py").write_text("1 / 0")
    paths(tmp_path, "bad", broken="broken_part:PART", wrong="os:sep", twice="os:sep")
    paths(tmp_path, "worse", twice="os:sep")

    texts = []
    for name in ("broken", "wrong", "twice", "own2"):
        with pytest.raises(ConfigError) as caught:
            registry()[name]
        texts.append(str(caught.value))

    assert texts == [
        "`benchlake.paths.broken`: cannot be loaded from bad 1.0: ZeroDivisionError: "
        "division by zero",
        f"`benchlake.paths.wrong`: os:sep of bad 1.0 is no {type(ROOT).__name__}; found str",
        "`benchlake.paths.twice`: more than one package adds it; found bad 1.0, worse 1.0",
        "`benchlake.paths.own2`: is not there; allowed: own, broken, twice, wrong; "
        "did you mean `own`?",
    ]
