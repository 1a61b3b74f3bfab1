"""Test cases: test.yaml, the files beside it that it names, and the messages that follow from both.

How a message may be written, attached and kept in a file of its own: D-E9 and D-H3.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
from pydantic import JsonValue, ValidationError

from collect.checks.declarative import HINDRANCES, HOOKS_DISABLED, hindrance
from collect.config.project_files import problem_at
from collect.config.resolved import LoadedCase, Unbuilt, WireMessage
from collect.config.runners import RUNNERS
from collect.config.tools import CHOICES, TOOLS
from schemas.config.case import (
    Case,
    CaseContext,
    Message,
    OpenClawContext,
    PromptMessage,
    Solution,
)
from schemas.config.run_profile import RunnerSettings
from schemas.errors import ConfigError, Problem, nearest
from schemas.io.validation import check_extras, parse, problems_of
from schemas.io.yaml import KeyPath, Source, decode, dotted, read_bytes, read_yaml

MAX_ATTACHMENT_BYTES = 8_000_000
MAX_CASE_FILE_BYTES = 32_000_000
"""Bytes of all files that one case names: a list of a thousand large ones fills any memory."""

SKIP_CHECKS = "`--skip-unevaluable` runs the case, which then gets no verdict"
ALLOW_HOOKS = "an evaluation profile with `allow_local_python_hooks: true` switches them on; "


@dataclass
class Notes:
    """What is found while one case is loaded."""

    source: Source
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unbuilt: list[Unbuilt] = field(default_factory=list)
    left: int = MAX_CASE_FILE_BYTES
    """Bytes that files of the case may still hold."""

    def add_problem(self, what: str, key: KeyPath, **facts: str | None) -> None:
        """Note a problem that breaks the case."""
        self.problems.append(problem_at(self.source, key, what, **facts))

    def add_unbuilt(self, what: str, key: KeyPath, advice: str, check_id: str = "") -> None:
        """Note what is not there, at a key of the file."""
        problem = problem_at(self.source, key, what, advice=advice)
        self.unbuilt.append(Unbuilt(problem, check_id))


def messages_of(
    case: Case, notes: Notes
) -> tuple[tuple[WireMessage, ...], tuple[tuple[str, int], ...]]:
    """Return what is sent, attachments before the first user message, and their hashes."""
    sent: list[WireMessage] = []
    for number, message in enumerate(case.input.messages):
        sent += resolved(message, ("input", "messages", number), notes)
    envelopes, hashes = [], []
    for number, name in enumerate(case.input.attachments):
        if (found := read_case_file(name, ("input", "attachments", number), notes)) is None:
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
    if (found := read_case_file(message.source.path, here, notes)) is None:
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
            notes.problems.append(problem_at(source, at, "a source file needs `content`"))
            continue
        messages.append(wire_message(inner))
    _note_unread(message, messages, key, notes)
    return messages


def _note_unread(message: Message, messages: list[WireMessage], key: KeyPath, notes: Notes) -> None:
    """Warn of what stands beside `source` and is not what the file says, which counts."""
    roles = [one["role"] for one in messages]
    wrong = {"role": bool(roles) and message.role not in roles, "name": message.name is not None}
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
        notes.add_problem("is not a path that can be followed", key, found=repr(name))
        return None
    if not path.is_relative_to(folder):
        notes.add_problem("leaves the case's folder", key, found=name)
        return None
    return path


def read_case_file(name: str, key: KeyPath, notes: Notes) -> tuple[Path, str] | None:
    """Read a text file that lies in the case's own folder (D-H3)."""
    if (path := inside(name, key, notes)) is None:
        return None
    if notes.left < 0:
        return None  # said once
    try:
        raw = read_bytes(path, MAX_ATTACHMENT_BYTES)
        notes.left -= len(raw)
        if notes.left < 0:
            notes.add_problem(
                f"the files of a case hold at most {MAX_CASE_FILE_BYTES:,} bytes together", key
            )
            return None
        return path, decode(path, raw)
    except ConfigError as exc:
        notes.add_problem(f"{name}: {exc.problems[0].what}", key)
        return None


@dataclass(frozen=True)
class CaseFile:
    """One test.yaml, loaded or broken; a broken one breaks only the suites that select it."""

    path: Path
    case_id: str
    tags: tuple[str, ...] | None
    """None: the file is so broken that its tags are unknown."""
    sha256: str | None = None
    case: LoadedCase | None = None
    solution: Solution | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


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
        case = parse(Case, source, is_prompt=True)
    except ConfigError as exc:
        return CaseFile(path, name, tags, source.sha256, problems=exc.problems)
    notes = Notes(source)
    if (runner := case.runner.type) not in RUNNERS:
        facts = {"allowed": str(RUNNERS), "nearest": nearest(runner, RUNNERS)}
        notes.add_problem("unknown value", ("runner", "type"), found=f"`{runner}`", **facts)
        return CaseFile(path, name, tags, source.sha256, problems=tuple(notes.problems))
    if case.case_id != name:
        advice = f"rename the folder or write `case_id: {name}`"
        notes.add_problem(
            "differs from its folder", ("case_id",), found=case.case_id, advice=advice
        )
    if ("cluster",) in source.ambiguous:
        advice = (
            f'write it in quotes: cluster: "{case.cluster}"; leave it out for a case of its own'
        )
        notes.add_problem(
            "may be read as a boolean or a date", ("cluster",), found=case.cluster, advice=advice
        )
    hooks = _check_checks(case, notes)
    _check_context(case, notes)
    _check_tools(case, notes)
    _check_turns(case, notes)
    unevaluable = _unevaluable(case, notes)
    settings = _settings(case, notes)
    messages, attachments = messages_of(case, notes)
    turns = [
        wire
        for number, turn in enumerate(case.input.turns)
        for wire in resolved(turn, ("input", "turns", number), notes)
    ]
    if wrong := next((turn["role"] for turn in turns if turn["role"] != "user"), None):
        notes.add_problem("a turn is a user's", ("input", "turns"), found=f"`{wrong}`")
    if not messages and not turns and not notes.problems:
        notes.add_problem("a case needs at least one message", ("input", "messages"))
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
        turns=tuple(turns),
        checks=case.deterministic_checks,
        hooks=hooks,
        expectations=case.expectations,
        rubric=case.rubric,
        context=case.input.context,
        folder=path.parent,
        cluster=case.cluster,
        unevaluable=unevaluable,
        has_workspace=has_files(case),
        unbuilt=tuple(notes.unbuilt),
    )
    whole = None if notes.problems else loaded
    file = CaseFile(path, name, case.tags, source.sha256, whole, case.solution)
    return replace(file, problems=tuple(notes.problems), warnings=tuple(notes.warnings))


def _raw_tags(data: JsonValue) -> tuple[str, ...] | None:
    tags = data.get("tags", []) if isinstance(data, dict) else None
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        return tuple(str(tag) for tag in tags)
    return None


def _check_checks(case: Case, notes: Notes) -> tuple[tuple[str, str], ...]:
    """Check that ids are unique and paths stay in the case's folder; return hook hashes."""
    seen: set[str] = set()
    hooks = []
    for number, check in enumerate(case.deterministic_checks):
        key = ("deterministic_checks", number)
        if check.check_id in seen:
            notes.add_problem("is used twice", (*key, "check_id"), found=f"`{check.check_id}`")
        seen.add(check.check_id)
        hook = check.python_hook
        if hook is not None and hook.path is not None:
            found = read_case_file(hook.path, (*key, "python_hook", "path"), notes)
            if found is not None:
                hooks.append((check.check_id, hashlib.sha256(found[1].encode()).hexdigest()))
        for name in ("path", "relative_path"):
            place = getattr(check.declarative, name, None)
            if place and not Path(place).is_absolute():
                inside(place, (*key, "declarative", name), notes)
    return tuple(hooks)


def _check_context(case: Case, notes: Notes) -> None:
    """Names that are almost known are typing errors; expected artifacts stay in the workspace."""
    context = case.input.context
    key: KeyPath = ("input", "context")
    problems, warnings = check_extras(
        dict(context.model_extra or {}), CaseContext.model_fields, notes.source, key
    )
    hints = dict(context.openclaw.model_extra or {})
    more = check_extras(hints, OpenClawContext.model_fields, notes.source, (*key, "openclaw"))
    notes.problems += [*problems, *more[0]]
    sees_hints = RUNNERS[case.runner.type].sees_hints
    notes.warnings += warnings if sees_hints else [*warnings, *more[1]]
    expected = context.openclaw.expected_artifact or ()
    for name in (expected,) if isinstance(expected, str) else expected:
        inside(name, (*key, "openclaw", "expected_artifact"), notes)


def _check_tools(case: Case, notes: Notes) -> None:
    """Check that every tool is known and named once, and that one of them is chosen, if any."""
    probe, at = case.input.context.llm_probe, ("input", "context", "llm_probe")
    for number, name in enumerate(probe.tools):
        if name not in TOOLS:
            facts = {"allowed": str(TOOLS), "nearest": nearest(name, TOOLS)}
            notes.add_problem("unknown tool", (*at, "tools", number), found=f"`{name}`", **facts)
        if name in probe.tools[:number]:
            notes.add_problem("is named twice", (*at, "tools", number), found=f"`{name}`")
    choices = (*CHOICES, *probe.tools)
    if (choice := probe.tool_choice) not in choices:
        facts = {"allowed": ", ".join(choices), "nearest": nearest(choice, choices)}
        notes.add_problem("unknown value", (*at, "tool_choice"), found=f"`{choice}`", **facts)


def _check_turns(case: Case, notes: Notes) -> None:
    """Check that only a runner that goes on after an answer is given turns."""
    if case.input.turns and not RUNNERS[case.runner.type].takes_turns:
        kinds = ", ".join(kind for kind in RUNNERS if RUNNERS[kind].takes_turns)
        advice = f"write them as `messages`; turns are for {kinds}"
        what = f"the {case.runner.type} runner takes no turns"
        notes.add_problem(what, ("input", "turns"), advice=advice)


def _unevaluable(case: Case, notes: Notes) -> tuple[tuple[str, str], ...]:
    """Return the checks that cannot look here, and note what a run says of them."""
    found = []
    for number, check in enumerate(case.deterministic_checks):
        has_workspace = has_files(case)
        reason = hindrance(check, notes.source.path.parent, has_workspace=has_workspace)
        if reason is not None:
            found.append((check.check_id, reason))
            of = "python_hook" if check.declarative is None else "declarative"
            what = f"check `{check.check_id}` cannot be made: {HINDRANCES[reason]}"
            advice = ALLOW_HOOKS * (reason == HOOKS_DISABLED) + SKIP_CHECKS
            key = "deterministic_checks", number, of
            notes.add_unbuilt(what, key, advice, check.check_id)
    return tuple(found)


def has_files(case: Case) -> bool:
    """Return whether a trial of a case leaves files in which checks can look."""
    tools = case.input.context.llm_probe.tools
    in_sandbox = any(name in TOOLS and TOOLS[name].needs == "sandbox" for name in tools)
    runner = RUNNERS[case.runner.type]
    return runner.has_workspace or (runner.offers_tools and in_sandbox)


def _settings(case: Case, notes: Notes) -> dict[str, JsonValue]:
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
