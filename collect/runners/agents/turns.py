"""What an agent is told in each turn of a case, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collect.config import LoadedCase
from collect.config.resolved import WireMessage

MAX_WORD_BYTES = 131_000
"""Linux takes no longer word on a command line (MAX_ARG_STRLEN)."""


def rendered(messages: Iterable[WireMessage]) -> list[str]:
    """Return messages as text, with their numbers, roles and names."""
    return [_rendered(number, one) for number, one in enumerate(messages, start=1)]


def _rendered(number: int, message: WireMessage) -> str:
    name = f" ({message['name']})" if message.get("name") else ""
    return f"[{number}] {message['role']}{name}: {message['content']}"


def plain_turns(case: LoadedCase) -> list[str]:
    """Return the text of each turn: one message of a user stands as it is, several have roles."""
    turns = [turn["content"] for turn in case.turns]
    messages = case.messages
    is_one = len(messages) == 1 and messages[0]["role"] == "user" and not messages[0].get("name")
    first = [messages[0]["content"]] if is_one else rendered(messages)
    return ["\n\n".join([*first, *turns[:1]]), *turns[1:]]


def word_problem(turns: Sequence[str]) -> str:
    """Return why a turn cannot be a word of a command line; empty: each can."""
    if any("\0" in text for text in turns):
        return "a turn holds a NUL, which no command line takes"
    if any(len(text.encode("utf-8", "replace")) > MAX_WORD_BYTES for text in turns):
        return f"a turn is longer than {MAX_WORD_BYTES:,} bytes, which no command line takes"
    return ""
