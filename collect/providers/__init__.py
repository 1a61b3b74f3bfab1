"""How models are asked: one request in, one reply out."""

from __future__ import annotations

from collect.config import ResolvedModel
from collect.config.endpoints import PROVIDERS
from collect.http_client.pool import CompletionQueue
from collect.providers.base import Provider
from schemas.registry import load_object


def provider_of(
    model: ResolvedModel, api_key: str | None, completions: CompletionQueue | None
) -> Provider:
    """Return what asks a model; nothing is opened yet.

    Raises:
        ConfigError: the address or the proxy that the environment names cannot be used.
    """
    made: Provider = load_object(PROVIDERS[model.provider].opens)(model, api_key, completions)
    return made


__all__ = ["Provider", "provider_of"]
