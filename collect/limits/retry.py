"""Whether and when a failed request is made again."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from collect.limits.concurrency import MAX_HOLD_S, Slot
from collect.providers.base import Reply

BACKOFF_S = 0.2
"""First wait; each further one is three times as long, with jitter of half of it either way."""

MAX_BACKOFF_S = 30.0


def wait_before(attempt: int, reply: Reply) -> float | None:
    """Return the seconds to wait after a failed attempt, or None when repeating is no use.

    Args:
        attempt: number of the attempt that failed, from 1.
        reply: how it failed; a Retry-After of the server is honoured to the letter.
    """
    if reply.failure is None or not reply.failure.retryable:
        return None
    if reply.retry_after_s is not None:
        return None if reply.retry_after_s > MAX_HOLD_S else reply.retry_after_s
    longest: float = min(MAX_BACKOFF_S, BACKOFF_S * 3 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.5)  # noqa: S311 - jitter, not a secret


async def with_retries(
    ask: Callable[[], Awaitable[Reply]],
    slot: Slot,
    retries: int,
    on_retry: Callable[[int, Reply, float], None],
) -> tuple[Reply, int]:
    """Ask until a reply is usable or not worth repeating; return it and the requests made.

    Args:
        ask: makes one request.
        slot: of the trial; given up while it waits.
        retries: repeats allowed after the first request.
        on_retry: told (attempt, its reply, seconds of the wait) before each wait.
    """
    attempt, requests = 1, 0
    while True:
        await slot.before_request()
        reply = await ask()
        requests += reply.requests
        slot.learn(reply)
        wait = wait_before(attempt, reply) if attempt <= retries else None
        if wait is None:
            return reply, requests
        on_retry(attempt, reply, wait)
        await slot.back_off(wait)
        attempt += 1
