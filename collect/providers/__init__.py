"""How models are asked: one request in, one reply out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collect.config import ResolvedModel
from collect.providers.base import Provider, ask_keyless
from collect.providers.chat_completions import ChatCompletions
from collect.turns import Turns

PROVIDERS: Mapping[str, Callable[[ResolvedModel, str | None, Turns], Provider]] = {
    "ollama_openai": ChatCompletions,
    "openai_chat": ChatCompletions,
}
"""Transport to what speaks it; a new one is a file and a line here."""

__all__ = ["PROVIDERS", "Provider", "ask_keyless"]
