"""The messages of a case, and the files beside test.yaml that they come from (D-E9, D-H3)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from collect.config.resolved import WireMessage
from schemas.config.case import Case, Message, PromptMessage
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, Source, decode, dotted, read_bytes, read_yaml

ATTACHMENT_LIMIT = 8_000_000
FILES_LIMIT = 32_000_000
"""Bytes of all files that one case names: a list of a thousand large ones fills any memory."""


@dataclass
class Notes:
    """What is found while one case is loaded."""

    source: Source
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unbuilt: list[Problem] = field(default_factory=list)
    left: int = FILES_LIMIT
    """Bytes that files of the case may still hold."""

    def problem(self, what: str, key: KeyPath, **facts: str | None) -> Problem:
        """Return a problem at a key of the case's file."""
        line = self.source.line_of(key)
        return Problem(self.source.path, what, dotted(key), line, **facts)

    def wrong(self, what: str, key: KeyPath, **facts: str | None) -> None:
        """Note a problem that breaks the case."""
        self.problems.append(self.problem(what, key, **facts))


def messages_of(
    case: Case, notes: Notes
) -> tuple[tuple[WireMessage, ...], tuple[tuple[str, int], ...]]:
    """Return what is sent, attachments before the first user message, and their hashes."""
    sent: list[WireMessage] = []
    for number, message in enumerate(case.input.messages):
        sent += resolved(message, ("input", "messages", number), notes)
    envelopes, hashes = [], []
    for number, name in enumerate(case.input.attachments):
        if (found := read_beside(name, ("input", "attachments", number), notes)) is None:
            continue
        path, text = found
        raw = text.encode()
        hashes.append((hashlib.sha256(raw).hexdigest(), len(raw)))
        envelopes.append(WireMessage(role="user", content=envelope(path.name, text)))
    first_user = next(
        (at for at, message in enumerate(sent) if message["role"] == "user"), len(sent)
    )
    return (*sent[:first_user], *envelopes, *sent[first_user:]), tuple(hashes)


def envelope(name: str, text: str) -> str:
    """Return an attachment in its envelope (D-E9)."""
    body = text if text.endswith("\n") else text + "\n"
    return (
        f"Attached context file: {name}\n--- BEGIN ATTACHMENT {name} ---\n"
        f"{body}--- END ATTACHMENT {name} ---"
    )


def resolved(message: Message, key: KeyPath, notes: Notes) -> list[WireMessage]:
    """Return the message, or those of the file it names."""
    if message.source is None:
        return [wire_message(message)]
    here = (*key, "source", "path")
    if (found := read_beside(message.source.path, here, notes)) is None:
        return []
    path, text = found
    try:
        if message.source.format == "json":
            _check_json(path, text)
        source = read_yaml(path)
    except ConfigError as exc:
        notes.problems += exc.problems
        return []
    items = source.data if isinstance(source.data, list) else [source.data]
    messages: list[WireMessage] = []
    for number, item in enumerate(items):
        at: KeyPath = (number,) if isinstance(source.data, list) else ()
        try:
            piece = Source(path, item, source.sha256, source.lines)
            inner = parse(Message, piece, is_prompt=True)
        except ConfigError as exc:
            notes.problems += exc.problems
            continue
        if inner.content is None:
            line = source.line_of(at)
            notes.problems.append(Problem(path, "a source file needs `content`", dotted(at), line))
            continue
        messages.append(wire_message(inner))
    _note_unread(message, messages, key, notes)
    return messages


def _note_unread(message: Message, messages: list[WireMessage], key: KeyPath, notes: Notes) -> None:
    """Warn of what stands beside `source` and is not what the file says, which counts."""
    roles = [one["role"] for one in messages]
    wrong = {
        "role": bool(roles) and message.role not in roles,
        "name": message.name is not None,
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            place = f"{notes.source.path}:{notes.source.line_of((*key, name))}"
            what = f"`{dotted((*key, name))}`: nothing reads it, the file says its own"
            notes.warnings.append(f"{place}: {what}")


def _check_json(path: Path, text: str) -> None:
    """Refuse what YAML would take and JSON does not, where the case says that it is JSON."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        what = f"is not valid JSON, which `format` says: {exc.msg}"
        raise ConfigError([Problem(path, what, line=exc.lineno)]) from exc


def wire_message(message: Message | PromptMessage) -> WireMessage:
    """Return a message as it is sent."""
    sent = WireMessage(role=message.role, content=message.content or "")
    if message.name:
        sent["name"] = message.name
    return sent


def inside(name: str, key: KeyPath, notes: Notes) -> Path | None:
    """Return where a name of the case leads, or note that it leaves the case's folder."""
    folder = notes.source.path.parent.resolve()
    try:
        path = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError):
        notes.wrong("is not a path that can be followed", key, found=repr(name))
        return None
    if not path.is_relative_to(folder):
        notes.wrong("leaves the case's folder", key, found=name)
        return None
    return path


def read_beside(name: str, key: KeyPath, notes: Notes) -> tuple[Path, str] | None:
    """Read a text file that lies in the case's own folder (D-H3)."""
    if (path := inside(name, key, notes)) is None:
        return None
    if notes.left < 0:
        return None  # said once
    try:
        raw = read_bytes(path, ATTACHMENT_LIMIT)
        notes.left -= len(raw)
        if notes.left < 0:
            notes.wrong(f"the files of a case hold at most {FILES_LIMIT:,} bytes together", key)
            return None
        return path, decode(path, raw)
    except ConfigError as exc:
        notes.wrong(f"{name}: {exc.problems[0].what}", key)
        return None
