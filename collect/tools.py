"""Recognises the commands and tools that a model invokes in its text.

Five patterns of the older tool, one for each way a model may write a command: `` `free -h` ``,
`"free -h"` or `'free -h'`, `$ free` or `# free`, `<tool>free</tool>`, `[tool: free]`. Nothing is
executed: this is text matching, made as careful as text allows. Each match has one group, the name;
a match without it (a Markdown heading) is no command.

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
from typing import Literal, NamedTuple

from schemas.redact import redact

# Repetitions are possessive, bounded, or stop at the next mark: hostile text takes linear time.
_AFTER_LETTER = r"(?<![0-9A-Za-z_\u00C0-\u1FFF])"  # not \w: Chinese puts no space before a mark
_VALUE = r"""(?:"[^"\n]{0,99}"|'[^'\n]{0,99}'|[^\s"'`]{0,99}+)"""
_OPTION = r"""-(?:[CDRTUghprtu][ \t]++[^\s"'`-][^\s"'`]{0,99}+|[\w=-]{1,99}+)"""
_SUDO = rf"sudo(?:[ \t]++{_OPTION}){{0,8}}+"
_SKIPPED = rf"(?:(?:{_SUDO}|[A-Za-z_]\w{{0,99}}+={_VALUE})[ \t]++){{0,8}}+(?!sudo(?![\w.-]))"
_PATH = r"(?:[\w.~-]{0,99}+/){0,32}+"
_END = r"(?![\w=/]|://)"
_NAME = rf"(?=[0-9_.-]*+[A-Za-z])([A-Za-z0-9_][\w.-]{{0,127}}+){_END}"
_LOWER = rf"(?=[0-9_.-]*+[a-z])([a-z0-9_][a-z0-9_.-]{{0,127}}+){_END}"
_COMMAND = _SKIPPED + _PATH + _NAME
_COMMAND_LOWER = _SKIPPED + _PATH + _LOWER
_HOST = r"[\w.-]{1,99}+@[^\s$#>]{0,99}+"  # of the prompt `user@host:~$`
_HEADING = r"^(?: {0,3}>)*+ {0,3}#{1,6}(?=[ \t]|$)"
_TAG = r"(?:(?<=```)(?:bash|sh|shell|zsh|console|json|yaml|xml|text)[ \t]++)?+"  # fence on one line

FENCE = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?"  # in a quotation, in a list
    r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`]*)(?P<rest>[^`\n]*)$",
    re.MULTILINE,
)


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII | re.MULTILINE)


def _line(prompts: str) -> re.Pattern[str]:
    prompt = rf"(?:(?:{_HOST})?+[{prompts}][ \t]++){{0,2}}+"
    return _pattern(rf"^(?<!\\\n)(?<!\\\r\n)[ \t]*+{prompt}{_COMMAND_LOWER}(?=[\s;|&<>]|$)")


TICKS = _pattern(rf"{_AFTER_LETTER}(?<!`)`++{_TAG}(?:[$#][ \t]++)?+{_COMMAND}")
QUOTES = _pattern(rf"""(?:"|{_AFTER_LETTER}'){_COMMAND_LOWER}(?=\s)""")
PROMPTS = _pattern(rf"{_HEADING}|(?:\$|(?<![\w#])#|^[ \t]*+{_HOST}#)[ \t]++{_COMMAND_LOWER}")
DOLLARS = _pattern(rf"\$[ \t]++{_COMMAND_LOWER}")
MARKERS = _pattern(rf"<(?i:tool)>\s*+{_NAME}\s*+</(?i:tool)>|\[(?:tool|TOOL):\s*+{_NAME}\s*+\]")
SESSION_LINES = _line("$#>")
SCRIPT_LINES = _line("$>")


class Fence(NamedTuple):
    """One block: its language tag and the offsets of the whole and of the lines inside."""

    tag: str
    start: int
    body_start: int
    body_end: int
    end: int


def find_fences(text: str) -> list[Fence]:
    """Return the blocks in order; one that is never closed runs to the end of the text."""
    found = []
    opening: re.Match[str] | None = None
    for line in FENCE.finditer(text):
        if opening is None:
            opening = line
        elif _closes(line, opening):
            found.append(_fence(opening, line.start(), line.end()))
            opening = None
    if opening is not None:
        found.append(_fence(opening, len(text), len(text)))
    return found


def _closes(line: re.Match[str], opening: re.Match[str]) -> bool:
    """Tell whether `line` holds nothing but at least as many marks of the same kind."""
    bare = not line["tag"] and not line["rest"].strip()
    return bare and line["marks"].startswith(opening["marks"])


def _fence(opening: re.Match[str], body_end: int, end: int) -> Fence:
    """Return the block between an opening line and an end; `{.bash}` is the tag `bash`."""
    body_start = min(opening.end() + 1, body_end)
    tag = opening["tag"].strip("{}.").lower()
    return Fence(tag, opening.start(), body_start, body_end, end)


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
