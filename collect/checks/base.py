"""What every validator shares: the answer it reads, the verdict it gives, and the safe regex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

if TYPE_CHECKING:
    from regex import Pattern

REGEX_TIMEOUT_S = 1.0
"""Far above any sane pattern on a model's answer, far below a trial's own time limit."""


@dataclass(frozen=True)
class Answer:
    """What a model gave back: its text, and the tools it called through the API."""

    output: str
    api_tool_calls: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The output without spaces, tabs and line ends around it; a no-break space stays."""
        return strip(self.output)


@dataclass(frozen=True)
class Verdict:
    """Whether the answer holds, what it violates when not, and what was read out of it."""

    objective_pass: bool | None
    violation: str | None
    parsed_output: JsonValue


def strip(text: str) -> str:
    """Return `text` without the four characters that no validator looks at."""
    return text.strip(" \t\r\n")


def verdict(passed: bool, violation: str, parsed_output: JsonValue) -> Verdict:
    """Return a verdict that names the violation only when there is one."""
    return Verdict(passed, None if passed else violation, parsed_output)


def fullmatches(pattern: str, text: str) -> bool:
    """Tell whether the whole text matches; character classes follow Unicode as `regex` knows it.

    `concurrent` gives up the interpreter lock while matching, whatever the default of the
    package: a slow pattern in a worker thread must not stop the event loop.

    Raises:
        TimeoutError: the pattern takes too long on this text.
    """
    compiled = _compiled(pattern)
    return compiled.fullmatch(text, timeout=REGEX_TIMEOUT_S, concurrent=True) is not None


def searches(pattern: str, text: str) -> bool:
    """Tell whether the pattern matches somewhere in the text, as `fullmatches` does of the whole.

    Raises:
        TimeoutError: the pattern takes too long on this text.
    """
    compiled = _compiled(pattern)
    return compiled.search(text, timeout=REGEX_TIMEOUT_S, concurrent=True) is not None


def _compiled(pattern: str) -> Pattern[str]:
    import regex  # noqa: PLC0415 - most suites have no pattern, and it takes a while to load

    return regex.compile(pattern, regex.V0)
