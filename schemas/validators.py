"""The nine validators a case may carry: what may be written, not how it is judged.

`collect.checks` judges; decisions B1-B6 hold the semantics. A value that could never match, a
pattern that does not compile and a rule of unknown type are refused here, at load time.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, JsonValue, StrictFloat, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import NonEmpty, Record
from schemas.patterns import Pattern

ValidatorType = Literal[
    "noop",
    "exact",
    "one_of",
    "regex_fullmatch",
    "max_words",
    "max_sentences",
    "exact_bullets",
    "json_keys",
    "tool_invocation",
]
VALIDATOR_TYPES: tuple[str, ...] = get_args(ValidatorType)


Limit = Annotated[int, Field(ge=0, strict=True)]
ToolNames = Annotated[tuple[NonEmpty, ...], Field(min_length=1)]


class Noop(Record):
    """No validation: `objective_pass` stays null."""

    type: Literal["noop"]


class Exact(Record):
    """The stripped text equals the stripped value."""

    type: Literal["exact"]
    value: str


class OneOf(Record):
    """The stripped text is one of the stripped values."""

    type: Literal["one_of"]
    values: Annotated[tuple[str, ...], Field(min_length=1)]


class RegexFullmatch(Record):
    """The stripped text matches the whole pattern."""

    type: Literal["regex_fullmatch"]
    pattern: Pattern


class MaxWords(Record):
    """At most `value` words, split at white space."""

    type: Literal["max_words"]
    value: Limit


class MaxSentences(Record):
    """At most `value` sentences; one ends at `.`, `!` or `?` before white space or the end."""

    type: Literal["max_sentences"]
    value: Limit


class ExactBullets(Record):
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
        if self.min is None and self.max is None:
            kind, message = "range", "needs `min`, `max` or both"
            raise PydanticCustomError(kind, message)
        if self.min is not None and self.max is not None and self.min > self.max:
            kind, message = "range", "`min` is above `max`: nothing could ever match"
            raise PydanticCustomError(kind, message)
        return self


KeyRule = Annotated[TypeRule | OneOfRule | RegexRule | RangeRule, Field(discriminator="type")]
KeyRules = KeyRule | Annotated[tuple[KeyRule, ...], Field(min_length=1)]


class JsonKeys(Record):
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


class ToolInvocation(Record):
    """At least one of `expected_tools` was invoked."""

    type: Literal["tool_invocation"]
    expected_tools: ToolNames


Validator = Annotated[
    Noop
    | Exact
    | OneOf
    | RegexFullmatch
    | MaxWords
    | MaxSentences
    | ExactBullets
    | JsonKeys
    | ToolInvocation,
    Field(discriminator="type"),
]
