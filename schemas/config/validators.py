r"""The validators a case may carry: what may be written, and the name of what judges by it.

`collect.checks` judges; docs/configuration.md holds the semantics. A value that could never match
or always would, a pattern that does not compile and a rule of unknown type are refused here, at
load time.

Users write patterns in Python's `re` syntax, run by the `regex` package, which alone can be stopped
after a second, but reads more syntax than `re`. What the two read differently is refused at load
time, so that a pattern means what the Python documentation says. (Their Unicode tables differ too:
`\w` of `regex` takes combining marks, `\s` no `\x1c`-`\x1f`.)
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StrictFloat,
    StrictInt,
    model_validator,
)
from pydantic_core import PydanticCustomError

from schemas.base import NonEmpty, Record, RecordOf, exactly_one, require
from schemas.registry import Registry

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
MAX_PATTERN_CHARS = 10_000
MAX_UNROLLED = 100_000
COUNTED = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\((?:\?(?:P?<[^>]*>|[^)]?))?|\)|\{([0-9]*),?([0-9]*)\}|.",
    re.DOTALL,
)
HUGE_COUNT = re.compile(r"\{[0-9]{6,}")
"""`regex` unrolls repetitions: `a{10000000}` would take gigabytes before anything runs."""

_VERBOSE_FLAG = re.compile(r"\(\?[aimsu]*x")

MAX_NUMBER = 1e308
"""About the largest number that every reader of JSON takes."""

Limit = Annotated[int, Field(ge=0, strict=True)]
ToolNames = Annotated[tuple[NonEmpty, ...], Field(min_length=1)]


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
    part = next((one[one.lastgroup] for one in foreign.finditer(pattern) if one.lastgroup), None)
    message = "`{part}` is fuzzy, set or POSIX syntax, which is not supported: escape it"
    require(part is None, message, part=part)
    huge = HUGE_COUNT.search(pattern)
    require(huge is None, "`{part}` repeats more than 99,999 times", part=huge and huge[0])
    is_short = len(pattern) <= MAX_PATTERN_CHARS and _unrolled(pattern) <= MAX_UNROLLED
    require(is_short, "is not a valid regular expression: it unrolls to over 100,000 steps")
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


class ValidatorRecord(Record):
    """What a case says of one validator, whose name is the value of the field `type`."""

    if TYPE_CHECKING:
        type: str

    @property
    def runs_patterns(self) -> bool:
        """Whether judging runs a pattern that a user wrote, which may take its whole second."""
        return False


class Noop(ValidatorRecord):
    """No validation: `objective_pass` stays null."""

    type: Literal["noop"]


class Exact(ValidatorRecord):
    """The stripped text equals the stripped value."""

    type: Literal["exact"]
    value: str


class OneOf(ValidatorRecord):
    """The stripped text is one of the stripped values."""

    type: Literal["one_of"]
    values: Annotated[tuple[str, ...], Field(min_length=1)]


def _not_blank(value: str) -> str:
    """Refuse a text of white space alone, which is in every answer once it is stripped."""
    require(bool(value.strip(" \t\r\n")), "is blank, and every answer contains that")
    return value


Part = Annotated[str, AfterValidator(_not_blank)]


class _Parts(ValidatorRecord):
    """One text as `value`, or several as `values`, to be looked for in an answer."""

    value: Part | None = None
    values: Annotated[tuple[Part, ...], Field(min_length=1)] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the texts, however many were written."""
        return self.values or (self.value or "",)

    _one_or_several = exactly_one("value", "values")


class Contains(_Parts):
    """The stripped text contains the stripped value; or all, or any, of the values."""

    type: Literal["contains"]
    match: Literal["all", "any"] | None = Field(
        default=None, description="How many of `values` must be there."
    )

    @model_validator(mode="after")
    def _matched(self) -> Self:
        is_matched = (self.values is None) == (self.match is None)
        require(is_matched, "`values` needs `match: all` or `match: any`, `value` neither")
        return self


class NotContains(_Parts):
    """The stripped text contains neither the stripped value nor any of the values."""

    type: Literal["not_contains"]


class RegexFullmatch(ValidatorRecord):
    """The stripped text matches the whole pattern."""

    type: Literal["regex_fullmatch"]
    pattern: Pattern

    @property
    def runs_patterns(self) -> bool:
        """Always."""
        return True


class RegexSearch(ValidatorRecord):
    """The pattern matches somewhere in the stripped text."""

    type: Literal["regex_search"]
    pattern: Pattern

    @property
    def runs_patterns(self) -> bool:
        """Always."""
        return True


def _numeric(value: object) -> object:
    """Refuse what is no number with one sentence, not with one for each kind of number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    require(is_number, "should be a valid number, without quotes")
    return value


Numeric = Annotated[
    StrictInt | StrictFloat, BeforeValidator(_numeric), Field(ge=-MAX_NUMBER, le=MAX_NUMBER)
]


class Number(ValidatorRecord):
    """The last, or the only, number in the text is the value, give or take the tolerance."""

    type: Literal["number"]
    value: Numeric
    tolerance: Annotated[Numeric, Field(ge=0)] = Field(
        default=0, description="How far off a number may be, above or below, this far included."
    )
    occurrence: Literal["last", "only"] = Field(
        default="last", description="Which number counts; `only`: a second one fails the answer."
    )


class MaxWords(ValidatorRecord):
    """At most `value` words, split at white space."""

    type: Literal["max_words"]
    value: Limit


class MaxSentences(ValidatorRecord):
    """At most `value` sentences; one ends at `.`, `!` or `?` before white space or the end."""

    type: Literal["max_sentences"]
    value: Limit


class ExactBullets(ValidatorRecord):
    """Exactly `value` lines whose first non-blank character is `-` followed by white space."""

    type: Literal["exact_bullets"]
    value: Limit


class TypeRule(Record):
    """The value of a key has this JSON type; `true` is no number, `1.0` no integer."""

    type: Literal["string", "number", "integer", "boolean", "array", "object", "null"]


class OneOfRule(Record):
    """The value of a key is one of these JSON values."""

    type: Literal["one_of"]
    values: Annotated[tuple[JsonValue, ...], Field(min_length=1)]


class RegexRule(Record):
    """The value of a key is a string that matches the whole pattern."""

    type: Literal["regex"]
    pattern: Pattern


class RangeRule(Record):
    """The value of a key is a number between `min` and `max`, both included."""

    type: Literal["range"]
    min: StrictInt | StrictFloat | None = None
    max: StrictInt | StrictFloat | None = None

    @model_validator(mode="after")
    def _bounded(self) -> RangeRule:
        require(self.min is not None or self.max is not None, "needs `min`, `max` or both")
        is_possible = self.min is None or self.max is None or self.min <= self.max
        require(is_possible, "`min` is above `max`: nothing could ever match")
        return self


KeyRule = Annotated[TypeRule | OneOfRule | RegexRule | RangeRule, Field(discriminator="type")]
KeyRules = KeyRule | Annotated[tuple[KeyRule, ...], Field(min_length=1)]


class JsonKeys(ValidatorRecord):
    """A JSON object with the required keys, whose values obey all the rules of their keys."""

    type: Literal["json_keys"]
    required_keys: tuple[NonEmpty, ...] = ()
    key_rules: dict[str, KeyRules] = Field(default_factory=dict)

    def rules(self) -> dict[str, tuple[KeyRule, ...]]:
        """Return the rules of each key as a tuple, however many were written."""
        return {
            key: rules if isinstance(rules, tuple) else (rules,)
            for key, rules in self.key_rules.items()
        }

    @property
    def runs_patterns(self) -> bool:
        """Whether a key has such a rule."""
        return any(isinstance(rule, RegexRule) for rules in self.rules().values() for rule in rules)


class ToolInvocation(ValidatorRecord):
    """At least one of `expected_tools` was invoked."""

    type: Literal["tool_invocation"]
    expected_tools: ToolNames


@dataclass(frozen=True)
class ValidatorSpec:
    """What may be written of a validator, and what judges by it."""

    record: type[ValidatorRecord]
    """Its field `type` is a `Literal` of the name; of a field `expected_tools`, where it has one,
    the answer should invoke a tool."""
    judge: str | Callable[[Any, Any], Any] | None
    """Takes a record and an `Answer`, gives a `Verdict` (both of `collect.checks.base`) and never
    raises; or where it stands, as `module:attribute`. None: nothing is judged."""


_TEXT = "collect.checks.text"

VALIDATORS = Registry(
    "validators",
    ValidatorSpec,
    {
        "noop": ValidatorSpec(Noop, None),
        "exact": ValidatorSpec(Exact, f"{_TEXT}:exact"),
        "one_of": ValidatorSpec(OneOf, f"{_TEXT}:one_of"),
        "contains": ValidatorSpec(Contains, f"{_TEXT}:contains"),
        "not_contains": ValidatorSpec(NotContains, f"{_TEXT}:not_contains"),
        "regex_fullmatch": ValidatorSpec(RegexFullmatch, f"{_TEXT}:regex"),
        "regex_search": ValidatorSpec(RegexSearch, f"{_TEXT}:regex"),
        "number": ValidatorSpec(Number, f"{_TEXT}:number"),
        "max_words": ValidatorSpec(MaxWords, f"{_TEXT}:max_words"),
        "max_sentences": ValidatorSpec(MaxSentences, f"{_TEXT}:max_sentences"),
        "exact_bullets": ValidatorSpec(ExactBullets, f"{_TEXT}:exact_bullets"),
        "json_keys": ValidatorSpec(JsonKeys, "collect.checks.json_object:json_keys"),
        "tool_invocation": ValidatorSpec(ToolInvocation, f"{_TEXT}:tool_invocation"),
    },
)
"""Every validator, by name; a new one is a file and an entry."""

Validator = Annotated[ValidatorRecord, RecordOf(VALIDATORS, "type")]
