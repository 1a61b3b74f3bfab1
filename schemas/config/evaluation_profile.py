"""An evaluation profile: who judges, how often, how votes combine, what may run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import (
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


class JudgeConfig(OpenRecord):
    """A judge: a model behind a transport; further fields go into the request body."""

    judge_id: Slug
    type: Literal["llm_probe"]
    model: NonEmpty | None = Field(default=None, description="Name on the wire; else judge_id.")
    provider: NonEmpty | None = Field(default=None, description="As on a suite's model.")
    base_url: NonEmpty | None = Field(default=None, description="Instead of the transport's own.")
    api_key_env: NonEmpty | None = Field(
        default=None, description="Environment variable that holds the key; never the key itself."
    )
    request_options: dict[str, Any] = Field(
        default_factory=dict, description="Merged into the request body, as further fields are."
    )
    max_concurrency: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=4, description="Questions in flight at once."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400), Unit("s")] = Field(
        default=120, description="For one answer."
    )
    retries: Annotated[int, Field(ge=0, le=100)] = Field(
        default=5, description="Repeats of a request that failed on the way."
    )
    max_tokens: Positive = Field(default=4_000, description="Of one answer.")


class JudgeRunConfig(Record):
    """How often a judge is asked about each case."""

    judge_run_id: Slug
    judge_id: Slug = Field(description="One of `judges`.")
    repetitions: Positive = 1
    sample_size: Positive | None = Field(
        default=None, description="The first so many successful repetitions count; none: all."
    )

    @model_validator(mode="after")
    def _within(self) -> JudgeRunConfig:
        is_within = self.sample_size is None or self.sample_size <= self.repetitions
        require(is_within, "`sample_size` is above `repetitions`")
        return self


class JudgeAggregationConfig(Record):
    """How the iterations of a judge run combine."""

    method: Literal["median", "mean", "majority_vote", "all_pass"] = "median"
    pass_threshold: Annotated[float, Field(gt=0, le=10)] | None = Field(
        default=None, description="Below 1 a fraction of the scale, from 1 on of 0-10."
    )

    @model_validator(mode="after")
    def _votes_need_a_threshold(self) -> JudgeAggregationConfig:
        has_what_it_needs = self.method in {"median", "mean"} or self.pass_threshold is not None
        require(has_what_it_needs, "`{method}` needs a `pass_threshold`", method=self.method)
        return self


class AnchorReference(Record):
    """An example answer that calibrates the judge."""

    anchor_id: Slug
    label: NonEmpty
    text: NonEmpty


class AnchorsConfig(Record):
    """Calibration examples."""

    enabled: bool = Field(default=False, description="Whether the judge is shown them.")
    references: tuple[AnchorReference, ...] = ()


class SecurityPolicy(Record):
    """What may run and be written while a trial is evaluated."""

    allow_local_python_hooks: bool = Field(default=False, description="By path and by import.")
    network_access: Literal["deny", "allow"] = Field(default="deny", description="For hooks.")
    redact_secrets: bool = Field(default=True, description="In everything that is written.")


class EvaluationProfile(Record):
    """One `configs/evaluation_profiles/<evaluation_profile_id>.yaml`."""

    schema_version: SchemaVersion
    evaluation_profile_id: Slug
    title: NonEmpty
    judges: tuple[JudgeConfig, ...] = ()
    judge_runs: tuple[JudgeRunConfig, ...] = ()
    aggregation: JudgeAggregationConfig = Field(default_factory=JudgeAggregationConfig)
    anchors: AnchorsConfig = Field(default_factory=AnchorsConfig)
    security_policy: SecurityPolicy = Field(default_factory=SecurityPolicy)
    judge_system_prompt_path: NonEmpty | None = Field(
        default=None, description="Relative to this file."
    )
    judge_system_prompt: NonEmpty | None = None
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")

    @model_validator(mode="after")
    def _one_prompt(self) -> EvaluationProfile:
        is_one = self.judge_system_prompt is None or self.judge_system_prompt_path is None
        require(is_one, "cannot stand beside `judge_system_prompt_path`")
        return self
