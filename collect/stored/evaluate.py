"""Stored trials judged: no model is asked again, only judges, and only for what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from collect.config.evaluation import LoadedEvaluation, ResolvedJudge, load_evaluation_profile
from collect.console.interrupts import GRACE_S, INTERRUPTED, Interrupts
from collect.console.judging_report import JudgeWork, JudgingReport, PairwiseReport
from collect.execute.budget import Budget, parse_assumed, refuse_unpriced
from collect.execute.collector import on_loop
from collect.execute.evaluation import as_served, evaluation_of, judging_of, redacting
from collect.judges.earlier import Earlier
from collect.judges.pairs.pairing import Pairing
from collect.judges.pairs.question import pair_system_prompt
from collect.judges.panel import Panel
from collect.judges.queue import Job, JudgedBy, JudgingQueue, Report, opened_judging, opened_queue
from collect.run_folder.latest_records import latest_records
from collect.run_folder.log import RunLog
from collect.stored.against import Against, against_of
from collect.stored.inputs import EvaluateRequest, StoredCases, load_cases
from schemas.config.project import load_project_file
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, ConfigError, Problem

SYNC_INTERVAL_S = 1.0
"""How much a power cut may cost."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class ToEvaluate:
    """What trials are judged by."""

    found: StoredCases
    evaluation: LoadedEvaluation
    """Its judges with their prices."""
    against: Against | None
    """What they are held against; None: nothing."""


@dataclass
class EvaluateReport:
    """What came of it; what `collect evaluate --json` prints."""

    run_id: str
    run_dir: str
    judging: JudgingReport | PairwiseReport
    notes: list[str]
    exit_code: int


def to_evaluate(request: EvaluateRequest, working_dir: Path) -> ToEvaluate:
    """Return what the trials of a run are judged by.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: it does not say what it was made of.
        ConfigError: suite, case or profile are wrong or not there, name no judge, a key is not
            set, or a price is missing that --max-cost needs.
    """
    found = load_cases(request, working_dir, left_out="it is not judged")
    against = against_of(request, found)
    name = request.evaluation_profile
    if name is None:
        stored = found.config.evaluation
        if stored is None:
            what = "the run has no evaluation profile of its own"
            raise ConfigError([Problem(None, what, "--evaluation-profile", advice="name one")])
        name = stored.evaluation_profile_id
    project = load_project_file(working_dir)
    evaluation = load_evaluation_profile(name, working_dir, allowed_hosts=project.allowed_hosts)
    if not evaluation.has_judges:
        advice = "add `judges` and `judge_runs` to it, or name another one"
        what = "it names no judges, so that there is nobody to ask"
        raise ConfigError([Problem(evaluation.path, what, "judge_runs", advice=advice)])
    today = datetime.now(tz=UTC).date()
    assumed = None if request.assume_price is None else parse_assumed(request.assume_price, today)
    judging = judging_of(evaluation, project.prices, assumed) or evaluation
    if request.max_cost_usd is not None:
        refuse_unpriced(tuple(judge.model for judge in judging.judges))
    return ToEvaluate(found, judging, against)


class StoredJudging:
    """Judges the trials of one run.

    Args:
        log: of the run, locked.
        inputs: what they are judged by.
        request: what somebody asked for.
        progress: is told how many trials of how many are begun.
        say: is told what people should know meanwhile.
    """

    def __init__(
        self,
        log: RunLog,
        inputs: ToEvaluate,
        request: EvaluateRequest,
        progress: Callable[[int, int], None],
        say: Say,
    ) -> None:
        self._log, self._inputs, self._request = log, inputs, request
        self._progress, self._say = progress, say

    def run(self) -> EvaluateReport:
        """Ask the judges and write down what they say.

        Raises:
            CollectError: the disk is full, or an embedded judge cannot be served.
        """
        config = self._inputs.found.config
        limits = DEFAULT_SANDBOX.limits if config.sandbox is None else config.sandbox.limits
        stored = evaluation_of(self._inputs.evaluation, limits)
        with redacting(stored), served(self._inputs.evaluation.judges, self._say) as judges:
            judging = on_loop(partial(self._all, judges))
        against = self._inputs.against
        notes = [*self._inputs.evaluation.warnings, *self._inputs.found.notes]
        notes += () if against is None else against.notes
        run_dir, code = self._log.run_dir, _exit_code(judging)
        return EvaluateReport(run_dir.name, str(run_dir), judging, notes, code)

    async def _all(
        self, judges: tuple[ResolvedJudge, ...], interrupts: Interrupts
    ) -> JudgingReport | PairwiseReport:
        evaluation, log, force = self._inputs.evaluation, self._log, self._request.force
        by = JudgedBy(evaluation, judges, Budget(self._request.max_cost_usd, ()))
        cases, against = self._inputs.found.cases, self._inputs.against
        places = latest_records(log.run_dir, self._is_wanted)
        if against is None:
            earlier = Earlier(log.run_dir, evaluation.profile.evaluation_profile_id)
            opened = opened_judging(
                by, log, cases, earlier, self._say, force=force, progress=self._progress
            )
            async with opened as queue:
                for place in places.values():
                    queue.add(place)
                return await self._drained(queue, interrupts)

        def pairing(panel: Panel) -> Pairing:
            return Pairing(evaluation, panel, log, cases, against.run, force=force)

        system = pair_system_prompt(evaluation)
        async with opened_queue(by, system, self._say, pairing, self._progress) as pairs:
            jobs = list(against.jobs(places))
            for job in jobs:
                pairs.add(job)
            report = await self._drained(pairs, interrupts)
        report.n_unpaired = against.n_trials(places) - len(jobs)
        return report

    async def _drained(self, queue: JudgingQueue[Job, Report], interrupts: Interrupts) -> Report:
        """Wait for a queue, which Ctrl-C ends."""

        def interrupt() -> None:
            queue.stop(INTERRUPTED)
            self._say("stopping: judges that were asked may answer; Ctrl-C again ends it now")
            asyncio.get_running_loop().call_later(GRACE_S, queue.cancel)

        interrupts.watch(interrupt, queue.cancel)
        syncing = asyncio.create_task(self._keep_synced())
        try:
            return await queue.drain()
        finally:
            syncing.cancel()

    def _is_wanted(self, model_id: str, case_id: str) -> bool:
        models = self._request.models
        return case_id in self._inputs.found.cases and (not models or model_id in models)

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_INTERVAL_S)
            await asyncio.to_thread(self._log.sync)


def _exit_code(report: JudgeWork) -> int:
    if report.stopped == INTERRUPTED and report.n_open:
        return EXIT_INTERRUPTED
    is_good = report.is_whole and report.n_skipped < report.n_trials
    return EXIT_OK if is_good else EXIT_BAD_NEWS


@contextmanager
def served(judges: Sequence[ResolvedJudge], say: Say) -> Iterator[tuple[ResolvedJudge, ...]]:
    """Give judges as they can be asked, those served that are embedded, and end that again.

    Raises:
        LocalModelError: one of them does not start.
    """
    if all(judge.model.embedded is None for judge in judges):
        yield tuple(judges)
        return
    from collect.local.servers import Servers  # noqa: PLC0415 - few serve a judge

    models = [judge.model for judge in judges]
    with Servers(models, say) as servers:
        yield as_served(judges, servers)
