"""What a program by configuration has said: its answer, its tokens, its log, where it says so."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collect.providers.base import Usage
from collect.sandbox.base import Folders
from collect.workspace import HOME, TMP, WORKSPACE
from collect.workspace.files import Tree, Unreadable
from schemas.base import MAX_QUANTITY
from schemas.config.command_agent import AnswerSource, DeclaredUsage
from schemas.formats.agent_logs.log import json_object
from schemas.run.workspace import spelled

MAX_ANSWER_BYTES = 8_000_000
MAX_LOG_BYTES = 64_000_000
"""Of all files of a log together."""

MAX_LOG_FILES = 256
MAX_SEEN = 100_000
"""Of names in the folders where a log is looked for."""


def value_at(document: Any, path: str) -> Any:
    """Return what keys and positions with dots between them lead to; None: nothing."""
    found = document
    for key in path.split("."):
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.lstrip("-").isdigit():
            place = int(key)
            found = found[place] if -len(found) <= place < len(found) else None
        else:
            return None
    return found


def documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, the last first: the whole of it, or each line."""
    if (whole := json_object(text)) is not None:
        yield whole
        return
    for line in reversed(text.splitlines()):
        if line.lstrip().startswith("{") and (found := json_object(line)) is not None:
            yield found


def answer_in(answer: AnswerSource, out: str, folders: Folders) -> tuple[str, str]:
    """Return the agent's answer, and why there is none."""
    if answer.source == "stdout":
        return out.strip(), ""
    path = answer.path or ""
    if answer.source == "file":
        try:
            return read_inside(folders, path, MAX_ANSWER_BYTES).decode("utf-8", "replace"), ""
        except Unreadable as exc:
            return "", f"no answer: {exc}"
    for document in documents(out):
        found = value_at(document, path)
        if isinstance(found, str):
            return found, ""
    return "", f"no answer: nothing on stdout has a text at `{path}`"


def read_inside(folders: Folders, name: str, max_bytes: int) -> bytes:
    """Return what a file holds that is named as the agent sees it, from the workspace on.

    Raises:
        Unreadable: there is none, or it cannot be read.
    """
    for place, folder in _places(folders).items():
        if name.startswith(f"{place}/"):
            return Tree(folder).content(name[len(place) + 1 :], max_bytes)
    return Tree(folders.workspace).content(name, max_bytes)


def _places(folders: Folders) -> Mapping[str, Path]:
    return {WORKSPACE: folders.workspace, HOME: folders.home, TMP: folders.tmp}


def usage_in(declared: DeclaredUsage, outs: Sequence[str]) -> tuple[Usage, float | None] | None:
    """Return the tokens and the cost that an agent tells of itself; None: it does not.

    Args:
        declared: where they stand and what they mean.
        outs: what was printed, or stood in the file, after each turn.
    """
    readings = [one for out in outs if (one := _counts(declared, out)) is not None]
    if not readings:
        return None
    if declared.counts == "cumulative":
        readings = readings[-1:]
    names = dict.fromkeys(name for one in readings for name in one)
    sums = {name: sum(one.get(name, 0) for one in readings) for name in names}
    cost = sums.pop("cost_usd", None)
    counts = {name: int(number) for name, number in sums.items()}
    if declared.cached == "beside" and "input_tokens" in counts:
        cached_counts = (
            counts.get(name, 0) for name in ("cached_input_tokens", "cache_write_tokens")
        )
        counts["input_tokens"] += sum(cached_counts)
    return Usage(**counts, raw=[dict(one) for one in readings], source="agent"), cost


def _counts(declared: DeclaredUsage, out: str) -> dict[str, float] | None:
    names = (
        "input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens",
        "reasoning_tokens", "cost_usd",
    )  # fmt: skip
    for document in documents(out):
        found: dict[str, float] = {}
        for name in names:
            path = getattr(declared, name)
            value = None if path is None else value_at(document, path)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if 0 <= value <= MAX_QUANTITY:
                found[name] = float(value)
        if "input_tokens" in found or "output_tokens" in found:
            return found
    return None


def log_files(paths: Sequence[str], folders: Folders) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a log by the names that the agent sees, and what was passed over.

    Args:
        paths: with `*` for what is in a name and `**` for folders.
        folders: of the trial; nothing runs in them any more.
    """
    found: dict[str, bytes] = {}
    notes: list[str] = []
    left = MAX_LOG_BYTES
    for place, folder in _places(folders).items():
        wanted = [one[len(place) + 1 :] for one in paths if one.startswith(f"{place}/")]
        if not wanted:
            continue
        tree = Tree(folder)
        for name in _names(folder):
            if not any(_fits(name, one) for one in wanted):
                continue
            if len(found) >= MAX_LOG_FILES:
                notes.append(f"only {MAX_LOG_FILES} files of the log are read")
                return found, notes
            try:
                raw = tree.content(name, left)
            except Unreadable as exc:
                notes.append(str(exc))
                continue
            left -= len(raw)
            found[f"{place}/{name}"] = raw
    return found, notes


def _names(folder: Path) -> list[str]:
    """Return the files below a folder, sorted; links are not followed."""
    found: list[str] = []
    for top, folders, names in os.walk(folder):
        folders.sort()
        inner = os.path.relpath(top, folder)
        found += [name if inner == "." else f"{inner}/{name}" for name in names]
        if len(found) > MAX_SEEN:
            break
    return [spelled(os.fsencode(name)) for name in sorted(found)]


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name fits a pattern; `**` stands for any folders, or none."""
    return _fits_parts(name.split("/"), pattern.split("/"))


def _fits_parts(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_fits_parts(parts[n:], wanted[1:]) for n in range(len(parts) + 1))
    return (
        bool(parts)
        and fnmatch.fnmatchcase(parts[0], wanted[0])
        and _fits_parts(parts[1:], wanted[1:])
    )
