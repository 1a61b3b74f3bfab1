"""Stored trials held against those of another run, as lines of evaluations.jsonl.

As with single trials only what is missing is asked, and an answer is on the disk before anything
else is done with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collect.config.evaluation import LoadedEvaluation
from collect.config.resolved import LoadedCase
from collect.console.judging_report import JudgeCounts, PairCounts, PairwiseReport
from collect.judges.earlier import Earlier, PairKey, QuestionKey
from collect.judges.fence import new_marker
from collect.judges.interview import Interview, Question
from collect.judges.judgement import question_hash
from collect.judges.judging import MARKER, is_judged, said_by
from collect.judges.pairs.preference import ORDERS, PairPlace, pair_line, preference_line
from collect.judges.pairs.question import FORM, PairPrompt, pair_system_prompt
from collect.judges.panel import Panel
from collect.judges.prompt import JudgedTrial
from collect.run_folder.latest_records import LinePlace, result_at
from collect.run_folder.log import RunLog
from collect.run_folder.stored_trial import StoredTrial
from schemas.run.preference import PairIteration, PairOrder, Preference
from schemas.run.result import Result
from schemas.run.trace import now_ms


@dataclass(frozen=True, slots=True)
class PairJob:
    """Where the records of two trials stand."""

    this: LinePlace
    other: LinePlace


@dataclass(frozen=True)
class OtherRun:
    """What trials are held against."""

    run_dir: Path
    model_id: str | None
    """That was asked for."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two trials as judges are asked about them."""

    prompts: Mapping[PairOrder, str]
    hashes: Mapping[tuple[str, PairOrder], str]
    """`question_hash` by judge and order."""
    chars: tuple[int, int]
    is_identical: bool


class Pairing:
    """Holds trials of one run against others.

    Args:
        evaluation: the profile, with its judges as they are written down.
        panel: asks them, with the system prompt of pairs; open.
        log: of the run, locked.
        cases: as they were asked, with the expectations and the rubric of now.
        other: what they are held against.
        force: answers that are there are asked for again.
    """

    def __init__(
        self,
        evaluation: LoadedEvaluation,
        panel: Panel,
        log: RunLog,
        cases: Mapping[str, LoadedCase],
        other: OtherRun,
        *,
        force: bool = False,
    ) -> None:
        profile_id = evaluation.profile.evaluation_profile_id
        self._evaluation, self._log, self._cases = evaluation, log, cases
        self._other, self._force = other, force
        self._earlier = Earlier(log.run_dir, profile_id)
        is_same = other.run_dir.resolve() == log.run_dir.resolve()
        self._others = self._earlier if is_same else Earlier(other.run_dir, profile_id)
        self._system = pair_system_prompt(evaluation)
        self.report = PairwiseReport(
            profile_id,
            judges={judge.judge_id: JudgeCounts() for judge in evaluation.judges},
            other_run_dir=str(other.run_dir),
            other_model_id=other.model_id,
        )
        self._interview = Interview(evaluation, panel, log, self.report)

    async def judge(self, job: PairJob) -> None:
        """Hold one trial against another, as far as there is anything to ask.

        Args:
            job: where both stand; nothing is made of a record that cannot be read.

        Raises:
            CollectError: the disk is full.
        """
        this = result_at(self._log.run_dir, job.this)
        other = result_at(self._other.run_dir, job.other)
        if this is None or other is None:
            return
        self.report.n_trials += 1
        if not (is_judged(this) and is_judged(other)):
            self.report.n_skipped += 1
            return
        try:
            is_whole = await self._judge(job, this, other)
        except asyncio.CancelledError:
            self.report.n_open += 1
            raise
        self.report.n_open += not is_whole

    async def _judge(self, job: PairJob, this: Result, other: Result) -> bool:
        """Ask what is missing and conclude; return whether every question has its answer."""
        trial, other_no = (this.model_id, this.case_id, this.repetition), job.other.number
        place = PairPlace(
            *(this.run_id, *trial, job.this.number),
            self._evaluation.profile.evaluation_profile_id,
            *(other.run_id, other.model_id, other_no),
        )
        key: PairKey = (trial, job.this.number, other.run_id, other.model_id, other_no)
        pair = await asyncio.to_thread(self._pair, job, this, other)
        known: list[PairIteration] = []
        asking = []
        for run in self._evaluation.profile.judge_runs if not pair.is_identical else ():
            for number in range(1, run.repetitions + 1):
                for order in ORDERS:
                    asked = QuestionKey(run.judge_run_id, number, pair.hashes[run.judge_id, order])
                    line = None if self._force else self._earlier.answer(key, asked, PairIteration)
                    if line is not None:
                        known.append(line)
                        continue
                    question = Question(
                        run,
                        number,
                        pair.prompts[order],
                        asked.question_hash,
                        FORM,
                        {**place.fields, "pair_order": order},
                        pair_line,
                    )
                    asking.append(self._interview.ask(question))
        came = await asyncio.gather(*asking)
        if any(line is None for line in came):
            return False
        self._conclude(key, place, pair, [*known, *(line for line in came if line is not None)])
        return True

    def _pair(self, job: PairJob, this: Result, other: Result) -> _Pair:
        """Return what judges are asked about two trials."""
        trial = self._shown(self._log.run_dir, this, job.this.number, self._earlier)
        against = self._shown(self._other.run_dir, other, job.other.number, self._others)
        case, marker = self._cases[this.case_id], new_marker()
        anchors = self._evaluation.shown_anchors
        prompts: dict[PairOrder, str] = {
            "this_first": PairPrompt(case, trial, against, marker, anchors).text(),
            "other_first": PairPrompt(case, against, trial, marker, anchors).text(),
        }
        hashes = {
            (judge.judge_id, order): question_hash(
                judge, self._system, prompt.replace(marker, MARKER)
            )
            for judge in self._evaluation.judges
            for order, prompt in prompts.items()
        }
        return _Pair(
            prompts,
            hashes,
            (len(trial.final_answer), len(against.final_answer)),
            is_identical=prompts["this_first"] == prompts["other_first"]
            and trial.final_answer == against.final_answer,
        )

    @staticmethod
    def _shown(run_dir: Path, result: Result, number: int, earlier: Earlier) -> JudgedTrial:
        key = (result.model_id, result.case_id, result.repetition), number
        checks = earlier.checks(key) or result.checks
        return JudgedTrial.of(StoredTrial(run_dir, result), checks)

    def _conclude(
        self, key: PairKey, place: PairPlace, pair: _Pair, iterations: list[PairIteration]
    ) -> None:
        """Write down what all answers come to, where that is anything new."""
        found = preference_line(
            place,
            self._evaluation.profile,
            iterations,
            pair.chars,
            is_identical=pair.is_identical,
            at_ms=now_ms(),
        )
        before = self._earlier.conclusion(key, Preference)
        if before is not None and said_by(before) == said_by(found):
            self.report.n_unchanged += 1
        else:
            self._log.append_evaluation(found)
            self.report.n_judged += 1
        self._count(found)

    def _count(self, found: Preference) -> None:
        report = self.report
        report.n_comparisons += found.n_comparisons
        report.n_flips_to_first += found.n_flips_to_first
        report.n_flips_to_second += found.n_flips_to_second
        if found.status == "failed":
            report.n_failed += 1
            return
        counts = report.models.setdefault(found.model_id, PairCounts())
        name = found.outcome or "cannot_say"
        setattr(counts, name, getattr(counts, name) + 1)
        counts.identical += found.is_identical
        lead = found.answer_chars - found.other_answer_chars
        if found.outcome in {"won", "lost"} and lead:
            is_longer = (lead > 0) == (found.outcome == "won")
            report.n_longer_won += is_longer
            report.n_shorter_won += not is_longer
