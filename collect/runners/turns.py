"""What the turns of one trial come to: one outcome, whose numbers are sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.providers.base import Reply, Request, Usage
from collect.runners.tools.conversation import ToolConversation
from collect.runners.trace import Trace
from schemas.config.prices import NANO
from schemas.run.config import PlannedTrial
from schemas.run.layout import WORKSPACES


def workspace_of(trial: PlannedTrial) -> Path:
    """Return where the files of a trial are kept, below the run's folder."""
    return Path(WORKSPACES, trial.model_id, trial.case_id, str(trial.repetition))


COUNTED = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)
"""Token counts of one answer."""


def turn_facts(reply: Reply, model: ResolvedModel) -> dict[str, JsonValue]:
    """Return what the trace keeps of one request of several: who served it, tokens and cost."""
    counts: dict[str, JsonValue] = {
        name: count for name in COUNTED if (count := getattr(reply.usage, name)) is not None
    }
    facts: dict[str, JsonValue] = {"served_model": reply.served_model}
    if counts:
        facts["usage"] = {**counts, "usage_cached": "inside", "usage_counts": "delta"}
    nano = reply.usage.cost_nano_usd(model.price)
    if reply.cost_usd is not None:
        facts |= {"cost_usd": reply.cost_usd, "cost_source": "provider"}
    elif nano is not None:
        facts |= {"cost_usd": nano / NANO, "cost_source": "computed"}
    return facts


def note_reply(trace: Trace, reply: Reply, facts: dict[str, JsonValue]) -> None:
    """Note how a request ended, with `facts` of one of several."""
    detail: dict[str, JsonValue] = {
        "http_status": reply.http_status,
        "e2e_ms": reply.e2e_ms,
        "ttft_ms": reply.ttft_ms,
        "finish_reason": reply.finish_reason,
        **facts,
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


def summed(replies: Sequence[Reply]) -> Reply:
    """Return the last answer, with the tokens, cost and time of all requests.

    A sum of which one part is unknown is unknown; a request that failed without a count of its
    tokens had none that anybody could tell of. `ttft_ms` is the first answer's (D-A8).
    """
    last = replies[-1]
    counted = [
        one.usage for one in replies if one.failure_type is None or one.usage.source is not None
    ]
    priced = [
        one.cost_usd for one in replies if one.failure_type is None or one.cost_usd is not None
    ]
    sent = _sum(one.input_tokens for one in counted)
    got = _sum(one.output_tokens for one in counted)
    sources = [one.source for one in counted if one.source is not None]
    usage = Usage(
        input_tokens=sent,
        output_tokens=got,
        reasoning_tokens=_sum(one.reasoning_tokens for one in counted),
        cached_input_tokens=_sum(one.cached_input_tokens for one in counted),
        cache_write_tokens=_sum(one.cache_write_tokens for one in counted),
        raw=[one.raw for one in counted],
        source=None if sent is None and got is None else sources[0],
    )
    return replace(
        last,
        usage=usage,
        cost_usd=None
        if any(one is None for one in priced) or not priced
        else sum(filter(None, priced)),
        e2e_ms=_sum(one.e2e_ms for one in replies),
        ttft_ms=replies[0].ttft_ms,
        notes=tuple(dict.fromkeys(note for one in replies for note in one.notes)),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Return a sum; None when one of the numbers, or every one, is missing."""
    known = list(numbers)
    whole = [one for one in known if one is not None]
    return sum(whole) if whole and len(whole) == len(known) else None


def with_tools(reply: Reply, tools: ToolConversation, request: Request) -> Reply:
    """Return the outcome of a trial with tools: all its calls, and what kept it from a text.

    Args:
        reply: of all requests.
        tools: of the trial.
        request: the last one.
    """
    reply = replace(reply, tool_calls=tuple(tools.calls))
    if tools.outage is not None:
        return reply.failed(
            "tool_unavailable", error_code="tool_unavailable", error_message=tools.outage
        )
    if reply.text.strip() or reply.failure_type not in (None, "empty_response"):
        return reply
    if request.tool_choice == "none" and reply.tool_calls:
        return reply.failed(
            "tool_calls_not_supported",
            error_code="tool_choice_none",
            error_message="calls of tools and no text, though `tool_choice` is none",
        )
    if request.withholds_tools:
        return reply.failed(
            "max_turns_exceeded",
            error_code="max_turns",
            error_message=f"no text after {tools.turns} turns with tools, and none when only a "
            "text was asked for",
        )
    return reply
