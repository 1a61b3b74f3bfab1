"""plan -> execute -> outcome -> log: the only module that sees them all."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from collect.checks import LONG_OUTPUT, judge
from collect.child import MirrorChild
from collect.config import ResolvedModel, RunInputs
from collect.execute import GRACE_S, Executor, Hooks
from collect.inventory import take_inventory
from collect.lateness import LoopClock
from collect.log import RunLog, artifact_frame
from collect.outcome import NO_TOOLS, NO_VERDICT, artifact_of, checks_of, result_of
from collect.plan import make_plan
from collect.progress import RunReport, Screen
from collect.redact import redact
from collect.resources import snapshot
from collect.run_record import run_config_of, tags_of
from collect.runners.base import Execution, now_ms
from collect.runners.llm_probe import LlmProbe
from collect.tools.detect import tool_use
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK
from schemas.result import Event, Result

INTERRUPTED = "interrupted"
"""The stop reason of Ctrl-C and SIGTERM."""

Done = TypeVar("Done")

SYNC_EVERY_S = 1.0
"""How much a power cut may cost."""


class Run:
    """One run from its first file to its summary."""

    def __init__(
        self, inputs: RunInputs, run_dir: Path, screen: Screen, labels: Sequence[str] = ()
    ) -> None:
        self._inputs = inputs
        self._labels = labels
        self._screen = screen
        self._plan = make_plan(inputs, run_dir.name)
        self._log = RunLog(run_dir)
        self._clock = LoopClock()
        self._failed_outside = False
        self._mirror_failed = False
        self._interrupts = 0
        self._tags = tags_of(inputs.models)
        self.report = RunReport(run_dir.name, str(run_dir), len(self._plan))
        cases = {case.case_id: case for case in inputs.cases}
        self._executor = Executor(
            models=inputs.models,
            plan=[(trial, cases[trial.case_id]) for trial in self._plan],
            hooks=Hooks(
                open_runner=self._open_runner,
                before_model=self._snapshot("before"),
                after_model=self._snapshot("after"),
                finished=self._record,
            ),
            max_concurrency=inputs.profile.execution_policy.max_concurrency,
        )

    async def __call__(self) -> RunReport:
        """Execute the plan and return what came of it."""
        began = time.perf_counter()
        restore = self._handle_signals()
        try:
            await self._from_first_file_to_summary()
        finally:
            restore()
        self.report.wall_ms = round((time.perf_counter() - began) * 1000)
        self.report.exit_code = self._exit_code()
        return self.report

    async def _from_first_file_to_summary(self) -> None:
        config = run_config_of(
            self._inputs, self.report.run_id, self._tags, self._plan, self._labels
        )
        self._log.begin(config, await take_inventory(self.report.run_id), self._plan)
        child = await MirrorChild.start(self._log.run_dir)
        self._screen.begin(self._log.run_dir, len(self._plan))
        for warning in self._inputs.warnings:
            self._screen.note(f"warning: {warning}")
        try:
            async with self._clock:
                await self._execute()
        finally:
            self._screen.end()
            self._log.close()
            trouble = await child.finish()
        self._mirror_failed = trouble is not None
        if trouble is not None:
            self._screen.note(f"{trouble}; `analyze summarize {self._log.run_dir}` tries again")

    async def _execute(self) -> None:
        syncing = asyncio.create_task(self._keep_synced())
        try:
            await self._executor.run()
        finally:
            syncing.cancel()
        for model_id, reason in self._executor.stopped_models.items():
            self._event("model_stopped", model_id, reason)
            self._screen.note(f"model `{model_id}` was stopped: {reason}")
        if self._executor.stop_reason is not None:
            self._event("run_stopped", None, self._executor.stop_reason)
            self._screen.note(f"the run was stopped: {self._executor.stop_reason}")

    async def _record(self, execution: Execution) -> None:
        """Judge one finished trial and write it down, trace first."""
        reply, verdict, tools = execution.reply, NO_VERDICT, NO_TOOLS
        if reply.failure is None:
            called = tuple(call.name for call in reply.tool_calls)
            verdict = await judge(execution.case.validator, reply.text, api_tool_calls=called)
            tools = await off_loop(
                reply.text, tool_use, reply.text, called, execution.case.expected_tools
            )
        for note in reply.notes:
            self._event("provider_note", execution.trial.model_id, note)
        frame = await off_loop(reply.text, artifact_frame, artifact_of(execution))
        path = self._log.append_artifact(execution.trial.model_id, frame)
        n_tool_calls = len(reply.tool_calls) or len(tools.tool_calls)
        checks = checks_of(execution, n_tool_calls)
        result = await off_loop(reply.text, result_of, execution, verdict, tools, path, checks)
        self._log.append(result)
        self.report.count(result)
        self._screen.result(result)
        self._apply_rules(execution, result)

    def _apply_rules(self, execution: Execution, result: Result) -> None:
        """Stop where the execution policy says so (decision E7)."""
        policy = self._inputs.profile.execution_policy
        failure = execution.reply.failure
        outside = failure is not None and not failure.counts_against_model
        self._failed_outside = self._failed_outside or outside
        if policy.fail_fast and result.passed is False:
            where = f"case `{result.case_id}`, model `{result.model_id}`"
            self._executor.stop(f"fail_fast: {where} failed")
        if failure is None or failure.retryable or not policy.stop_on_runner_error:
            return
        if failure.cause in {"harness", "configuration"}:
            reason = f"stop_on_runner_error: {result.failure_type} ({result.error_message})"
            self._executor.stop_model(result.model_id, reason)

    def _exit_code(self) -> int:
        incomplete = self.report.present < self.report.planned
        if self._interrupts and incomplete:
            return EXIT_INTERRUPTED
        bad = incomplete or self._failed_outside or self._mirror_failed
        return EXIT_BAD_NEWS if bad else EXIT_OK

    def _open_runner(self, model: ResolvedModel) -> LlmProbe:
        return LlmProbe(model, self._clock)

    def _snapshot(self, when: str) -> Callable[[ResolvedModel], Awaitable[None]]:
        async def take(model: ResolvedModel) -> None:
            name = f"resources_{self._tags[model.model_id]}_{when}.txt"
            self._log.write_text(name, await snapshot())

        return take

    def _event(self, event: str, model_id: str | None, detail: str) -> None:
        self._log.append(
            Event(
                run_id=self.report.run_id,
                event=event,
                at_ms=now_ms(),
                model_id=model_id,
                detail=redact(detail),
            )
        )

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_EVERY_S)
            await asyncio.to_thread(self._log.sync)

    def _handle_signals(self) -> Callable[[], None]:
        """First Ctrl-C: finish what is in flight; second, or too slow: end it now."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            self._interrupts += 1
            if self._interrupts > 1:
                self._executor.cancel()
                return
            self._executor.stop(INTERRUPTED)
            self._screen.note(
                "stopping: trials in flight may finish; press Ctrl-C again to end now"
            )
            loop.call_later(GRACE_S, self._executor.cancel)

        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, interrupt)

        def restore() -> None:
            for number in signals:
                loop.remove_signal_handler(number)

        return restore


async def off_loop(text: str, work: Callable[..., Done], *arguments: object) -> Done:
    """Do the work on a text: in a thread when it is long, so that no other trial waits for it."""
    if len(text) > LONG_OUTPUT:
        return await asyncio.to_thread(work, *arguments)
    return work(*arguments)


def run(inputs: RunInputs, run_dir: Path, screen: Screen, labels: Sequence[str] = ()) -> RunReport:
    """Make one run and return its report.

    Raises:
        RunExists: the folder is there already.
    """
    return asyncio.run(Run(inputs, run_dir, screen, labels)())
