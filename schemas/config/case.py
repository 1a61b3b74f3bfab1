"""A test case: one atomic scenario that any suite may select and any model may be asked.

What a judge is told about it, expectations and the rubric, belongs to it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from schemas.base import (
    CLUSTER_PATTERN,
    MAX_SLUG_CHARS,
    Metadata,
    NonEmpty,
    OpenRecord,
    Record,
    SchemaVersion,
    Slug,
    exactly_one,
    require,
)
from schemas.config.checks import DeterministicCheck
from schemas.config.validators import Validator

Role = Literal["system", "user", "assistant", "tool"]
Cluster = Annotated[str, StringConstraints(pattern=CLUSTER_PATTERN, max_length=MAX_SLUG_CHARS)]
"""Name of what several cases were made from; a repository's name is one."""


class Expectation(Record):
    """One statement that the answer should satisfy."""

    text: NonEmpty
    weight: Annotated[float, Field(gt=0)] = Field(
        default=1.0, description="Relative, within its group."
    )
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")


class Expectations(Record):
    """Hard ones are critical, soft ones get partial credit."""

    hard_expectations: tuple[Expectation, ...] = ()
    soft_expectations: tuple[Expectation, ...] = ()


class RubricScale(Record):
    """The scale of the overall score, with sentences for some of its points."""

    min: float = 0
    max: float = 10
    anchors: dict[str, NonEmpty] = Field(
        default_factory=dict, description="Point of the scale to what an answer there is like."
    )

    @model_validator(mode="after")
    def _ascending(self) -> RubricScale:
        require(self.max > self.min, "`max` must be above `min`")
        for point in self.anchors:
            is_inside = (number := _number(point)) is None or self.min <= number <= self.max
            require(is_inside, "anchor `{point}` is outside the scale", point=point[:40])
        return self


def _number(text: str) -> float | None:
    """Return the point of the scale that an anchor names; `7-8` and words name none."""
    try:
        return float(text)
    except ValueError:
        return None


class Criterion(Record):
    """One thing to look at."""

    name: NonEmpty
    what_good_looks_like: NonEmpty
    what_bad_looks_like: NonEmpty


class Rubric(Record):
    """How a judge should score."""

    version: SchemaVersion = 1
    scale: RubricScale = Field(default_factory=RubricScale)
    criteria: tuple[Criterion, ...] = ()
    scoring_instructions: str | None = None


class MessageSource(Record):
    """A file that holds one message object or a list of them."""

    path: NonEmpty = Field(description="Relative to test.yaml; cannot leave the case directory.")
    format: Literal["yaml", "json"] | None = Field(
        default=None, description="`json`: anything else is refused; YAML includes JSON."
    )


class Message(Record):
    """One message of the conversation: text, or the file that has it."""

    role: Role
    content: str | None = None
    source: MessageSource | None = None
    name: str | None = None

    _one_text = exactly_one("content", "source")


class LlmProbeContext(Record):
    """What an llm_probe case offers the model."""

    tools: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Tools the model may call: exec_shell, read_file, write_file, web_search.",
    )
    tool_choice: NonEmpty = Field(
        default="auto",
        description="`auto`, `none`, `required`, or one of `tools`; the last two hold for the "
        "first request.",
    )
    network: Literal["allow", "deny"] = Field(
        default="deny", description="Whether tools may reach the network."
    )


class OpenClawContext(OpenRecord):
    """What an agent is told beside its messages; further keys are hints of yours."""

    expected_artifact: NonEmpty | tuple[NonEmpty, ...] | None = Field(
        default=None, description="File, or files, expected in the workspace."
    )


class CaseContext(OpenRecord):
    """Runner-specific context; further keys are yours and never read."""

    llm_probe: LlmProbeContext = Field(default_factory=LlmProbeContext)
    openclaw: OpenClawContext = Field(default_factory=OpenClawContext)


class CaseInput(Record):
    """What reaches the model."""

    messages: tuple[Message, ...] = Field(default=(), description="In the order they are sent.")
    turns: tuple[Message, ...] = Field(default=(), description="OpenClaw only: later user turns.")
    attachments: tuple[NonEmpty, ...] = Field(
        default=(), description="UTF-8 files, sent as user messages before the first user message."
    )
    context: CaseContext = Field(
        default_factory=CaseContext, description="Runner-specific: tools and hints."
    )


class RunnerConfig(OpenRecord):
    """Which runner executes the case; any further field overrides a runner setting."""

    type: NonEmpty


class Solution(Record):
    """An answer that the checks of a case have to pass; no model sees it."""

    text: str | None = Field(
        default=None, description="The answer; without it what the script prints, or none."
    )
    files: NonEmpty | None = Field(
        default=None,
        description="Folder beside test.yaml whose files are laid over the workspace.",
    )
    script: NonEmpty | None = Field(
        default=None,
        description="File beside test.yaml that is run in the workspace, locked in, without the "
        "network; by /bin/sh where it names no interpreter.",
    )
    tool_calls: tuple[NonEmpty, ...] = Field(
        default=(), description="Names of tools, as if the model had called them, in order."
    )

    @model_validator(mode="after")
    def _is_something(self) -> Solution:
        is_given = self.text is not None or self.files or self.script or self.tool_calls
        require(bool(is_given), "a solution is `text`, `files`, `script` or `tool_calls`")
        return self


class Case(Record):
    """One `test.yaml`."""

    schema_version: SchemaVersion
    case_id: Slug = Field(description="Unique; the name of the folder that holds test.yaml.")
    title: NonEmpty
    runner: RunnerConfig
    input: CaseInput
    validator: Validator | None = Field(
        default=None, description="Judges the final text; none leaves objective_pass null."
    )
    expected_tool_calls: tuple[NonEmpty, ...] = Field(
        default=(), description="Tools of which at least one should be invoked."
    )
    deterministic_checks: tuple[DeterministicCheck, ...] = Field(
        default=(), description="Checked without a model, after the trial."
    )
    expectations: Expectations | None = Field(default=None, description="Told to the judge.")
    rubric: Rubric | None = Field(default=None, description="Told to the judge.")
    tags: tuple[NonEmpty, ...] = Field(default=(), description="For a suite's case_selection.")
    cluster: Cluster | None = Field(
        default=None,
        description="Cases that share a template, a repository or a passage: they succeed and fail "
        "together, so statistics count them as one unit.",
    )
    solution: Solution | None = Field(
        default=None,
        description="Passes all checks, which `collect validate --oracle` tries; part of no run.",
    )
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")


class PromptMessage(Record):
    """One message of an entry of a prompt list."""

    role: Role
    content: str
    name: str | None = None


class Prompt(Record):
    """One entry of a prompt list in the older JSON form."""

    id: NonEmpty
    name: str | None = None
    prompt: str | None = Field(default=None, description="The only message, from the user.")
    messages: tuple[PromptMessage, ...] = Field(
        default=(), description="Instead of `prompt`: several messages, or a system message."
    )
    validator: Validator | None = None
    expected_tool_calls: tuple[NonEmpty, ...] = ()
    variant: str | None = Field(default=None, description="Free annotation, kept as a tag.")
    cluster: Cluster | None = Field(
        default=None, description="Prompts that share a template or a passage; as in test.yaml."
    )

    _asks_once = exactly_one("prompt", "messages")
