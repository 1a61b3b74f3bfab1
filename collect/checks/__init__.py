"""Judges an answer by the validator of its case: `judge` is the one door.

Judging is pure: the same validator and answer give the same verdict, and no answer raises. Only
answers of successful calls are judged, never the text of a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from collect.checks.base import Answer, Verdict
from schemas.config.validators import VALIDATORS, Validator
from schemas.registry import load_object

__all__ = ["Verdict", "judge"]

MIN_THREADED_CHARS = 10_000
"""Characters from which the 0.1 ms of a worker thread is less than the judging itself."""


def _judge_of(validator: Validator | None) -> Callable[..., Verdict] | None:
    """Return what judges by a validator, loaded; None where nothing is judged."""
    judged: Callable[..., Verdict] | None = None
    if validator is not None:
        judged = load_object(VALIDATORS[validator.type].judge)
    return judged


async def judge(
    validator: Validator | None, output: str, *, api_tool_calls: Sequence[str] = ()
) -> Verdict:
    """Return the verdict on one answer, without holding up the event loop.

    Args:
        validator: what the case asks for; None asks for nothing.
        output: the model's text, whole and unstripped.
        api_tool_calls: names of the tools that the model called through the API, in order.
    """
    judged = _judge_of(validator)
    if validator is None or judged is None:
        return Verdict(None, None, None)
    answer = Answer(output, tuple(api_tool_calls))
    if len(output) > MIN_THREADED_CHARS or validator.runs_patterns:
        return await asyncio.to_thread(judged, validator, answer)
    return judged(validator, answer)
