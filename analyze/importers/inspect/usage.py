"""Tokens of models as ours: what came from a cache, or went into it, is part of the input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from analyze.importers.inspect.values import Json, usd, whole


class Tokens(NamedTuple):
    """Of one answer or of many; null: not said."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


def tokens_of(usage: Json) -> Tokens:
    """Return the tokens of one usage.

    The tool counts cached ones beside the input; logs of some providers had them inside it, which
    the total tells.
    """
    input_tokens, output = whole(usage.get("input_tokens")), whole(usage.get("output_tokens"))
    read = whole(usage.get("input_tokens_cache_read"))
    written = whole(usage.get("input_tokens_cache_write"))
    every = input_tokens
    if input_tokens is not None:
        cached_tokens = (read or 0) + (written or 0)
        total = whole(usage.get("total_tokens"))
        is_inside = (
            total is not None
            and total == input_tokens + (output or 0)
            and cached_tokens <= input_tokens
        )
        every = input_tokens if is_inside else input_tokens + cached_tokens
    return Tokens(every, read, written, output, whole(usage.get("reasoning_tokens")))


def sum_of(usages: Iterable[Json]) -> tuple[Tokens, float | None]:
    """Return the tokens and the cost of several models together, as far as each is said."""
    tokens, costs = [], []
    for usage in usages:
        tokens.append(tokens_of(usage))
        if (cost := usd(usage.get("total_cost"))) is not None:
            costs.append(cost)
    if len(tokens) == 1:
        return tokens[0], costs[0] if costs else None
    sums = (_sum(one) for one in zip(*tokens, strict=True))
    return Tokens(*sums), sum(costs) if costs else None


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if known else None
