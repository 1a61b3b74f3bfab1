"""What evaluations.jsonl says of trials already: answers of judges, what they came to, checks.

Lean: of a line only its place and what tells whether it counts is kept; it is read again where it
is wanted. Lines that cannot be read are passed over, as whoever reads the log says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from collect.run_folder.latest_records import TrialKey
from schemas.io.own_files import open_own_file
from schemas.run.evaluation import Evaluation, EvaluationLine, parse_evaluation
from schemas.run.layout import EVALUATIONS
from schemas.run.result import CheckResult, LineError, loose_content_of

RecordKey = tuple[TrialKey, int]
"""A trial, and which record of it."""

PairKey = tuple[TrialKey, int, str, str, int]
"""The same, and what it is held against: run_id, model_id and record of the other trial."""


ASKED = frozenset({"judge_iteration", "pair_iteration"})
"""Lines of judges that were asked."""

CONCLUDED = frozenset({"judgement", "preference"})
"""Lines of what their answers come to."""

OF_PAIRS = frozenset({"pair_iteration", "preference"})


class QuestionKey(NamedTuple):
    """A question of a judge run."""

    judge_run_id: str
    iteration: int
    question_hash: str


Line = TypeVar("Line", bound=EvaluationLine)


def _key(row: Mapping[str, Any]) -> RecordKey | None:
    """Return which record a line is about; None: it does not say."""
    model_id, case_id = row.get("model_id"), row.get("case_id")
    repetition, number = row.get("repetition"), row.get("result_no")
    is_key = isinstance(model_id, str) and isinstance(case_id, str)
    if not (is_key and isinstance(repetition, int) and isinstance(number, int)):
        return None
    return (str(model_id), str(case_id), repetition), number


def _pair_key(key: RecordKey, row: Mapping[str, Any]) -> PairKey | None:
    """Return which two records a line is about; None: it does not say."""
    run_id, model_id = row.get("other_run_id"), row.get("other_model_id")
    number = row.get("other_result_no")
    is_key = isinstance(run_id, str) and isinstance(model_id, str) and isinstance(number, int)
    return (*key, str(run_id), str(model_id), int(number or 0)) if is_key else None


def _question_of(row: Mapping[str, Any]) -> QuestionKey | None:
    """Return what a line is an answer to; None: it is none, or does not say."""
    if row.get("record_type") not in ASKED or row.get("failure") is not None:
        return None
    judge_run_id, question = row.get("judge_run_id"), row.get("question_hash")
    iteration = row.get("iteration")
    is_known = isinstance(judge_run_id, str) and isinstance(question, str)
    if not (is_known and isinstance(iteration, int)):
        return None
    return QuestionKey(str(judge_run_id), iteration, str(question))


class Earlier:
    """What is known of the records of a run.

    Args:
        run_dir: the run's folder.
        profile_id: whose judgements are looked for.
    """

    def __init__(self, run_dir: Path, profile_id: str) -> None:
        self._run_dir, self._profile_id = run_dir, profile_id
        self._answers: dict[RecordKey | PairKey, dict[QuestionKey, int]] = {}
        """Where the newest success stands; a failure is no answer, and is asked again."""
        self._conclusions: dict[RecordKey | PairKey, int] = {}
        self._checks: dict[RecordKey, int] = {}
        self.spent_usd = 0.0
        """On judges of this run, by any profile."""
        if not (run_dir / EVALUATIONS).exists():
            return
        offset = 0
        with open_own_file(run_dir, EVALUATIONS) as log:
            for line in log:
                self._note(line, offset)
                offset += len(line)

    def _note(self, line: bytes, offset: int) -> None:
        if (row := loose_content_of(line)) is None:
            return
        kind, cost = row.get("record_type"), row.get("cost_usd")
        if kind in ASKED and isinstance(cost, int | float):
            self.spent_usd += cost
        if (key := _key(row)) is None:
            return
        if kind == "evaluation":
            self._checks[key] = offset
        elif row.get("evaluation_profile_id") == self._profile_id:
            about = _pair_key(key, row) if kind in OF_PAIRS else key
            asked = _question_of(row)
            if about is not None and kind in CONCLUDED:
                self._conclusions[about] = offset
            elif about is not None and asked is not None:
                self._answers.setdefault(about, {})[asked] = offset

    def answer(self, key: RecordKey | PairKey, asked: QuestionKey, kind: type[Line]) -> Line | None:
        """Return the newest answer to a question about a record, or two; None: there is none."""
        offset = self._answers.get(key, {}).get(asked)
        return None if offset is None else self._at(offset, kind)

    def newest(self, key: RecordKey, kind: type[Line]) -> list[Line]:
        """Return the newest answer of each judge run and iteration about a record."""
        found: dict[tuple[str, int], int] = {}
        for asked, offset in self._answers.get(key, {}).items():
            place = asked.judge_run_id, asked.iteration
            found[place] = max(offset, found.get(place, 0))
        lines = (self._at(offset, kind) for offset in sorted(found.values()))
        return [line for line in lines if line is not None]

    def conclusion(self, key: RecordKey | PairKey, kind: type[Line]) -> Line | None:
        """Return what the answers came to when somebody last looked; None: nobody did."""
        offset = self._conclusions.get(key)
        return None if offset is None else self._at(offset, kind)

    def checks(self, key: RecordKey) -> tuple[CheckResult, ...] | None:
        """Return what the newest look at a record found; None: there was none."""
        offset = self._checks.get(key)
        found = None if offset is None else self._at(offset, Evaluation)
        return None if found is None else found.checks

    def _at(self, offset: int, kind: type[Line]) -> Line | None:
        with open_own_file(self._run_dir, EVALUATIONS) as log:
            log.seek(offset)
            try:
                found = parse_evaluation(log.readline())
            except LineError:
                return None
        return found if isinstance(found, kind) else None
