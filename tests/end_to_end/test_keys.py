"""A key is in its environment variable and on the wire to its own server, and nowhere else."""

import json
import os
import subprocess
import sys
import threading
import time

import psutil
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.support.endpoint import Endpoint
from tests.support.real_claude import real_claude

COLLECT = [sys.executable, "-P", "-m", "collect"]
NAME = "LEAKED_API_KEY"
KEY = "Qx7hasnoshapethatanyoneknows42"
"""Unlike any known form of a key: only its variable tells that it is one."""

HTTP = ("ollama_openai", "openai_chat", "openai_responses", "openrouter", "anthropic_messages")


def misbehave(other):
    """Return a script that gives the key away in every way a server has."""

    def script(wire, request):
        words = json.dumps(request.body or {})
        if request.line.startswith("HEAD"):
            wire.send(b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n")
        elif "in the answer" in words:
            text = f"Your key is {KEY}, Authorization: Bearer {KEY}"
            choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            output = {"type": "message", "content": [{"type": "output_text", "text": text}]}
            answer = {"model": KEY, "choices": [choice], "output": [output], "status": "completed"}
            answer |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
            wire.answer(answer | {"usage": {"input_tokens": 1, "output_tokens": 1, KEY: KEY}})
        elif "in an error" in words:
            wire.answer({"error": {"message": f"wrong key {KEY}", "code": KEY}}, status=401)
        elif "in a page" in words:
            page = f"<html>{KEY}</html>".encode()
            wire.answer(page, status=500, content_type="text/html", headers=(f"X-Key: {KEY}",))
        elif "in no JSON" in words:
            wire.answer(f'{{"choices": {KEY}'.encode())
        elif "elsewhere" in words:
            wire.answer({}, status=307, headers=(f"Location: {other}/{KEY}",))
        else:
            wire.sleep(1.5)

    return script


CASES = ("in_the_answer", "in_an_error", "in_a_page", "in_no_json", "elsewhere", "never")
ASKED = ("in the answer", "in an error", "in a page", "in no JSON", "elsewhere", "never")


class Watch(threading.Thread):
    """Looks at every process of a run while it lasts."""

    def __init__(self, running):
        super().__init__(daemon=True)
        self.root = psutil.Process(running.pid)
        self.own = running.args  # the system has none to tell while a program takes its place
        self.seen = set()
        self.found = []

    def run(self):
        while self.root.is_running() and self.root.status() != psutil.STATUS_ZOMBIE:
            for process in psutil.process_iter(["cmdline"]):
                if any(KEY in word for word in process.info["cmdline"] or []):
                    self.found.append(f"arguments of {process.info['cmdline'][:3]}")
            self._children()
            time.sleep(0.05)

    def _children(self):
        try:
            for child in self.root.children(recursive=True):
                words = child.cmdline()
                if not words or words == self.own or child.pid in self.seen:
                    continue  # its own: forked, and about to become another
                holds = KEY in child.environ().values()
                self.seen.add(child.pid)
                if holds:
                    self.found.append(f"environment of {words[:4]}")
        except (psutil.Error, FileNotFoundError):
            return


def texts_of(folder):
    """Yield every file below a folder as text, whatever it is packed in."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        if path.suffix == ".parquet":
            yield path, repr(pq.ParquetFile(path).read().to_pylist())
            yield path, repr(pq.ParquetFile(path).schema_arrow.metadata)
        elif path.suffix == ".zst":
            unpacker = zstandard.ZstdDecompressor()
            with path.open("rb") as raw:
                yield path, unpacker.stream_reader(raw, read_across_frames=True).read().decode()
        else:
            yield path, path.read_bytes().decode(errors="replace")


def assert_nowhere(folder, *texts):
    leaks = [str(path) for path, text in texts_of(folder) if KEY in text]
    assert leaks == []
    for text in texts:
        assert KEY not in text


@pytest.fixture
def other():
    server = Endpoint()
    yield server
    server.close()


@pytest.mark.agents
def test_a_key_is_nowhere_but_in_its_variable_and_on_its_wire(project, endpoint, other, tmp_path):
    for case_id, asked in zip(CASES, ASKED, strict=True):
        message = {"role": "user", "content": f"Tell my key {asked}."}
        project.case(case_id, input={"messages": [message]})
    shared = {"warmup": 0, "requested_model": "m", "api_key_env": NAME}
    models = [
        {"model_id": name, "provider": name, "base_url": endpoint.base_url, **shared}
        for name in HTTP
    ]
    root = endpoint.base_url.removesuffix("/v1")
    models[-1] |= {"base_url": root, "max_tokens": 9}
    cli = {"provider": "claude_code_cli", "base_url": root, "executable": str(real_claude())}
    project.suite(models=[*models, {"model_id": "claude", **shared, **cli}])
    project.profile(
        runner_defaults={"timeout_seconds": 1, "retries": 0},
        model_overrides={"claude": {"timeout_seconds": 6}},
        execution_policy={"max_concurrency": 6, "stop_on_runner_error": False},
    )
    endpoint.script = misbehave(other.base_url)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    running = subprocess.Popen(
        [*COLLECT, "run", "--suite", "s", "--run-profile", "p"],
        cwd=project.root,
        env=os.environ | {NAME: KEY, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = Watch(running)
    watch.start()
    out, err = running.communicate(timeout=120)
    watch.join()

    assert running.returncode == 1, err
    (run_dir,) = (path for path in (project.root / "runs").iterdir() if path.name != "lake")
    rows = [json.loads(line) for line in (run_dir / "results.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["record_type"] == "result"]
    assert len(rows) == 36
    assert any("[redacted]" in row["raw_output"] for row in rows)
    assert any("[redacted]" in (row["error_message"] or "") for row in rows)
    assert watch.found == []
    assert len(watch.seen) > 1
    assert_nowhere(project.root, out, err)
    assert list(scratch.iterdir()) == []
    sent = [
        request.headers.get("authorization") or request.headers.get("x-api-key", "")
        for request in endpoint.requests
        if request.line.startswith("POST")
    ]
    assert all(KEY in one for one in sent), "the key did reach its own server"
    assert other.requests == [], "nobody was followed to another host"


BUG = f"""
import os, sys
if "collect" in sys.orig_argv:
    import collect.execute.outcome
    def broken(*args, **kwargs):
        key = os.environ["{NAME}"]
        raise RuntimeError(f"a bug beside {{key}}")
    collect.execute.outcome.artifact_of = broken
    import collect.runners.chat as probe
    if "runner" in os.environ["BREAK"]:
        probe._finish = broken
"""
"""As sitecustomize.py: mistakes of our own that have the key at hand."""


@pytest.mark.parametrize("where", ["runner", "pipeline"])
def test_a_mistake_of_ours_gives_no_key_away(project, endpoint, tmp_path, where):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(BUG)
    project.case()
    project.model(base_url=endpoint.base_url, api_key_env=NAME)

    done = subprocess.run(
        [sys.executable, "-m", "collect", "run", "--suite", "s", "--run-profile", "p"],
        cwd=project.root,
        env=os.environ | {NAME: KEY, "PYTHONPATH": str(tmp_path / "site"), "BREAK": where},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    has_error = "Traceback" in done.stderr or "a bug beside" in _error_message(project)
    assert has_error, "a mistake is not hidden either"
    assert_nowhere(project.root, done.stdout, done.stderr)


def _error_message(project):
    (results,) = project.root.glob("runs/*/results.jsonl")
    return json.loads(results.read_text().splitlines()[0])["error_message"]
