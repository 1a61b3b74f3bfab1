"""Runs a case as an agent does: a workspace, turns in one session, files that are left.

A trial has a workspace, a home and a session of its own. Each turn is one invocation, locked in,
that is gone afterwards with all that ran in it. Latency, tokens and cost are those of the wire
between agent and model; what the agent did comes from its own log. What one kind of agent has of
its own, it adds in a subclass.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import orjson
from pydantic import JsonValue

from collect.checks.declarative import named_outside
from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import key_of
from collect.limits import Slot, wait_before
from collect.providers import provider_of
from collect.providers.base import Outcome, Request, ToolCall
from collect.providers.http import OF_A_TOOL, OverHttp
from collect.runners.agents.attempt import Attempt, TurnResult, ms_since
from collect.runners.agents.events import note_log
from collect.runners.agents.inside import PORT, SOCKET
from collect.runners.agents.kept import Ran, keep_agent_files
from collect.runners.agents.place import AgentPlace
from collect.runners.agents.template import give_to
from collect.runners.agents.wire import AgentWire
from collect.runners.base import (
    Execution,
    RunnerContext,
    request_of,
    retries_of,
    unsent_execution,
)
from collect.runners.trace import Trace, TraceObject
from collect.runners.turns import workspace_of
from collect.sandbox.base import Command, Folders, SandboxError
from collect.workspace.record import free_folder
from schemas.formats.agent_logs.log import AgentLog
from schemas.run.config import PlannedTrial
from schemas.run.trace import now_ms

KEYLESS = "api_key_missing"
NOT_STARTED = "container_error"
UNKNOWN = "unknown"
"""The version of an agent that nobody knows how to ask."""


class Started(NamedTuple):
    """What is the same for all attempts at a trial."""

    trace: Trace
    at_ms: int
    """In ms since the epoch."""
    began: float
    """On `time.perf_counter`."""
    requests: int = 0
    """Of earlier attempts to the model."""


class Evidence(NamedTuple):
    """What an agent has left of what it did."""

    log: AgentLog
    files: Mapping[str, bytes]
    """That are kept, by name."""


class AgentRunner(ABC):
    """Runs the cases of one kind of agent with one model; what they share lies in their place."""

    kind: ClassVar[str]
    """As `runner.type` of a case says it."""

    def __init__(self, model: ResolvedModel, context: RunnerContext) -> None:
        place = context.hosts[self.kind]  # opened with the run that has such cases
        assert isinstance(place, AgentPlace)
        key = key_of(model)
        is_keyless = model.key_required and model.api_key_env and not key
        self._keyless = f"environment variable {model.api_key_env} is not set" if is_keyless else ""
        provider = provider_of(model, key or None, context.completions)
        assert isinstance(provider, OverHttp)  # others are refused before anything runs
        self._provider, self._model = provider, model
        self._place = place
        self._run_dir, self._clock = context.run_dir, context.clock

    @abstractmethod
    def program(self, agent_id: str) -> str:
        """Return what runs, for messages and for the trajectory."""

    @abstractmethod
    def turns(self, case: LoadedCase) -> list[str]:
        """Return the text of each turn, of which there is at least one."""

    @abstractmethod
    async def set_up(self, case: LoadedCase, attempt: Attempt) -> None:
        """Write what the agent reads into its home, and note why it cannot run.

        The workspace is there, and `attempt.address` is where it asks its model.

        Raises:
            SandboxError: that could not be found out.
        """

    def give_home(self, folders: Folders) -> None:
        """Give what was written into a home to the agent; nothing runs in it yet."""
        if os.geteuid() == 0:
            give_to(folders.home, folders.home.stat())

    @abstractmethod
    def command(self, case: LoadedCase, attempt: Attempt, text: str, seconds: float) -> Command:
        """Return the command of the next turn, which prints to the files of that name."""

    @abstractmethod
    def turn_result(self, attempt: Attempt, exit_code: int | None) -> TurnResult:
        """Return what the turn has said that just ended."""

    @abstractmethod
    def evidence(self, attempt: Attempt) -> Evidence:
        """Return what the agent has left of what it did; nothing of it runs any more."""

    async def aclose(self) -> None:
        """Close the connections to the model; the place is the run's."""
        await self._provider.aclose()

    async def warm_up(self) -> Outcome:
        """Do nothing: this kind does not warm up."""
        return Outcome()

    async def run(self, trial: PlannedTrial, case: LoadedCase, slot: Slot) -> Execution:
        """Run the turns of a case in one session, and keep what they have left.

        What fails before the model has said anything is tried again, as often as `retries` allows.
        """
        if self._keyless:
            return unsent_execution(trial, case, KEYLESS, self._keyless, KEYLESS)
        started = Started(Trace(), now_ms(), time.perf_counter())
        number, retries = 1, retries_of(self._model, case)
        while True:
            await slot.before_request()
            try:
                folders = await self._place.sandbox.folders()
            except SandboxError as exc:
                return unsent_execution(trial, case, NOT_STARTED, str(exc), NOT_STARTED)
            async with self._attempt(trial, case, slot, folders) as attempt:
                failure = attempt.failure
                wait = None
                if failure is not None and attempt.may_be_repeated and number <= retries:
                    wait = wait_before(number, failure)
                if failure is None or wait is None:
                    return await self._executed(trial, case, attempt, started)
            started.trace.retry(number, failure, wait)
            started = started._replace(requests=started.requests + attempt.wire.n_requests)
            await slot.back_off(wait)
            number += 1

    @asynccontextmanager
    async def _attempt(
        self, trial: PlannedTrial, case: LoadedCase, slot: Slot, folders: Folders
    ) -> AsyncIterator[Attempt]:
        """Yield a try at a trial once it has ended; its folders go when it was looked at."""
        began = time.perf_counter()
        place = self._place
        request, pace = self._request(trial, case), self._model.requests_per_minute
        wire = AgentWire(self._provider, request, slot, is_paced=pace is not None)
        key = f"{trial.run_id}/{trial.model_id}/{trial.case_id}/{trial.repetition}"
        session_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"benchlake:{key}"))
        agent_id = place.assignments[case.case_id]
        attempt = Attempt(
            program=self.program(agent_id),
            wire=wire,
            folders=folders,
            agent_id=agent_id,
            session_id=session_id,
            door=folders.workspace.parent / "door",
        )
        try:
            try:
                await self._begin(case, attempt)
                attempt.phases["set_up"] = ms_since(began)
                if attempt.failure is None:
                    await self._take_turns(case, attempt)
            except SandboxError as exc:
                attempt.ended_by = NOT_STARTED
                attempt.fail(NOT_STARTED, str(exc))
            finally:
                await wire.door.aclose()
            yield attempt
        finally:
            with contextlib.suppress(SandboxError):  # its helper is gone, and the folders with it
                await place.sandbox.remove(folders)

    async def _begin(self, case: LoadedCase, attempt: Attempt) -> None:
        """Give the trial its files, its configuration and its way to the model."""
        place, folders = self._place, attempt.folders
        await asyncio.to_thread(place.templates[attempt.agent_id].copy_to, folders.workspace)
        attempt.address = f"http://127.0.0.1:{PORT}"
        try:
            if place.inside.way == "port":
                attempt.address = await attempt.wire.door.open_port()
            elif place.inside.way == "socket":
                attempt.door.mkdir()
                os.chmod(attempt.door, 0o711)  # noqa: PTH101, S103 - others list nothing of it
                await attempt.wire.door.open_socket(attempt.door / SOCKET)
        except OSError as exc:
            what = f"the way to the model cannot be opened: {exc}"
            raise SandboxError(what, "set TMPDIR to a folder with a short path") from exc
        await self.set_up(case, attempt)

    async def _take_turns(self, case: LoadedCase, attempt: Attempt) -> None:
        """Send one turn after another, until one does not end as it should."""
        profile = self._place.profile
        began = time.perf_counter()
        serving: list[asyncio.Task[None]] = []
        try:
            for text in self.turns(case):
                left = profile.timeout_seconds - (time.perf_counter() - began)
                seconds = max(0.001, min(left, profile.turn_timeout_seconds or left))
                command = self.command(case, attempt, text, seconds)
                at_ms = now_ms()
                completed = await self._place.sandbox.run(
                    attempt.folders,
                    command,
                    lambda listener: serving.append(
                        asyncio.ensure_future(attempt.wire.door.open_listener(listener))
                    ),
                )
                said = await asyncio.to_thread(self.turn_result, attempt, completed.exit_code)
                attempt.note_turn(at_ms, completed, said, seconds)
                if attempt.failure is not None:
                    break
        finally:
            await asyncio.gather(*serving, return_exceptions=True)
            attempt.phases["agent"] = ms_since(began)

    async def _executed(
        self, trial: PlannedTrial, case: LoadedCase, attempt: Attempt, started: Started
    ) -> Execution:
        """Return the trial, with its trace and what it has left."""
        clock, trace = time.perf_counter(), started.trace
        calls = attempt.wire.calls
        log, files = await asyncio.to_thread(self.evidence, attempt)
        facts: dict[str, JsonValue] = {
            "agent_id": attempt.agent_id,
            "session_id": attempt.session_id,
            "turns_completed": attempt.turns_completed,
            "ended_by": attempt.ended_by,
        }
        if not calls:
            attempt.logged_calls = tuple(
                ToolCall(one.call_id, one.name, orjson.dumps(one.arguments).decode())
                for one in log.calls
            )
        trace.runner("agent_invoked", **facts)
        tool_ms = await asyncio.to_thread(note_log, trace, log, calls, self._model)
        if attempt.is_limited:
            trace.runner("limit", limit=attempt.ended_by)
        target = free_folder(self._run_dir / workspace_of(trial))
        try:
            await self._keep(target, case, attempt, files, trace.events)
        except OSError as exc:  # what the model has cost is written down all the same
            shutil.rmtree(target, ignore_errors=True)
            attempt.fail(NOT_STARTED, f"the files of the trial cannot be kept: {exc}")
        outcome = attempt.outcome()
        trace.final_output(outcome.text)
        attempt.phases["keep"] = ms_since(clock)
        body = self._provider.prepare(self._request(trial, case)).body
        return Execution(
            trial=trial,
            case=case,
            outcome=outcome,
            attempt_count=started.requests + attempt.wire.n_requests,
            started_at_ms=started.at_ms,
            ended_at_ms=max(started.at_ms, now_ms()),
            wall_ms=ms_since(started.began),
            request={
                "agent_id": attempt.agent_id,
                **{name: one for name, one in body.items() if name not in OF_A_TOOL},
            },
            trace=trace.events,
            clock_late_ms=self._clock.worst_since(started.began),
            turns=len(calls),
            turns_completed=attempt.turns_completed,
            ended_by=attempt.ended_by,
            tool_ms=tool_ms,
            phases=attempt.phases,
            workspace=str(target.relative_to(self._run_dir)) if target.exists() else None,
        )

    async def _keep(
        self,
        target: Path,
        case: LoadedCase,
        attempt: Attempt,
        files: Mapping[str, bytes],
        trace: list[TraceObject],
    ) -> None:
        """Keep what a trial has left, and what the agent was and did; raises OSError."""
        place = self._place
        before = place.templates[attempt.agent_id].before
        await place.sandbox.keep(attempt.folders, target, named_outside(case.checks), before)
        version = place.versions[attempt.agent_id] or UNKNOWN
        ran = Ran(attempt.program, version, self._model.model)
        await asyncio.to_thread(keep_agent_files, target, attempt, files, trace, ran)

    def _request(self, trial: PlannedTrial, case: LoadedCase) -> Request:
        """Return the settings that hold for every request of a trial."""
        seconds = self._place.profile.timeout_seconds
        request = request_of(self._model, case, trial.repetition, timeout_s=seconds)
        return replace(request, messages=(), stream=True)
