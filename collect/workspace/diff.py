"""What has changed between two lists of files, and the text of it as a unified diff like git's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from collect.workspace.files import Tree, Unreadable
from collect.workspace.lines import Work, hunks, lines_of
from schemas.run.workspace import WorkspaceChange, WorkspaceEntry, spelled, unspelled

MAX_FILE_BYTES = 1_000_000
"""Of a file whose text is shown."""

MAX_READ_BYTES = 32_000_000
"""Of all files that are read for one diff; about 2 s."""

MAX_FILE_LINES = 1_000
"""Of the hunks of one file; more are counted."""

END = "\\ the diff is cut off here\n"
NOTE = "\\ {note}\n"
NULL = "/dev/null"

ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"} | {
    34: '\\"',
    92: "\\\\",
}
"""Bytes of names that git writes with a letter; other control characters as octal numbers."""


def changes(
    before: Sequence[WorkspaceEntry], after: Sequence[WorkspaceEntry]
) -> tuple[WorkspaceChange, ...]:
    """Return what has become of each path, by path; what is the same is not in it.

    A file is renamed where one with the same content, which is not empty, is gone: of several one
    with the same name, then the first one by path. Of two files that were not read only size and
    executable bit are known.
    """
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}
    gone = [entry for path, entry in sorted(old.items()) if path not in new]
    added = [entry for path, entry in sorted(new.items()) if path not in old]
    came_from = _renamed(gone, added)
    moved = {entry.path for entry in came_from.values()}
    found = [_change("deleted", one, None) for one in gone if one.path not in moved]
    for one in added:
        was = came_from.get(one.path)
        found.append(_change("added" if was is None else "renamed", was, one))
    found.extend(
        _change("modified", was, new[path])
        for path, was in old.items()
        if path in new and _state(was) != _state(new[path])
    )
    return tuple(sorted(found, key=lambda change: change.path))


def _state(entry: WorkspaceEntry) -> tuple[object, ...]:
    """Return what makes a thing another one."""
    content = entry.kind, entry.size, entry.sha256, entry.target
    return *content, entry.is_executable, entry.left_out


def _renamed(
    gone: Iterable[WorkspaceEntry], added: Iterable[WorkspaceEntry]
) -> dict[str, WorkspaceEntry]:
    """Return what some of the new files were before, by their paths."""
    sources: dict[str, list[WorkspaceEntry]] = defaultdict(list)
    targets: dict[str, list[WorkspaceEntry]] = defaultdict(list)
    for side, entries in ((sources, gone), (targets, added)):
        for entry in entries:
            if entry.kind == "file" and entry.sha256 is not None and entry.size > 0:
                side[entry.sha256].append(entry)
    came_from: dict[str, WorkspaceEntry] = {}
    for sha256, wanted in targets.items():
        by_name: dict[str, list[WorkspaceEntry]] = defaultdict(list)
        for entry in reversed(sources[sha256]):
            by_name[PurePosixPath(entry.path).name].append(entry)
        rest = []
        for entry in wanted:
            if same_name := by_name[PurePosixPath(entry.path).name]:
                came_from[entry.path] = same_name.pop()
            else:
                rest.append(entry)
        left = sorted(chain.from_iterable(by_name.values()), key=lambda entry: entry.path)
        came_from |= {entry.path: was for entry, was in zip(rest, left, strict=False)}
    return came_from


def _change(kind: str, was: WorkspaceEntry | None, now: WorkspaceEntry | None) -> WorkspaceChange:
    there = now or was
    assert there is not None
    known = [one.is_binary for one in (was, now) if one is not None and one.is_binary is not None]
    return WorkspaceChange(
        path=there.path,
        change=kind,
        old_path=was.path if kind == "renamed" and was is not None else None,
        kind=there.kind,
        size=there.size,
        is_binary=any(known) if known else None,
        left_out=there.left_out,
    )


@dataclass(slots=True)
class _Budget:
    """What may still be read and compared."""

    size: int
    work: Work
    is_cut: bool = False
    """Something was too much."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A file or link before or after a change, as git has it."""

    mode: str
    text: str | None
    """None: it is binary, or `note` says why it is not shown."""
    note: str | None = None


def unified(
    changes: Sequence[WorkspaceChange], before: Path | None, after: Path, max_bytes: int
) -> tuple[str, bool]:
    """Return the diff of some changes, and whether something of it is not shown.

    Folders are not in it. What was left out of a copy has one line that says so. The time is
    bounded: of a large file the size is said, of a long one the first lines and how many more there
    are, and texts that have little in common are replaced as a whole.

    Args:
        changes: as `changes` returns them.
        before: folder of the old files; None: there were none.
        after: folder of the new ones.
        max_bytes: of the text as UTF-8.
    """
    trees = None if before is None else Tree(before), Tree(after)
    budget = _Budget(MAX_READ_BYTES, Work())
    shown: list[str] = []
    room = max_bytes - len(END)
    for line in chain.from_iterable(_section(change, *trees, budget) for change in changes):
        room -= len(line.encode())
        if room < 0:
            return "".join([*shown, END])[: max(0, max_bytes)], True
        shown.append(line)
    return "".join(shown), budget.is_cut


def _section(
    change: WorkspaceChange, before: Tree | None, after: Tree, budget: _Budget
) -> Iterator[str]:
    """Yield the lines about one change."""
    old_path = change.old_path or change.path
    if change.left_out is not None and change.change != "deleted":
        yield _header(old_path, change.path)
        size = f", {change.size:,} bytes" if change.kind == "file" else ""
        yield f"Left out: {change.left_out}{size}\n"
        return
    old = new = None
    if before is not None and change.change != "added":
        old = _side(before, old_path, budget)
    if change.change != "deleted":
        new = _side(after, change.path, budget)
    if old is not None and new is not None and old.mode[:3] != new.mode[:3]:
        yield from _compared(old, None, old_path, change, budget)
        yield from _compared(None, new, old_path, change, budget)
    elif old is not None or new is not None:
        yield from _compared(old, new, old_path, change, budget)


def _side(tree: Tree, path: str, budget: _Budget) -> _Side | None:
    """Return a file or link of a tree; None: it is neither."""
    found = tree.find(path, follows=False)
    if found is not None and found.target is not None:
        return _Side("120000", found.target)
    if found is None or found.kind != "file":
        return None
    mode = "100755" if found.is_executable else "100644"
    if found.size > min(MAX_FILE_BYTES, budget.size):
        return _Side(mode, None, f"{found.size:,} bytes are not shown")
    try:
        raw = tree.content(path, MAX_FILE_BYTES)
    except Unreadable as exc:
        return _Side(mode, None, str(exc).replace("\n", "\\n"))
    budget.size -= len(raw)
    try:
        return _Side(mode, None if b"\0" in raw else raw.decode("utf-8"))
    except UnicodeDecodeError:
        return _Side(mode, None)


def _compared(
    old: _Side | None, new: _Side | None, old_path: str, change: WorkspaceChange, budget: _Budget
) -> Iterator[str]:
    """Yield header and hunks of two sides, of which one may be missing."""
    yield _header(old_path, change.path)
    if old is None and new is not None:
        yield f"new file mode {new.mode}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {old.mode}\n"
    elif old is not None and new is not None and old.mode != new.mode:
        yield f"old mode {old.mode}\n"
        yield f"new mode {new.mode}\n"
    if change.change == "renamed":
        yield "similarity index 100%\n"
        yield f"rename from {_quoted(old_path)}\n"
        yield f"rename to {_quoted(change.path)}\n"
        return
    names = (
        NULL if old is None else _quoted(f"a/{old_path}"),
        NULL if new is None else _quoted(f"b/{change.path}"),
    )
    sides = [side for side in (old, new) if side is not None]
    for note in dict.fromkeys(side.note for side in sides if side.note is not None):
        budget.is_cut = True
        yield NOTE.format(note=note)
        return
    texts = [side.text for side in sides if side.text is not None]
    if len(texts) < len(sides):
        yield f"Binary files {names[0]} and {names[1]} differ\n"
        return
    was, now = ([] if side is None else lines_of(side.text or "") for side in (old, new))
    if was != now:
        for mark, name in zip(("---", "+++"), names, strict=True):
            yield f"{mark} {name}\t\n" if " " in name and name[0] != '"' else f"{mark} {name}\n"
        shown = hunks(was, now, budget.work)
        yield from islice(shown, MAX_FILE_LINES)
        if n_more := sum(1 for _ in shown):
            budget.is_cut = True
            yield NOTE.format(note=f"{n_more:,} more lines")


def _header(old_path: str, path: str) -> str:
    return f"diff --git {_quoted(f'a/{old_path}')} {_quoted(f'b/{path}')}\n"


def _quoted(path: str) -> str:
    """Return a path as git writes it: in quotes where it holds what would break a line."""
    raw = unspelled(path)
    text = spelled(raw)
    is_plain = text.encode() == raw and not any(
        byte < 32 or byte == 127 or byte in ESCAPES for byte in raw
    )
    if is_plain:
        return text
    words = []
    for byte in raw:
        is_shown = 32 <= byte < 127
        words.append(ESCAPES.get(byte) or (chr(byte) if is_shown else f"\\{byte:03o}"))
    return f'"{"".join(words)}"'
