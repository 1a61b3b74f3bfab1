"""Whole runs against a server that does everything a server can do wrong, over real sockets.

What each fault is to the provider alone is in `tests.collect.http_client.test_wire_faults`; here it
is what becomes of it in results.jsonl, in the lake and in the summary, and how often was asked.
"""

import collections
import hashlib
import json
import threading

import pytest

from tests.collect.http_client import test_wire_faults
from tests.collect.http_client.test_wire_faults import FAULTS, TEXT, drip
from tests.support.endpoint import Wire, chunk, sse, stream_of
from tests.support.kept_run import assert_fits_together, collect, connections_to, wait_for

pytestmark = pytest.mark.peers

OUTCOMES = {
    None: ("success", "ok", True),
    "http_307": ("provider_error", "error", None),
    "http_429": ("provider_error", "rate_limited", None),
    "http_500": ("provider_error", "error", None),
    "http_503": ("provider_error", "error", None),
    "stream_interrupted": ("provider_error", "error", None),
    "invalid_response": ("provider_error", "error", None),
    "timeout": ("timed_out", "error", False),
    "collector_late": ("timed_out", "error", None),
    "empty_response": ("invalid", "ok", False),
}
"""failure_type to (status, availability_status, passed): D-A5, D-A6 and D-A9."""

MENDED_BY_ASKING_AGAIN = {"http_429", "http_500", "http_503", "stream_interrupted", "timeout"}

PERMANENT = {name: (script, kind) for name, (script, kind, _) in FAULTS.items()} | {
    "429": (lambda w, r: w.answer({}, status=429, headers=["Retry-After: 1"]), "http_429"),
    "drip without end": (drip, "timeout"),
}
NAMES = sorted(PERMANENT)
N_RETRIED = sum(kind in MENDED_BY_ASKING_AGAIN for _, kind in PERMANENT.values())


class LastWire(Wire):
    """Says that each faulty answer is the last of its connection.

    Some faults end a connection that had promised to stay, a moment after a whole answer; the
    next trial on it would have a fault that is not its own.
    """

    def send(self, raw):
        if raw.startswith(b"HTTP/"):
            raw = raw.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        super().send(raw)


@pytest.fixture
def faulty(project, endpoint, monkeypatch):
    """A project with a prompt for each fault; `endpoint.permanent` says whether asking helps."""
    monkeypatch.setattr(test_wire_faults, "HANG_S", 8)
    prompts = [
        {
            "id": f"f{number:02d}",
            "name": name,
            "prompt": f"fault:{name}",
            "validator": {"type": "one_of", "values": [TEXT, "partialpartial"]},
        }
        for number, name in enumerate(NAMES)
    ]
    project.prompts("faults.json", prompts)
    model = {"model_id": "m", "provider": "ollama_openai", "warmup": 0, "requested_model": "r",
             "base_url": endpoint.base_url}  # fmt: skip
    project.suite(models=[model], prompt_lists=["faults.json"])
    project.profile(
        execution_policy={"max_concurrency": 12, "stop_on_runner_error": False},
        runner_defaults={"timeout_seconds": 4, "retries": 1},  # a busy machine stalls a loop
    )
    asked, lock = collections.Counter(), threading.Lock()
    endpoint.asked, endpoint.permanent, endpoint.mended = asked, True, False

    def script(wire, request):
        prompt = request.body["messages"][0]["content"]
        with lock:
            asked[prompt] += 1
            first = asked[prompt] == 1
        if endpoint.mended or not (first or endpoint.permanent):
            wire.stream(stream_of(TEXT))
        else:
            PERMANENT[prompt.removeprefix("fault:")][0](LastWire(wire.sock), request)

    endpoint.script = script
    return project


def make(project, tmp_path, *arguments):
    runs = tmp_path / "runs"
    done = collect(project.root, "run", *arguments, "--runs", runs, "--json")
    assert "Traceback" not in done.stderr, done.stderr
    return done, assert_fits_together(runs / "r")


NEW = ("--suite", "s", "--run-profile", "p", "--run-id", "r")


def judged_awake(failure_type):
    """Return a failure as it is of a collector that nothing held up, as a busy machine may."""
    return "timeout" if failure_type == "collector_late" else failure_type


def assert_row(row, failure_type, attempts):
    name = row["prompt_name"]
    assert judged_awake(row["failure_type"]) == failure_type, name
    outcome = row["status"], row["availability_status"], row["passed"]
    assert outcome == OUTCOMES[row["failure_type"]], name
    assert row["success"] is (failure_type is None), name
    assert row["attempt_count"] == attempts, name
    if failure_type is not None:
        assert row["objective_pass"] is None, "validators never run on error text"
        assert row["tool_calls"] == []


def test_faults_that_stay_are_a_row_each_and_mended_a_resumed_run_asks_what_it_may(
    faulty, endpoint, tmp_path
):
    done, kept = make(faulty, tmp_path, *NEW)

    assert done.returncode == 1, "trials failed for reasons outside the model"
    rows = {row["prompt_name"]: row for row in kept.results()}
    assert len(kept.results()) == len(kept.planned()) == len(NAMES)
    for name, (_, failure_type) in PERMANENT.items():
        attempts = 2 if failure_type in MENDED_BY_ASKING_AGAIN else 1
        assert_row(rows[name], failure_type, attempts)
        assert endpoint.asked[f"fault:{name}"] == attempts
    report = json.loads(done.stdout)
    statuses = collections.Counter(OUTCOMES[kind][0] for _, kind in PERMANENT.values())
    assert report["by_status"] == statuses
    assert report["present"] == report["planned"] == len(NAMES)
    kinds = collections.Counter(row["failure_type"] for row in rows.values() if not row["success"])
    assert kept.summary()["failures"] == kinds
    n_late = sum(kind == "timeout" for _, kind in PERMANENT.values())
    assert kinds["timeout"] + kinds["collector_late"] == n_late
    assert kept.summary()["n_timeout"] == kinds["timeout"]
    wait_for(lambda: not connections_to(endpoint.port))

    endpoint.mended = True
    done, kept = make(faulty, tmp_path, "--resume", "r")

    assert done.returncode == 1, "what no repetition mends stays"
    assert len(kept.results()) == len(NAMES) + N_RETRIED, "both records are kept"
    for row in kept.counted().values():
        was = PERMANENT[row["prompt_name"]][1]
        assert_row(row, None if was in MENDED_BY_ASKING_AGAIN else was, 1)
    left = {kind: n for kind, n in kinds.items()
            if judged_awake(kind) not in MENDED_BY_ASKING_AGAIN}  # fmt: skip
    assert kept.summary()["failures"] == left
    assert json.loads(done.stdout)["success"] == len(NAMES) - sum(left.values())


def test_faults_that_pass_cost_a_retry_where_one_helps(faulty, endpoint, tmp_path):
    endpoint.permanent = False

    _, kept = make(faulty, tmp_path, *NEW)

    rows = {row["prompt_name"]: row for row in kept.results()}
    assert len(kept.results()) == len(NAMES)
    for name, (_, failure_type) in PERMANENT.items():
        helped = failure_type in MENDED_BY_ASKING_AGAIN
        assert_row(rows[name], None if helped else failure_type, 2 if helped else 1)
        retries = [event for event in kept.artifact(rows[name]).trace
                   if getattr(event, "name", None) == "retry_scheduled"]  # fmt: skip
        mended = [judged_awake(event.detail["failure_type"]) for event in retries]
        # without a byte on a connection used before, it is sent again at once, without a wait
        is_resent = helped and mended == [] and failure_type == "stream_interrupted"
        assert is_resent or mended == [failure_type] * helped
    assert len(endpoint.requests) == len(NAMES) + N_RETRIED


N_USUAL = 500


def usual_fault(prompt):
    """Return what goes wrong with a prompt's first request, by its hash: 8 % of them."""
    share = int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 100
    kinds = ["429"] * 3 + ["500"] * 2 + ["reset before", "reset in"] + ["truncated"]
    return kinds[share] if share < len(kinds) else None


def test_the_usual_faults_lose_and_double_nothing(project, endpoint, tmp_path):
    prompts = [f"Prompt {number}" for number in range(N_USUAL)]
    project.prompts("usual.json", [
        {"id": f"u{number}", "name": prompt, "prompt": prompt,
         "validator": {"type": "exact", "value": prompt}}
        for number, prompt in enumerate(prompts)
    ])  # fmt: skip
    model = {"model_id": "m", "provider": "ollama_openai", "warmup": 0, "requested_model": "r",
             "base_url": endpoint.base_url}  # fmt: skip
    project.suite(models=[model], prompt_lists=["usual.json"])
    project.profile(execution_policy={"max_concurrency": 16})
    seen, lock = set(), threading.Lock()

    def script(wire, request):
        prompt = request.body["messages"][0]["content"]
        with lock:
            first = prompt not in seen
            seen.add(prompt)
        match usual_fault(prompt) if first else None:
            case "429":
                wire.answer({"error": "slow down"}, status=429, headers=["Retry-After: 1"])
            case "500":
                wire.answer(b"oops", status=500)
            case "reset before":
                wire.reset()
            case "reset in":
                wire.open_stream()
                wire.send(sse(chunk("half an an"), end=False))
                wire.sleep(0.02)
                wire.reset()
            case "truncated":
                wire.answer(b'{"model": "served-m", "choices": [{"mess')
            case None:
                wire.stream(stream_of(prompt))

    endpoint.script = script

    done, kept = make(project, tmp_path, *NEW)

    faults = collections.Counter(map(usual_fault, prompts))
    assert done.returncode == 1
    assert [trial[1] for trial in kept.planned()] == [f"u{number}" for number in range(N_USUAL)]
    assert len(kept.results()) == len(kept.counted()) == N_USUAL
    for row in kept.results():
        fault = usual_fault(row["prompt_name"])
        attempts = 1 if fault in {None, "truncated"} else 2
        assert_row(row, "invalid_response" if fault == "truncated" else None, attempts)
    asked = collections.Counter(one.body["messages"][0]["content"] for one in endpoint.requests)
    assert max(asked.values()) == 2
    assert len(endpoint.requests) == N_USUAL + sum(
        n for fault, n in faults.items() if fault not in {None, "truncated"}
    )
    assert len(endpoint.requests) <= 1.12 * N_USUAL
    assert kept.summary()["failures"] == {"invalid_response": faults["truncated"]}
    assert kept.summary()["n_success"] == N_USUAL - faults["truncated"]
    wait_for(lambda: not connections_to(endpoint.port))
