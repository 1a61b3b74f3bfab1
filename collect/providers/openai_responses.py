"""POST {base_url}/responses: OpenAI's newer API, which llama.cpp, vLLM and others speak too.

The conversation is sent whole and nothing is left with the server: `store` is false. There is no
seed and no name of who says a message; the configuration refuses what cannot be sent.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pydantic import JsonValue

from collect.http_client import Exchange
from collect.providers.base import Prepared, Reply, Request
from collect.providers.http import OverHttp
from collect.providers.openai_responses_parse import judged, read_stream, read_whole


class OpenAIResponses(OverHttp):
    """One model behind a server that speaks the Responses API."""

    path: ClassVar[str] = "/responses"
    end: ClassVar[re.Pattern[bytes] | None] = None  # the last event holds the whole answer again

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return the body of a response; a system message stays where it is in the input.

        Each message says its type, without which llama.cpp refuses an assistant's.
        """
        body: dict[str, JsonValue] = {
            "model": self.model.model,
            "input": [
                {"type": "message", "role": message["role"], "content": message["content"]}
                for message in request.messages
            ],
        }
        level = self.model.thinking_level
        settings: tuple[tuple[str, JsonValue], ...] = (
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("max_output_tokens", request.max_tokens),
            ("reasoning", None if level is None else {"effort": level}),
        )
        body.update({name: value for name, value in settings if value is not None})
        body["store"] = False
        body["stream"] = stream
        return body

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of events says."""
        return read_stream(exchange)

    def read_whole(self, data: Any) -> Reply:
        """Return what one response object says."""
        return read_whole(data)

    async def _ask(self, prepared: Prepared) -> Reply:
        return judged(await super()._ask(prepared), prepared.body.get("max_output_tokens"))
