"""Whether a model behind OpenRouter is always served by the same upstream.

Upstreams serve one name with other weights, quantisations and limits: a score that was served by
several of them is a mixture, and a change of the mixture looks like a regression.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from schemas.config.suite import Routing

ROUTING_OPTIONS = ("provider", "models", "route", "plugins", "transforms")
"""Parts of a request body that say who serves it, or change it on the way."""

PINNED = "`request_options: {provider: {only: [NAME]}}` pins it"


def routing_of(model: str, options: Mapping[str, JsonValue]) -> Routing:
    """Return `pinned` when exactly one upstream may serve a model.

    Args:
        model: as requested; `openrouter/auto` and names with a variant choose by themselves.
        options: the model's request options.
    """
    if model.startswith("openrouter/"):
        return "unpinned"
    prefers = options.get("provider")
    if not isinstance(prefers, dict):
        return "unpinned"
    only, order = prefers.get("only"), prefers.get("order")
    if isinstance(only, list) and len(only) == 1:
        return "pinned"
    fixed = prefers.get("allow_fallbacks") is False
    return "pinned" if fixed and isinstance(order, list) and len(order) == 1 else "unpinned"
