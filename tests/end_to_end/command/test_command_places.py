"""Where an agent by configuration runs: in a container, under a killed collector, by Python."""

import contextlib
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter

import orjson
import pytest

from collect.runners.agents.inside import PYTHON
from tests.support.command_bench import CommandBench
from tests.support.processes import processes_of
from tests.support.real_openclaw import VERSION, containers, real_image

pytestmark = pytest.mark.agents

NODE_AGENT = """
const fs = require("fs");
(async () => {
  const body = {model: process.env.MODEL, stream: true,
    messages: [{role: "user", content: fs.readFileSync(0, "utf8")}]};
  const headers = {authorization: "Bearer " + process.env.KEY, "content-type": "application/json"};
  const url = process.env.BASE + "/chat/completions";
  const asked = {method: "POST", headers, body: JSON.stringify(body)};
  const said = await (await fetch(url, asked)).text();
  let text = "";
  for (const line of said.split("\\n").filter((one) => one.startsWith("data: {")))
    for (const choice of JSON.parse(line.slice(6)).choices) text += choice.delta.content || "";
  fs.writeFileSync("made.md", text);
  console.log(text);
})();
"""


@pytest.fixture
def bench(tmp_path):
    made = CommandBench(tmp_path / "project")
    with contextlib.closing(made):
        yield made


def test_an_image_is_run_as_well(bench):
    environment = {"BASE": "{base_url}", "KEY": "{api_key}", "MODEL": "{model}"}
    line = ["node", "{program}/agent.js"]
    bench.agent({"argv": line, "next_argv": line, "prompt": "stdin", "environment": environment,
                 "version": ["openclaw", "--version"]}, {"agent.js": NODE_AGENT})  # fmt: skip
    bench.profile(executable=None, programs=None, image=real_image(), docker_cli="podman",
                  timeout_seconds=60, turn_timeout_seconds=8)  # fmt: skip
    made = {"kind": "file_contains", "path": "made.md", "text": "by the agent"}
    bench.case("one", "#one [say: by the agent]", checks=[made])
    bench.case("late", "#late [say: by the agent]", "[hang]", checks=[made])

    result = bench.run()

    rows = bench.rows()
    assert rows["one", 1]["passed"] is True, result.output
    assert rows["late", 1]["error_message"] == "turn 2: no end within 8 s"
    for case_id in ("one", "late"):
        row = rows[case_id, 1]
        assert (row["input_tokens"], row["output_tokens"]) == bench.model.tokens(case_id)
    config = json.loads((bench.root / "runs/r/config.json").read_text())["agent"]
    assert config["docker_cli"] == "podman"
    assert VERSION in config["agents"]["own"]["version"]
    assert config["image_digest"]
    assert containers() == []


def lines_of(bench):
    log = bench.root / "runs/r/results.jsonl"
    rows = map(orjson.loads, log.read_bytes().splitlines()) if log.exists() else ()
    return [one for one in rows if one["record_type"] == "result"]


def test_ten_trials_four_at_once_with_a_killed_collector(tmp_path, monkeypatch, bench):
    scratch = tmp_path / "t"
    scratch.mkdir()
    scratch.chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(scratch))
    bench.profile(repetitions=10, concurrency=4)
    found = {"kind": "file_contains", "path": "made.md", "text": "by the agent"}
    bench.case("one", "#one [slow: 0.3] [write made.md: by the agent] [say: Made]", checks=[found])
    started = subprocess.Popen(
        bench.command(), cwd=bench.root, env=bench.environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not 2 <= len(lines_of(bench)) < 10:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()

    result = bench.run("--resume")

    assert result.exit_code == 0, result.output
    counted = Counter((one["case_id"], one["repetition"]) for one in lines_of(bench))
    assert counted == {("one", number): 1 for number in range(1, 11)}
    assert all(one["passed"] for one in lines_of(bench))
    assert [*scratch.glob("benchlake-*")] == []
    assert processes_of(bench.root) == []


def test_requests_are_carried_by_python_too(tmp_path):
    """As in an image without Node; the answer is longer than what is carried at once."""
    path = tmp_path / "model.sock"

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            body = b"x" * 300_000
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with socketserver.ThreadingUnixStreamServer(str(path), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with socketserver.TCPServer(("127.0.0.1", 0), None) as probe:
            port = probe.server_address[1]
        asks = (
            "import urllib.request as u; "
            f"print([len(u.urlopen('http://127.0.0.1:{port}/').read()) for _ in range(3)]); exit(7)"
        )
        done = subprocess.run(
            [sys.executable, "-c", PYTHON, str(path), str(port), sys.executable, "-c", asks],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        server.shutdown()

    assert (done.returncode, done.stdout) == (7, "[300000, 300000, 300000]\n"), done.stderr
