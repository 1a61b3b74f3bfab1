"""A line of evaluations.jsonl: what was found when an answer that is stored was looked at again.

What a run finds while it is made stands in its results. A later look never changes them: it adds a
line here, and of the lines about one record of a trial the newest counts. A line is read as
strictly as one of results.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field, ValidationError

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Positive, Record, Sha256, Slug
from schemas.run.judgement import JudgeIteration, Judgement
from schemas.run.preference import PairIteration, Preference
from schemas.run.result import CheckResult, LineError, content_of, misfit


class Evaluation(Record):
    """One look at one record of a trial."""

    record_type: Literal["evaluation"] = Field(
        default="evaluation", description="Always `evaluation`."
    )
    run_id: str = Field(description="Run the trial belongs to.")
    model_id: Slug = Field(description="Local name of the model.")
    case_id: Slug = Field(description="Case that was asked.")
    repetition: Positive = Field(description="From 1.")
    result_no: Positive = Field(description="Line of results.jsonl that was looked at.")
    kind: Literal["check"] = Field(description="Who looked: deterministic checks.")
    evaluated_at_ms: EpochMillis = Field(description="Wall clock, when it was done.")
    evaluation_profile_id: str | None = Field(
        default=None, description="Evaluation profile in force; null: none."
    )
    case_hash: Sha256 = Field(description="Of the case that was asked, with the checks of now.")
    is_scorable: bool = Field(
        description="Can get a verdict: a validator that judges, checks, or a judge."
    )
    passed: bool | None = Field(
        description="The verdict by the checks of now; null: there is none."
    )
    checks_passed: Count = Field(description="Deterministic checks that passed.")
    checks_failed: Count = Field(description="Deterministic checks that failed.")
    checks_errored: Count = Field(description="Deterministic checks that could not run.")
    checks: tuple[CheckResult, ...] = Field(description="Each deterministic check.")
    benchlake_version: str = Field(description="That looked.")
    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")


class EvaluationColumns(Record):
    """What the lake adds to a line when it becomes a row."""

    record_no: Positive = Field(description="Line number in evaluations.jsonl.")


EvaluationLine = Evaluation | JudgeIteration | Judgement | PairIteration | Preference

EVALUATION_LINES: Mapping[str, type[EvaluationLine]] = MappingProxyType(
    {
        "evaluation": Evaluation,
        "judge_iteration": JudgeIteration,
        "judgement": Judgement,
        "pair_iteration": PairIteration,
        "preference": Preference,
    }
)
"""What a line of evaluations.jsonl can be, by its record_type."""


def evaluation_model(content: Mapping[str, object]) -> type[EvaluationLine] | None:
    """Return what a line of evaluations.jsonl with this content is; None: it is none."""
    kind = content.get("record_type")
    return EVALUATION_LINES.get(kind) if isinstance(kind, str) else None


def parse_evaluation(line: bytes) -> EvaluationLine:
    """Return the record on a line that ends in a newline; fields we do not know are passed over.

    Raises:
        LineError: it is not JSON, has a key twice, or does not fit the declaration.
    """
    content = content_of(line)
    if (model := evaluation_model(content)) is None:
        message = f"record_type {content.get('record_type')!r} is unknown"
        raise LineError(message)
    try:
        return model.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        raise LineError(misfit(exc)) from exc
