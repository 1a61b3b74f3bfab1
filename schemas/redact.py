"""Takes secrets out of text before it is written anywhere (decision H4)."""

from __future__ import annotations

import os
import re
from functools import cache

import orjson
from pydantic import JsonValue

SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
KEY_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}"  # OpenAI, OpenRouter, Anthropic
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,})"
)
CREDENTIAL = (
    r"(?=[^\s\"',\\]{0,200}\d)[^\s\"',\\]{16,}"  # long, with a digit: no word of a language
)
AUTHORIZATION = re.compile(
    rf"(?i)\b(authorization[ \t]{{0,8}}[:=][ \t]{{0,8}}(?:(?:bearer|basic)[ \t]{{1,8}})?"
    rf"|bearer[ \t]{{1,8}}){CREDENTIAL}"
)
"""Bounded white space: hostile text must not take quadratic time."""

SHORTEST_VALUE = 8
"""Shorter values of secret-looking variables are words such as `true`."""

MARK = "[redacted]"


@cache
def _secret_values() -> tuple[str, ...]:
    """Return the values of variables that look like secrets, longest first."""
    values = {
        value
        for name, found in os.environ.items()
        if SECRET_NAME.search(name) and len(value := found.strip()) >= SHORTEST_VALUE
    }
    return tuple(sorted(values, key=len, reverse=True))


BEGINNINGS = ("sk-", "gh", "AKIA", "AIza", "hf_", "xox")
"""What every key of `KEY_SHAPES` begins with."""

WORDS = ("authorization", "bearer")
"""What `AUTHORIZATION` looks for, in any case."""


@cache
def _secret_marks() -> tuple[str, ...]:
    """Return the secret values as they stand in text, and as they stand in JSON."""
    escaped = (orjson.dumps(value).decode()[1:-1] for value in _secret_values())
    return tuple(dict.fromkeys((*_secret_values(), *escaped)))


def may_hold_secret(text: str) -> bool:
    """Return whether a text, or a line of JSON, is worth the patterns: most are not.

    A fraction of their time, which is spent on all that is written.
    """
    for beginning in BEGINNINGS:  # a loop is twice as quick as `any` here
        if beginning in text:
            return True
    for value in _secret_marks():
        if value in text:
            return True
    lower = text.lower()
    return WORDS[0] in lower or WORDS[1] in lower


def redact(text: str) -> str:
    """Return the text without key-shaped words, secret values and Authorization headers."""
    if not may_hold_secret(text):
        return text
    for value in _secret_values():
        text = text.replace(value, MARK)
    text = AUTHORIZATION.sub(lambda match: match.group(1) + MARK, text)
    return KEY_SHAPES.sub(MARK, text)


def redact_json(value: JsonValue) -> JsonValue:
    """Return a JSON value with every text in it redacted, names too; numbers stay."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, (list, tuple)):  # a tuple stands in what a record dumps
        return [redact_json(item) for item in value]
    if isinstance(value, dict):
        return {redact(name): redact_json(item) for name, item in value.items()}
    return value


def key_names() -> tuple[str, ...]:
    """Return the names of variables that hold keys, never their values."""
    return tuple(sorted(name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN"))))
