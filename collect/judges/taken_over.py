"""Answers of judges about an answer that a new run takes over: they are taken over with it.

A judge is never paid twice for the same question about the same answer. Whether a question is still
the same shows when the trial is judged: its hash is of the judge and of all that it is told. What
was judged before the run was made is kept as it was said, without the cost and the time that the
earlier run had of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from collect.config.evaluation import LoadedEvaluation
from collect.judges.earlier import Earlier
from collect.judges.judgement import judge_file
from collect.run_folder.log import RunLog
from collect.run_folder.reuse import ReusableResult
from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file
from schemas.run.config import PlannedTrial
from schemas.run.judgement import JudgeIteration
from schemas.run.trace import REFERENCE, whole_frame

PAID_EARLIER: Mapping[str, None] = {
    "input_tokens": None,
    "output_tokens": None,
    "cost_usd": None,
    "cost_source": None,
    "e2e_ms": None,
}
"""What an earlier run had of an answer."""


class TakenAnswers:
    """Writes down in a new run what judges of a profile said of the answers that it takes over.

    Args:
        evaluation: the profile of the new run.
        log: of the new run.
    """

    def __init__(self, evaluation: LoadedEvaluation, log: RunLog) -> None:
        self._profile, self._log = evaluation.profile, log
        self._judges = {judge.judge_id: judge for judge in evaluation.judges}
        self._known: tuple[Path, Earlier] | None = None
        self.n_answers = 0
        """Taken over."""

    def __call__(self, found: ReusableResult, trial: PlannedTrial, number: int) -> None:
        """Take over what was said of one answer.

        Args:
            found: the answer, as it stands in the run that it is taken from.
            trial: of the new run.
            number: line of results.jsonl that it gets there.

        Raises:
            CollectError: the disk is full.
        """
        run_dir, result = found.run_dir, found.result
        key = (result.model_id, result.case_id, result.repetition), found.number
        for line in self._earlier(run_dir).newest(key, JudgeIteration):
            judge = self._judges.get(line.judge_id)
            if judge is None or judge.model.model != line.requested_model:
                continue
            frame = _frame(run_dir, line.artifact_path)
            path = self._log.append_artifact(judge_file(judge), frame) if frame else None
            taken = {
                "run_id": self._log.run_dir.name,
                "model_id": trial.model_id,
                "case_id": trial.case_id,
                "repetition": trial.repetition,
                "result_no": number,
                "reused_from_run_id": line.reused_from_run_id or line.run_id,
                "artifact_path": path,
            }
            self._log.append_evaluation(line.model_copy(update={**taken, **PAID_EARLIER}))
            self.n_answers += 1

    def _earlier(self, run_dir: Path) -> Earlier:
        """Return what is known of a run; the answers of one run come one after another."""
        if self._known is None or self._known[0] != run_dir:
            self._known = run_dir, Earlier(run_dir, self._profile.evaluation_profile_id)
        return self._known[1]


def _frame(run_dir: Path, artifact_path: str | None) -> bytes | None:
    """Return prompts and raw answers, compressed; None where they are gone or torn."""
    match = REFERENCE.fullmatch(artifact_path or "")
    if match is None:
        return None
    try:
        with open_own_file(run_dir, match[1]) as file:
            return whole_frame(file, int(match[2]))
    except (OSError, NotOwnFile):
        return None
