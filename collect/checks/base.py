"""What every validator shares: the answer it reads, the verdict it gives, and the safe regex."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

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


def matches(pattern: str, text: str, *, whole: bool) -> bool:
    """Tell whether a pattern matches the whole text, or else any part of it.

    `concurrent` gives up the interpreter lock while matching, whatever the default of the
    package: a slow pattern in a worker thread must not stop the event loop.

    Character classes follow Unicode as `regex` knows it.

    Raises:
        TimeoutError: the pattern takes too long on this text.
    """
    import regex  # noqa: PLC0415 - most suites have no pattern, and it takes a while to load

    compiled = regex.compile(pattern, regex.V0)
    find = compiled.fullmatch if whole else compiled.search
    return find(text, timeout=REGEX_TIMEOUT_S, concurrent=True) is not None
