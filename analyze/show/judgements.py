"""What judges said of trials: of each evaluation profile its newest judgement, with its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyze.render.text import clipped, line_of
from schemas.run.judgement import DimensionScores

if TYPE_CHECKING:
    from analyze.query.session import Session

DIMENSIONS = tuple(DimensionScores.model_fields)

MAX_SUMMARY_CHARS = 300

ANSWER = (
    *("judge_run_id", "judge_id", "iteration", "served_model", "overall", "overall_as_said"),
    *("failure", "error_message", "summary", "artifact_path"),
)
"""What is shown of one answer."""

JUDGEMENT = (
    *("evaluation_profile_id", "status", "final_score", *DIMENSIONS, "verdicts", "pass_threshold"),
    *("passed", "failed_dimensions", "soft_score", "check_scores"),
)
"""What is shown of what all answers come to."""


@dataclass(frozen=True)
class ShownJudgement:
    """What the judges of one profile say of one record."""

    said: Mapping[str, Any]
    """Of `JUDGEMENT`."""
    answers: Sequence[Mapping[str, Any]]
    """Each of `ANSWER`: the newest of each judge run and iteration."""

    def as_json(self) -> dict[str, Any]:
        """Return it as one JSON object."""
        return {**self.said, "answers": [dict(one) for one in self.answers]}


def read_judgements(
    session: Session, run_id: str, record_nos: Sequence[int]
) -> dict[int, list[ShownJudgement]]:
    """Return what judges said of some records of a run, by record_no, profiles in order."""
    if not record_nos:
        return {}
    judgements = _newest(session, "stg_judgements", JUDGEMENT, run_id, record_nos)
    if not judgements:
        return {}
    answers: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in _newest(session, "stg_judge_iterations", ANSWER, run_id, record_nos):
        key = row.pop("result_no"), row.pop("profile_id")
        answers.setdefault(key, []).append(row)
    found: dict[int, list[ShownJudgement]] = {}
    for row in judgements:
        key = row.pop("result_no"), row.pop("profile_id")
        found.setdefault(key[0], []).append(ShownJudgement(row, answers.get(key, ())))
    return found


def _newest(
    session: Session, view: str, names: Sequence[str], run_id: str, record_nos: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the newest lines of a view about some records."""
    parts = ["result_no", "evaluation_profile_id"]
    parts += [name for name in ("judge_run_id", "iteration") if name in names]
    rows = session.rows(
        f"select result_no, evaluation_profile_id as profile_id, {', '.join(names)} from ("  # noqa: S608
        f"select *, row_number() over (partition by {', '.join(parts)} "
        "order by evaluated_at_ms desc, evaluation_no desc) as age "
        f"from {view} where run_id = ? and list_contains(?, result_no)) "
        f"where age = 1 order by {', '.join(parts)}",
        [run_id, list(record_nos)],
    )
    return [dict(zip(("result_no", "profile_id", *names), row, strict=True)) for row in rows]


def judgement_lines(judgements: Sequence[ShownJudgement]) -> Iterator[str]:
    """Yield what judges said, for people."""
    for one in judgements:
        said = one.said
        yield line_of(f"judged by {said['evaluation_profile_id']}: {_score(said)}")
        known = {name: said[name] for name in DIMENSIONS if said[name] is not None}
        if known:
            below = f"; below the threshold: {', '.join(said['failed_dimensions'])}"
            scores = ", ".join(f"{name} {score:.5g}" for name, score in known.items())
            text = f"{scores}{below * bool(said['failed_dimensions'])}"
            yield f"  dimensions    {line_of(text)}"
        if said["verdicts"]:
            verdicts = ", ".join(f"{v['expectation']} {v['verdict']}" for v in said["verdicts"])
            soft = "" if said["soft_score"] is None else f"; soft score {said['soft_score']:.3g}"
            text = f"{verdicts.replace('_', ' ')}{soft}"
            yield f"  expectations  {line_of(text)}"
        for answer in one.answers:
            yield f"  {line_of(_answer(answer))}"


def _score(said: Mapping[str, Any]) -> str:
    if said["final_score"] is None:
        return "no answer of a judge could be used"
    score = f"final score {said['final_score']:.5g} of 10"
    if said["passed"] is None:
        return score
    verdict = "passed" if said["passed"] else "failed"
    return f"{score}, {verdict} (threshold {said['pass_threshold']:.5g})"


def _answer(answer: Mapping[str, Any]) -> str:
    who = f"{answer['judge_run_id']} {answer['iteration']} ({answer['judge_id']})"
    if answer["failure"] is not None:
        error = clipped(answer["error_message"] or "", MAX_SUMMARY_CHARS)
        return f"{who}: {answer['failure']}{': ' * bool(error)}{error}"
    return f"{who}: {answer['overall']:.5g}: {clipped(answer['summary'] or '', MAX_SUMMARY_CHARS)}"
