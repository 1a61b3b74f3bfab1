"""POST {base_url}/chat/completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pydantic import JsonValue

from collect.config.resolved import as_json
from collect.http_client import Exchange
from collect.providers.base import Reply, Request
from collect.providers.http import OverHttp
from collect.providers.openai_chat_parse import END, read_stream, read_whole


class ChatCompletions(OverHttp):
    """One model behind an OpenAI-compatible server."""

    path: ClassVar[str] = "/chat/completions"
    end: ClassVar[re.Pattern[bytes] | None] = END

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return a chat completion's body."""
        body: dict[str, JsonValue] = {
            "model": self.model.model,
            "messages": [as_json(message) for message in request.messages],
        }
        settings = (
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("max_tokens", request.max_tokens),
            ("seed", request.seed),
            ("reasoning_effort", self.model.thinking_level),
        )
        body.update({name: value for name, value in settings if value is not None})
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return body

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of chunks says."""
        return read_stream(exchange)

    def read_whole(self, data: Any) -> Reply:
        """Return what one completion says."""
        return read_whole(data)
