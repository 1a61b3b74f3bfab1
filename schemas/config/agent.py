"""An agent: `agent.yaml`, beside the `workspace/` it starts in."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import Field, field_validator, model_validator

from schemas.base import Metadata, NonEmpty, OpenRecord, Record, SchemaVersion, Slug, require
from schemas.config.command_agent import CommandAgent

MODEL_KEYS = frozenset({"default_model", "model", "model_id", "primary_model", "requested_model"})
"""The suite names the model; an agent that names one would run another than is reported."""

WORKSPACE_FILES = ("AGENTS.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md")
"""Missing ones are filled with the same placeholder every time."""


def placeholder(name: str) -> str:
    """Return what stands in a standard workspace file that the agent does not bring."""
    title = name.removesuffix(".md")
    return f"# {title}\n\nThis agent brings no {name}. The benchmark put this file here.\n"


class ModelDefaults(OpenRecord):
    """What the agent's primary model is set to, whichever it is."""

    aliases: dict[str, str] = Field(default_factory=dict)
    fallbacks: tuple[str, ...] = Field(
        default=(), description="Must be empty: a run is of exactly one model."
    )
    primary_params: dict[str, Any] = Field(default_factory=dict)

    @field_validator("fallbacks")
    @classmethod
    def _none(cls, fallbacks: tuple[str, ...]) -> tuple[str, ...]:
        require(not fallbacks, "fallbacks are refused: a run is of exactly one model")
        return fallbacks


Fragment = TypeVar("Fragment", Metadata, ModelDefaults)


class OpenClawFragments(Record):
    """Fragments of openclaw.json."""

    identity: Metadata = Field(
        default_factory=dict, description="Not written; keep persona in workspace files."
    )
    agents_defaults: Metadata = Field(default_factory=dict, description="Into agents.defaults.")
    agent: Metadata = Field(default_factory=dict, description="Becomes agents.list[0].")
    model_defaults: ModelDefaults = Field(default_factory=ModelDefaults)

    @field_validator("agents_defaults", "agent", "model_defaults")
    @classmethod
    def _no_model(cls, fragment: Fragment) -> Fragment:
        keys = fragment if isinstance(fragment, dict) else fragment.model_extra or {}
        named = min(MODEL_KEYS & keys.keys(), default=None)
        require(named is None, "`{key}`: the suite names the model, not the agent", key=named)
        return fragment

    @field_validator("agent")
    @classmethod
    def _texts(cls, agent: Metadata) -> Metadata:
        for key in ("id", "prompt"):
            value = agent.get(key)
            is_text = key not in agent or (isinstance(value, str) and bool(value.strip()))
            require(is_text, "`{key}` must be text that is not empty", key=key)
        return agent


class Agent(Record):
    """One `configs/agents/<agent_id>/agent.yaml`."""

    schema_version: SchemaVersion
    agent_id: Slug = Field(description="The name of its folder.")
    title: NonEmpty
    description: str | None = None
    tags: tuple[NonEmpty, ...] = ()
    openclaw: OpenClawFragments = Field(default_factory=OpenClawFragments)
    command: CommandAgent | None = Field(
        default=None, description="A program by configuration; null: an OpenClaw agent."
    )
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Agent:
        is_both = self.command is not None and "openclaw" in self.model_fields_set
        require(not is_both, "`openclaw` and `command` are two kinds of agents: write one of them")
        return self

    @property
    def kind(self) -> str:
        """The runner that runs it, as a case names it."""
        return "openclaw" if self.command is None else "command"
