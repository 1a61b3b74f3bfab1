"""Where an agent may run: with a network, or as it is installed here, locked in by bwrap."""

import contextlib
import json
import os
import shutil
import subprocess

import pytest

from tests.end_to_end.openclaw.test_agent_trials import KNOCK
from tests.support.agent_bench import KEY, AgentBench
from tests.support.agent_messages import MessagesModel
from tests.support.containers import docker_daemon
from tests.support.real_openclaw import VERSION, real_image, real_programs

pytestmark = pytest.mark.agents


@pytest.fixture
def bench(tmp_path):
    made = AgentBench(tmp_path / "project", real_image())
    made.write("configs/agents/helper/workspace/knock.js", KNOCK)
    with contextlib.closing(made):
        yield made


def reached(bench):
    return (bench.left("one") / "workspace" / "reached.txt").read_text().splitlines()


@pytest.mark.parametrize("network", ["host", "bridge"])
def test_a_network_is_there_where_the_profile_says_so(bench, network):
    bench.profile(network=network)
    address = f"127.0.0.1,{bench.endpoint.port}"
    bench.case("one", f"#one [exec: node knock.js {address} > reached.txt 2>&1] [say: Tried]")

    result = bench.run()

    row = bench.rows()["one", 1]
    assert row["status"] == "success", (row, result.output)
    first, interfaces = reached(bench)
    assert first == f"{address} {'open' if network == 'host' else 'ECONNREFUSED'}"
    assert len(interfaces.split(",")) > 1
    assert row["input_tokens"] == bench.model.tokens("one")[0]


def test_the_installed_command_is_locked_in(bench):
    path = os.pathsep.join([str(real_programs()), os.environ["PATH"]])
    bench.profile(executable="local", image=None)
    address = f"127.0.0.1,{bench.endpoint.port} 1.1.1.1,443"
    inside = "(env; ls / /root /home; cat /proc/*/environ)"
    bench.case(
        "one",
        f"#one [exec: /opt/benchlake-agent/node knock.js {address} > reached.txt 2>&1] "
        f"[exec: {inside} > seen.txt 2>&1] [write made.md: by the agent] [say: Made]",
        checks=[{"kind": "file_contains", "path": "made.md", "text": "by the agent"}],
    )

    result = bench.run(env={"PATH": path})

    row = bench.rows()["one", 1]
    assert (row["status"], row["passed"]) == ("success", True), (row, result.output)
    assert reached(bench) == [
        f"127.0.0.1,{bench.endpoint.port} ECONNREFUSED", "1.1.1.1,443 ENETUNREACH", "lo",
    ]  # fmt: skip
    seen = (bench.left("one") / "workspace" / "seen.txt").read_text(errors="replace")
    assert KEY not in seen
    config = json.loads((bench.root / "runs/r/config.json").read_text())["openclaw"]
    assert (config["executable"], config["version"]) == ("local", VERSION)
    assert (config["image"], config["docker_cli"]) == (None, None)


def test_its_model_may_speak_the_messages_api(bench):
    bench.model = bench.endpoint.script = MessagesModel(lambda name, arguments: (name, arguments))
    root = bench.endpoint.base_url.removesuffix("/v1")
    bench.suite(provider="anthropic_messages", base_url=root)
    bench.case("one", "#one [write report.md: by the agent] [say: Written]",
               checks=[{"kind": "file_contains", "path": "report.md", "text": "by the agent"}],
               )  # fmt: skip

    result = bench.run()

    row = bench.rows()["one", 1]
    assert (row["passed"], row["raw_output"]) == (True, "Written"), (row, result.output)
    assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens("one")
    assert {one["x-api-key"] for one in bench.model.headers} == {KEY}


def test_docker_runs_it_as_well(bench):
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs dockerd, as root")
    with docker_daemon() as host:
        environment = os.environ | {"DOCKER_HOST": host}
        copy_image(bench.image, environment)
        bench.profile(docker_cli="docker")
        bench.case("one", "#one [write made.md: by the agent] [say: Made]",
                   checks=[{"kind": "path_exists", "path": "made.md"}])  # fmt: skip
        result = bench.run(env={"DOCKER_HOST": host})

    assert bench.rows()["one", 1]["passed"] is True, result.output


def copy_image(image, environment):
    """Bring an image of podman's to docker."""
    with subprocess.Popen(["podman", "save", image], stdout=subprocess.PIPE) as saved:
        loaded = subprocess.run(
            ["docker", "load"], stdin=saved.stdout, env=environment, capture_output=True,
            check=False,
        )  # fmt: skip
    assert saved.returncode == loaded.returncode == 0, loaded.stderr
