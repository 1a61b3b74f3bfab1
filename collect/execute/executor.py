"""Runs planned trials: workers over one iterator per model, and the rules that stop them.

Knows runners only: of each model one for each kind that its cases name. Models on this machine run
one after another, since their latency means something only alone; hosted models run beside each
other (D-E13). Each finished trial is handed over before its worker takes the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from collect.config import LoadedCase, ResolvedModel
from collect.execute.budget import Budget
from collect.http_client import REFUSED
from collect.http_client.pool import CompletionQueue
from collect.limits import Gate, Limiter, Share, SharedGate, Slot, Stopped
from collect.providers.base import Outcome
from collect.runners.base import Execution, Runner, mistaken, unsent_execution
from schemas.errors import ConfigError
from schemas.failures import SKIPPED_ON_REQUEST, known_failure
from schemas.run.config import PlannedTrial

MAX_UNREACHABLE = 3
"""Unreachable trials in a row after which an endpoint is given up (D-E7)."""

MAX_REFUSED = 3
"""Requests that are refused before any other answer: the server was not started."""

COST_STOP_REASON = "max_cost: the next trial could take the run above --max-cost"
"""The stop reason of a run whose money is spent."""

NOTHING_RUNS = frozenset({"tool_unavailable", "container_error"})
"""Failures of a place in which nothing can be run any more."""

WORKERS_PER_SLOT = 2
"""A trial that waits before its retry leaves its slot to another, up to this many in all."""


@dataclass
class ModelWork:
    """One model's trials, and how it is doing."""

    model: ResolvedModel
    trials: Iterator[PlannedTrial]
    limiter: Limiter = field(init=False)
    n_workers: int = 0
    is_dry: bool = False
    """Its last trial was taken."""
    more_workers: Callable[[], None] = lambda: None
    """Starts another worker, up to the limit of the model: one took a trial, and more may wait."""
    unreachable: int = 0
    refused: int = 0
    """Requests that its address refused."""
    was_reached: bool = False
    without_tools: int = 0
    """Trials in a row that ended since a tool, or an agent, could do nothing."""
    runners: dict[str, Runner] = field(default_factory=dict)
    """By kind, each opened where the first trial wants it."""


@dataclass
class Hooks:
    """What happens around a model's trials, and with each finished one."""

    open_runner: Callable[[str, ResolvedModel], Runner]
    before_model: Callable[[ResolvedModel, Callable[[str], Runner]], Awaitable[None]]
    after_model: Callable[[ResolvedModel], Awaitable[None]]
    throttled: Callable[[ResolvedModel, int], None]
    """A server answers 429 too often: the model goes on with that many slots."""
    finished: Callable[[Execution], Awaitable[None]]
    """Awaited by the worker before it takes its next trial, so that a stop is in time."""
    unreachable_reason: Callable[[ResolvedModel, bool], str | None] = lambda _model, _at_first: None
    """Why it is no use to ask a model on whose address just refused; None: others may be luckier.

    True: the address has refused from the first request on.
    """


@dataclass
class Executor:
    """Executes a plan."""

    models: Sequence[ResolvedModel]
    trials_of: Callable[[str], Iterator[PlannedTrial]]
    """model_id to its trials, in the plan's order; each is asked for once, when its turn comes."""
    cases: Mapping[str, LoadedCase]
    hooks: Hooks
    max_concurrency: int
    budget: Budget
    share: Share = field(default_factory=Share)
    """The part of every limit that this process has."""
    completions: CompletionQueue = field(default_factory=CompletionQueue)
    """In which trials begin; finished answers are handed over in the same."""
    began: float | None = None
    """When its first trial was taken, on `time.perf_counter`."""
    stop_reason: str | None = None
    """Why trials are no longer dispatched; None while they are."""
    stopped_models: dict[str, str] = field(default_factory=dict)
    """model_id to why the rest of its trials was not dispatched."""
    _halted: set[str] = field(default_factory=set)
    _gone: dict[str, str] = field(default_factory=dict)
    """base_url to why it is asked no more."""
    _limiters: dict[str, Limiter] = field(default_factory=dict)
    _slots: SharedGate | None = None
    _lane_tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self) -> None:
        """Run every trial, until all are finished or the run was stopped.

        Raises:
            Exception: whatever a hook raised: a mistake of ours, never the model's.
        """
        slots = self._slots = SharedGate(self.max_concurrency, self.share)
        self._lane_tasks = [
            asyncio.create_task(self._lane(lane, slots)) for lane in lanes(self.models)
        ]
        try:
            if self._lane_tasks:
                await asyncio.wait(self._lane_tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.cancel()
            ends = await asyncio.gather(*self._lane_tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    def stop(self, reason: str) -> None:
        """Dispatch nothing more; what is being asked may finish."""
        self.stop_reason = self.stop_reason or reason
        self.budget.close()
        if self._slots is not None:
            self._slots.close()
        for limiter in self._limiters.values():
            limiter.close()

    def stop_model(self, model_id: str, reason: str) -> None:
        """Dispatch no more trials of one model."""
        self._halted.add(model_id)
        self.stopped_models.setdefault(model_id, reason)
        if model_id in self._limiters:
            self._limiters[model_id].close()

    def cancel(self) -> None:
        """End what is in flight as well."""
        for task in self._lane_tasks:
            task.cancel()

    async def _lane(self, lane: list[ResolvedModel], slots: Gate) -> None:
        for model in lane:
            if self.stop_reason is None:
                await self._model(model, slots)

    async def _model(self, model: ResolvedModel, slots: Gate) -> None:
        if (why := self._gone.get(model.base_url)) is not None:
            self.stop_model(model.model_id, why)
            return
        trials = self.trials_of(model.model_id)
        first = next(trials, None)
        if first is None:  # all of them are finished already
            return
        work = ModelWork(model, chain((first,), trials))
        try:
            await self.hooks.before_model(model, partial(self._runner, work))
            async with asyncio.TaskGroup() as workers:
                self._open(work, slots, lambda: workers.create_task(self._worker(work)))
        except* Exception as group:  # noqa: BLE001 - unwrapped, not swallowed
            raise group.exceptions[0] from None
        finally:
            await asyncio.gather(*(runner.aclose() for runner in work.runners.values()))
        await self.hooks.after_model(model)

    def _runner(self, work: ModelWork, kind: str) -> Runner:
        if (runner := work.runners.get(kind)) is None:
            runner = work.runners[kind] = self.hooks.open_runner(kind, work.model)
        return runner

    def _open(self, work: ModelWork, slots: Gate, start_worker: Callable[[], object]) -> None:
        """Start the first worker; each that takes a trial starts the next, up to the limit.

        While trials wait for their retries there may be more.
        """
        model = work.model

        def one_more(most: int) -> None:
            if not work.is_dry and work.n_workers < most:
                work.n_workers += 1
                start_worker()

        shrunk = partial(self.hooks.throttled, model)
        limit, per_minute = model.max_concurrency, model.requests_per_minute
        on_room = partial(one_more, WORKERS_PER_SLOT * limit)
        work.limiter = Limiter(
            slots,
            limit,
            per_minute,
            share=self.share,
            on_shrink=shrunk,
            on_room=on_room,
            on_reply=partial(self._attempted, work),
        )
        self._limiters[model.model_id] = work.limiter
        work.more_workers = partial(one_more, limit)
        work.more_workers()

    async def _worker(self, work: ModelWork) -> None:
        # The next trial is taken only once there is a slot for it, so that a stop leaves it
        # where it is. It begins after the answers that have arrived are written.
        while await self._one(work, await work.limiter.enter()):
            await self.completions.wait_turn()

    async def _one(self, work: ModelWork, slot: Slot) -> bool:
        """Execute and hand over one trial; return whether there may be another."""
        try:
            execution = await self._next(work, slot)
        except Stopped:
            execution = None
        finally:
            slot.leave()
        if execution is None:
            return False
        await self.hooks.finished(execution)
        return True

    async def _next(self, work: ModelWork, slot: Slot) -> Execution | None:
        """Take the next trial and execute it; None when there is none to be made."""
        if self._is_stopped(work.model):
            return None
        if (trial := next(work.trials, None)) is None:
            work.is_dry = True
            return None
        work.more_workers()
        if self.began is None:
            self.began = time.perf_counter()
        case = self.cases[trial.case_id]
        if case.unavailable is not None:
            why = f"skipped by --skip-unevaluable: {case.unavailable}"
            return unsent_execution(trial, case, SKIPPED_ON_REQUEST, why, "unevaluable")
        if work.unreachable >= MAX_UNREACHABLE:
            why = (
                f"{work.model.base_url} was given up after {MAX_UNREACHABLE} trials in a row could "
            )
            why += "not reach it"
            return unsent_execution(trial, case, "connection_error", why, "endpoint_given_up")
        if (reserved := await self.budget.reserve(trial, case, slot)) is None:
            self.stop(COST_STOP_REASON)
            return None
        try:
            if self._is_stopped(work.model):  # while the trial waited for its money
                raise Stopped
            execution = await self._run_trial(work, trial, case, slot)
        except Stopped:
            self.budget.release(reserved)
            raise
        self.budget.settle(reserved, execution, work.model.price)
        self._learn(work, execution)
        return execution

    async def _run_trial(
        self, work: ModelWork, trial: PlannedTrial, case: LoadedCase, slot: Slot
    ) -> Execution:
        """Run one trial; a mistake of ours costs this trial, not the run, and says what it was."""
        try:
            execution = await self._runner(work, trial.runner_type).run(trial, case, slot)
            failure_type = execution.outcome.failure_type
            if failure_type is not None and known_failure(failure_type) is None:
                return mistaken(
                    execution, f"a runner's failure_type that nobody knows: {failure_type}"
                )
            return execution
        except (Stopped, ConfigError):
            raise
        except Exception as exc:  # noqa: BLE001 - becomes a row of failure_type `exception`
            return unsent_execution(trial, case, "exception", f"{type(exc).__name__}: {exc}")

    def _is_stopped(self, model: ResolvedModel) -> bool:
        return self.stop_reason is not None or model.model_id in self._halted

    def _attempted(self, work: ModelWork, outcome: Outcome) -> None:
        """Stop a model whose server is not there, before every trial has waited for it."""
        if outcome.failure_type != "connection_error":
            work.was_reached = True
        if outcome.error_code != REFUSED:
            return
        work.refused += 1
        at_first = not work.was_reached and work.refused >= MAX_REFUSED
        if (why := self.hooks.unreachable_reason(work.model, at_first)) is not None:
            self._gone[work.model.base_url] = why
            self.stop_model(work.model.model_id, why)

    def _learn(self, work: ModelWork, execution: Execution) -> None:
        """Count how often the endpoint could not be reached, or no tool be used, in a row."""
        if work.unreachable >= MAX_UNREACHABLE:  # given up for good, whatever comes late
            return
        outcome = execution.outcome
        no_tool = outcome.failure_type in NOTHING_RUNS
        work.without_tools = work.without_tools + 1 if no_tool else 0
        if work.without_tools == MAX_UNREACHABLE:  # each trial would pay for a request first
            why = f"a tool or an agent could do nothing {MAX_UNREACHABLE} times in a row"
            self.stop_model(work.model.model_id, f"{why}: {outcome.error_message}")
        # an agent that was ended before it asked anything says nothing of the address
        was_asked = execution.attempt_count > 0
        silent = outcome.failure_type == "timeout" and was_asked and not outcome.accepted
        unreachable = outcome.failure_type == "connection_error" or silent
        work.unreachable = work.unreachable + 1 if unreachable else 0
        if work.unreachable == MAX_UNREACHABLE:
            self.stopped_models.setdefault(
                work.model.model_id,
                f"{work.model.base_url} could not be reached {MAX_UNREACHABLE} times in a row",
            )


def lanes(models: Iterable[ResolvedModel]) -> list[list[ResolvedModel]]:
    """Return the models that run one after another, and each other model on its own."""
    alone: list[ResolvedModel] = []
    hosted = []
    for model in models:
        if model.runs_alone:
            alone.append(model)
        else:
            hosted.append([model])
    return ([alone] if alone else []) + hosted
