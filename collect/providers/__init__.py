"""How models are asked: one request in, one reply out."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from collect.config import ResolvedModel
from collect.http_client.pool import CompletionQueue
from collect.providers.base import Provider, ask_keyless

PROVIDERS: Mapping[str, str] = {
    "ollama_openai": "openai_chat:ChatCompletions",
    "openai_chat": "openai_chat:ChatCompletions",
    "openai_responses": "openai_responses:OpenAIResponses",
    "openrouter": "openrouter:OpenRouter",
    "claude_code_cli": "claude_code.provider:ClaudeCode",
    "embedded": "openai_chat:ChatCompletions",
}
"""Transport to what speaks it, loaded where a model wants it; a new one is a file and a line."""


def provider_of(
    model: ResolvedModel, api_key: str | None, completions: CompletionQueue | None
) -> Provider:
    """Return what asks a model; nothing is opened yet.

    Raises:
        ConfigError: the address or the proxy that the environment names cannot be used.
    """
    module, _, name = PROVIDERS[model.provider].partition(":")
    made: Provider = getattr(import_module(f"{__name__}.{module}"), name)(
        model, api_key, completions
    )
    return made


__all__ = ["PROVIDERS", "Provider", "ask_keyless", "provider_of"]
