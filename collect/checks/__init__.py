"""Judges an answer by the validator of its case: `judge` is the one door.

Judging is pure: the same validator and answer give the same verdict, and no answer raises. Only
answers of successful calls are judged; the text of a failure is nobody's answer. A new validator
is a model in `schemas.config.validators`, one function here, and one line in `JUDGES`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from collect.checks import json_object, text
from collect.checks.base import Answer, Verdict
from schemas.base import Record
from schemas.config.validators import (
    Contains,
    Exact,
    ExactBullets,
    JsonKeys,
    MaxSentences,
    MaxWords,
    Noop,
    NotContains,
    Number,
    OneOf,
    RegexFullmatch,
    RegexRule,
    RegexSearch,
    ToolInvocation,
    Validator,
)

__all__ = ["Verdict", "judge"]

LONG_OUTPUT = 10_000
"""Characters from which the 0.1 ms of a worker thread is less than the judging itself."""

JUDGES: Mapping[type[Record], Callable[..., Verdict]] = MappingProxyType(
    {
        Noop: text.noop,
        Exact: text.exact,
        OneOf: text.one_of,
        Contains: text.contains,
        NotContains: text.not_contains,
        RegexFullmatch: text.regex,
        RegexSearch: text.regex,
        Number: text.number,
        MaxWords: text.max_words,
        MaxSentences: text.max_sentences,
        ExactBullets: text.exact_bullets,
        JsonKeys: json_object.json_keys,
        ToolInvocation: text.tool_invocation,
    }
)


async def judge(
    validator: Validator | None, output: str, *, api_tool_calls: Sequence[str] = ()
) -> Verdict:
    """Return the verdict on one answer, without holding up the event loop.

    Args:
        validator: what the case asks for; None asks for nothing.
        output: the model's text, whole and unstripped.
        api_tool_calls: names of the tools that the model called through the API, in order.
    """
    if validator is None:
        return Verdict(None, None, None)
    answer = Answer(output, tuple(api_tool_calls))
    judged = JUDGES[type(validator)]
    if len(output) > LONG_OUTPUT or _runs_pattern(validator):
        return await asyncio.to_thread(judged, validator, answer)
    return judged(validator, answer)


def _runs_pattern(validator: Validator) -> bool:
    """Tell whether judging runs a pattern that a user wrote, which may take its whole second."""
    if isinstance(validator, JsonKeys):
        rules = (rule for several in validator.rules().values() for rule in several)
        return any(isinstance(rule, RegexRule) for rule in rules)
    return isinstance(validator, RegexFullmatch | RegexSearch)
