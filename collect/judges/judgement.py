"""Answers of judges as lines: one for each time that a judge was asked, one for what all say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Protocol

import orjson
from pydantic import JsonValue

from collect.config.evaluation import LoadedEvaluation, ResolvedJudge
from collect.config.resolved import LoadedCase
from collect.judges.aggregation import (
    check_scores,
    combined_opinion,
    judged,
    run_opinion,
    soft_score,
    threshold_of,
)
from collect.judges.answer import JudgeAnswer
from collect.judges.asking import Answer, Asked, cost_of
from collect.judges.fence import cut
from collect.judges.prompt import system_prompt_of
from collect.plan.fingerprint import digest
from schemas.base import SCHEMA_VERSION
from schemas.config.evaluation_profile import EvaluationProfile, JudgeRunConfig
from schemas.config.prices import NANO
from schemas.redact import may_hold_secret, redact, redact_json
from schemas.run.judgement import JudgeIteration, Judgement, JudgeRunScore
from schemas.run.result import CheckResult

VERSION = version("benchlake")

MAX_SUMMARY_CHARS = 4_000

MAX_EVIDENCE = 10
"""Texts of one score or verdict that a line keeps; the artifact has all."""

MAX_EVIDENCE_CHARS = 1_000
"""Of one of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which record of which trial is judged."""

    run_id: str
    model_id: str
    case_id: str
    repetition: int
    result_no: int
    evaluation_profile_id: str

    @property
    def fields(self) -> dict[str, Any]:
        """Return it as fields of a line."""
        return asdict(self)


def question_hash(judge: ResolvedJudge, system: str, prompt: str) -> str:
    """Return what tells one question to a judge from another.

    Args:
        judge: where and how it is asked; its local name is no part.
        system: the system prompt.
        prompt: about the trial, with a marker that is always the same.
    """
    return digest({**_judge_facts(judge), "system": system, "prompt": prompt})


def deciding_hash(evaluation: LoadedEvaluation) -> str | None:
    """Return the `judge_hash` of a profile whose judges decide a verdict; None: they do not."""
    profile = evaluation.profile
    decides = profile.judge_runs and profile.aggregation.pass_threshold is not None
    return judge_hash(evaluation) if decides else None


def judge_hash(evaluation: LoadedEvaluation) -> str:
    """Tells one way of judging from another: judges, what they are told, how answers combine."""
    profile = evaluation.profile
    return digest({
        "judges": [{**_judge_facts(one), "judge_id": one.judge_id} for one in evaluation.judges],
        "system": system_prompt_of(evaluation),
        "anchors": [one.model_dump(mode="json") for one in evaluation.shown_anchors],
        **combining(profile),
    })  # fmt: skip


def _judge_facts(judge: ResolvedJudge) -> dict[str, JsonValue]:
    model = judge.model
    return {
        "provider": model.provider,
        "base_url": model.base_url,
        "model": model.model,
        "options": dict(model.request_options),
        "max_tokens": judge.max_tokens,
    }


def combining(profile: EvaluationProfile) -> dict[str, JsonValue]:
    """Return how the answers of a profile combine."""
    return {
        "aggregation": profile.aggregation.model_dump(mode="json"),
        "judge_runs": [run.model_dump(mode="json") for run in profile.judge_runs],
    }


def iteration_line(asked: Asked[JudgeAnswer], fields: Mapping[str, Any]) -> JudgeIteration:
    """Return the line of one judge that was asked once.

    Args:
        asked: what came of it.
        fields: of the place, and of `asked_fields`.
    """
    answer = asked.answer
    return JudgeIteration(
        **fields,
        opinion=None if answer is None else answer.opinion,
        overall_as_said=None if answer is None else answer.overall,
        **said_fields(answer),
    )


class SaidMore(Protocol):
    """What answers of all forms have."""

    @property
    def summary(self) -> str:
        """As the judge wrote it."""

    @property
    def evidence(self) -> Mapping[str, tuple[str, ...]]:
        """Texts by what they speak for."""


def said_fields(answer: SaidMore | None) -> dict[str, Any]:
    """Return what a line keeps of the words of an answer."""
    return {
        "summary": None if answer is None else redact(cut(answer.summary, MAX_SUMMARY_CHARS)),
        "evidence": {} if answer is None else _evidence(answer.evidence),
    }


def asked_fields(
    run: JudgeRunConfig,
    iteration: int,
    judge: ResolvedJudge,
    asked: Asked[Answer],
    *,
    question: str,
    artifact_path: str | None,
    at_ms: int,
) -> dict[str, Any]:
    """Return what a line says of one judge that was asked once, whatever it was asked.

    Args:
        run: of the profile.
        iteration: of the run, from 1.
        judge: who was asked.
        asked: what came of it.
        question: its `question_hash`.
        artifact_path: of prompts and raw answers.
        at_ms: wall clock, when the last answer had come.
    """
    replies = [one.reply for one in asked.exchanges]
    last = asked.exchanges[-1]
    cost = _sum([cost_of(reply, judge) for reply in replies])
    is_billed = all(reply.cost_usd is not None for reply in replies)
    return {
        "evaluated_at_ms": at_ms,
        "judge_run_id": run.judge_run_id,
        "judge_id": run.judge_id,
        "iteration": iteration,
        "question_hash": question,
        "requested_model": judge.model.model,
        "served_model": last.reply.served_model,
        "failure": asked.failure,
        "error_message": None if last.problem is None else redact(last.problem),
        "n_answers": len(replies),
        "attempt_count": sum(one.requests for one in asked.exchanges),
        "input_tokens": _sum([reply.usage.input_tokens for reply in replies]),
        "output_tokens": _sum([reply.usage.output_tokens for reply in replies]),
        "cost_usd": None if cost is None else cost / NANO,
        "cost_source": None if cost is None else "provider" if is_billed else "computed",
        "e2e_ms": _sum([reply.e2e_ms for reply in replies]),
        "artifact_path": artifact_path,
        "benchlake_version": VERSION,
    }


def judge_file(judge: ResolvedJudge) -> str:
    """Return what the file of prompts and raw answers of a judge is called, without its ending."""
    return f"judge.{judge.judge_id}"


def exchange_record(about: Mapping[str, Any], asked: Asked[Answer]) -> dict[str, Any]:
    """Return all that was said to and by a judge that was asked once, for the artifact.

    The messages of each exchange are those that came to the ones before.
    """
    exchanges, n_before = [], 0
    for one in asked.exchanges:
        reply = one.reply
        exchanges.append({
            "messages": list(one.messages[n_before:]),
            "answer": reply.text,
            "reasoning": reply.reasoning or None,
            "finish_reason": reply.finish_reason,
            "served_model": reply.served_model,
            "http_status": reply.http_status,
            "failure_type": reply.failure_type,
            "error_message": reply.error_message,
            "usage": reply.usage.raw,
            "cost_usd": reply.cost_usd,
            "e2e_ms": reply.e2e_ms,
            "requests": one.requests,
            "problem": one.problem,
        })  # fmt: skip
        n_before = len(one.messages)
    return {
        "schema_version": SCHEMA_VERSION,
        **about,
        "exchanges": exchanges,
    }


def _sum(numbers: Sequence[float | None]) -> float | None:
    """Return a sum; None where one of the numbers is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if numbers and len(known) == len(numbers) else None


def _evidence(found: Mapping[str, Sequence[str]]) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {
        name: [cut(text, MAX_EVIDENCE_CHARS) for text in texts[:MAX_EVIDENCE]]
        for name, texts in found.items()
    }
    may_hold = may_hold_secret(orjson.dumps(kept).decode())  # a look at all is quick
    return {name: redact_json(texts) for name, texts in kept.items()} if may_hold else kept


def judgement_line(
    place: Place,
    profile: EvaluationProfile,
    case: LoadedCase,
    iterations: Sequence[JudgeIteration],
    checks: Sequence[CheckResult],
    *,
    judge_hash: str,
    at_ms: int,
) -> Judgement:
    """Return the line of what all judges of a profile come to.

    Args:
        place: what was judged.
        profile: whose judge runs and aggregation hold.
        case: with its expectations.
        iterations: of all its judge runs, in any order; of one iteration the one that counts.
        checks: of the trial, as they stand.
        judge_hash: of the profile.
        at_ms: wall clock.
    """
    aggregation = profile.aggregation
    runs = tuple(_run_score(run, profile, iterations) for run in profile.judge_runs)
    opinion = combined_opinion([one.opinion for one in runs if one.opinion is not None])
    threshold = threshold_of(aggregation)
    decided = judged(opinion, threshold)
    questions: list[JsonValue] = [
        *sorted(f"{one.judge_run_id}:{one.question_hash}" for one in iterations)
    ]
    soft = () if case.expectations is None else case.expectations.soft_expectations
    return Judgement(
        **place.fields,
        evaluated_at_ms=at_ms,
        evaluation_fingerprint=digest({"questions": questions, **combining(profile)}),
        status="failed" if opinion is None else "success",
        opinion=opinion,
        pass_threshold=threshold,
        passed=decided.passed,
        judge_hash=judge_hash,
        failed_dimensions=decided.failed_dimensions,
        soft_score=None if opinion is None else soft_score(soft, opinion.by_expectation),
        check_scores=check_scores(checks),
        judge_runs=runs,
        benchlake_version=VERSION,
    )  # fmt: skip


def _run_score(
    run: JudgeRunConfig, profile: EvaluationProfile, iterations: Sequence[JudgeIteration]
) -> JudgeRunScore:
    own = sorted(
        (one for one in iterations if one.judge_run_id == run.judge_run_id),
        key=lambda one: one.iteration,
    )
    opinions = [one.opinion for one in own if one.opinion is not None]
    return JudgeRunScore(
        judge_run_id=run.judge_run_id,
        judge_id=run.judge_id,
        n_successful=len(opinions),
        n_failed=len(own) - len(opinions),
        n_used=len(opinions[: run.sample_size]),
        opinion=run_opinion(opinions, profile.aggregation, run.sample_size),
    )
