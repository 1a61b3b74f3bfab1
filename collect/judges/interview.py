"""Questions to judges: asked, and what comes written down before anything else is done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from collect.config.evaluation import LoadedEvaluation
from collect.console.judging_report import JudgeWork
from collect.judges.asking import Answer, Asked, Form
from collect.judges.judgement import asked_fields, exchange_record, judge_file
from collect.judges.panel import Panel
from collect.run_folder.log import RunLog
from schemas.config.evaluation_profile import JudgeRunConfig
from schemas.errors import CollectError
from schemas.run.judgement import JudgeIteration
from schemas.run.preference import PairIteration
from schemas.run.trace import artifact_frame, now_ms

AskedLine = TypeVar("AskedLine", JudgeIteration, PairIteration)


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer, AskedLine]):
    """One question to one judge."""

    run: JudgeRunConfig
    """That asks it."""
    iteration: int
    """Of that run, from 1."""
    prompt: str
    question_hash: str
    form: Form[Answer]
    place: Mapping[str, Any]
    """What it is about, as fields of a line."""
    line: Callable[[Asked[Answer], Mapping[str, Any]], AskedLine]
    """Takes what came of it, and the fields of who was asked and what it took."""


@dataclass(frozen=True)
class Interview:
    """Asks the judges of a profile for one run.

    Attributes:
        evaluation: the profile, with its judges as they are written down.
        panel: asks them; open.
        log: of the run, locked.
        work: is told what came.
    """

    evaluation: LoadedEvaluation
    panel: Panel
    log: RunLog
    work: JudgeWork

    async def ask(self, question: Question[Answer, AskedLine]) -> AskedLine | None:
        """Ask one judge once and write down what came; None: it was not asked.

        Raises:
            CollectError: the disk is full.
        """
        run = question.run
        asked = await self.panel.ask(run.judge_id, question.prompt, question.form)
        if asked is None:
            return None
        judge = next(one for one in self.evaluation.judges if one.judge_id == run.judge_id)
        who = {"judge_run_id": run.judge_run_id, "judge_id": run.judge_id}
        about = {**question.place, **who, "iteration": question.iteration}
        record = exchange_record(about, asked)
        try:
            path = self.log.append_artifact(judge_file(judge), artifact_frame(record))
            fields = asked_fields(
                run,
                question.iteration,
                judge,
                asked,
                question=question.question_hash,
                artifact_path=path,
                at_ms=now_ms(),
            )
            line = question.line(asked, {**question.place, **fields})
            self.log.append_evaluation(line)
        except CollectError as exc:  # what cannot be written down is not paid for
            self.panel.stop(str(exc))
            raise
        self.work.counted(judge.judge_id, asked.failure, line)
        return line
