"""What text may show: no secret anywhere (D-H4), and nothing that a terminal obeys (D-H5)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from json import dumps
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:  # what only prints an error loads no pydantic for this
    from pydantic import JsonValue

SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
KEY_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}"  # OpenAI, OpenRouter, Anthropic
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[A-Za-z0-9_-]{20,}|glpat-[\w-]{16,})"
)
CREDENTIAL = (
    r"(?=[^\s\"',\\]{0,200}\d)[^\s\"',\\]{16,}"  # long, with a digit: no word of a language
)
AUTHORIZATION = re.compile(
    rf"(?i)\b(authorization[ \t]{{0,8}}[:=][ \t]{{0,8}}(?:(?:bearer|basic)[ \t]{{1,8}})?"
    rf"|bearer[ \t]{{1,8}}){CREDENTIAL}"
)
"""Bounded white space: hostile text must not take quadratic time."""

URL_PASSWORD = re.compile(r"(://[^\s/?#@:\"'<>\\]{0,200}:)[^\s/?#@\"'<>\\]{1,500}(?=@)")
"""What stands between the user's name and the host of a URL."""

MIN_SECRET_CHARS = 8
"""Shorter values of secret-looking variables are words such as `true`."""

MIN_KEY_CHARS = 16
"""Longer ones are keys, and never what somebody writes where a server wants any key at all."""

MARK = "[redacted]"

_only_own: ContextVar[bool] = ContextVar("only_own", default=False)


@contextmanager
def only_own_keys() -> Iterator[None]:
    """Redact the values of our own secret variables alone, for `redact_secrets: false` (D-G8).

    What looks like a key and is none of ours stays, in this context and the tasks begun in it.
    """
    token = _only_own.set(True)
    try:
        yield
    finally:
        _only_own.reset(token)


@cache
def _secret_values() -> tuple[str, ...]:
    """Return the values of variables that look like secrets, and passwords in URLs of others."""
    values = {found.strip() for name, found in os.environ.items() if SECRET_NAME.search(name)}
    for found in os.environ.values():
        values |= {match[0].removeprefix(match[1]) for match in URL_PASSWORD.finditer(found)}
    return tuple(value for value in values if len(value) >= MIN_SECRET_CHARS)


BEGINNINGS = ("hf_", "xox", "gsk_", "github_pat_")
"""What keys of `KEY_SHAPES` begin with, but for those below."""

MARKED = tuple(
    re.compile(one)
    for one in (r"gh[pousr]_", r"A(?:KIA|Iza)", r"-(?:(?<=sk-)|(?<=xai-)|(?<=nvapi-)|(?<=glpat-))")
)
"""The others: each is looked for by one letter or two that most texts have few of, which takes a
third of the time."""

WORDS = ("authorization", "bearer")
"""What `AUTHORIZATION` looks for, in any case."""


@cache
def _secret_marks() -> tuple[str, ...]:
    """Return the secret values as they stand in text, in JSON and in URLs, longest first.

    A shorter one that is part of a longer one would leave the rest of that behind.
    """
    marks = set()
    for value in _secret_values():
        in_json = dumps(value, ensure_ascii=False)[1:-1]
        marks |= {value, in_json, in_json.replace("/", r"\/"), quote(value, safe="")}
    return tuple(sorted(marks, key=len, reverse=True))


def may_hold_secret(text: str) -> bool:
    """Return whether a text, or a line of JSON, is worth the patterns: most are not.

    A fraction of their time, which is spent on all that is written.
    """
    for beginning in BEGINNINGS:  # a loop is twice as quick as `any` here
        if beginning in text:
            return True
    for mark in MARKED:
        if mark.search(text):
            return True
    for value in _secret_marks():
        if value in text:
            return True
    if "@" in text and "://" in text:
        return True
    lower = text.lower()
    return WORDS[0] in lower or WORDS[1] in lower


def redact(text: str) -> str:
    """Return the text without key-shaped words, secret values, passwords and credentials.

    Before a text is cut or put into lower case, never after: half a key, or one in small letters,
    is none that anything knows, and still tells most of it.
    """
    if not may_hold_secret(text):
        return text
    for value in _secret_marks():
        text = text.replace(value, MARK)
    if _only_own.get():
        return text
    text = URL_PASSWORD.sub(lambda match: match.group(1) + MARK, text)
    text = AUTHORIZATION.sub(lambda match: match.group(1) + MARK, text)
    return KEY_SHAPES.sub(MARK, text)


def redacts_shapes() -> bool:
    """Return whether more goes than keys of ours (`only_own_keys`)."""
    return not _only_own.get()


def holds_key(text: str) -> bool:
    """Return whether a text that a user wrote holds a key, where none may stand.

    A variable's value counts where it looks like one: `SOME_API_KEY=ollama` is no secret.
    """
    return any(shape.search(text) for shape in (KEY_SHAPES, URL_PASSWORD, AUTHORIZATION)) or any(
        len(value) >= MIN_KEY_CHARS and not value.isalpha() and value in text
        for value in _secret_values()
    )


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


def escape(char: str) -> str:
    r"""Return a character as Python escapes it, such as `\x1b`."""
    return char.encode("unicode_escape").decode("ascii")


def json_escape(char: str) -> str:
    r"""Return a character as JSON escapes it, such as `\u001b`: a reader gets the same text."""
    return dumps(char)[1:-1]


def spelled(
    text: str, spell: Callable[[str], str] = escape, keeps: Callable[[str], bool] = str.isprintable
) -> str:
    """Return text without control and direction characters, which a terminal obeys (D-H5)."""
    if text.isprintable():
        return text
    return "".join(char if keeps(char) else spell(char) for char in text)
