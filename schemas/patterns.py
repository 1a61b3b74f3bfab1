r"""Regular expressions that users write: Python's `re` syntax, run by the `regex` package.

`regex` alone can be stopped after a second, but it reads more syntax than `re`. What the two read
differently is refused at load time, so that a pattern means what the Python documentation says.
(Their Unicode tables differ too: `\w` of `regex` takes combining marks, `\s` no `\x1c`-`\x1f`.)
"""

from __future__ import annotations

import re
import warnings
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

_SKIPPED = r"\\N\{[^}]*\}|\\.|\(\?\#[^)]*\)"  # escapes and comments hold no syntax
_MEMBER = r"(?:\\.|[^\]\\])"
_CLASS = rf"\[\^?(?:\\.|[^\\]){_MEMBER}*\]"
_FOREIGN = (
    rf"\[\^?(?:\\.|[^\\]){_MEMBER}*?(?P<set>--|&&|\|\||~~)",  # those `re` itself warns about
    rf"\[\^?\]?{_MEMBER}*?(?P<posix>\[:\^?[^\]:]+:\])",
    r"(?P<fuzzy>\{(?:[deis]|[0-9]+<=?[deis]<|[0-9]+[dis](?:\+[0-9]*[dis])*<))",
)
FOREIGN_SYNTAX = re.compile("|".join((_SKIPPED, *_FOREIGN, _CLASS)), re.DOTALL)
"""What the `regex` package reads differently from Python's `re`, which is what users know.

It eats a pattern from left to right; only a match of a named group is foreign. Everything else
that differs in syntax is refused by `re` (`\\p{L}`, `\\L<n>`, `(?R)`) or by `regex` itself.
"""
FOREIGN_VERBOSE = re.compile(
    FOREIGN_SYNTAX.pattern
    + r"|\#[^\n]*"  # a comment
    + r"|(?P<spaced>\{\s*(?:[deis][^}]*|[0-9,\s]*\s[0-9,\s]*)\})"  # only `regex` drops these spaces
    + r"|(?P<space>[^\S \t\n\r\f\v])",  # white space to `regex`, a literal to `re`
    re.DOTALL,
)
"""The same for patterns with the flag `x`."""
LONGEST = 10_000
MOST_UNROLLED = 100_000
COUNTED = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\((?:\?(?:P?<[^>]*>|[^)]?))?|\)|\{([0-9]*),?([0-9]*)\}|.",
    re.DOTALL,
)
HUGE_COUNT = re.compile(r"\{[0-9]{6,}")
"""`regex` unrolls repetitions: `a{10000000}` would take gigabytes before anything runs."""

_VERBOSE_FLAG = re.compile(r"\(\?[aimsu]*x")


def _unrolled(pattern: str) -> int:
    """Return how many steps a pattern has when its counted repetitions are written out."""
    totals, last = [0], [0]
    for token in COUNTED.finditer(pattern):
        text = token[0]
        if text[0] == "(":
            totals.append(0)
            last.append(0)
        elif text == ")" and len(totals) > 1:
            inner = totals.pop()
            last.pop()
            totals[-1] += inner + 1
            last[-1] = inner + 1
        elif text[0] == "{" and (token[1] or token[2]):
            count = max(int(number) for number in (token[1], token[2]) if number)
            totals[-1] += last[-1] * (count - 1)
            last[-1] *= max(count, 1)
        else:
            totals[-1] += 1
            last[-1] = 1
    return max(totals)


def _compiles(pattern: str) -> str:
    """Refuse a pattern that either engine cannot compile, or that they read differently."""
    import regex  # noqa: PLC0415  # 20 ms that commands which only read records do not pay

    foreign = FOREIGN_VERBOSE if _VERBOSE_FLAG.search(pattern) else FOREIGN_SYNTAX
    for token in foreign.finditer(pattern):
        if token.lastgroup:
            kind = "regex"
            template = "`{part}` is fuzzy, set or POSIX syntax, which is not supported: escape it"
            raise PydanticCustomError(kind, template, {"part": token[token.lastgroup]})
    if huge := HUGE_COUNT.search(pattern):
        kind, template = "regex", "`{part}` repeats more than 99,999 times"
        raise PydanticCustomError(kind, template, {"part": huge[0]})
    if len(pattern) > LONGEST or _unrolled(pattern) > MOST_UNROLLED:
        kind = "regex"
        template = "is not a valid regular expression: it unrolls to over 100,000 steps"
        raise PydanticCustomError(kind, template)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `[[]` is fine: both read a bracket
            re.compile(pattern)
        regex.compile(pattern, regex.V0)
    except (re.error, regex.error, OverflowError, RecursionError, MemoryError) as exc:
        kind, template = "regex", "is not a valid regular expression: {reason}"
        raise PydanticCustomError(kind, template, {"reason": str(exc)}) from exc
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
