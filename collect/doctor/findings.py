"""How a check says what it found; text of servers is cleaned once, here, before anyone sees it.

Says what is waited for, on a terminal, once waiting is felt.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping

import orjson
from pydantic import JsonValue
from rich.console import Console

from schemas.errors import printable
from schemas.output.doctor import Area, DoctorCheck, State
from schemas.redact import MARK, redact, redact_json

Details = dict[str, JsonValue]
"""Numbers and names behind a sentence, for programs."""

MOST_TEXT = 400
"""Characters of one sentence; cut after keys were taken out, never through one."""


def found(
    area: Area,
    subject: str,
    state: State,
    text: str,
    advice: str | None = None,
    *,
    details: Details | None = None,
) -> DoctorCheck:
    """Return a finding as it stands; `cleaned` makes it fit to be shown."""
    return DoctorCheck(
        area=area,
        subject=subject or "–",
        state=state,
        found=text or "–",
        advice=advice,
        details=details or {},
    )


def cleaned(check: DoctorCheck, secrets: Iterable[str]) -> DoctorCheck:
    """Return a finding without keys and without characters that a terminal obeys.

    Args:
        check: as it was found.
        secrets: values of the keys that were sent, which no pattern may know.
    """

    def text(words: str) -> str:
        return _cut(printable(redact(_without(words, secrets))))

    details = redact_json(_without_json(check.details, secrets))
    assert isinstance(details, dict)
    return DoctorCheck(
        area=check.area,
        subject=text(check.subject),
        state=check.state,
        found=text(check.found),
        advice=None if check.advice is None else text(check.advice),
        details=details,
    )


def words_of(body: bytes, headers: Mapping[str, str], secrets: Iterable[str]) -> str:
    """Return what an answer that is no list says, short: a page's own words are not its tags."""
    words = redact(_without(body.decode(errors="replace"), secrets))
    if "html" in headers.get("content-type", "").lower() or words.lstrip().startswith("<"):
        return "a web page"
    words = " ".join(_message(words).split())
    return f"`{words[:200]}{'…' * (len(words) > 200)}`" if words else "nothing"


def _message(words: str) -> str:
    """Return the sentence inside an error of JSON, else the words as they are."""
    try:
        value: JsonValue = orjson.loads(words)
    except orjson.JSONDecodeError:
        return words
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return value if isinstance(value, str) and value else words


def _without(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these values, the longer first: one may be part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text


def _without_json(value: JsonValue, secrets: Iterable[str]) -> JsonValue:
    if isinstance(value, str):
        return _without(value, secrets)
    if isinstance(value, list):
        return [_without_json(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            _without(name, secrets): _without_json(item, secrets) for name, item in value.items()
        }
    return value


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


FELT_S = 1.0


async def say_waiting(addresses: int) -> None:
    """Show a spinner on standard error until cancelled; nothing in the first second."""
    if not sys.stderr.isatty():
        return
    await asyncio.sleep(FELT_S)
    what = f"asking {addresses} endpoint{'s' * (addresses != 1)}" if addresses else "looking"
    with Console(stderr=True).status(f"{what} …"):
        await asyncio.Event().wait()
