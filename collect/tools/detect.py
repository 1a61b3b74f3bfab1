"""Recognises the commands and tools that a model invokes in its text.

Five patterns of the older tool: `` `free -h` ``, `"free -h"` or `'free -h'`, `$ free` or `# free`,
`<tool>free</tool>`, `[tool: free]`. Nothing is executed: this is text matching, made as careful as
text allows.

* A command is read alike everywhere: its first word, after an optional prompt, `sudo` with its
  options, and assignments, reduced to its base name. `` `sudo /usr/bin/free -h` `` is `free`.
* A name holds a letter: the 5 of `cost $ 5` is none. `--help`, URLs and `KEY=value` are none.
* Upper case counts in back-ticks and in the two markers; the other patterns read lower case only,
  so that ordinary sentences stay out. A quoted command needs an argument after it.
* Back-ticks and apostrophes directly after a letter open nothing: it's, and the closing mark.
* A fenced block without a tag, or with the tag of a Unix shell, is shell: each line is a command.
  Its tag is none. There `# ` is the prompt of root, except in a script (a block tagged as one that
  has other lines too), where it begins a comment.
* Other fenced blocks (JSON, Python, output) hold no command lines, back-ticks or `# ` prompts; what
  is quoted or marked in them counts, such as `{"command": "free -h"}`.
* Outside of blocks a line that begins with `# ` is a heading of Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from collect.tools.commands import (
    DOLLARS,
    MARKERS,
    PROMPTS,
    QUOTES,
    SCRIPT_LINES,
    SESSION_LINES,
    TICKS,
)
from collect.tools.fences import Fence, find_fences
from schemas.redact import redact

Kind = Literal["prose", "session", "script", "other"]

SESSION_TAGS = frozenset({"", "console", "terminal", "shell-session", "shellsession"})
SCRIPT_TAGS = frozenset({"bash", "sh", "shell", "zsh", "fish", "ksh"})
MARKS = re.compile(r"[`~\"'$#<\[]")
"""Every pattern and every fence begins with one of these."""

NO_COMMENT = re.compile(r"^[ \t]*+[^\s#]", re.MULTILINE)

PATTERNS: Mapping[Kind, tuple[re.Pattern[str], ...]] = MappingProxyType(
    {
        "prose": (TICKS, QUOTES, PROMPTS, MARKERS),
        "session": (TICKS, QUOTES, SESSION_LINES, MARKERS),
        "script": (TICKS, QUOTES, SCRIPT_LINES, MARKERS),
        "other": (QUOTES, DOLLARS, MARKERS),
    }
)
"""What is looked for in each part of a text."""


@dataclass(frozen=True)
class ToolUse:
    """The tools of one trial: their names, where they were seen, whether one was expected."""

    tool_calls: tuple[str, ...]
    tool_call_source: Literal["api", "text"] | None
    tool_use_success: bool


def tool_use(text: str, api_tool_calls: Iterable[str], expected: Iterable[str]) -> ToolUse:
    """Return the tools of an answer: those called through the API, else those in its text."""
    called = _distinct(api_tool_calls)
    names = called or detect_tools(text)
    source: Literal["api", "text"] = "api" if called else "text"
    wanted = {name.lower() for name in expected}
    return ToolUse(names, source if names else None, not wanted.isdisjoint(names))


def detect_tools(text: str) -> tuple[str, ...]:
    """Return the distinct names in lower case, in the order in which they first appear."""
    if MARKS.search(text) is None:  # nothing that a pattern could begin with
        return ()
    found = sorted(
        (match.start(match.lastindex), match[match.lastindex].rstrip("."))
        for kind, start, end in _parts(text)
        for pattern in PATTERNS[kind]
        for match in pattern.finditer(text, start, end)
        if match.lastindex
    )
    return _distinct(name for _, name in found)


def _parts(text: str) -> Iterator[tuple[Kind, int, int]]:
    """Return what lies between the fences and inside of them, in order, without blank parts."""
    end = 0
    for fence in find_fences(text):
        if not text[end : fence.start].isspace():
            yield "prose", end, fence.start
        if fence.body_start < fence.body_end:
            yield _kind(text, fence), fence.body_start, fence.body_end
        end = fence.end
    yield "prose", end, len(text)


def _kind(text: str, fence: Fence) -> Kind:
    """Tell what a block holds; a script of comments alone is a session of root."""
    if fence.tag in SCRIPT_TAGS:
        return "script" if NO_COMMENT.search(text, fence.body_start, fence.body_end) else "session"
    return "session" if fence.tag in SESSION_TAGS else "other"


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, in lower case, in the order given; a key in small letters is none."""
    return tuple(dict.fromkeys(redact(name).lower() for name in names))
