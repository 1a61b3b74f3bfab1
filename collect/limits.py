"""How often a failed request is repeated, and how long to wait before it (decision E6)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from collect.providers.base import Reply

BACKOFF_S = 0.4
"""First wait; doubles with each attempt, with jitter between half and one and a half of it."""

LONGEST_BACKOFF_S = 30.0
LONGEST_RETRY_AFTER_S = 120.0
"""A server that asks for more is not worth holding a place in the queue for."""


def wait_before(attempt: int, reply: Reply) -> float | None:
    """Return the seconds to wait after a failed attempt, or None when repeating is no use.

    Args:
        attempt: number of the attempt that failed, from 1.
        reply: how it failed; a Retry-After of the server is honoured to the letter.
    """
    if reply.failure is None or not reply.failure.retryable:
        return None
    if reply.retry_after_s is not None:
        return None if reply.retry_after_s > LONGEST_RETRY_AFTER_S else reply.retry_after_s
    longest: float = min(LONGEST_BACKOFF_S, BACKOFF_S * 2 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.5)  # noqa: S311 - jitter, not a secret


async def with_retries(
    ask: Callable[[], Awaitable[Reply]],
    retries: int,
    on_retry: Callable[[int, Reply, float], None],
) -> tuple[Reply, int]:
    """Ask until a reply is usable or not worth repeating; return it and how often was asked.

    Args:
        ask: makes one request.
        retries: repeats allowed after the first request.
        on_retry: told (attempt, its reply, seconds of the wait) before each wait.
    """
    for attempt in range(1, retries + 1):
        reply = await ask()
        wait = wait_before(attempt, reply)
        if wait is None:
            return reply, attempt
        on_retry(attempt, reply, wait)
        await asyncio.sleep(wait)
    return await ask(), retries + 1
