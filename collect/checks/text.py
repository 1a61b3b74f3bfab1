"""Validators that read the answer as plain text.

The validator that asks whether one of the expected tools was invoked.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from collect.checks.base import Answer, Verdict, fullmatches, searches, strip, verdict
from collect.tools.detect import tool_use
from schemas.config.validators import (
    Contains,
    Exact,
    ExactBullets,
    MaxSentences,
    MaxWords,
    Noop,
    NotContains,
    OneOf,
    RegexFullmatch,
    RegexSearch,
    ToolInvocation,
)

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
BULLET = re.compile(r"\s*-(?:\s|$)")
"""A lone `-` is an empty bullet: what follows it is the line's end, white space too."""

SHOWN_LINES = 20
"""Enough to see why a count is off without storing the answer twice."""


def noop(_validator: Noop, _answer: Answer) -> Verdict:
    """Judge nothing."""
    return Verdict(None, None, None)


def exact(validator: Exact, answer: Answer) -> Verdict:
    """Pass when the text equals the value."""
    wanted = strip(validator.value)
    return verdict(answer.text == wanted, f"exact_mismatch want={wanted!r}", answer.text)


def one_of(validator: OneOf, answer: Answer) -> Verdict:
    """Pass when the text is one of the values."""
    wanted = [strip(value) for value in validator.values]
    return verdict(answer.text in wanted, f"not_one_of {wanted}", answer.text)


def contains(validator: Contains, answer: Answer) -> Verdict:
    """Pass when the text contains the value; or all of the values, or any of them."""
    wanted = [strip(part) for part in validator.parts]
    missing = [part for part in wanted if part not in answer.text]
    if validator.match == "any":
        return verdict(len(missing) < len(wanted), f"contains_none_of {wanted}", answer.text)
    return verdict(not missing, f"missing_text {missing}", answer.text)


def not_contains(validator: NotContains, answer: Answer) -> Verdict:
    """Pass when the text contains none of the values."""
    found = [part for part in map(strip, validator.parts) if part in answer.text]
    return verdict(not found, f"unwanted_text {found}", answer.text)


def regex_fullmatch(validator: RegexFullmatch, answer: Answer) -> Verdict:
    """Pass when the whole text matches the pattern in time."""
    text = answer.text
    try:
        matched = fullmatches(validator.pattern, text)
    except TimeoutError:
        return Verdict(False, "regex_timeout", text)
    return verdict(matched, f"regex_fullmatch_failed pattern={validator.pattern!r}", text)


def regex_search(validator: RegexSearch, answer: Answer) -> Verdict:
    """Pass when the pattern matches somewhere in the text, in time."""
    text = answer.text
    try:
        matched = searches(validator.pattern, text)
    except TimeoutError:
        return Verdict(False, "regex_timeout", text)
    return verdict(matched, f"regex_search_failed pattern={validator.pattern!r}", text)


def max_words(validator: MaxWords, answer: Answer) -> Verdict:
    """Pass when there are at most so many words between white space."""
    text, limit = answer.text, validator.value
    got = len(text.split())
    violation = f"too_many_words got={got} limit={limit}"
    return verdict(got <= limit, violation, {"words": got, "text": text})


def max_sentences(validator: MaxSentences, answer: Answer) -> Verdict:
    """Pass when there are at most so many sentences; text without an end mark is one."""
    text, limit = answer.text, validator.value
    got = sum(1 for sentence in SENTENCE_END.split(text) if sentence.strip())
    violation = f"too_many_sentences got={got} limit={limit}"
    return verdict(got <= limit, violation, {"sentences": got, "text": text})


def exact_bullets(validator: ExactBullets, answer: Answer) -> Verdict:
    """Pass when exactly so many lines are bullets; nested ones count, other lines may be there."""
    lines = [line.rstrip() for line in answer.text.splitlines() if line.strip()]
    got = sum(1 for line in lines if BULLET.match(line))
    violation = f"bullet_count got={got} want={validator.value}"
    parsed: dict[str, JsonValue] = {"bullets": got, "lines": [*lines[:SHOWN_LINES]]}
    return verdict(got == validator.value, violation, parsed)


def tool_invocation(validator: ToolInvocation, answer: Answer) -> Verdict:
    """Pass when an expected tool was called; the output is read as it came, unstripped."""
    expected = list(validator.expected_tools)
    use = tool_use(answer.output, answer.api_tool_calls, expected)
    parsed: dict[str, JsonValue] = {
        "detected_tools": [*use.tool_calls],
        "count": len(use.tool_calls),
    }
    return verdict(use.tool_use_success, f"no_tool_invocation expected={expected}", parsed)
