"""plan -> execute -> outcome -> log: the only module that sees them all.

Ctrl-C, SIGTERM and a terminal that is gone: once to finish what is in flight, twice to end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from pydantic import JsonValue

from collect.checks import judge
from collect.config import ResolvedModel
from collect.config.runners import RUNNERS
from collect.console.interrupts import GRACE_S, INTERRUPTED, Interrupts
from collect.console.progress import RunReport, Screen
from collect.execute.agents import opened_agents
from collect.execute.budget import Budget
from collect.execute.checking import (
    Keeper,
    evaluated,
    executed_trial,
    interrupted,
    off_loop,
)
from collect.execute.evaluation import as_served, earlier_of, opened_hooks, redacting
from collect.execute.executor import COST_STOP_REASON, Executor, Hooks
from collect.execute.mirror_process import MirrorChild
from collect.execute.outcome import NO_TOOLS, NO_VERDICT, artifact_of, result_of
from collect.execute.spec import Part, RunSpec, tags_of
from collect.execute.tools import opened
from collect.execute.warm_up import Around, absence_reason
from collect.http_client.pool import CompletionQueue
from collect.limits import Share
from collect.plan.plan import trials_of
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.latest_records import latest_records
from collect.run_folder.log import RunLog, check_command, resume_command
from collect.runners.base import Execution, RunnerContext, mistaken
from collect.runners.loop_clock import LoopClock
from collect.runners.tools.toolbox import Toolbox
from collect.tools import tool_use
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, CollectError
from schemas.failures import SKIPPED_ON_REQUEST
from schemas.redact import redact, redact_json
from schemas.registry import load_object
from schemas.run.config import PlannedTrial
from schemas.run.model_names import ModelNames
from schemas.run.result import CheckResult, Event, Result
from schemas.run.trace import artifact_frame, now_ms

if TYPE_CHECKING:
    from collect.console.judging_report import JudgingReport
    from collect.hooks.artifact import HookSubject
    from collect.hooks.hooks import Hooks as PythonHooks
    from collect.judges.queue import JudgingQueue
    from collect.local.servers import Servers
    from collect.run_folder.latest_records import LinePlace

SYNC_INTERVAL_S = 1.0
"""How much a power cut may cost."""


class Pipeline:
    """One run from its stored plan to its summary, new or gone on with."""

    def __init__(
        self,
        spec: RunSpec,
        log: RunLog,
        screen: Screen,
        finished: FinishedTrials,
        meanwhile: Callable[[], object],
        *,
        servers: Servers | None,
        part: Part | None = None,
    ) -> None:
        """Prepare; `meanwhile` is done while the mirror seals, when there is nothing else to do.

        With a `part`, this process makes one shard of a run, and whoever started it has the mirror.
        """
        self._spec = spec
        self._part = part
        self._share = Share() if part is None else part.share
        self._log = log
        self._screen = screen
        self._finished = finished
        self._meanwhile = meanwhile
        self._servers = servers
        self._clock = LoopClock()
        self._toolbox = Toolbox()
        self._hooks: PythonHooks | None = None
        self._keeper = Keeper(log.run_dir, spec.keep_workspaces, spec.workspaces_mb)
        self._hosts: dict[str, object] = {}
        completions = CompletionQueue()
        context = RunnerContext(log.run_dir, self._clock, completions, self._toolbox, self._hosts)
        self._mirror_failed = False
        self._disk_error: CollectError | None = None
        self._elapsed_ms = finished.elapsed_ms
        """Of earlier sessions."""
        self.report = RunReport(log.run_dir.name, str(log.run_dir), spec.n_planned)
        self._failed_outside = bool(finished.count_into(self.report, final=True))
        self._models = {model.model_id: model for model in spec.models}
        self._names = ModelNames.of_models(spec.models)
        kinds = dict.fromkeys(case.runner_type for case in spec.cases.values())
        warms_up = next((kind for kind in kinds if RUNNERS[kind].warms_up), "")
        around = Around(tags_of(spec.models), log.write_text, self._event, warms_up)
        self._judging: JudgingQueue[LinePlace, JudgingReport] | None = None
        self._earlier = earlier_of(spec.judging, log.run_dir)
        spent_usd = finished.spent_usd + (self._earlier.spent_usd if self._earlier else 0.0)
        self._budget = Budget(spec.max_cost_usd, spec.models, spent_usd, granted=part is not None)
        self._executor = Executor(
            models=spec.models,
            trials_of=self._trials_of,
            cases=spec.cases,
            hooks=Hooks(
                open_runner=lambda kind, model: load_object(RUNNERS[kind].opens)(model, context),
                before_model=around.before_model,
                after_model=around.after_model,
                throttled=self._throttled,
                finished=self._record,
                unreachable_reason=partial(absence_reason, self._servers),
            ),
            max_concurrency=spec.policy.max_concurrency,
            completions=context.completions,
            budget=self._budget,
            share=self._share,
        )

    async def __call__(self, interrupts: Interrupts) -> RunReport:
        """Execute what is left of the plan and return what came of the whole run."""
        began = time.perf_counter()
        notes: list[str] = []
        child = None
        if self._part is None:
            child = await MirrorChild.start(self._log.run_dir, on_note=notes.append)
        self._screen.begin(self.report)
        for warning in (*(f"warning: {one}" for one in self._spec.warnings), *self._log.repaired):
            self._screen.note(warning)
        for repaired in self._log.repaired:
            self._event("repaired", None, repaired)
        interrupts.watch(self._interrupted, self._cancel)
        if self._part is not None:
            self._part.begin(interrupts, self._budget)
        try:
            with redacting(self._spec.evaluation):
                async with (
                    self._clock,
                    opened(self._toolbox, self._spec.tools),
                    opened_agents(self._hosts, self._spec.agents, self._log.run_dir),
                    opened_hooks(
                        self._spec.cases.values(),
                        self._spec.evaluation,
                        is_unsafe=self._spec.request.unsafe_no_sandbox,
                    ) as self._hooks,
                    self._judges() as self._judging,
                ):
                    await self._execute()
        finally:
            self._screen.end()
            try:
                self._log.close()
            finally:
                if child is not None:
                    await self._sealed(child, notes)
        self._failed_outside |= bool(self._finished.count_into(self.report, final=False))
        self.report.wall_ms = round((time.perf_counter() - began) * 1000)
        self.report.exit_code = self._exit_code(interrupted=interrupts.count > 0)
        return self.report

    async def _sealed(self, child: MirrorChild, notes: list[str]) -> None:
        """Let the mirror finish, and do meanwhile what can be done."""
        sealing = asyncio.create_task(child.finish())
        await asyncio.sleep(0)
        self._meanwhile()
        trouble = await sealing
        for note in notes:
            self._screen.note(note)
        self._mirror_failed = trouble is not None
        self.report.is_summed_up = trouble is None
        self.report.open_shifts = await child.last_words()
        if trouble is not None:
            self._screen.note(f"{trouble}; `analyze summarize {self._log.run_dir}` tries again")

    async def _execute(self) -> None:
        for model_id, facts in self._servers.started() if self._servers is not None else ():
            if model_id in self._models:
                self._event("model_served", model_id, facts)
        syncing = asyncio.create_task(self._keep_synced())
        try:
            await self._executor.run()
            if self._judging is not None:
                self.report.judging = await self._judging.drain()
        finally:
            syncing.cancel()
        if self._disk_error is not None:
            raise self._disk_error
        stopped: dict[str, list[str]] = {}
        for model_id, reason in self._executor.stopped_models.items():
            self._event("model_stopped", model_id, reason)
            stopped.setdefault(reason, []).append(f"`{self._names.of(model_id)}`")
        for reason, names in stopped.items():
            who = f"model {names[0]} was" if len(names) == 1 else f"models {', '.join(names)} were"
            self._screen.note(f"{who} stopped: {reason}")
        if self._executor.stop_reason is not None:
            self._event("run_stopped", None, self._executor.stop_reason)
            self._screen.note(f"the run was stopped: {self._executor.stop_reason}")
            if self._executor.stop_reason == COST_STOP_REASON:
                self._screen.note(f"`{resume_command(self._log.run_dir)} --max-cost USD` raises it")

    @asynccontextmanager
    async def _judges(self) -> AsyncIterator[JudgingQueue[LinePlace, JudgingReport] | None]:
        """Give what judges the run's trials, with those that are there already; None: nobody does.

        A judge on this machine is asked once no model on it is: their times mean something only
        alone (D-E13).
        """
        spec = self._spec
        if spec.judging is None or self._earlier is None:
            yield None
            return
        from collect.judges.queue import JudgedBy, opened_judging  # noqa: PLC0415 - few runs do

        by = JudgedBy(
            spec.judging, as_served(spec.judging.judges, self._servers), self._budget, self._share
        )
        say = self._screen.note
        async with opened_judging(by, self._log, spec.cases, self._earlier, say) as queue:
            for key, place in latest_records(self._log.run_dir, lambda *_: True).items():
                if self._finished.is_final(*key):  # others are asked again first
                    queue.add(place)
            local = [judge.judge_id for judge in by.judges if judge.model.is_loopback]
            if local and any(model.runs_alone for model in spec.models):
                say(f"judge `{local[0]}` is on this machine: it is asked when all trials are made")
            else:
                queue.start()
            yield queue

    def _trials_of(self, model_id: str) -> Iterator[PlannedTrial]:
        is_final = self._finished.is_final if len(self._finished) else None
        return trials_of(self._log.run_dir / "plan.jsonl", model_id, is_final)

    async def _record(self, execution: Execution) -> None:
        """Judge one finished trial and write it down, trace first."""
        began = self._executor.began or 0.0
        elapsed_ms = self._elapsed_ms + round((time.perf_counter() - began) * 1000)
        trial, outcome, verdict, tools = execution.trial, execution.outcome, NO_VERDICT, NO_TOOLS
        text = outcome.text
        if outcome.failure is None:
            called = tuple(call.name for call in outcome.tool_calls)
            try:
                verdict = await judge(execution.case.validator, text, api_tool_calls=called)
            except Exception as exc:  # noqa: BLE001 - costs the verdict, not the answer or the run
                what = f"validator `{trial.validator_type}`: {type(exc).__name__}: {exc}"
                execution = mistaken(execution, what)
            else:
                expected = execution.case.expected_tools
                tools = await off_loop(text, partial(tool_use, text, called, expected))
        for note in outcome.notes:
            self._event("provider_note", trial.model_id, note)
            self._screen.note(f"model `{self._names.of(trial.model_id)}`: {redact(note)}")
        n_tool_calls = len(outcome.tool_calls) or len(tools.tool_calls)
        cut_off: asyncio.CancelledError | None = None
        looking = time.perf_counter()
        try:
            checks = await self._checked(execution, n_tool_calls)
        except asyncio.CancelledError as exc:  # the answer is written down all the same
            cut_off = exc
            checks = interrupted(execution.case.checks, check_command(self._log.run_dir))
        if execution.phases:
            execution.phases["checks"] = round((time.perf_counter() - looking) * 1000)
        framed = partial(artifact_frame, artifact_of(execution))
        frame = framed() if cut_off else await off_loop(text, framed, len(execution.trace))
        path = self._log.append_artifact(trial.model_id, frame)
        model = self._models[trial.model_id]
        made = partial(
            result_of,
            execution,
            verdict,
            tools,
            path,
            checks=checks,
            price=model.price,
            routing=model.routing,
            elapsed_ms=elapsed_ms,
        )
        result = made() if cut_off else await off_loop(text, made)
        place = self._log.append(result)
        if self._judging is not None:
            self._judging.add(place)
        if cut_off is not None:
            self._finished.replace(trial.model_id, trial.case_id, trial.repetition)
            self.report.count(result)
            raise cut_off
        if execution.workspace is not None:
            await self._settled(execution.workspace, result)
        self._finished.replace(trial.model_id, trial.case_id, trial.repetition)
        self.report.count(result)
        self._screen.result(result)
        self._apply_rules(execution, result)

    async def _checked(self, execution: Execution, n_tool_calls: int) -> list[CheckResult]:
        """Return what the case's checks found; a trial that the model never saw is not checked."""
        failure, case = execution.outcome.failure, execution.case
        if not case.checks or (failure is not None and not failure.counts_against_model):
            return []
        trial = executed_trial(execution, n_tool_calls, self._log.run_dir)

        def given() -> HookSubject:
            from collect.execute.subject import executed_subject  # noqa: PLC0415 - few have hooks

            return executed_subject(execution, trial, self._spec)

        return await evaluated(case, case.checks, trial, self._hooks, given)

    async def _settled(self, workspace: str, result: Result) -> None:
        """Keep the files of a trial, or not; told once when there is no room for more."""
        before = self._keeper.n_beyond
        await asyncio.to_thread(self._keeper.settle, workspace, passed=result.passed)
        if self._keeper.n_beyond > before == 0:
            limit = f"--workspaces-mb {self._spec.workspaces_mb}"
            detail = f"files of trials are not kept from here on: {limit} is reached"
            self._event("workspaces_full", None, detail)
            self._screen.note(detail)

    def _apply_rules(self, execution: Execution, result: Result) -> None:
        """Stop where the execution policy says so (D-E7)."""
        policy = self._spec.policy
        failure = execution.outcome.failure
        outside = (
            failure is not None
            and not failure.counts_against_model
            and result.failure_type != SKIPPED_ON_REQUEST
        )
        self._failed_outside = self._failed_outside or outside
        if policy.fail_fast and result.passed is False:
            where = f"case `{result.case_id}`, model `{result.model_id}`"
            self._executor.stop(f"fail_fast: {where} failed")
        if failure is None or failure.retryable or not policy.stop_on_runner_error:
            return
        if failure.cause in {"harness", "configuration"}:
            reason = f"stop_on_runner_error: {result.failure_type} ({result.error_message})"
            self._executor.stop_model(result.model_id, reason)

    def _interrupted(self) -> None:
        """Finish what is in flight, for a while."""
        self._executor.stop(INTERRUPTED)
        if self._judging is not None:
            self._judging.stop(INTERRUPTED)
        self._screen.note("stopping: trials in flight may finish; press Ctrl-C again to end now")
        asyncio.get_running_loop().call_later(GRACE_S, self._cancel)

    def _cancel(self) -> None:
        """End what is in flight."""
        self._executor.cancel()
        if self._judging is not None:
            self._judging.cancel()

    def _exit_code(self, *, interrupted: bool) -> int:
        incomplete = self.report.present < self.report.planned
        if interrupted and incomplete:
            return EXIT_INTERRUPTED
        judged = self.report.judging is None or self.report.judging.is_whole
        bad = incomplete or self._failed_outside or self._mirror_failed or not judged
        return EXIT_BAD_NEWS if bad else EXIT_OK

    def _throttled(self, model: ResolvedModel, limit: int) -> None:
        detail = f"too many 429: goes on with {limit} at once"
        self._event("throttled", model.model_id, detail)
        self._screen.note(f"model `{self._names.of(model.model_id)}`: {detail}")

    def _event(self, event: str, model_id: str | None, detail: JsonValue) -> None:
        run_id, at_ms = self.report.run_id, now_ms()
        safe = redact_json(detail)
        self._log.append(
            Event(run_id=run_id, event=event, at_ms=at_ms, model_id=model_id, detail=safe)
        )

    async def _keep_synced(self) -> None:
        """Sync now and then; a disk that refuses ends the run."""
        try:
            while True:
                await asyncio.sleep(SYNC_INTERVAL_S)
                await asyncio.to_thread(self._log.sync)
        except CollectError as exc:
            self._disk_error = exc
            self._executor.stop(str(exc))
