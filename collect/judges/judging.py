"""Stored trials judged by an evaluation profile, as lines of evaluations.jsonl.

Of each judge run and repetition there is one answer that counts: the newest success to the question
as it stands. Only what is missing is asked; an answer is on the disk before anything else is done
with it, so that what was paid for is never asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from collect.checks import MIN_THREADED_CHARS
from collect.config.evaluation import LoadedEvaluation
from collect.config.resolved import LoadedCase
from collect.config.runners import RUNNERS
from collect.console.judging_report import JudgeCounts, JudgingReport
from collect.judges.earlier import Earlier, QuestionKey, RecordKey
from collect.judges.fence import new_marker
from collect.judges.interview import Interview, Question
from collect.judges.judgement import (
    Place,
    iteration_line,
    judge_hash,
    judgement_line,
    question_hash,
)
from collect.judges.panel import Panel
from collect.judges.prompt import JudgedTrial, JudgePrompt, form_of, system_prompt_of
from collect.run_folder.latest_records import LinePlace, result_at
from collect.run_folder.log import RunLog
from collect.run_folder.stored_trial import StoredTrial
from schemas.failures import known_failure
from schemas.run.judgement import JudgeIteration, Judgement
from schemas.run.preference import Preference
from schemas.run.result import CheckResult, Result
from schemas.run.trace import now_ms

MARKER = "marker"
"""Stands for the marker of a prompt where two prompts are held against each other."""


def is_judged(result: Result) -> bool:
    """Return whether a trial left anything to judge: an answer, or an agent's work."""
    if result.success:
        return True
    failure = known_failure(result.failure_type)
    is_agents = result.runner_type in RUNNERS and RUNNERS[result.runner_type].is_agent
    return is_agents and failure is not None and failure.counts_against_model


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One trial as judges are asked about it."""

    text: str
    hashes: Mapping[str, str]
    """`question_hash` by judge."""


class Judging:
    """Judges trials of one run.

    Args:
        evaluation: the profile, with its judges as they are written down.
        panel: asks them; open.
        log: of the run, locked.
        cases: as they were asked, with the expectations and the rubric of now.
        earlier: what is known of its records.
        force: answers that are there are asked for again.
    """

    def __init__(
        self,
        evaluation: LoadedEvaluation,
        panel: Panel,
        log: RunLog,
        cases: Mapping[str, LoadedCase],
        earlier: Earlier,
        *,
        force: bool = False,
    ) -> None:
        self._evaluation, self._log, self._cases = evaluation, log, cases
        self._earlier, self._force = earlier, force
        self._system, self._judge_hash = system_prompt_of(evaluation), judge_hash(evaluation)
        self._judges = {judge.judge_id: judge for judge in evaluation.judges}
        profile = evaluation.profile
        self.report = JudgingReport(
            profile.evaluation_profile_id,
            judges={name: JudgeCounts() for name in self._judges},
            pass_threshold=profile.aggregation.pass_threshold,
        )
        self._interview = Interview(evaluation, panel, log, self.report)

    async def judge(self, job: LinePlace) -> None:
        """Judge one trial, as far as there is anything to judge and anything to ask.

        Its checks are those of the newest look at it.

        Args:
            job: where its record that counts stands; nothing is made of one that cannot be read.

        Raises:
            CollectError: the disk is full.
        """
        result = result_at(self._log.run_dir, job)
        if result is None:
            return
        self.report.n_trials += 1
        if not is_judged(result):
            self.report.n_skipped += 1
            return
        try:
            is_whole = await self._judge(result, job.number, self._cases[result.case_id])
        except asyncio.CancelledError:
            self.report.n_open += 1
            raise
        self.report.n_open += not is_whole

    async def _judge(self, result: Result, number: int, case: LoadedCase) -> bool:
        """Ask what is missing and conclude; return whether every question has its answer."""
        key: RecordKey = ((result.model_id, result.case_id, result.repetition), number)
        place = Place(
            *(result.run_id, result.model_id, result.case_id, result.repetition, number),
            self._evaluation.profile.evaluation_profile_id,
        )
        outcomes = self._earlier.checks(key) or result.checks
        asking = partial(self._prompt, result, case, outcomes)
        is_small = len(result.raw_output) <= MIN_THREADED_CHARS and not result.tool_call_count
        question = asking() if is_small else await asyncio.to_thread(asking)
        known = self._standing(key, question)
        todo = [
            (run, number)
            for run in self._evaluation.profile.judge_runs
            for number in range(1, run.repetitions + 1)
            if (run.judge_run_id, number) not in known
        ]
        asked = await asyncio.gather(
            *(
                self._interview.ask(
                    Question(
                        run,
                        number,
                        question.text,
                        question.hashes[run.judge_id],
                        form_of(case),
                        place.fields,
                        iteration_line,
                    )
                )
                for run, number in todo
            )
        )
        if any(line is None for line in asked):
            return False
        iterations = [*known.values(), *(line for line in asked if line is not None)]
        self._conclude(key, place, case, iterations, outcomes)
        return True

    def _prompt(self, result: Result, case: LoadedCase, checks: Sequence[CheckResult]) -> _Prompt:
        trial = JudgedTrial.of(StoredTrial(self._log.run_dir, result), checks)
        marker = new_marker()
        prompt = JudgePrompt(case, trial, marker, self._evaluation.shown_anchors).text()
        plain = prompt.replace(marker, MARKER)
        hashes = {
            name: question_hash(judge, self._system, plain) for name, judge in self._judges.items()
        }
        return _Prompt(prompt, hashes)

    def _standing(self, key: RecordKey, question: _Prompt) -> dict[tuple[str, int], JudgeIteration]:
        """Return the answers to the question as it stands that need not be asked for again."""
        if self._force:
            return {}
        found = {}
        for run in self._evaluation.profile.judge_runs:
            for number in range(1, run.repetitions + 1):
                asked = QuestionKey(run.judge_run_id, number, question.hashes[run.judge_id])
                if (line := self._earlier.answer(key, asked, JudgeIteration)) is not None:
                    found[run.judge_run_id, number] = line
        return found

    def _conclude(
        self,
        key: RecordKey,
        place: Place,
        case: LoadedCase,
        iterations: Iterable[JudgeIteration],
        checks: Sequence[CheckResult],
    ) -> None:
        """Write down what all answers come to, where that is anything new."""
        profile = self._evaluation.profile
        found = judgement_line(
            place,
            profile,
            case,
            [*iterations],
            checks,
            judge_hash=self._judge_hash,
            at_ms=now_ms(),
        )
        before = self._earlier.conclusion(key, Judgement)
        if before is not None and said_by(before) == said_by(found):
            self.report.n_unchanged += 1
        else:
            self._log.append_evaluation(found)
            self.report.n_judged += 1
        self.report.n_failed += found.status == "failed"
        if found.passed is not None:
            self.report.verdicts["passed" if found.passed else "failed"] += 1


def said_by(line: Judgement | Preference) -> Mapping[str, object]:
    """Return what a line says, whenever and by whichever version it was made."""
    return line.model_dump(exclude={"evaluated_at_ms", "benchlake_version"})
