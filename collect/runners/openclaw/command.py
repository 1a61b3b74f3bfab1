"""What openclaw is told in each turn (D-E16), its command lines, and what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from collect.config import LoadedCase
from collect.runners.agents.attempt import MAX_SAID_CHARS
from collect.runners.agents.inside import Printed
from collect.runners.agents.turns import rendered
from collect.workspace import HOME

STATE = ".openclaw"
"""Below the home."""

CONFIG = f"{STATE}/openclaw.json"
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

HINTS = "[openclaw_hints]"

ENVIRONMENT = {
    "OPENCLAW_CONFIG_PATH": f"{HOME}/{CONFIG}",
    "OPENCLAW_STATE_DIR": f"{HOME}/{STATE}",
    "NO_COLOR": "1",
}


def turns_of(case: LoadedCase) -> list[str]:
    """Return the text of each turn, of which there is at least one.

    Messages come before the first turn, or are one; attachments are among them.
    """
    turns = [turn["content"] for turn in case.turns]
    first = [*rendered(case.messages), *turns[:1], *_hints(case)]
    return ["\n\n".join(first), *turns[1:]]


def _hints(case: LoadedCase) -> Iterator[str]:
    hints = case.context.openclaw.model_dump(mode="json", exclude_none=True)
    if hints:
        yield f"{HINTS}\n{orjson.dumps(hints).decode()}"


def turn_arguments(agent: str, session_id: str, text: str, timeout_s: float) -> tuple[str, ...]:
    """Return the arguments of one turn; our own limit is the one that ends it, just before."""
    return (
        *("agent", "--local", "--json", "--agent", agent, "--session-id", session_id),
        *("--timeout", str(round(timeout_s) + 60), "--message", text),
    )


def answer_of(payload: Mapping[str, Any] | None) -> str:
    """Return what the agent answered last, by what it printed; empty: nothing."""
    if payload is None:
        return ""
    meta = payload.get("meta")
    visible = meta.get("finalAssistantVisibleText") if isinstance(meta, dict) else None
    if isinstance(visible, str) and visible.strip():
        return visible
    said = payload.get("payloads")
    texts = (
        [one.get("text") for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    )
    return next((one for one in reversed(texts) if isinstance(one, str) and one.strip()), "")


def problem_of(printed: Printed) -> str:
    """Return the last line of standard error that says something."""
    lines = [line.strip() for line in ANSI.sub("", printed.err).splitlines()]
    return next((line for line in reversed(lines) if line), "")[:MAX_SAID_CHARS]


def version_of(text: str) -> str:
    """Return the version that openclaw says; empty: none is in the text."""
    found = re.search(r"\b(\d{4}\.\d+\.\d+\S*)(?: \(([0-9a-f]+)\))?", text)
    return "" if found is None else found[1]


def config_problems(printed: Printed) -> str:
    """Return what openclaw says against its configuration, in one line."""
    issues = (printed.payload or {}).get("issues")
    if isinstance(issues, list):
        said = [
            f"{one.get('path') or 'openclaw.json'}: {one.get('message')}"
            for one in issues
            if isinstance(one, dict)
        ]
        if said:
            return "; ".join(said)[:MAX_SAID_CHARS]
    return problem_of(printed) or "no reason given"
