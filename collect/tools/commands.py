"""What a command looks like in text: one pattern for each way a model may write it.

Each match has one group, the name; a match without it (a Markdown heading) is no command. What
the patterns mean for users is told in `collect.tools.detect`.
"""

from __future__ import annotations

import re

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


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII | re.MULTILINE)


def _line(prompts: str) -> re.Pattern[str]:
    prompt = rf"(?:(?:{_HOST})?+[{prompts}][ \t]++){{0,2}}+"
    return _pattern(rf"^(?<!\\\n)(?<!\\\r\n)[ \t]*+{prompt}{_COMMAND_LOWER}(?=[\s;|&<>]|$)")


TICKS = _pattern(rf"{_AFTER_LETTER}(?<!`)`++{_TAG}(?:[$#][ \t]++)?+{_COMMAND}")
QUOTES = _pattern(rf"""(?:"|{_AFTER_LETTER}'){_COMMAND_LOWER}(?=\s)""")
PROMPTS = _pattern(
    rf"{_HEADING}|(?:\$|(?<![\w#])#|^[ \t]*+{_HOST}#)[ \t]++{_COMMAND_LOWER}",
)
DOLLARS = _pattern(rf"\$[ \t]++{_COMMAND_LOWER}")
MARKERS = _pattern(
    rf"<(?i:tool)>\s*+{_NAME}\s*+</(?i:tool)>|\[(?:tool|TOOL):\s*+{_NAME}\s*+\]",
)
SESSION_LINES = _line("$#>")
SCRIPT_LINES = _line("$>")
