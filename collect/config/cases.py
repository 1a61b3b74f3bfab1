"""Loads test cases: the YAML, the files it names, and the messages that follow from both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pydantic import JsonValue, ValidationError

from collect.config.loaded import LoadedCase, WireMessage
from collect.config.problems import check_extras, parse, problems_of
from collect.config.source import KeyPath, Source, decode, dotted, read_bytes, read_yaml
from schemas.case import Case, Message
from schemas.errors import ConfigError, Problem
from schemas.run_profile import RunnerSettings

ATTACHMENT_LIMIT = 8_000_000


@dataclass(frozen=True)
class CaseFile:
    """One test.yaml, loaded or broken; a broken one breaks only the suites that select it."""

    path: Path
    case_id: str
    tags: tuple[str, ...] | None
    """None: the file is so broken that its tags are unknown."""
    sha256: str | None = None
    case: LoadedCase | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass
class _Notes:
    source: Source
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def wrong(self, what: str, key: KeyPath, **facts: str) -> None:
        line = self.source.line_of(key)
        self.problems.append(Problem(self.source.path, what, dotted(key), line, **facts))


def find_cases(project: Path) -> list[CaseFile]:
    """Return every case of a project, sorted by path: folders at depth one or two."""
    root = project / "configs" / "cases"
    paths = sorted((*root.glob("*/test.yaml"), *root.glob("*/*/test.yaml")))
    return [load_case(path) for path in paths]


def load_case(path: Path) -> CaseFile:
    """Load one case; what is wrong with it is returned, not raised."""
    name = path.parent.name
    try:
        source = read_yaml(path)
    except ConfigError as exc:
        return CaseFile(path, name, tags=None, problems=exc.problems)
    tags = _raw_tags(source.data)
    try:
        case = parse(Case, source)
    except ConfigError as exc:
        return CaseFile(path, name, tags, source.sha256, problems=exc.problems)
    notes = _Notes(source)
    if case.case_id != name:
        advice = f"rename the folder or write `case_id: {name}`"
        notes.wrong("differs from its folder", ("case_id",), found=case.case_id, advice=advice)
    _refuse_unbuilt(case, notes)
    settings = _settings(case, notes)
    messages, attachments = _messages(case, notes)
    if not messages and not notes.problems:
        notes.wrong("a case needs at least one message", ("input", "messages"))
    loaded = LoadedCase(
        case_id=case.case_id,
        prompt_id=case.case_id,
        prompt_name=case.title,
        messages=messages,
        validator=case.validator,
        expected_tool_calls=case.expected_tool_calls,
        tags=case.tags,
        runner_type=case.runner.type,
        settings=settings,
        attachments=attachments,
    )
    return CaseFile(
        path,
        name,
        case.tags,
        source.sha256,
        case=None if notes.problems else loaded,
        problems=tuple(notes.problems),
        warnings=tuple(notes.warnings),
    )


def _raw_tags(data: JsonValue) -> tuple[str, ...] | None:
    tags = data.get("tags", []) if isinstance(data, dict) else None
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        return tuple(str(tag) for tag in tags)
    return None


def _refuse_unbuilt(case: Case, notes: _Notes) -> None:
    """Refuse what this version cannot do, by name, before anything is spent."""
    if case.runner.type == "openclaw":
        notes.wrong("the openclaw runner is not part of this version", ("runner", "type"))
    elif case.input.turns:
        advice = "write them as `messages`"
        notes.wrong("only openclaw cases have turns", ("input", "turns"), advice=advice)
    probe = case.input.context.get("llm_probe")
    if isinstance(probe, dict) and probe.get("tools"):
        key = ("input", "context", "llm_probe", "tools")
        advice = "ask for the command in the prompt and use `expected_tool_calls`"
        notes.wrong("tools are not part of this version", key, advice=advice)


def _settings(case: Case, notes: _Notes) -> dict[str, JsonValue]:
    """Return the runner settings that the case sets itself."""
    extras = dict(case.runner.model_extra or {})
    known = {name: extras.pop(name) for name in list(extras) if name in RunnerSettings.model_fields}
    problems, warnings = check_extras(
        extras, RunnerSettings.model_fields, notes.source, ("runner",)
    )
    notes.problems += problems
    notes.warnings += warnings
    return settings_of(known, notes.source, ("runner",), notes.problems)


def settings_of(
    values: dict[str, JsonValue], source: Source, at: KeyPath, problems: list[Problem]
) -> dict[str, JsonValue]:
    """Return runner settings that were checked, keeping only those that were written."""
    try:
        settings = RunnerSettings.model_validate_json(orjson.dumps(values), strict=True)
    except ValidationError as exc:
        problems += problems_of(exc, RunnerSettings, source, at)
        return {}
    return settings.model_dump(exclude_unset=True)


def _messages(
    case: Case, notes: _Notes
) -> tuple[tuple[WireMessage, ...], tuple[tuple[str, int], ...]]:
    """Return what is sent, attachments before the first user message, and their hashes."""
    sent: list[WireMessage] = []
    for number, message in enumerate(case.input.messages):
        sent += _resolved(message, ("input", "messages", number), notes)
    envelopes, hashes = [], []
    for number, name in enumerate(case.input.attachments):
        if (found := _read_beside(name, ("input", "attachments", number), notes)) is None:
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
    """Return an attachment as the document wraps it."""
    body = text if text.endswith("\n") else text + "\n"
    return (
        f"Attached context file: {name}\n--- BEGIN ATTACHMENT {name} ---\n"
        f"{body}--- END ATTACHMENT {name} ---"
    )


def _resolved(message: Message, key: KeyPath, notes: _Notes) -> list[WireMessage]:
    if message.source is None:
        return [_wire(message)]
    here = (*key, "source", "path")
    if (found := _read_beside(message.source.path, here, notes)) is None:
        return []
    path, _ = found
    try:
        source = read_yaml(path)
    except ConfigError as exc:
        notes.problems += exc.problems
        return []
    items = source.data if isinstance(source.data, list) else [source.data]
    messages: list[WireMessage] = []
    for number, item in enumerate(items):
        at: KeyPath = (number,) if isinstance(source.data, list) else ()
        try:
            inner = parse(Message, Source(path, item, source.sha256, source.lines))
        except ConfigError as exc:
            notes.problems += exc.problems
            continue
        if inner.content is None:
            line = source.line_of(at)
            notes.problems.append(Problem(path, "a source file needs `content`", dotted(at), line))
            continue
        messages.append(_wire(inner))
    return messages


def _wire(message: Message) -> WireMessage:
    sent = WireMessage(role=message.role, content=message.content or "")
    if message.name:
        sent["name"] = message.name
    return sent


def _read_beside(name: str, key: KeyPath, notes: _Notes) -> tuple[Path, str] | None:
    """Read a text file that lies in the case's own folder (decision H3)."""
    folder = notes.source.path.parent.resolve()
    try:
        path = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError):
        notes.wrong("is not a path that can be followed", key, found=repr(name))
        return None
    if not path.is_relative_to(folder):
        notes.wrong("leaves the case's folder", key, found=name)
        return None
    try:
        return path, decode(path, read_bytes(path, ATTACHMENT_LIMIT))
    except ConfigError as exc:
        notes.wrong(f"{name}: {exc.problems[0].what}", key)
        return None
