"""Before a run: how many questions its judges will be asked, and about what they may cost.

The prompt of each case is written as it will be, with nothing of a subject in it: the low end. The
high end adds the most that a judge is shown of an answer, and, where a case has tools or an agent,
of what was done and changed. Repairs and retries are in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from collect.config.evaluation import LoadedEvaluation, ResolvedJudge
from collect.config.resolved import LoadedCase
from collect.config.runners import RUNNERS
from collect.judges.fence import new_marker
from collect.judges.prompt import (
    MAX_ACTIVITY_CHARS,
    MAX_ANSWER_CHARS,
    MAX_DIFF_CHARS,
    JudgedTrial,
    JudgePrompt,
    system_prompt_of,
)
from collect.plan.estimate import CHARACTERS_PER_TOKEN, answer_limit, usd
from schemas.errors import counted
from schemas.run.config import PlannedTrial


@dataclass(frozen=True, slots=True)
class JudgeEstimate:
    """What the questions to one judge may use; None is unknown, never nothing."""

    judge_id: str
    n_questions: int
    input_tokens_low: int
    input_tokens_high: int
    output_tokens_high: int
    cost_low_nano_usd: int | None
    cost_high_nano_usd: int | None

    @property
    def text(self) -> str:
        """Return it for people."""
        low, high = self.cost_low_nano_usd, self.cost_high_nano_usd
        cost = "cost unknown: no price"
        if low is not None and high is not None:
            cost = f"about {' to '.join(dict.fromkeys((usd(low), usd(high))))}"
        return (
            f"judge {self.judge_id}: {counted(self.n_questions, 'question')}, tokens in about "
            f"{self.input_tokens_low:,} to {self.input_tokens_high:,}, "
            f"out at most {self.output_tokens_high:,}; {cost}"
        )


def estimate_judges(
    evaluation: LoadedEvaluation, cases: Iterable[LoadedCase], trials: Iterable[PlannedTrial]
) -> tuple[JudgeEstimate, ...]:
    """Return one estimate for each judge that is asked, in the profile's order.

    Args:
        evaluation: with the prices of its judges.
        cases: of the plan.
        trials: that will be made, each judged.
    """
    n_trials = Counter(trial.case_id for trial in trials)
    low = high = 0
    for case in cases:
        chars = _prompt_chars(evaluation, case)
        low += n_trials[case.case_id] * _tokens(chars)
        high += n_trials[case.case_id] * _tokens(chars + _most_chars(case))
    asked = Counter[str]()
    for run in evaluation.profile.judge_runs:
        asked[run.judge_id] += run.repetitions
    return tuple(
        _estimate(judge, asked[judge.judge_id], n_trials.total(), low, high)
        for judge in evaluation.judges
        if asked[judge.judge_id]
    )


def _estimate(
    judge: ResolvedJudge, repetitions: int, n_trials: int, low: int, high: int
) -> JudgeEstimate:
    n_questions, price = repetitions * n_trials, judge.model.price
    out = n_questions * answer_limit(judge.model, judge.max_tokens)
    low, high = repetitions * low, repetitions * high
    return JudgeEstimate(
        judge_id=judge.judge_id,
        n_questions=n_questions,
        input_tokens_low=low,
        input_tokens_high=high,
        output_tokens_high=out,
        cost_low_nano_usd=None if price is None else price.cost_nano_usd(input=low, output=0),
        cost_high_nano_usd=None if price is None else price.most_nano_usd(input=high, output=out),
    )


def _prompt_chars(evaluation: LoadedEvaluation, case: LoadedCase) -> int:
    prompt = JudgePrompt(case, JudgedTrial(""), new_marker(), evaluation.shown_anchors)
    return len(system_prompt_of(evaluation)) + len(prompt.text())


def _most_chars(case: LoadedCase) -> int:
    """Return the most that a judge is shown of what came of a case."""
    acts = RUNNERS[case.runner_type].is_agent or bool(case.context.llm_probe.tools)
    return MAX_ANSWER_CHARS + (MAX_ACTIVITY_CHARS + MAX_DIFF_CHARS) * acts


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
