"""Stored trials judged: no model is asked again, only judges, and only for what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from collect.config.evaluation import LoadedEvaluation, ResolvedJudge, load_evaluation_profile
from collect.execute.budget import Budget, parse_assumed, refuse_unpriced
from collect.execute.collector import on_loop
from collect.execute.evaluation import evaluation_of, redacting
from collect.execute.pipeline import GRACE_S, INTERRUPTED, Interrupts
from collect.judges.earlier import Earlier
from collect.judges.judging import Judging, JudgingReport
from collect.judges.panel import Panel, refuse_keyless
from collect.judges.prompt import system_prompt_of
from collect.plan.estimate import price_of
from collect.run_folder.latest_records import LinePlace, TrialKey, latest_records, result_at
from collect.run_folder.log import RunLog
from collect.stored.inputs import StoredCases, StoredRequest, load_cases
from schemas.config.prices import PriceTable
from schemas.config.project import load_project_file
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, ConfigError, Problem

WORKERS_PER_SLOT = 2
"""Trials whose questions are ready, or wait for a retry, for each one that is being asked."""

SYNC_INTERVAL_S = 1.0
"""How much a power cut may cost."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class EvaluateRequest(StoredRequest):
    """Of judgements."""

    max_cost_usd: float | None = None
    """Of what judges are asked now."""
    assume_price: str | None = None
    """US dollars per million tokens, `IN/OUT`, of judges without a price."""


@dataclass(frozen=True)
class ToEvaluate:
    """What trials are judged by."""

    found: StoredCases
    evaluation: LoadedEvaluation
    """Its judges with their prices."""


@dataclass
class EvaluateReport:
    """What came of it; what `collect evaluate --json` prints."""

    run_id: str
    run_dir: str
    evaluation_profile_id: str
    pass_threshold: float | None
    judging: JudgingReport = field(default_factory=JudgingReport)
    stopped: str | None = None
    """Why something was left; null: nothing was."""
    notes: list[str] = field(default_factory=list)
    exit_code: int = 0


def to_evaluate(request: EvaluateRequest, working_dir: Path) -> ToEvaluate:
    """Return what the trials of a run are judged by.

    Raises:
        RunNotFound: there is no such run.
        NotResumable: it does not say what it was made of.
        ConfigError: suite, case or profile are wrong or not there, name no judge, a key is not
            set, or a price is missing that --max-cost needs.
    """
    found = load_cases(request, working_dir, left_out="it is not judged")
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
    evaluation = with_prices(evaluation, project.prices, request.assume_price)
    if request.max_cost_usd is not None:
        refuse_unpriced(tuple(judge.model for judge in evaluation.judges))
    refuse_keyless(evaluation.judges)
    return ToEvaluate(found, evaluation)


def with_prices(
    evaluation: LoadedEvaluation, prices: PriceTable, assumed: str | None
) -> LoadedEvaluation:
    """Return a profile whose judges have the prices of today; `assumed` stands in for others."""
    today = datetime.now(tz=UTC).date()
    other = None if assumed is None else parse_assumed(assumed, today)
    judges = tuple(
        replace(
            judge,
            model=replace(judge.model, price=price_of(judge.model, prices, today) or other),
        )
        for judge in evaluation.judges
    )
    return replace(evaluation, judges=judges)


class StoredJudging:
    """Judges the trials of one run.

    Args:
        log: of the run, locked.
        inputs: what they are judged by.
        request: what somebody asked for.
        progress: is told how many trials of how many are done.
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
        profile = inputs.evaluation.profile
        self.report = EvaluateReport(
            run_id=log.run_dir.name,
            run_dir=str(log.run_dir),
            evaluation_profile_id=profile.evaluation_profile_id,
            pass_threshold=profile.aggregation.pass_threshold,
            notes=[*inputs.evaluation.warnings, *inputs.found.notes],
        )

    def run(self) -> EvaluateReport:
        """Ask the judges and write down what they say.

        Raises:
            CollectError: the disk is full, or an embedded judge cannot be served.
        """
        config = self._inputs.found.config
        limits = DEFAULT_SANDBOX.limits if config.sandbox is None else config.sandbox.limits
        stored = evaluation_of(self._inputs.evaluation, limits)
        with redacting(stored), served(self._inputs.evaluation.judges, self._say) as judges:
            return on_loop(lambda interrupts: self._all(judges, interrupts))

    async def _all(self, judges: Sequence[ResolvedJudge], interrupts: Interrupts) -> EvaluateReport:
        evaluation, run_dir = self._inputs.evaluation, self._log.run_dir
        records = latest_records(run_dir, self._is_wanted)
        earlier = Earlier(run_dir, evaluation.profile.evaluation_profile_id)
        budget = Budget(self._request.max_cost_usd, ())
        panel = Panel(judges, system_prompt_of(evaluation), budget, self._say)
        judging = Judging(evaluation, panel, self._log, earlier, force=self._request.force)
        self.report.judging = judging.report
        todo = enumerate(records.items(), 1)

        async def worker() -> None:
            for n_begun, record in todo:
                if panel.stop_reason is not None:
                    return
                await self._one(judging, *record)
                self._progress(n_begun, len(records))

        def interrupt() -> None:
            panel.stop(INTERRUPTED)
            self._say("stopping: judges that were asked may answer; Ctrl-C again ends it now")
            asyncio.get_running_loop().call_later(GRACE_S, cancel)

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        n_workers = WORKERS_PER_SLOT * sum(judge.model.max_concurrency for judge in judges)
        syncing = asyncio.create_task(self._keep_synced())
        async with panel:
            tasks = [asyncio.create_task(worker()) for _ in range(n_workers)]
            interrupts.watch(interrupt, cancel)
            try:
                await asyncio.gather(*tasks)
            except asyncio.CancelledError:
                panel.stop(INTERRUPTED)
            finally:
                cancel()
                syncing.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        self._settle(panel, len(records))
        return self.report

    def _is_wanted(self, model_id: str, case_id: str) -> bool:
        models = self._request.models
        return case_id in self._inputs.found.cases and (not models or model_id in models)

    async def _one(self, judging: Judging, key: TrialKey, place: LinePlace) -> None:
        result = result_at(self._log.run_dir, place)
        if result is not None:
            await judging.judge(result, place.number, self._inputs.found.cases[key[1]], None)

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_INTERVAL_S)
            await asyncio.to_thread(self._log.sync)

    def _settle(self, panel: Panel, n_records: int) -> None:
        """Note what was left, and how it ended."""
        report, judging = self.report, self.report.judging
        left = n_records - judging.n_trials
        judging.n_trials += left
        judging.n_open += left
        reasons = [f"judge `{name}`: {why}" for name, why in panel.given_up.items()]
        report.stopped = panel.stop_reason or "; ".join(reasons) or None
        is_bad = judging.n_open or judging.n_failed or judging.n_skipped == judging.n_trials
        report.exit_code = EXIT_BAD_NEWS if is_bad else EXIT_OK
        if panel.stop_reason == INTERRUPTED and judging.n_open:
            report.exit_code = EXIT_INTERRUPTED


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
        ready = servers.served(models)
        yield tuple(replace(judge, model=model) for judge, model in zip(judges, ready, strict=True))
