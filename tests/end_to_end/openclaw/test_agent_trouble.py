"""What goes wrong with the real OpenClaw: each has its failure, and no agent is left behind."""

import contextlib
import json

import pytest

from tests.support.agent_bench import AgentBench
from tests.support.real_openclaw import real_image

pytestmark = pytest.mark.agents


@pytest.fixture
def bench(tmp_path):
    made = AgentBench(tmp_path / "project", real_image())
    with contextlib.closing(made):
        yield made


@pytest.mark.parametrize(
    ("status", "failure", "stops"),
    [(500, "http_500", False), (401, "http_401", True)],
)
def test_an_error_of_the_server_is_the_servers(bench, status, failure, stops):
    bench.case("one", f"#one [status: {status}]")

    result = bench.run()

    row = bench.rows()["one", 1]
    assert (row["failure_type"], row["passed"]) == (failure, None)
    assert row["http_status"] == status
    assert ("was stopped: stop_on_runner_error" in result.output) == stops
    assert result.exit_code == 1


def test_a_configuration_that_the_version_refuses_stops_the_model_by_name(bench):
    bench.write("configs/agents/helper/agent.yaml", {
        "schema_version": 1, "agent_id": "helper", "title": "H",
        "openclaw": {"agents_defaults": {"bogus": 1}},
    })  # fmt: skip
    bench.profile(concurrency=1)
    bench.case("one", "#one [say: x]")
    bench.case("two", "#two [say: x]")

    result = bench.run()

    rows = bench.rows()
    assert len(rows) == 1, "the model is stopped"
    (row,) = rows.values()
    assert (row["failure_type"], row["status"]) == ("config_invalid", "invalid")
    assert (
        "openclaw refuses the configuration of agent `helper`: agents.defaults"
        in (row["error_message"])
    )
    assert "config_invalid" in result.output
    assert bench.model.bodies == []


def test_an_agent_that_takes_too_much_memory_has_reached_its_limit(bench):
    bench.profile(limits={"memory_mb": 1_200})
    grab = "node -e 'const a=[];for(;;)a.push(Buffer.alloc(5e7,1))'"
    bench.case("one", f"#one [exec: {grab}] [say: x]")

    bench.run()

    row = bench.rows()["one", 1]
    # of an agent that the kernel ends in its container, the command says an exit code only
    assert row["failure_type"] in {"limit_exceeded", "agent_error", None}, row
    turns = json.loads((bench.left("one") / "agent/raw_session_trace.json").read_text())["turns"]
    assert turns[0]["ended_by"] in {"memory", "exit"}


def test_what_an_agent_does_to_itself_is_its_own(bench):
    bench.profile(timeout_seconds=60)
    made = {"kind": "file_contains", "path": "made.md", "text": "by the agent"}
    sweeps = "rm -rf /tmp/* /run/benchlake/* 2>/dev/null; echo swept"
    bench.case("sweeps", f"#sweeps [exec: {sweeps}] [write made.md: by the agent] [say: Clean]",
               checks=[made])  # fmt: skip
    bench.case("ends", "#ends [write made.md: by the agent] [exec: kill -9 -1] [say: Never]",
               checks=[made])  # fmt: skip
    bench.case("idle", "#idle [exec: kill -9 -1] [say: Never]", checks=[made])

    bench.run()

    rows = bench.rows()
    assert (rows["sweeps", 1]["status"], rows["sweeps", 1]["passed"]) == ("success", True)
    assert rows["sweeps", 1]["raw_output"] == "Clean"
    assert (rows["ends", 1]["failure_type"], rows["ends", 1]["passed"]) == ("agent_error", True)
    assert (rows["idle", 1]["failure_type"], rows["idle", 1]["passed"]) == ("agent_error", False)


def test_a_turn_has_its_own_limit(bench):
    bench.profile(timeout_seconds=300, turn_timeout_seconds=25)
    bench.case("one", "#one [say: First]", "[hang]", "[say: Never]")

    bench.run()

    row = bench.rows()["one", 1]
    turns = json.loads((bench.left("one") / "agent/raw_session_trace.json").read_text())["turns"]
    assert (row["failure_type"], row["passed"]) == ("timeout", None), "nothing judges it"
    assert row["error_message"] == "turn 2: no end within 25 s"
    assert [one["ended_by"] for one in turns] == ["exit", "time"]


def test_the_image_must_be_there(bench):
    bench.profile(image="localhost/nothing:1")
    bench.case("one", "#one [say: x]")

    result = bench.run()

    assert result.exit_code == 2
    assert "podman has no image localhost/nothing:1; needed by case `one`" in result.output
