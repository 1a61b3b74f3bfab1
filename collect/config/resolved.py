"""What loading leaves behind: cases and models with every reference resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import NotRequired, TypedDict, cast

from pydantic import JsonValue

from schemas.config.case import CaseContext, Expectations, Role, Rubric
from schemas.config.checks import DeterministicCheck
from schemas.config.prices import Price
from schemas.config.suite import Routing
from schemas.config.validators import VALIDATORS, Validator
from schemas.errors import Problem
from schemas.run.config import EffectiveSetting, EmbeddedServer

NO_CONTEXT = CaseContext()
NO_SETTINGS: Mapping[str, JsonValue] = MappingProxyType({})
"""One for all: a suite may have 20,000 cases without settings of their own."""


class WireCall(TypedDict):
    """A tool call of an assistant's message, as it is sent back."""

    call_id: str
    name: str
    arguments: str
    """A JSON object."""


class WireMessage(TypedDict):
    """A message as every provider is given it; those of cases hold the first three alone."""

    role: Role
    content: str
    name: NotRequired[str]
    tool_calls: NotRequired[list[WireCall]]
    tool_call_id: NotRequired[str]
    """Of the call that the message, of the role `tool`, answers."""
    echo: NotRequired[dict[str, JsonValue]]
    """What the server wants back of an assistant's message as it came, by its own names."""


def as_json(message: WireMessage) -> dict[str, JsonValue]:
    """Return a message as the JSON object it is."""
    return cast("dict[str, JsonValue]", message)


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """What a case needs and is not there."""

    problem: Problem
    check_id: str = ""
    """Of the check that cannot look; empty: no trial can be made."""


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case, or an entry of a prompt list, ready to be sent and judged."""

    case_id: str
    prompt_id: str
    prompt_name: str | None
    messages: tuple[WireMessage, ...]
    validator: Validator | None
    expected_tool_calls: tuple[str, ...]
    tags: tuple[str, ...]
    runner_type: str = "llm_probe"
    settings: Mapping[str, JsonValue] = field(default_factory=lambda: NO_SETTINGS)
    attachments: tuple[tuple[str, int], ...] = ()
    """(sha256, bytes) of each attached file."""
    turns: tuple[WireMessage, ...] = ()
    checks: tuple[DeterministicCheck, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    """(check_id, sha256) of each hook file."""
    expectations: Expectations | None = None
    rubric: Rubric | None = None
    context: CaseContext = NO_CONTEXT
    folder: Path | None = None
    """Where test.yaml lies; None for an entry of a prompt list."""
    cluster: str | None = None
    """Names the cases that are not independent of this one; part of no fingerprint."""
    unavailable: str | None = None
    """Why no trial of it can be made here; such trials are recorded without a request."""
    unevaluable: tuple[tuple[str, str], ...] = ()
    """(check_id, reason) of each check that cannot look here."""
    has_workspace: bool = False
    """A trial of it leaves files, in which checks can look."""
    unbuilt: tuple[Unbuilt, ...] = ()
    """What the case needs and is not there, each with its place."""

    @property
    def is_scorable(self) -> bool:
        """Return whether a trial of the case can get a verdict without a judge.

        Not where one of its checks cannot look: the others alone could only ever fail it.
        """
        validator = self.validator
        is_judged = validator is not None and VALIDATORS[validator.type].judge is not None
        return (is_judged or bool(self.checks)) and not self.unevaluable

    @property
    def expected_tools(self) -> tuple[str, ...]:
        """Return the validator's and the case's expected tools together, in order."""
        own = () if self.validator is None else vars(self.validator).get("expected_tools", ())
        return tuple(dict.fromkeys((*own, *self.expected_tool_calls)))


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model of the suite: where it is asked, under which name, with which settings."""

    model_id: str
    label: str | None
    provider: str
    model: str
    thinking_level: str | None
    base_url: str
    api_key_env: str | None
    key_required: bool
    max_concurrency: int
    request_options: Mapping[str, JsonValue]
    settings: Mapping[str, EffectiveSetting]
    is_loopback: bool
    requests_per_minute: int | None = None
    warmup: int = 0
    """Requests before the first trial, whose answers are not counted."""
    exclusive: bool = False
    price: Price | None = None
    """What a cost is computed from where the server names none."""
    model_build: str | None = None
    """sha256 of the weights, where it is known."""
    executable: str | None = None
    """The command of a CLI, by name or path."""
    harness_version: str | None = None
    """Of that CLI; part of what can change an answer."""
    routing: Routing | None = None
    """Whether a router may choose who serves; None where there is no router."""
    not_applied: tuple[str, ...] = ()
    """Settings of runner_defaults that the transport cannot send; they are not in `settings`."""
    primary_params: Mapping[str, JsonValue] = field(default_factory=dict)
    """What an agent sets its model to."""
    embedded: EmbeddedServer | None = None
    """The server that a run starts for it; its address is known only then."""

    @property
    def runs_alone(self) -> bool:
        """Return whether it is never asked beside another such model (D-E13)."""
        return self.is_loopback or self.exclusive

    def setting(self, name: str, case: LoadedCase) -> JsonValue:
        """Return a setting's value for one case: the case's own wins (D-E1)."""
        if name in case.settings:
            return case.settings[name]
        return self.settings[name].value if name in self.settings else None


SAME_IN_CONFIG = tuple(
    field.name
    for field in fields(ResolvedModel)
    if field.name not in {"request_options", "settings", "is_loopback"}
)
"""Fields of a model that config.json holds as they are; the others are redacted or worked out."""
