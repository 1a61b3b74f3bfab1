"""Trials of the real OpenClaw in a container: rows say what it does, leaves and costs."""

import contextlib
import json

import pytest

from analyze.api import open_history
from tests.support.agent_bench import KEY, AgentBench
from tests.support.real_openclaw import VERSION, containers, real_image

pytestmark = pytest.mark.agents

LOOKS = (
    "env; cat /proc/*/environ; cat /proc/*/cmdline; "
    "find /home /workspace /tmp /etc /run /root /var -type f -size -400k -not -name seen.txt "
    "-exec cat {} +"
)

KNOCK = """
const net = require("net"), os = require("os");
const knock = (host, port) => new Promise((done) => {
  const socket = net.connect({host, port});
  socket.on("connect", () => done("open"));
  socket.on("error", (error) => done(error.code));
  setTimeout(() => done("silent"), 1500);
});
(async () => {
  for (const to of process.argv.slice(2)) {
    console.log(to, await knock(...to.split(",")));
  }
  console.log(Object.keys(os.networkInterfaces()).join());
  process.exit();
})();
"""
"""A file of the agent's workspace: says which addresses answer, and which interfaces there are."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run six cases at once, one of them into its time limit."""
    bench = AgentBench(tmp_path_factory.mktemp("agents") / "project", real_image())
    with contextlib.closing(bench):
        bench.profile(timeout_seconds=60)
        bench.case(
            "single", "#single [say: Hello there]", validator={"type": "contains", "value": "Hello"}
        )
        bench.case(
            "turns",
            "#turns [write draft.md: one] [say: First]",
            "[write report.md: two] [say: Second]",
            messages=[{"role": "system", "content": "Keep context."}],
            checks=[
                {"kind": "openclaw_workspace_file_present", "relative_path": "report.md",
                 "contains": "two"},
                {"kind": "openclaw_workspace_file_present", "relative_path": "draft.md"},
                {"kind": "output_artifact_present", "artifact_type": "openclaw_key_output"},
            ],
            input={"context": {"openclaw": {"expected_artifact": "report.md", "tone": "dry"}}},
        )  # fmt: skip
        found = {"kind": "file_contains", "path": "made.md", "text": "by the agent"}
        bench.case("late", "#late [write made.md: by the agent] [hang]", checks=[found])
        bench.case("lazy", "#lazy [hang]", checks=[found])
        bench.case("looks", f"#looks [exec: ({LOOKS}) > seen.txt 2>&1] [say: Seen]")
        bench.write("configs/agents/helper/workspace/knock.js", KNOCK)
        addresses = f"127.0.0.1,{bench.endpoint.port} 1.1.1.1,443 10.88.0.1,{bench.endpoint.port}"
        knock = f"node knock.js {addresses} 127.0.0.1,18790 > reached.txt 2>&1"
        bench.case("knocks", f"#knocks [exec: {knock}] [say: Tried]")
        result = bench.run(env={"OTHER_API_KEY": "sk-other-0123456789abcdef0123456789"})
        yield bench, result, bench.rows()


def test_a_single_turn_is_answered(ran):
    _, result, rows = ran
    row = rows["single", 1]

    assert result.exit_code in {0, 1}, result.output
    assert (row["status"], row["passed"], row["raw_output"]) == ("success", True, "Hello there")
    assert (row["served_model"], row["requested_model"]) == ("served-m", "asked-m")
    assert row["runner_type"] == "openclaw"


def test_turns_share_a_session_and_a_workspace_and_checks_find_what_was_made(ran):
    bench, _, rows = ran
    row = rows["turns", 1]

    assert (row["passed"], row["checks_passed"], row["raw_output"]) == (True, 3, "Second")
    assert row["tool_calls"] == ["write"]
    last = next(
        body for body in bench.model.bodies
        if "#turns" in json.dumps(body) and "report.md: two" in json.dumps(body)
    )  # fmt: skip
    said = [one["content"] for one in last["messages"] if one["role"] == "assistant"]
    assert "First" in said
    first = next(one for one in last["messages"] if one["role"] == "user")
    text = first["content"] if isinstance(first["content"], str) else first["content"][0]["text"]
    asked = (
        "[1] system: Keep context.\n\n#turns [write draft.md: one] [say: First]\n\n"
        '[openclaw_hints]\n{"expected_artifact":"report.md","tone":"dry"}'
    )
    assert asked in text, "some versions say when it was, and where they run"
    record = json.loads((bench.left("turns") / "workspace.json").read_text())
    assert {one["path"]: one["change"] for one in record["changes"]} == {
        "draft.md": "added", "report.md": "added",
    }  # fmt: skip
    assert "SOUL.md" in {one["path"] for one in record["entries"]}


def test_a_time_out_that_did_the_work_has_passed_and_one_that_did_not_has_failed(ran):
    _, _, rows = ran

    for case_id, passed in (("late", True), ("lazy", False)):
        row = rows[case_id, 1]
        assert (row["status"], row["failure_type"]) == ("timed_out", "timeout"), row
        assert (row["passed"], row["error_code"]) == (passed, "agent_timeout"), row
        assert 60_000 <= row["ended_at_ms"] - row["started_at_ms"] < 90_000


@pytest.mark.parametrize("case_id", ["single", "turns", "looks", "late"])
def test_tokens_are_those_that_the_endpoint_has_counted(ran, case_id):
    bench, _, rows = ran
    row = rows[case_id, 1]

    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens(case_id)
    assert row["attempt_count"] >= sum(one[0] == case_id for one in bench.model.usages)


def test_the_key_is_on_the_wire_and_nowhere_inside(ran):
    bench, _, rows = ran
    seen = (bench.left("looks") / "workspace" / "seen.txt").read_text(errors="replace")

    assert rows["looks", 1]["status"] == "success"
    assert "OPENCLAW_CONFIG_PATH" in seen, "it has looked"
    assert '"baseUrl": "http://127.0.0.1:' in seen, "it has read its configuration"
    assert KEY not in seen
    assert "sk-other" not in seen
    assert "API_KEY=" not in seen
    assert all(one["authorization"] == f"Bearer {KEY}" for one in bench.model.headers)
    for path in (bench.root / "runs").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_nothing_answers_inside_but_the_way_to_the_model(ran):
    bench, _, _ = ran
    reached = (bench.left("knocks") / "workspace" / "reached.txt").read_text().splitlines()

    assert reached == [
        f"127.0.0.1,{bench.endpoint.port} ECONNREFUSED",
        "1.1.1.1,443 ENETUNREACH",
        f"10.88.0.1,{bench.endpoint.port} ENETUNREACH",
        "127.0.0.1,18790 open",
        "lo",
    ]


def test_what_the_agent_was_and_how_it_ran_is_on_record(ran):
    bench, _, _ = ran
    config = json.loads((bench.root / "runs/r/config.json").read_text())["openclaw"]

    assert (config["version"], config["executable"]) == (VERSION, "container")
    inventory = json.loads((bench.root / "runs/r/inventory.json").read_text())
    assert inventory["agents"] == {"helper": VERSION}
    assert config["image_digest"].startswith(("sha256:", "localhost/"))
    assert config["assignments"]["single"] == "helper"
    assert {"SOUL.md", "AGENTS.md"} <= config["agents"]["helper"]["files"].keys()
    kept = bench.left("turns") / "agent"
    given = json.loads((kept / "openclaw.json").read_text())
    assert given["agents"]["list"][0]["id"] == "help-desk"
    assert given["models"]["providers"]["custom"]["apiKey"] == "the password of the trial"
    turns = json.loads((kept / "raw_session_trace.json").read_text())["turns"]
    assert [one["returncode"] for one in turns] == [0, 0]
    assert turns[1]["payload"]["payloads"][0]["text"] == "Second"


def test_the_trajectory_and_the_steps_have_the_tokens_of_the_trial(ran):
    bench, _, rows = ran
    for case_id in ("single", "turns", "late"):
        row = rows[case_id, 1]
        made = json.loads((bench.left(case_id) / "agent/trajectory.json").read_text())
        totals = made["final_metrics"]
        assert totals["total_prompt_tokens"] == row["input_tokens"], case_id
        assert totals["total_completion_tokens"] == row["output_tokens"], case_id
        assert made["agent"] == {"name": "openclaw", "version": VERSION, "model_name": "asked-m"}
    with open_history(bench.root / "runs") as history:
        steps = history.sql("""
            select case_id, turn_no, kind, tool, input_tokens, is_error from steps
            where trajectory = 'main' order by case_id, step_no
        """)
    mine = steps.filter(steps["case_id"] == "turns")
    assert mine["kind"].to_list() == [
        "message", "message", "tool_call", "tool_result", "message", "message", "message",
        "tool_call", "tool_result", "message",
    ]  # fmt: skip
    assert mine["turn_no"].max() == 4
    assert mine["input_tokens"].sum() == rows["turns", 1]["input_tokens"]
    assert not mine["is_error"].any()
    late = steps.filter(steps["case_id"] == "late")["kind"].to_list()
    assert "limit" in late
    session = (bench.left("turns") / "agent" / "session.jsonl").read_text()
    assert [json.loads(one)["type"] for one in session.splitlines()].count("message") == 8


def test_nothing_is_left_running(ran):
    assert containers() == []
