"""The turns of a trial that offers tools: calls in, results out, and a last request for a text.

A case has `max_turns` turns (D-E6): each is a request, and the calls of its answer, carried out in
their order. Then one more request asks for the text alone.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
from pydantic import JsonValue

from collect.checks.declarative import named_outside
from collect.config import LoadedCase
from collect.config.resolved import WireMessage
from collect.config.tools import TOOLS
from collect.providers.base import Reply, Request, ToolCall, ToolSchema
from collect.runners.tools.base import ToolContext, shown_text, stored_output
from collect.runners.tools.calls import MAX_CALLS_PER_TURN, ParsedCall, parsed_calls
from collect.runners.tools.toolbox import Toolbox
from collect.runners.trace import Trace
from collect.sandbox.base import SandboxError
from collect.workspace.record import free_folder

FACTS = ("exit_code", "ended_by", "cpu_ms", "peak_memory_bytes", "oom_kills", "throttled_ms")
"""What the trace takes of a tool's facts; a reader of traces refuses what it does not know."""

TOO_MANY = "only the first {most} calls of an answer are carried out"

ALWAYS = frozenset({"auto", "none"})
"""Choices that hold for every request; what must be called is called in the first."""


def schemas_of(case: LoadedCase) -> tuple[ToolSchema, ...]:
    """Return the tools of a case as its model is told of them."""
    return tuple(
        ToolSchema(name, TOOLS[name].description, TOOLS[name].parameters)
        for name in case.context.llm_probe.tools
    )


class ToolConversation:
    """What the tools of one trial do.

    Args:
        toolbox: of the run.
        case: that is asked.
        max_turns: requests that offer the tools.
        trace: of the trial.
    """

    def __init__(self, toolbox: Toolbox, case: LoadedCase, max_turns: int, trace: Trace) -> None:
        self._toolbox = toolbox
        self._named = named_outside(case.checks)
        self._offered = case.context.llm_probe.tools
        self._context = ToolContext(network=case.context.llm_probe.network == "allow")
        self._max_turns = max_turns
        self._trace = trace
        self._ids: set[str] = set()
        self.turns = 0
        """Answers whose calls were carried out."""
        self.calls: list[ToolCall] = []
        """All calls so far."""
        self.tool_ms: int | None = None
        self.outage: str | None = None
        """Why a tool could do nothing, for no fault of the model's: the trial ends."""

    def parsed(self, reply: Reply) -> list[ParsedCall]:
        """Return the calls of an answer, which the trace takes."""
        parsed = parsed_calls(reply.tool_calls, self.turns + 1, self._ids)
        for call in parsed:
            facts: dict[str, JsonValue] = {"parsed_arguments": call.arguments}
            if call.repair is not None:
                facts["repair"] = call.repair
            self._trace.tool_call(call.call_id, call.name, call.raw, **facts)
            self.calls.append(ToolCall(call.call_id, call.name, call.raw))
        return parsed

    async def next_request(
        self, request: Request, reply: Reply, calls: Sequence[ParsedCall]
    ) -> Request:
        """Carry the calls of an answer out, and return the request that goes on from there."""
        said = WireMessage(
            role="assistant", content=reply.text, tool_calls=[call.wire for call in calls]
        )
        if reply.echo:
            said["echo"] = dict(reply.echo)
        results = [await self._answered(call, number) for number, call in enumerate(calls)]
        self.turns += 1
        choice = request.tool_choice if request.tool_choice in ALWAYS else "auto"
        is_last = self.turns >= self._max_turns
        if is_last:
            self._trace.runner("final_answer_forced", turns=self.turns)
        return replace(
            request,
            messages=(*request.messages, said, *results),
            tool_choice=choice,
            withholds_tools=is_last,
        )

    async def _answered(self, call: ParsedCall, number: int) -> WireMessage:
        """Return the message that answers a call; after an outage nothing more is done."""
        if number >= MAX_CALLS_PER_TURN:
            problem = TOO_MANY.format(most=MAX_CALLS_PER_TURN)
            call = replace(call, arguments=None, problem=problem)
        elif self.outage is not None:
            call = replace(call, arguments=None, problem="a tool before it could do nothing")
        result, took_ms = await self._toolbox.answer(call, self._offered, self._context)
        self.outage = self.outage or result.outage
        self.tool_ms = (self.tool_ms or 0) + took_ms
        shown, stored = shown_text(result), stored_output(result)
        is_whole = not result.is_cut and orjson.dumps(result.output).decode() in shown
        self._trace.tool_result(
            call.call_id,
            stored,
            is_error=result.is_error,
            duration_ms=took_ms,
            produced_bytes=result.produced_bytes,
            stored_bytes=len(orjson.dumps(stored)),
            shown_bytes=len(shown.encode()),
            truncated=not is_whole,
            **({} if is_whole else {"shown": shown}),
            **{name: one for name, one in result.facts.items() if name in FACTS},
        )
        return WireMessage(role="tool", content=shown, tool_call_id=call.call_id)

    async def leave(self, target: Path) -> Path | None:
        """Keep what the trial has left and let go of its folders; return where it is kept."""
        sandbox, folders = self._toolbox.services.sandbox, self._context.folders
        if sandbox is None or folders is None:
            return None
        kept = free_folder(target)
        try:
            record = await sandbox.keep(folders, kept, self._named)
        except OSError as exc:
            shutil.rmtree(kept, ignore_errors=True)
            self.outage = f"the files of the trial cannot be kept: {exc}"
            return None
        else:
            return None if record is None else kept
        finally:
            await self.drop()

    async def drop(self) -> None:
        """Let go of the folders of the trial."""
        sandbox, folders = self._toolbox.services.sandbox, self._context.folders
        if sandbox is not None and folders is not None:
            with contextlib.suppress(SandboxError):  # its helper is gone, and the folders with it
                await sandbox.remove(folders)
