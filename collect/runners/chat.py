"""Runs a case as one conversation with a model: its messages in, the final text out.

`LoopClock` says how late the collector's own event loop is: latency that we may have made
ourselves. A tick every 50 ms says when it should have come and when it came. A trial during which a
tick was late has a latency that cannot be told from ours, and its row says by how much. A process
that was stopped, or a machine that slept, is late as well.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from dataclasses import fields, replace

from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import key_of
from collect.config.resolved import WireMessage
from collect.http_client.pool import CompletionQueue
from collect.limits import Place, with_retries
from collect.plan.fingerprint import seed_of
from collect.providers import provider_of
from collect.providers.base import NOT_READ, Outcome, Prepared, Reply, Request
from collect.runners.base import Execution, Trace, not_asked, now_ms
from schemas.run.config import PlannedTrial

TICK_S = 0.05
WORTH_NOTING_S = 0.001

WARM_UP_MESSAGE: WireMessage = {"role": "user", "content": "Hello"}
CONVERSATION = frozenset({"messages", "input"})
"""What the APIs call the messages."""

KEYLESS = "api_key_missing"

OUTCOME = tuple(field.name for field in fields(Outcome))
"""What a reply and its trial have in common."""

WARM_UP_TIMEOUT_S = 600.0
"""Loading a large model from a slow disk takes minutes."""

LATE_SHARE = 0.1
"""Of the time that ran out: above it a time-out is the collector's own."""

STOPPED_S = 1.0
"""A loop that stands still for so long was stopped: no stamp of that time says when bytes came."""

STOOD_STILL = (
    "the collector stood still (stopped, asleep or overloaded): answers that were on their way "
    "have no times, and time-outs of that moment are asked again"
)


def awake_or_not() -> float:
    """Return seconds of a clock that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_MONOTONIC"):  # on macOS it counts sleep, unlike perf_counter
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.perf_counter()


class LoopClock:
    """Notes late ticks while it runs."""

    def __init__(self) -> None:
        self._at: list[float] = []
        self._late: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LoopClock:
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _tick(self) -> None:
        while True:
            due = awake_or_not() + TICK_S
            await asyncio.sleep(TICK_S)
            late = awake_or_not() - due
            if late > WORTH_NOTING_S:
                self._at.append(time.perf_counter())
                self._late.append(late)

    def worst_since(self, began: float) -> int:
        """Return the worst lateness in whole ms since a moment of `time.perf_counter`."""
        return round(1000 * max(self._late[bisect_left(self._at, began) :], default=0.0))

    def stood_still_since(self, began: float) -> float:
        """Return for how many seconds the loop did nothing at all since such a moment.

        What is shorter than a tick is the usual lateness of a busy loop, and in none of it.
        """
        late = self._late[bisect_left(self._at, began) :]
        return sum(one for one in late if one >= TICK_S)


class LlmProbe:
    """Asks one model; holds its connections for the whole run."""

    def __init__(
        self, model: ResolvedModel, clock: LoopClock, completions: CompletionQueue
    ) -> None:
        key = key_of(model)
        self._model = model
        self._clock = clock
        is_keyless = model.key_required and model.api_key_env and not key
        self._keyless = f"environment variable {model.api_key_env} is not set" if is_keyless else ""
        self._provider = provider_of(model, key or None, completions)
        self._stood_still = self._said_stood_still = False

    async def aclose(self) -> None:
        """Close the provider's connections."""
        await self._provider.aclose()

    async def run(self, trial: PlannedTrial, case: LoadedCase, place: Place) -> Execution:
        """Send the case's messages and return what came back."""
        if self._keyless:
            return not_asked(trial, case, KEYLESS, self._keyless, KEYLESS)
        trace = Trace()
        for message in case.messages:
            trace.message(message["role"], message["content"], message.get("name"))
        prepared = self._provider.prepare(self._request(trial, case))
        started_at_ms, began = now_ms(), time.perf_counter()
        reply, attempts = await with_retries(
            lambda: self._ask(prepared), place, self._retries(case), trace.retry
        )
        ended_at_ms, wall = now_ms(), time.perf_counter() - began
        if self._stood_still and not self._said_stood_still:
            self._said_stood_still = True
            reply = replace(reply, notes=(*reply.notes, STOOD_STILL))
        _finish(trace, reply)
        body = prepared.body
        return Execution(
            **{name: getattr(reply, name) for name in OUTCOME},
            trial=trial,
            case=case,
            attempt_count=attempts,
            started_at_ms=started_at_ms,
            ended_at_ms=max(started_at_ms, ended_at_ms),
            wall_ms=round(wall * 1000),
            # the messages are the trace's first events
            request={name: value for name, value in body.items() if name not in CONVERSATION},
            trace=trace.events,
            clock_late_ms=self._clock.worst_since(began),
        )

    async def warm_up(self) -> Outcome:
        """Ask for one token, so that the server has loaded the model before the first trial."""
        if self._keyless:
            return Outcome(failure_type=KEYLESS, error_message=self._keyless)
        hello = Request(
            messages=(WARM_UP_MESSAGE,), timeout_s=WARM_UP_TIMEOUT_S, stream=False, max_tokens=1
        )
        return await self._provider.ask(self._provider.prepare(hello))

    async def _ask(self, prepared: Prepared) -> Reply:
        """Send one request, and tell what its model did from what the collector did to it."""
        began, since = time.perf_counter(), awake_or_not()
        reply = await self._provider.ask(prepared)
        stood_s = self._clock.stood_still_since(began)
        excused = without_our_own(reply, stood_s, awake_or_not() - since)
        self._stood_still |= excused is not reply
        return excused

    def _retries(self, case: LoadedCase) -> int:
        retries = self._model.setting("retries", case)
        return retries if isinstance(retries, int) else 0

    def _request(self, trial: PlannedTrial, case: LoadedCase) -> Request:
        def number(name: str) -> float | None:
            value = self._model.setting(name, case)
            return value if isinstance(value, int | float) else None

        max_tokens = number("max_tokens")
        return Request(
            messages=case.messages,
            timeout_s=number("timeout_seconds") or 30.0,
            stream=self._model.setting("stream", case) is not False,
            temperature=number("temperature"),
            top_p=number("top_p"),
            max_tokens=None if max_tokens is None else int(max_tokens),
            seed=seed_of(self._model, case, trial.repetition),
        )


def without_our_own(reply: Reply, stood_s: float, took_s: float) -> Reply:
    """Return a reply without what the collector did to it by standing still.

    Args:
        reply: what came of a request.
        stood_s: for how long the event loop stood still meanwhile.
        took_s: how long the request took, sleep of the machine included.
    """
    if stood_s <= LATE_SHARE * took_s:
        return reply
    if reply.failure_type == "timeout" or reply.error_code == NOT_READ:
        message = f"{reply.error_message}; the collector itself stood still for {stood_s:.1f} s"
        return reply.failed("collector_late", error_code="collector_late", error_message=message)
    if stood_s >= STOPPED_S and reply.e2e_ms is not None:
        return replace(reply, e2e_ms=None, ttft_ms=None)
    return reply


def _finish(trace: Trace, reply: Reply) -> None:
    """Note how the conversation ended."""
    detail: dict[str, JsonValue] = {
        "http_status": reply.http_status,
        "e2e_ms": reply.e2e_ms,
        "ttft_ms": reply.ttft_ms,
        "finish_reason": reply.finish_reason,
    }
    if reply.failure_type is not None:
        trace.runner(
            "provider_error",
            failure_type=reply.failure_type,
            error_message=reply.error_message,
            **detail,
        )
    else:
        trace.runner("provider_reply", **detail)
    if reply.reasoning:
        trace.message("assistant", reply.reasoning, name="reasoning")
    for call in reply.tool_calls:
        trace.tool_call(call.call_id, call.name, call.arguments)
    if reply.text:
        trace.message("assistant", reply.text)
    trace.final_output(reply.text)
