"""What loading leaves behind: cases and models with every reference resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict, cast

from pydantic import JsonValue

from schemas.case import Role, RunnerType
from schemas.run_config import EffectiveSetting
from schemas.suite import Transport
from schemas.validators import Validator


class WireMessage(TypedDict):
    """A message as it goes into a request body."""

    role: Role
    content: str
    name: NotRequired[str]


def as_json(message: WireMessage) -> dict[str, JsonValue]:
    """Return a message as the JSON object it is."""
    return cast("dict[str, JsonValue]", message)


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
    runner_type: RunnerType = "llm_probe"
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    attachments: tuple[tuple[str, int], ...] = ()
    """(sha256, bytes) of each attached file."""

    @property
    def expected_tools(self) -> tuple[str, ...]:
        """Return the validator's and the case's expected tools together, in order."""
        own = getattr(self.validator, "expected_tools", ())
        return tuple(dict.fromkeys((*own, *self.expected_tool_calls)))


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model of the suite: where it is asked, under which name, with which settings."""

    model_id: str
    label: str | None
    provider: Transport
    model: str
    thinking_level: str | None
    base_url: str
    api_key_env: str | None
    key_required: bool
    max_concurrency: int
    request_options: Mapping[str, JsonValue]
    settings: Mapping[str, EffectiveSetting]
    is_loopback: bool
    model_build: str | None = None
    """sha256 of the weights, where it is known."""

    def setting(self, name: str, case: LoadedCase) -> JsonValue:
        """Return a setting's value for one case: the case's own wins (decision E1)."""
        if name in case.settings:
            return case.settings[name]
        return self.settings[name].value if name in self.settings else None
