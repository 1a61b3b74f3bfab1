"""The checks of stored trials, made again as they stand now: lines of evaluations.jsonl.

Nothing that a run wrote is changed. Of a check that is as it was, the outcome stays that was found,
unless it could not look; so that a second time does only what is left, also after Ctrl-C.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from collect.checks.declarative import check_hash, dimensions_of
from collect.checks.left import Trial
from collect.config import LoadedCase
from collect.config.evaluation import hooked
from collect.execute.checking import evaluated, last_message, subject_of_checks
from collect.execute.evaluation import opened_hooks, redacting
from collect.execute.outcome import joined
from collect.execute.subject import stored_subject
from collect.plan.fingerprint import case_hash
from collect.plan.plan import trial_of
from collect.run_folder.latest_records import TrialKey, latest_records
from collect.run_folder.log import PLAN, RunLog
from collect.run_folder.stored_trial import StoredTrial, counts_against_model, is_agents
from collect.stored.inputs import CheckRequest, Inputs
from schemas.config.checks import DeterministicCheck
from schemas.errors import EXIT_BAD_NEWS, EXIT_OK, NotResumable, restore_command
from schemas.io.own_files import open_own_file
from schemas.run.evaluation import Evaluation
from schemas.run.layout import EVALUATIONS, LOG
from schemas.run.result import CheckResult, LineError, Result, parse_line
from schemas.run.trace import now_ms

if TYPE_CHECKING:
    from collect.hooks.artifact import HookSubject
    from collect.hooks.hooks import Hooks

VERSION = version("benchlake")

SYNC_EVERY = 500
"""Lines between two syncs: how much a power cut may cost."""

WORKERS_A_CORE = 4
"""Trials looked at at once, where hooks run."""


class ChangedVerdict(NamedTuple):
    """A trial whose verdict is another one now."""

    model_id: str
    case_id: str
    repetition: int
    before: bool | None
    now: bool | None


@dataclass
class CheckReport:
    """What came of it; what `collect check --json` prints."""

    run_id: str
    run_dir: str
    n_trials: int = 0
    """With an answer to look at, of the cases and models that were asked for."""
    n_evaluated: int = 0
    """Got a line of their own now."""
    n_unchanged: int = 0
    """Were looked at before by the same checks."""
    n_skipped: int = 0
    """Have nothing that a check could look at: their failure was not the model's."""
    verdicts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS.values(), 0))
    before: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS.values(), 0))
    changed: list[ChangedVerdict] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    """`check_id: reason` of checks that could not look, to how many trials."""
    notes: list[str] = field(default_factory=list)
    exit_code: int = 0


VERDICTS: Mapping[bool | None, str] = {True: "passed", False: "failed", None: "open"}


class Known(NamedTuple):
    """What is known of a record of a trial from evaluations.jsonl."""

    result_no: int
    newest: Evaluation
    outcomes: dict[str, CheckResult]
    """By check_hash, the newest that is no error."""


class StoredChecks:
    """Makes the checks of one run's trials.

    Args:
        log: of the run, locked.
        inputs: what they are evaluated by.
        request: what somebody asked for.
        progress: is told how many trials of how many are done.
    """

    def __init__(
        self,
        log: RunLog,
        inputs: Inputs,
        request: CheckRequest,
        progress: Callable[[int, int], None],
    ) -> None:
        self._log, self._inputs, self._request = log, inputs, request
        self._progress = progress
        self._hooks: Hooks | None = None
        self._known: dict[TrialKey, Known] = {}
        self._scorable: dict[TrialKey, bool] = {}
        self._hashes = {case_id: _hashes(case) for case_id, case in inputs.cases.items()}
        self._case_hashes = {case_id: case_hash(case) for case_id, case in inputs.cases.items()}
        self._stored_hashes = {case_id: _hashes(case) for case_id, case in inputs.stored.items()}
        self._errors: Counter[str] = Counter()
        self._n_unsynced = 0
        self.report = CheckReport(log.run_dir.name, str(log.run_dir), notes=list(inputs.notes))

    def run(self) -> CheckReport:
        """Make the checks and write down what they found.

        Raises:
            CollectError: the disk is full.
        """
        with redacting(self._inputs.evaluation):
            asyncio.run(self._all())
        self.report.errors = dict(sorted(self._errors.items()))
        is_bad = self._errors or not self.report.n_trials
        self.report.exit_code = EXIT_BAD_NEWS if is_bad else EXIT_OK
        return self.report

    def _is_wanted(self, model_id: str, case_id: str) -> bool:
        models = self._request.models
        return case_id in self._inputs.cases and (not models or model_id in models)

    async def _all(self) -> None:
        records = latest_records(self._log.run_dir, self._is_wanted)
        self._known, self._scorable = self._earlier(), self._planned()
        self.report.n_trials = len(records)
        cases = self._inputs.cases.values()
        opened = opened_hooks(
            cases,
            self._inputs.evaluation,
            is_unsafe=self._request.unsafe_no_sandbox,
        )
        n_workers = WORKERS_A_CORE * (os.cpu_count() or 1) if hooked(cases) else 1
        trials = enumerate(records.items(), 1)

        async def worker() -> None:
            for n_begun, (key, (number, place)) in trials:
                results.seek(place)
                await self._one(key, number, results.readline())
                self._progress(n_begun, len(records))

        with open_own_file(self._log.run_dir, LOG) as results:
            async with opened as self._hooks:
                await asyncio.gather(*(worker() for _ in range(n_workers)))

    def _earlier(self) -> dict[TrialKey, Known]:
        """Return what earlier looks found, by trial: of the last record that was looked at."""
        found: dict[TrialKey, Known] = {}
        if not (self._log.run_dir / EVALUATIONS).exists():
            return found
        with open_own_file(self._log.run_dir, EVALUATIONS) as log:
            for line in log:
                try:
                    one = Evaluation.model_validate_json(line, strict=True, extra="ignore")
                except ValidationError:
                    continue  # whoever reads the log says so
                key = one.model_id, one.case_id, one.repetition
                before = found.get(key)
                if before is not None and before.result_no > one.result_no:
                    continue
                is_same = before is not None and before.result_no == one.result_no
                outcomes = dict(before.outcomes) if is_same and before is not None else {}
                outcomes |= {check.check_hash or "": check for check in _made(one.checks)}
                found[key] = Known(one.result_no, one, outcomes)
        return found

    def _planned(self) -> dict[TrialKey, bool]:
        """Return of each planned trial whether it could get a verdict at the run."""
        with open_own_file(self._log.run_dir, PLAN) as plan:
            try:
                trials = [trial_of(line) for line in plan]
            except ValueError as exc:
                again = f"`{restore_command(self._log.run_dir)}` writes it again from the lake"
                raise NotResumable(self._log.run_dir, f"{PLAN} is damaged; {again}") from exc
        return {(one.model_id, one.case_id, one.repetition): one.is_scorable for one in trials}

    async def _one(self, key: TrialKey, number: int, line: bytes) -> None:
        """Look at one trial again, where there is anything to look at and anything new."""
        try:
            result = parse_line(line)
        except LineError:
            return
        if not isinstance(result, Result):
            return
        known = self._known.get(key)
        if known is not None and known.result_no != number:
            known = None  # of a record that does not count any more
        before = result.passed if known is None else known.newest.passed
        self.report.before[VERDICTS[before]] += 1
        case, hashes = self._inputs.cases[result.case_id], self._hashes[result.case_id]
        counts = counts_against_model(result, was_scorable=self._scorable.get(key, False))
        outcomes = self._recorded(result) | ({} if known is None else known.outcomes)
        todo = [
            check
            for check in case.checks
            if self._request.force or hashes[check.check_id] not in outcomes
        ]
        if counts is False:
            self.report.n_skipped += 1
            self.report.verdicts[VERDICTS[before]] += 1
            return
        made = await self._made_now(case, result, todo) if todo else {}
        checks = tuple(
            made.get(check.check_id)
            or outcomes[hashes[check.check_id]].model_copy(
                update={"check_id": check.check_id, "dimensions": dimensions_of(check)}
            )
            for check in case.checks
        )
        self._errors.update(f"{one.check_id}: {one.reason}" for one in checks if one.reason)
        deciding = result.checks if known is None else known.newest.checks
        is_same = _said(checks) == _said(deciding) and self._is_as_before(result, known)
        if is_same and not (self._request.force and _is_sound(checks)):
            self.report.n_unchanged += 1
            self.report.verdicts[VERDICTS[before]] += 1
            return
        verdict: bool | None = None
        is_judged = self._inputs.config.judge_hash is not None and not case.unevaluable
        is_scorable = case.is_scorable or is_judged or (bool(checks) and _is_sound(checks))
        if is_scorable:
            by_checks = not counts or (is_agents(result) and bool(checks))
            verdict = joined(result.objective_pass, checks) if by_checks else False
        self._write(result, number, verdict, checks, is_scorable=is_scorable)
        self.report.n_evaluated += 1
        self.report.verdicts[VERDICTS[verdict]] += 1
        if verdict != before:
            self.report.changed.append(ChangedVerdict(*key, before, verdict))

    async def _made_now(
        self, case: LoadedCase, result: Result, todo: Sequence[DeterministicCheck]
    ) -> dict[str, CheckResult]:
        """Return what checks found that are made now, by check_id."""
        stored = StoredTrial(self._log.run_dir, result)
        trial = _looked_at(stored, case)

        def given() -> HookSubject:
            return stored_subject(result, stored.artifact, case, trial, self._inputs.config)

        found = await evaluated(case, todo, trial, self._hooks, given)
        return {one.check_id: one for one in found}

    def _recorded(self, result: Result) -> dict[str, CheckResult]:
        """Return what the run itself found, by the hash of the check, without errors."""
        were = self._stored_hashes.get(result.case_id, {})
        return {
            check.check_hash or were.get(check.check_id, ""): check
            for check in _made(result.checks)
        }

    def _is_as_before(self, result: Result, known: Known | None) -> bool:
        """Return whether the checks that decide a trial's verdict are those of now."""
        now = self._case_hashes[result.case_id]
        return now == (result.case_hash if known is None else known.newest.case_hash)

    def _write(
        self,
        result: Result,
        number: int,
        verdict: bool | None,
        checks: tuple[CheckResult, ...],
        *,
        is_scorable: bool,
    ) -> None:
        found = Counter(check.outcome for check in checks)
        profile = self._inputs.evaluation
        self._log.append_evaluation(
            Evaluation(
                run_id=result.run_id,
                model_id=result.model_id,
                case_id=result.case_id,
                repetition=result.repetition,
                result_no=number,
                kind="check",
                evaluated_at_ms=now_ms(),
                evaluation_profile_id=None if profile is None else profile.evaluation_profile_id,
                case_hash=self._case_hashes[result.case_id],
                is_scorable=is_scorable,
                passed=verdict,
                checks_passed=found["passed"],
                checks_failed=found["failed"],
                checks_errored=found["error"],
                checks=checks,
                benchlake_version=VERSION,
            )
        )
        self._n_unsynced += 1
        if self._n_unsynced >= SYNC_EVERY:
            self._log.sync()
            self._n_unsynced = 0


def _looked_at(stored: StoredTrial, case: LoadedCase) -> Trial:
    """Return what the checks of a case look at."""
    text, artifact, result = stored.text, stored.artifact, stored.result
    is_blank = case.has_workspace and not text.strip()
    events = artifact.trace if is_blank and artifact is not None else ()
    left, problem = stored.left if case.has_workspace else (None, None)
    needs_trace = any(check.kind == "tool_call_count" for check in case.checks)
    return subject_of_checks(
        case,
        final_text=text,
        last_message=last_message([event.model_dump() for event in events]),
        n_tool_calls=stored.n_tool_calls if needs_trace else 0,
        status=result.status,
        left=left,
        left_problem=problem,
    )


def _said(checks: Iterable[CheckResult]) -> list[tuple[str, str, str | None]]:
    """Return what decides of the outcomes of checks."""
    return [(check.check_id, check.outcome, check.reason) for check in checks]


def _is_sound(checks: Iterable[CheckResult]) -> bool:
    """Return whether every check could look."""
    return all(check.outcome != "error" for check in checks)


def _made(checks: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Yield the outcomes of checks that could look."""
    return (check for check in checks if check.outcome != "error")


def _hashes(case: LoadedCase) -> dict[str, str]:
    """Return the hash of each check of a case, by check_id."""
    texts = dict(case.hooks)
    return {check.check_id: check_hash(check, texts.get(check.check_id)) for check in case.checks}
