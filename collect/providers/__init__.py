"""How models are asked: one request in, one reply out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collect.config import ResolvedModel
from collect.providers.base import Provider, ask_keyless
from collect.providers.chat_completions import ChatCompletions
from collect.providers.claude_code import ClaudeCode
from collect.providers.openrouter import OpenRouter
from collect.providers.responses import OpenAIResponses
from collect.turns import Turns

PROVIDERS: Mapping[str, Callable[[ResolvedModel, str | None, Turns], Provider]] = {
    "ollama_openai": ChatCompletions,
    "openai_chat": ChatCompletions,
    "openai_responses": OpenAIResponses,
    "openrouter": OpenRouter,
    "claude_code_cli": ClaudeCode,
}
"""Transport to what speaks it; a new one is a file and a line here."""

__all__ = ["PROVIDERS", "Provider", "ask_keyless"]
