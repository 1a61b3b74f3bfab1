"""A collector that was itself stopped: no answer is lost to it, and no time-out is the model's."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from collect.http_client import Deadline, Exchange
from collect.http_client.connection import MAX_PASSES
from collect.providers.base import NOT_READ, Reply
from collect.runners.chat import without_our_own
from collect.runners.loop_clock import LoopClock
from tests.support.kept_run import Kept, wait_for

STOPPED_S = 2.5
"""More than twice the time limit of a request."""


def stopped_in_flight(project, endpoint, runs, n_in_flight):
    """Run the command, stop it once so many requests are there, and let it go on later."""
    command = [sys.executable, "-P", "-m", "collect", "run", "--suite", "s", "--run-profile", "p"]
    process = subprocess.Popen(
        [*command, "--runs", str(runs), "--run-id", "r", "--json"],
        cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(lambda: len(endpoint.requests) >= n_in_flight)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(process.pid, signal.SIGCONT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in errors, errors
    return json.loads(out), Kept(runs / "r")


def test_answers_of_a_stopped_collector_are_answers_and_its_time_outs_are_its_own(
    project, endpoint, answers, tmp_path
):
    names = ["fine0", "fine1", "fine2", "whole", "late"]
    for name in names:
        project.case(name, validator={"type": "exact", "value": "ok"})
    project.model(base_url=endpoint.base_url)
    project.profile(
        execution_policy={"max_concurrency": len(names)},
        runner_defaults={"timeout_seconds": 1, "retries": 1},
    )
    seen = set()

    def script(wire, request):
        prompt = request.body["messages"][0]["content"]
        first = prompt not in seen
        seen.add(prompt)
        if first and "late" in prompt:
            wire.sleep(30)  # no answer to the first request: asked again
        wire.sleep(0.4 if first else 0)
        if "whole" in prompt:
            wire.answer(answers.whole("ok"))
        else:
            wire.stream(answers.stream_of("ok"))

    endpoint.script = script

    report, kept = stopped_in_flight(project, endpoint, tmp_path / "runs", len(names))

    assert (report["exit_code"], report["passed"], report["n_open"]) == (0, len(names), 0)
    rows = {row["case_id"]: row for row in kept.results()}
    assert len(kept.results()) == len(names)
    for name in names[:-1]:
        row = rows[name]
        assert (row["failure_type"], row["attempt_count"]) == (None, 1), name
        assert row["clock_late_ms"] > 1_000 * (STOPPED_S - 1)
        assert (row["e2e_ms"], row["ttft_ms"]) == (None, None), "nobody knows when its bytes came"
    assert rows["late"]["attempt_count"] == 2
    assert rows["late"]["e2e_ms"] < 1_000, "of the attempt that was not disturbed"
    trace = kept.artifact(rows["late"]).trace
    (retry,) = [one for one in trace if getattr(one, "name", None) == "retry_scheduled"]
    assert retry.detail["failure_type"] == "collector_late"
    assert "the collector itself stood still for" in retry.detail["error_message"]
    notes = [event["detail"] for event in kept.events("provider_note")]
    assert sum("the collector stood still" in note for note in notes) == 1


def after_a_stop(n_passes):
    """Return how much of an answer is read that takes so many passes of a loop that comes late."""

    async def go():
        loop, exchange = asyncio.get_running_loop(), Exchange()
        exchange.begin(200, {})
        done = loop.create_future()

        def read():
            exchange.add(loop.time(), b"x")
            if exchange.size < n_passes:
                loop.call_soon(read)
            elif not done.done():
                done.set_result(None)

        try:
            async with Deadline(0.01, exchange):
                loop.call_soon(time.sleep, 0.05)
                loop.call_later(0.02, read)
                await done
        except TimeoutError:
            return None
        return exchange.size

    return asyncio.run(go())


def test_a_deadline_waits_for_what_has_arrived_and_for_nothing_else():
    assert after_a_stop(40) == 40
    assert after_a_stop(10 * MAX_PASSES) is None


LATE = Reply(failure_type="timeout", error_message="no complete answer within 10 s")


@pytest.mark.parametrize(
    ("reply", "stood_s", "failure_type"),
    [
        (LATE, 0.99, "timeout"),
        (LATE, 1.01, "collector_late"),
        (LATE.failed("cli_error", error_code=NOT_READ), 1.01, "collector_late"),
        (LATE.failed("cli_error"), 9, "cli_error"),
        (LATE.failed("http_500"), 9, "http_500"),
    ],
)
def test_a_time_out_is_the_collectors_own_above_a_tenth_of_it(reply, stood_s, failure_type):
    outcome = without_our_own(reply, stood_s, 10.0)

    assert outcome.failure_type == failure_type
    if failure_type == "collector_late":
        assert (outcome.failure.cause, outcome.failure.retryable) == ("harness", True)
        assert not outcome.failure.counts_against_model


def test_a_busy_loop_costs_no_latency_and_a_stopped_one_does():
    answer = Reply(text="ok", e2e_ms=3_000, ttft_ms=2_500)

    assert without_our_own(answer, 0.9, 3.0) == answer
    assert without_our_own(answer, 1.1, 30.0) == answer, "less than a tenth of it"
    assert without_our_own(answer, 1.1, 3.0).e2e_ms is None


def test_what_is_shorter_than_a_tick_is_no_standing_still(monkeypatch):
    clock = LoopClock()
    monkeypatch.setattr(clock, "_at", [1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(clock, "_late", [0.5, 0.049, 0.3, 0.2])

    assert clock.stood_still_since(1.5) == 0.5
    assert clock.worst_since(1.5) == 300
