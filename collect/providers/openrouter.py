"""POST https://openrouter.ai/api/v1/chat/completions: one API before many upstream providers.

It differs from other chat servers in how a thinking level is asked for, in who counts the tokens
(the tokenizer of the model itself) and in saying what an answer did cost. Usage comes with every
answer; `usage: {include: true}` is a thing of the past and is not sent. What `request_options`
hold (`provider`, `models`, `plugins`, ...) goes into the body as it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from collect.http_client import Exchange
from collect.providers.base import Reply, Request
from collect.providers.openai_chat import ChatCompletions, usd_of
from collect.providers.tool_wire import chat_tools


class OpenRouter(ChatCompletions):
    """One model behind OpenRouter."""

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return a chat completion's body with the thinking level where OpenRouter reads it."""
        body = super().body(request, stream=stream)
        if (level := body.pop("reasoning_effort", None)) is not None:
            body["reasoning"] = {"effort": level}
        return body

    def tools(self, request: Request) -> dict[str, JsonValue]:
        """Return the part of the body that offers tools.

        Withheld ones are named still: some upstreams refuse a conversation with calls of tools that
        the request does not name.
        """
        if request.withholds_tools:
            request = replace(request, tool_choice="none")
        return chat_tools(request)

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of chunks says."""
        return _billed(super().read_stream(exchange))

    def read_whole(self, data: Any) -> Reply:
        """Return what one completion says."""
        return _billed(super().read_whole(data))


def _billed(reply: Reply) -> Reply:
    """Return a reply with who counted its tokens and all that it did cost.

    With a key of the user's own (`is_byok`), `cost` is the router's fee alone and the upstream's
    bill comes on top; of one that is not told, the sum is unknown. Without such a key `cost` is
    the whole price, and the upstream's part of it must not be added.
    """
    usage = reply.usage
    if usage.source is None:
        return reply
    cost, raw = reply.cost_usd, usage.raw
    if cost is not None and isinstance(raw, dict) and raw.get("is_byok") is True:
        upstream = usd_of(raw.get("cost_details"), "upstream_inference_cost")
        cost = None if upstream is None else cost + upstream
    return replace(reply, usage=replace(usage, source="native"), cost_usd=cost)
