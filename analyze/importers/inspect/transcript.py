"""What a sample's texts are: attachments in their place, messages as text, thoughts apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from analyze.importers.inspect.values import Json, mapping, plain, rows, words

REFERENCE, OLD_REFERENCE = "attachment://", "tc://"

MARKS = {"image": "(image)", "audio": "(audio)", "video": "(video)", "document": "(document)"}
"""Stand for contents that are no text."""

MAX_RESOLVED_DEPTH = 100


class Said(NamedTuple):
    """What a message says."""

    text: str
    thought: str


def resolved(value: Any, texts: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value with each reference to an attachment replaced by its text.

    One without its attachment stays as it is, and what an attachment holds is never a reference.
    """
    if isinstance(value, str):
        if not value.startswith((REFERENCE, OLD_REFERENCE)):
            return value
        found = texts.get(value.partition("://")[2])
        return found if isinstance(found, str) else value
    if depth >= MAX_RESOLVED_DEPTH:
        return value
    if isinstance(value, list):
        return [resolved(one, texts, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: resolved(one, texts, depth + 1) for name, one in value.items()}
    return value


def said(content: Any) -> Said:
    """Return the text and the thoughts of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return Said(content, "")
    texts: list[str] = []
    thoughts: list[str] = []
    for part in rows(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = words(mapping(part).get("type"))
        if kind == "text":
            texts.append(words(part.get("text")) or "")
        elif kind == "reasoning":
            thought = words(part.get("reasoning")) if not part.get("redacted") else None
            thoughts.append(thought or words(part.get("summary")) or "")
        elif kind in MARKS:
            texts.append(MARKS[kind])
    return Said("\n".join(filter(None, texts)), "\n".join(filter(None, thoughts)))


def output_message(output: Json) -> Json:
    """Return the message of a model's answer; an empty one where there is none."""
    choices = rows(output.get("choices"))
    return mapping(mapping(choices[0]).get("message")) if choices else {}


def calls_of(message: Json) -> list[Json]:
    """Return the tool calls of a message that name a tool."""
    calls = rows(message.get("tool_calls"))
    return [one for one in calls if isinstance(one, dict) and words(one.get("function"))]


def result_of_tool(result: Any) -> Any:
    """Return what a tool returned, parts of text as one."""
    if isinstance(result, list) and all(isinstance(one, dict) and "type" in one for one in result):
        return said(result).text
    if isinstance(result, dict) and result.get("type") == "text":
        return words(result.get("text")) or ""
    return plain(result)
