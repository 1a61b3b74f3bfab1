"""What an answer of the Claude Code CLI took, in our terms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import JsonValue

from collect.providers.base import Usage
from collect.providers.http_reply import count_of

OF_MODELS = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
OF_MESSAGE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
"""Names of the same four counts in both places."""


def usage_of(models: Any, message: dict[str, JsonValue]) -> Usage:
    """Return the tokens of an answer.

    Args:
        models: `modelUsage` of the CLI's result: all that it spent, by model, helpers too.
        message: `usage` of the message's own events, for an answer that has no such result.
    """
    if isinstance(models, dict) and models:
        counts = [one for one in models.values() if isinstance(one, dict)]
        return _summed(counts, OF_MODELS, models, "model_usage")
    return _summed([message], OF_MESSAGE, message, "usage") if message else Usage()


def _summed(
    counts: list[dict[str, JsonValue]], names: tuple[str, ...], raw: JsonValue, source: str
) -> Usage:
    """Return sums; the API leaves cached tokens out of its input tokens, we count them in."""

    def total(name: str) -> int | None:
        return _sum(count_of(one, name) for one in counts)

    fresh, read, written, output = (total(name) for name in names)
    return Usage(
        input_tokens=None if fresh is None else _sum((fresh, read, written)),
        output_tokens=output,
        cached_input_tokens=read,
        cache_write_tokens=written,
        raw=raw,
        source=source,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
