"""The kinds of declarative checks: each takes its record and a trial, returns what it found.

That is whether it passed, and in words what was found where not.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import PurePosixPath

from collect.checks.left import CannotLook, Trial
from schemas.config import checks
from schemas.run.workspace import spelled

Outcome = tuple[bool, str | None]
"""(passed, what was found when it did not)."""

TRACE_LOST = "trace_lost"

PRESENT = frozenset({"added", "modified", "renamed"})
"""Changes after which there is such a file."""


def answered(_: checks.FinalResponsePresent, trial: Trial) -> Outcome:
    """Pass when there is a text."""
    return bool(trial.final_response.strip()), "there is no final text"


def ended(check: checks.StatusIs, trial: Trial) -> Outcome:
    """Pass when the trial ended so."""
    return trial.status == check.status, f"got {trial.status}"


def called(check: checks.ToolCallCount, trial: Trial) -> Outcome:
    """Pass when so many tools were called."""
    if trial.n_tool_calls is None:
        raise CannotLook(TRACE_LOST, "the trace, which has the calls, is lost")
    return trial.n_tool_calls == check.count, f"got {trial.n_tool_calls}, want {check.count}"


def file_exists(check: checks.FileExists, trial: Trial) -> Outcome:
    """Pass when the file is there."""
    return _is_there(trial, check.path, ("file",))


def path_exists(check: checks.PathExists, trial: Trial) -> Outcome:
    """Pass when a file or folder is there."""
    return _is_there(trial, check.path, ("file", "folder"))


def _is_there(trial: Trial, name: str, kinds: tuple[str, ...]) -> Outcome:
    if trial.is_there(name, kinds):
        return True, None
    found = trial.find(name)
    if found is None:
        return False, trial.absence(name)
    words = {"folder": "is a folder", "link_out": "is a link that leads out of the workspace"}
    return False, f"{name} {words.get(found[2].kind, 'is neither a file nor a folder')}"


def contains(check: checks.FileContains, trial: Trial) -> Outcome:
    """Pass when the file is there and holds the text."""
    text, what = trial.text(check.path)
    if text is None:
        return False, what
    return check.text in text, f"{check.path} does not hold the text"


def artifact_present(check: checks.OutputArtifactPresent, trial: Trial) -> Outcome:
    """Pass when an output artifact has all that is asked for."""
    asked = {
        name: value
        for name in ("artifact_id", "artifact_type", "uri")
        if (value := getattr(check, name)) is not None
    }
    found = trial.output_artifacts
    if any(all(getattr(one, name) == value for name, value in asked.items()) for one in found):
        return True, None
    there = ", ".join(one.path for one in found)
    return False, f"no such artifact among {there}" if there else "there is no output artifact"


def changed_file(check: checks.WorkspaceFilePresent, trial: Trial) -> Outcome:
    """Pass when the trial has made or changed the file, and it holds what is asked for."""
    path = str(PurePosixPath(check.relative_path))
    written = spelled(os.fsencode(path))
    workspace = trial.workspace
    changes = () if workspace is None else workspace.changes
    change = next((one for one in changes if one.path == written and one.change in PRESENT), None)
    if change is None:
        if any(one.path == written and one.change == "deleted" for one in changes):
            return False, f"{path} was deleted"
        is_there = trial.left is not None and trial.finds(path)
        return False, f"{path} was not changed" if is_there else trial.absence(path)
    try:
        text, what = trial.text(path)
    except CannotLook:
        if not (check.contains or check.contains_all or check.contains_any):
            return change.kind == "file", f"{path} is a {change.kind}"
        raise
    if not (check.contains or check.contains_all or check.contains_any):
        return _is_there(trial, path, ("file",))
    if text is None:
        return False, what
    return _holds(check, text, path)


def _holds(check: checks.WorkspaceFilePresent, text: str, path: str) -> Outcome:
    if check.contains is not None and check.contains not in text:
        return False, f"{path} does not hold the text"
    plain = normalised(text)
    missing = [word for word in check.contains_all if normalised(word) not in plain]
    if missing:
        return False, f"{path} does not hold {', '.join(map(repr, missing))}"
    if check.contains_any and not any(normalised(word) in plain for word in check.contains_any):
        return False, f"{path} holds none of {', '.join(map(repr, check.contains_any))}"
    return True, None


def normalised(text: str) -> str:
    """Return a text without case and accents: case folded, NFKD, no combining marks."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))
