"""A suite: which models are asked which cases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import (
    Count,
    Metadata,
    NonEmpty,
    OpenRecord,
    Positive,
    Record,
    SchemaVersion,
    Slug,
    Unit,
    require,
)

Routing = Literal["pinned", "unpinned"]
"""Whether a router may choose who serves a request."""

ContextTokens = Annotated[int, Field(ge=1, le=16_777_216), Unit("tokens")]
"""That a served model keeps of one conversation, its answer included."""

Threads = Annotated[int, Field(ge=1, le=1_024)]
"""Of an engine, which computes with so many cores."""


class ModelConfig(OpenRecord):
    """One model of a suite; any further field is a runner setting or passed through."""

    model_id: Slug = Field(description="Local name, used in paths and reports.")
    label: str | None = Field(default=None, description="Name for people.")
    requested_model: NonEmpty | None = Field(default=None, description="What the server is asked.")
    openrouter_model: NonEmpty | None = Field(default=None, description="Second choice of name.")
    provider: NonEmpty | None = Field(
        default=None, description="A transport, or a vendor prefix on OpenRouter; none: openrouter."
    )
    model_name: NonEmpty | None = Field(default=None, description="Third choice, with `provider`.")
    base_url: NonEmpty | None = Field(default=None, description="Instead of the transport's own.")
    api_key_env: NonEmpty | None = Field(
        default=None, description="Environment variable that holds the key; never the key itself."
    )
    thinking_level: NonEmpty | None = Field(
        default=None, description="Reasoning effort, as the model's server names it."
    )
    primary_params: dict[str, Any] = Field(
        default_factory=dict,
        description="For OpenClaw; `reasoning.effort` is the same as thinking_level.",
    )
    max_concurrency: Positive | None = Field(
        default=None, description="Requests in flight to this model; at most the profile's."
    )
    requests_per_minute: Positive | None = Field(
        default=None, description="Requests that may begin in a minute, evenly spaced."
    )
    warmup: Count | None = Field(
        default=None,
        description="Requests before the first trial that are not counted; default: 1 for "
        "ollama_openai and embedded, whose first request loads the model, else 0.",
    )
    exclusive: bool = Field(
        default=False,
        description="Alone among such models and those of this machine; Ollama unloads others.",
    )
    request_options: dict[str, Any] = Field(
        default_factory=dict, description="Merged into every request body as they stand."
    )
    executable: NonEmpty | None = Field(
        default=None, description="For claude_code_cli: the command, by name or path."
    )
    model_file: NonEmpty | None = Field(
        default=None,
        description="For embedded: a GGUF file, relative to the suite file; default: the packaged "
        "model.",
    )
    context_tokens: ContextTokens | None = Field(
        default=None, description="For embedded: tokens of one conversation; default: 4096."
    )
    threads: Threads | None = Field(
        default=None, description="For embedded: cores it computes with; default: half of them."
    )


class CaseSelection(Record):
    """Which cases a suite takes; without ids and tags, every case."""

    include_case_ids: tuple[Slug, ...] = ()
    exclude_case_ids: tuple[Slug, ...] = ()
    include_tags: tuple[NonEmpty, ...] = ()
    exclude_tags: tuple[NonEmpty, ...] = ()


class AgentAssignment(Record):
    """Which cases one agent runs; at least one id or tag selects them."""

    agent_id: Slug
    case_selection: CaseSelection

    @model_validator(mode="after")
    def _selects(self) -> AgentAssignment:
        is_selecting = self.case_selection.include_case_ids or self.case_selection.include_tags
        require(bool(is_selecting), "needs `include_case_ids` or `include_tags`")
        return self


class SuiteAgents(Record):
    """Agents of single cases; the others run with the run profile's agent."""

    agent_assignments: tuple[AgentAssignment, ...] = ()


class Suite(Record):
    """One `configs/suites/<suite_id>.yaml`."""

    schema_version: SchemaVersion
    suite_id: Slug
    title: NonEmpty
    models: tuple[ModelConfig, ...] = ()
    case_selection: CaseSelection = Field(default_factory=CaseSelection)
    openclaw: SuiteAgents | None = None
    agent: SuiteAgents | None = Field(default=None, description="Of command cases.")
    prompt_lists: tuple[NonEmpty, ...] = Field(
        default=(), description="JSON or JSONL prompt lists, relative to the suite file."
    )
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")
