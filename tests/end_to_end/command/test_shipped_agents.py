"""Real agents by the configurations that are shipped, against the scripted model."""

import contextlib
import json
import shutil
from typing import NamedTuple

import pytest

from analyze.api import open_history
from analyze.importers import IMPORTERS
from tests.support.agent_bench import KEY
from tests.support.agent_messages import MessagesModel, of_claude
from tests.support.agent_model import AgentModel
from tests.support.agent_responses import ResponsesModel
from tests.support.agent_sessions import imported, rows_of
from tests.support.command_bench import CommandBench
from tests.support.paths import ROOT
from tests.support.real_agents import real_agent

pytestmark = pytest.mark.agents

LOOKS = (
    "env; cat /proc/*/environ /proc/*/cmdline; "
    "find /home /workspace /tmp /etc /run -type f -size -99k ! -name seen.txt -exec cat {} +"
)


def of_opencode(name, arguments):
    """Return a call as opencode takes it."""
    if name == "write":
        path = f"/workspace/{arguments['path']}"
        return "write", {"filePath": path, "content": arguments["content"]}
    return "bash", {"command": arguments["command"], "description": "As it was told."}


class Shipped(NamedTuple):
    """How an agent is tried."""

    version: str
    model: object
    provider: str
    tools: list
    key: str
    limit: int
    """Seconds of a turn."""
    header: str = "authorization"
    """Where the endpoint finds the key."""


AGENTS = {
    "codex": Shipped("codex-cli 0.171.0", ResponsesModel(), "openai_responses", ["exec_command"],
                     "BENCHLAKE_API_KEY", 12),
    "opencode": Shipped("1.18.33", AgentModel(of_opencode, asks_for_titles=True), "openai_chat",
                        ["write", "bash"], "apiKey", 25),
    "claude-code": Shipped("2.1.197 (Claude Code)", MessagesModel(), "anthropic_messages",
                           ["write", "bash"], "ANTHROPIC_API_KEY", 20, "x-api-key"),
}  # fmt: skip


@pytest.fixture(scope="module", params=AGENTS)
def ran(request, tmp_path_factory):
    """Run four cases at once, one into its time limit, one into an error of the server."""
    name, agent = request.param, AGENTS[request.param]
    bench = CommandBench(tmp_path_factory.mktemp(name) / "project")
    with contextlib.closing(bench):
        bench.model = bench.endpoint.script = agent.model
        root = bench.endpoint.base_url.removesuffix("/v1")
        address = {"base_url": root} if agent.provider == "anthropic_messages" else {}
        bench.suite(provider=agent.provider, **address)
        shutil.copytree(ROOT / "configs/agents" / name, bench.root / "configs/agents" / name)
        programs = [str(real_agent(name)), shutil.which("node")]
        bench.profile(agent_id=name, programs=programs, timeout_seconds=60,
                      turn_timeout_seconds=agent.limit)  # fmt: skip
        made = {"kind": "file_contains", "path": "report.md", "text": "two"}
        bench.case("turns", "#turns [write draft.md: one] [exec: exit 3] [say: First]",
                   "[write report.md: two] [say: Second]", checks=[made])  # fmt: skip
        bench.case("late", "#late [write report.md: two] [hang]", checks=[made])
        bench.case("broken", "#broken [status: 401]")
        bench.case("looks", f"#looks [exec: ({LOOKS}) > seen.txt 2>&1] [say: Looked]")
        result = bench.run()
        yield bench, result, bench.rows(), agent


def test_two_turns_of_one_session_leave_files_that_a_check_finds(ran):
    _, result, rows, agent = ran
    row = rows["turns", 1]

    assert (row["passed"], row["raw_output"]) == (True, "Second"), (row, result.output)
    assert row["tool_calls"] == agent.tools


def test_a_time_out_is_graded_by_what_is_there(ran):
    _, _, rows, _ = ran
    row = rows["late", 1]

    assert (row["status"], row["failure_type"], row["passed"]) == ("timed_out", "timeout", True)


def test_an_error_of_the_server_is_the_servers(ran):
    _, _, rows, _ = ran

    assert rows["broken", 1]["failure_type"] == "http_401"


@pytest.mark.parametrize("case_id", ["turns", "late", "looks"])
def test_tokens_are_those_that_the_endpoint_has_counted(ran, case_id):
    bench, _, rows, _ = ran
    row = rows[case_id, 1]
    with open_history(bench.root / "runs") as history:
        asked = "SELECT sum(input_tokens), sum(output_tokens) FROM steps WHERE case_id = "
        (steps,) = history.sql(f"{asked}'{case_id}'").rows()

    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens(case_id)
    assert steps == bench.model.tokens(case_id)


def test_its_session_becomes_steps(ran):
    bench, _, _, _ = ran
    with open_history(bench.root / "runs") as history:
        rows = history.sql(
            "SELECT kind, is_error FROM steps "
            "WHERE case_id = 'turns' AND kind IN ('tool_call', 'tool_result') ORDER BY step_no"
        ).rows()

    assert rows == [
        ("tool_call", False), ("tool_result", False), ("tool_call", False), ("tool_result", True),
        ("tool_call", False), ("tool_result", False),
    ]  # fmt: skip


def test_the_key_is_nowhere_inside_and_the_version_on_record(ran):
    bench, _, rows, agent = ran
    seen = (bench.left("looks") / "workspace" / "seen.txt").read_text(errors="replace")
    config = json.loads((bench.root / "runs/r/config.json").read_text())["agent"]

    assert rows["looks", 1]["status"] == "success", rows["looks", 1]
    assert agent.key in seen, "it has looked"
    assert KEY not in seen
    assert {one[agent.header].removeprefix("Bearer ") for one in bench.model.headers} == {KEY}
    assert [one["version"] for one in config["agents"].values()] == [agent.version]


@pytest.mark.parametrize("ran", [name for name in AGENTS if name in IMPORTERS], indirect=True)
def test_its_session_file_is_imported_as_it_was_run(ran, tmp_path):
    bench, _, rows, agent = ran
    form = next(name for name, one in AGENTS.items() if one is agent)
    folder = tmp_path / "sessions"
    folder.mkdir()
    for path in bench.left("turns").rglob("log-*.jsonl"):
        shutil.copy(path, folder / path.name.split("-", 2)[2])

    (run,) = imported(form, folder, tmp_path / "runs")
    (row,) = rows_of(run).values()

    assert run.findings == ()
    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens("turns")
    assert (row["raw_output"], row["passed"], row["failure_type"]) == ("Second", None, None)
    assert [one.lower() for one in row["tool_calls"]] == rows["turns", 1]["tool_calls"]
    query = (
        "SELECT kind, trajectory, is_error, exit_code, input_tokens, output_tokens FROM steps "
        "WHERE case_id = '{}' AND role IS DISTINCT FROM 'system' ORDER BY step_no"
    )
    with open_history(bench.root / "runs") as history:
        seen = history.sql(query.format("turns")).rows()
    with open_history(tmp_path / "runs") as history:
        found = history.sql(query.format(row["case_id"])).rows()
    assert found == seen


def with_agents(name, arguments):
    """Return a call as Claude Code takes it; `AGENT ...` starts an agent, orders in parentheses."""
    command = arguments.get("command", "")
    if not command.startswith("AGENT "):
        return of_claude(name, arguments)
    prompt = command.removeprefix("AGENT ").replace("(", "[").replace(")", "]")
    return "Agent", {
        "description": "A helper",
        "prompt": prompt,
        "subagent_type": "general-purpose",
    }


def test_agents_that_claude_code_starts_are_counted_once_and_have_steps_of_their_own(tmp_path):
    bench = CommandBench(tmp_path / "project")
    with contextlib.closing(bench):
        bench.model = bench.endpoint.script = MessagesModel(with_agents)
        root = bench.endpoint.base_url.removesuffix("/v1")
        bench.suite(provider="anthropic_messages", base_url=root)
        folder = bench.root / "configs/agents/claude-code"
        shutil.copytree(ROOT / "configs/agents/claude-code", folder)
        file = folder / "agent.yaml"
        file.write_text(file.read_text().replace("Bash,Edit,", "Agent,Bash,Edit,"))
        bench.profile(agent_id="claude-code", programs=[str(real_agent("claude-code"))])
        bench.case("one", "#one [exec: AGENT #one (exec: echo x > sub.txt) (say: Sub)] [say: Done]",
                   checks=[{"kind": "file_exists", "path": "sub.txt"}])  # fmt: skip
        bench.run()
        with open_history(bench.root / "runs") as history:
            steps = history.sql(
                "SELECT trajectory = 'main' AS is_main, tool, sum(input_tokens) AS tokens "
                "FROM steps WHERE kind IN ('message', 'tool_call') GROUP BY ALL ORDER BY ALL"
            ).rows()

    row = bench.rows()["one", 1]
    assert (row["passed"], row["raw_output"]) == (True, "Done"), row
    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens("one")
    assert steps == [
        (False, "Bash", None), (False, None, 102 + 103), (True, "Agent", None),
        (True, None, 101 + 104),
    ]  # fmt: skip
