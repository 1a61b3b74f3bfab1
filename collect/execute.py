"""Runs planned trials: workers over one iterator per model, and the rules that stop them.

Knows runners only. Models on this machine run one after another, since their latency means
something only alone; hosted models run beside each other (decision E13). Each finished trial is
handed over before its worker takes the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from collect.config import LoadedCase, ResolvedModel
from collect.providers.base import Reply
from collect.runners.base import Execution, Runner, not_asked
from schemas.trial import PlannedTrial

GIVE_UP_AFTER = 3
"""Unreachable trials in a row after which an endpoint is given up (decision E7)."""

GRACE_S = 10.0
"""How long trials in flight may take to finish after the first interrupt."""

Work = tuple[PlannedTrial, LoadedCase]


@dataclass
class ModelWork:
    """One model's trials, and how it is doing."""

    model: ResolvedModel
    trials: Iterator[Work]
    unreachable: int = 0


@dataclass
class Hooks:
    """What happens around a model's trials, and with each finished one."""

    open_runner: Callable[[ResolvedModel], Runner]
    before_model: Callable[[ResolvedModel], Awaitable[None]]
    after_model: Callable[[ResolvedModel], Awaitable[None]]
    finished: Callable[[Execution], Awaitable[None]]
    """Awaited by the worker before it takes its next trial, so that a stop is in time."""


@dataclass
class Executor:
    """Executes a plan."""

    models: Sequence[ResolvedModel]
    plan: Sequence[Work]
    hooks: Hooks
    max_concurrency: int
    stop_reason: str | None = None
    """Why trials are no longer dispatched; None while they are."""
    stopped_models: dict[str, str] = field(default_factory=dict)
    """model_id to why the rest of its trials was not dispatched."""
    _halted: set[str] = field(default_factory=set)
    _lane_tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self) -> None:
        """Run every trial, until all are finished or the run was stopped.

        Raises:
            Exception: whatever a hook raised: a mistake of ours, never the model's.
        """
        slots = asyncio.Semaphore(self.max_concurrency)
        self._lane_tasks = [asyncio.create_task(self._lane(lane, slots)) for lane in self._lanes()]
        try:
            await asyncio.wait(self._lane_tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.cancel()
            ends = await asyncio.gather(*self._lane_tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    def stop(self, reason: str) -> None:
        """Dispatch nothing more; what is in flight may finish."""
        self.stop_reason = self.stop_reason or reason

    def stop_model(self, model_id: str, reason: str) -> None:
        """Dispatch no more trials of one model."""
        self._halted.add(model_id)
        self.stopped_models.setdefault(model_id, reason)

    def cancel(self) -> None:
        """End what is in flight as well."""
        for task in self._lane_tasks:
            task.cancel()

    def _lanes(self) -> list[list[ModelWork]]:
        by_model = {
            model_id: list(works)
            for model_id, works in groupby(self.plan, key=lambda work: work[0].model_id)
        }
        queues = [
            ModelWork(model, iter(by_model[model.model_id]))
            for model in self.models
            if model.model_id in by_model
        ]
        local = [queue for queue in queues if queue.model.is_loopback]
        hosted = [[queue] for queue in queues if not queue.model.is_loopback]
        return ([local] if local else []) + hosted

    async def _lane(self, lane: list[ModelWork], slots: asyncio.Semaphore) -> None:
        for work in lane:
            if self.stop_reason is None:
                await self._model(work, slots)

    async def _model(self, work: ModelWork, slots: asyncio.Semaphore) -> None:
        await self.hooks.before_model(work.model)
        runner = self.hooks.open_runner(work.model)
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(work.model.max_concurrency):
                    workers.create_task(self._worker(work, runner, slots))
        except* Exception as group:  # noqa: BLE001 - unwrapped, not swallowed
            raise group.exceptions[0] from None
        finally:
            await runner.aclose()
        await self.hooks.after_model(work.model)

    async def _worker(self, work: ModelWork, runner: Runner, slots: asyncio.Semaphore) -> None:
        while True:
            async with slots:
                # The next trial is taken only once there is room for it, so that a stop
                # leaves it where it is.
                if self.stop_reason is not None or work.model.model_id in self._halted:
                    return
                if (following := next(work.trials, None)) is None:
                    return
                trial, case = following
                if work.unreachable >= GIVE_UP_AFTER:
                    execution = not_asked(trial, case, _given_up(work.model))
                else:
                    execution = await _run(runner, trial, case)
                    self._learn(work, execution)
                await self.hooks.finished(execution)

    def _learn(self, work: ModelWork, execution: Execution) -> None:
        """Count how often the endpoint could not be reached in a row."""
        unreachable = execution.reply.failure_type == "connection_error"
        work.unreachable = work.unreachable + 1 if unreachable else 0
        if work.unreachable == GIVE_UP_AFTER:
            self.stopped_models[work.model.model_id] = (
                f"{work.model.base_url} could not be reached {GIVE_UP_AFTER} times in a row"
            )


async def _run(runner: Runner, trial: PlannedTrial, case: LoadedCase) -> Execution:
    """Run one trial; a mistake of ours costs this trial, not the run, and says what it was."""
    try:
        return await runner.run(trial, case)
    except Exception as exc:  # noqa: BLE001 - becomes a row of failure_type `exception`
        text = f"{type(exc).__name__}: {exc}"
        return not_asked(trial, case, Reply(failure_type="exception", error_message=text))


def _given_up(model: ResolvedModel) -> Reply:
    return Reply(
        failure_type="connection_error",
        error_code="endpoint_given_up",
        error_message=f"{model.base_url} was given up after {GIVE_UP_AFTER} trials in a row "
        "could not reach it",
        accepted=False,
    )
