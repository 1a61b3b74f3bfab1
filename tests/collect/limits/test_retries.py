"""Repeating a failed request: when, how often, and after how long."""

import asyncio

import pytest

from collect.limits import wait_before, with_retries
from collect.providers.base import Reply


class NoWaits:
    """A place at a gate that only remembers how long it was given up."""

    def __init__(self):
        self.waits = []

    async def before_request(self): ...

    def learn(self, reply): ...

    async def back_off(self, seconds):
        self.waits.append(seconds)


def run_with(replies, retries):
    """Run over scripted replies; return (reply, attempts, waits)."""
    place = NoWaits()

    async def ask():
        return replies.pop(0)

    reply, attempts = asyncio.run(with_retries(ask, place, retries, lambda *_: None))
    return reply, attempts, place.waits


def test_a_good_reply_is_asked_for_once():
    _, attempts, waits = run_with([Reply(text="x")], 5)

    assert (attempts, waits) == (1, [])


def test_a_transient_failure_is_repeated_until_it_is_over():
    replies = [Reply(failure_type="http_500"), Reply(failure_type="timeout"), Reply(text="x")]

    reply, attempts, waits = run_with(replies, 5)

    assert (reply.text, attempts, len(waits)) == ("x", 3, 2)


def test_retries_are_counted():
    reply, attempts, waits = run_with([Reply(failure_type="http_429")] * 9, 2)

    assert (reply.failure_type, attempts, len(waits)) == ("http_429", 3, 2)


@pytest.mark.parametrize(
    "failure_type", ["http_400", "http_401", "http_404", "empty_response", "invalid_response"]
)
def test_what_no_repetition_mends_is_not_repeated(failure_type):
    _, attempts, waits = run_with([Reply(failure_type=failure_type)], 5)

    assert (attempts, waits) == (1, [])


def test_retry_after_is_honoured_to_the_letter():
    assert wait_before(1, Reply(failure_type="http_429", retry_after_s=7.0)) == 7.0
    assert wait_before(9, Reply(failure_type="http_503", retry_after_s=0.0)) == 0.0


def test_a_server_that_asks_for_hours_is_not_waited_for():
    assert wait_before(1, Reply(failure_type="http_429", retry_after_s=3600.0)) is None


@pytest.mark.parametrize("attempt", [1, 2, 3, 9])
def test_waits_grow_threefold_with_jitter_up_to_a_limit(attempt):
    middle = min(30.0, 0.2 * 3 ** (attempt - 1))
    waits = {wait_before(attempt, Reply(failure_type="http_500")) for _ in range(50)}

    assert all(0.5 * middle <= wait <= 1.5 * middle for wait in waits)
    assert len(waits) > 1, "jitter spreads clients"
