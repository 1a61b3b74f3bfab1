"""Runs a case as one conversation with a model: its messages in, tools between, a text out."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import key_of
from collect.config.resolved import WireMessage
from collect.limits import Slot, with_retries
from collect.providers import provider_of
from collect.providers.base import NOT_READ, Outcome, Prepared, Reply, Request
from collect.runners.base import (
    Execution,
    RunnerContext,
    number_of,
    request_of,
    retries_of,
    unsent_execution,
)
from collect.runners.loop_clock import boot_clock_s
from collect.runners.tools.calls import ParsedCall
from collect.runners.tools.conversation import ToolConversation, schemas_of
from collect.runners.trace import Trace
from collect.runners.turns import note_reply, summed, turn_facts, with_tools, workspace_of
from schemas.run.config import PlannedTrial
from schemas.run.trace import now_ms

WARM_UP_MESSAGE: WireMessage = {"role": "user", "content": "Hello"}
CONVERSATION = frozenset({"messages", "input"})
"""What the APIs call the messages."""

KEYLESS = "api_key_missing"

WARM_UP_TIMEOUT_S = 600.0
"""Loading a large model from a slow disk takes minutes."""

MAX_LAG_SHARE = 0.1
"""Of the time that ran out: above it a time-out is the collector's own."""

STOPPED_S = 1.0
"""A loop that stands still this long was stopped: its stamps do not say when bytes arrived."""

STOOD_STILL = (
    "the collector stood still (stopped, asleep or overloaded): answers that were on their way "
    "have no times, and time-outs of that moment are asked again"
)


class LlmProbe:
    """Asks one model; holds its connections for the whole run."""

    def __init__(self, model: ResolvedModel, context: RunnerContext) -> None:
        key = key_of(model)
        self._model = model
        self._clock = context.clock
        self._run_dir = context.run_dir
        self._toolbox = context.toolbox
        is_keyless = model.key_required and model.api_key_env and not key
        self._keyless = f"environment variable {model.api_key_env} is not set" if is_keyless else ""
        self._provider = provider_of(model, key or None, context.completions)
        self._stood_still = self._said_stood_still = False

    async def aclose(self) -> None:
        """Close the provider's connections."""
        await self._provider.aclose()

    async def run(self, trial: PlannedTrial, case: LoadedCase, slot: Slot) -> Execution:
        """Send the case's messages, carry out what the model calls, and return what came back."""
        if self._keyless:
            return unsent_execution(trial, case, KEYLESS, self._keyless, KEYLESS)
        trace = Trace()
        for message in case.messages:
            trace.message(message["role"], message["content"], message.get("name"))
        request = self._request(trial, case)
        tools = self._tools(case, trace)
        prepared = self._provider.prepare(request)
        body = prepared.body
        replies: list[Reply] = []
        workspace, attempts = None, 0
        started_at_ms, began = now_ms(), time.perf_counter()
        try:
            while True:
                reply, made = await with_retries(
                    partial(self._ask, prepared), slot, retries_of(self._model, case), trace.retry
                )
                attempts += made
                replies.append(reply)
                note_reply(trace, reply, {} if tools is None else turn_facts(reply, self._model))
                if reply.text:
                    trace.message("assistant", reply.text)
                calls = _note_calls(trace, reply) if tools is None else tools.parsed(reply)
                is_over = request.withholds_tools or request.tool_choice == "none"
                if tools is None or not calls or is_over or reply.failure_type:
                    break
                request = await tools.next_request(request, reply, calls)
                if tools.outage is not None:
                    break
                prepared = self._provider.prepare(request)
        except BaseException:  # the trial is not recorded, and leaves nothing
            if tools is not None:
                await tools.drop()
            raise
        if tools is not None:
            workspace = await tools.leave(self._run_dir / workspace_of(trial))
        ended_at_ms, wall = now_ms(), time.perf_counter() - began
        reply = replies[0] if len(replies) == 1 else summed(replies)
        if tools is not None:
            reply = with_tools(reply, tools, request)
        if self._stood_still and not self._said_stood_still:
            self._said_stood_still = True
            reply = replace(reply, notes=(*reply.notes, STOOD_STILL))
        trace.final_output(reply.text)
        return Execution(
            trial=trial,
            case=case,
            outcome=reply,
            attempt_count=attempts,
            started_at_ms=started_at_ms,
            ended_at_ms=max(started_at_ms, ended_at_ms),
            wall_ms=round(wall * 1000),
            # the messages are the trace's first events
            request={name: value for name, value in body.items() if name not in CONVERSATION},
            trace=trace.events,
            clock_late_ms=self._clock.worst_since(began),
            turns=None if tools is None else len(replies),
            tool_ms=None if tools is None else tools.tool_ms,
            workspace=None if workspace is None else str(workspace.relative_to(self._run_dir)),
        )

    def _tools(self, case: LoadedCase, trace: Trace) -> ToolConversation | None:
        """Return what carries out the calls of a trial; None where its case offers no tools."""
        if not case.context.llm_probe.tools:
            return None
        turns = self._model.setting("max_turns", case)
        max_turns = turns if isinstance(turns, int) else 1
        return ToolConversation(self._toolbox, case, max_turns, trace)

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
        began, since = time.perf_counter(), boot_clock_s()
        reply = await self._provider.ask(prepared)
        stood_s = self._clock.stood_still_since(began)
        excused = without_our_own(reply, stood_s, boot_clock_s() - since)
        self._stood_still |= excused is not reply
        return excused

    def _request(self, trial: PlannedTrial, case: LoadedCase) -> Request:
        probe, timeout_s = case.context.llm_probe, number_of(self._model, case, "timeout_seconds")
        return replace(
            request_of(self._model, case, trial.repetition, timeout_s=timeout_s or 30.0),
            tools=schemas_of(case) if probe.tools else (),
            tool_choice=probe.tool_choice,
        )


def without_our_own(reply: Reply, stood_s: float, took_s: float) -> Reply:
    """Return a reply without what the collector did to it by standing still.

    Args:
        reply: what came of a request.
        stood_s: for how long the event loop stood still meanwhile.
        took_s: how long the request took, sleep of the machine included.
    """
    if stood_s <= MAX_LAG_SHARE * took_s:
        return reply
    if reply.failure_type == "timeout" or reply.error_code == NOT_READ:
        message = f"{reply.error_message}; the collector itself stood still for {stood_s:.1f} s"
        return reply.failed("collector_late", error_code="collector_late", error_message=message)
    if stood_s >= STOPPED_S and reply.e2e_ms is not None:
        return replace(reply, e2e_ms=None, ttft_ms=None)
    return reply


def _note_calls(trace: Trace, reply: Reply) -> list[ParsedCall]:
    """Note the calls of an answer to which no tools were offered; none is carried out."""
    for call in reply.tool_calls:
        trace.tool_call(call.call_id, call.name, call.arguments)
    return []
