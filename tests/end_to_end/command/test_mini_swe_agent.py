"""mini-swe-agent by the configuration that is shipped; `make mini-swe-agent` installs it."""

import contextlib
import json
import os
import shutil
import sys

import pytest

from analyze.api import open_history
from tests.support.agent_bench import KEY
from tests.support.agent_model import AgentModel
from tests.support.command_bench import CommandBench
from tests.support.paths import ROOT

pytestmark = pytest.mark.agents

FOLDER = os.environ["MINI_SWE_AGENT"]
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo "
"""A command that begins so ends the agent's work, and what it prints then is the answer."""


class MiniModel(AgentModel):
    """Answers in whole objects; all that the agent understands is a command."""

    def _send(self, wire, number, call, text):
        name, arguments = ("exec", {"command": f"{SUBMIT}'{text}'"}) if call is None else call
        command = arguments.get("command")
        if name == "write":
            command = f"printf %s '{arguments['content']}' > '{arguments['path']}'"
        called = {"name": "bash", "arguments": json.dumps({"command": command})}
        message = {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": called},
        ]}  # fmt: skip
        counts = {"prompt_tokens": 100 + number, "completion_tokens": 10 + number}
        counts["total_tokens"] = sum(counts.values())
        wire.answer({
            "id": f"chatcmpl-{number}", "object": "chat.completion", "model": "served-m",
            "created": 1, "usage": counts,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        })  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run four cases at once, one into its time limit, one into an error of the server."""
    bench = CommandBench(tmp_path_factory.mktemp("mini") / "project")
    with contextlib.closing(bench):
        bench.model = bench.endpoint.script = MiniModel()
        bench.suite()
        folder = bench.root / "configs/agents/mini-swe-agent"
        shutil.copytree(ROOT / "configs/agents/mini-swe-agent", folder)
        bench.profile(agent_id="mini-swe-agent", programs=[FOLDER, sys.base_prefix],
                      timeout_seconds=60)  # fmt: skip
        made = {"kind": "file_contains", "path": "report.md", "text": "two"}
        bench.case("works", "#works [write draft.md: one] [exec: exit 3] [write report.md: two] "
                   "[say: Second]", checks=[made])  # fmt: skip
        bench.case("late", "#late [write report.md: two] [hang]", checks=[made])
        bench.case("broken", "#broken [status: 401]")
        bench.case("looks", "#looks [exec: (env; cat /proc/*/environ) > seen.txt 2>&1] [say: Ok]")
        result = bench.run()
        yield bench, result, bench.rows()


def test_what_it_has_done_is_found_by_a_check(ran):
    _, result, rows = ran
    row = rows["works", 1]

    assert (row["passed"], row["raw_output"]) == (True, "Second"), (row, result.output)
    assert row["tool_calls"] == ["bash"]


def test_a_time_out_is_graded_and_an_error_of_the_server_is_the_servers(ran):
    _, _, rows = ran
    late = rows["late", 1]

    assert (late["status"], late["failure_type"], late["passed"]) == ("timed_out", "timeout", True)
    assert rows["broken", 1]["failure_type"] == "http_401"


@pytest.mark.parametrize("case_id", ["works", "late", "looks"])
def test_tokens_are_those_that_the_endpoint_has_counted(ran, case_id):
    bench, _, rows = ran
    row = rows[case_id, 1]
    with open_history(bench.root / "runs") as history:
        asked = "SELECT sum(input_tokens), sum(output_tokens) FROM steps WHERE case_id = "
        (steps,) = history.sql(f"{asked}'{case_id}'").rows()

    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens(case_id)
    assert steps == bench.model.tokens(case_id)


def test_its_trajectory_becomes_steps(ran):
    bench, _, _ = ran
    with open_history(bench.root / "runs") as history:
        rows = history.sql(
            "SELECT kind, is_error, exit_code FROM steps "
            "WHERE case_id = 'works' AND kind IN ('tool_call', 'tool_result') ORDER BY step_no"
        ).rows()

    assert [row[0] for row in rows] == ["tool_call", "tool_result"] * 4
    assert [row[2] for row in rows if row[0] == "tool_result"][:3] == [0, 3, 0]


def test_the_key_is_nowhere_inside_and_the_version_on_record(ran):
    bench, _, _ = ran
    seen = (bench.left("looks") / "workspace" / "seen.txt").read_text(errors="replace")
    config = json.loads((bench.root / "runs/r/config.json").read_text())["agent"]

    assert "OPENAI_API_KEY" in seen, "it has looked"
    assert KEY not in seen
    assert [one["version"] for one in config["agents"].values()] == ["2.4.6"]
