"""Runs a case as an openclaw agent does: a workspace, turns in one session, files that are left.

A trial has a workspace, a home and a session of its own. Each turn is one invocation in a container
that is gone afterwards, with all that ran in it. Latency, tokens and cost are those of the wire
between agent and model; what the agent did comes from its session.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import socket
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from collect.checks.declarative import named_outside
from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import key_of
from collect.limits import Slot, wait_before
from collect.plan.fingerprint import seed_of
from collect.providers import provider_of
from collect.providers.base import Outcome, Request
from collect.providers.http import OF_A_TOOL, OverHttp
from collect.runners.agents.events import note_log
from collect.runners.agents.wire import AgentWire
from collect.runners.base import Execution, RunnerContext, unsent_execution
from collect.runners.openclaw.attempt import Attempt, ms_since
from collect.runners.openclaw.command import (
    CONFIG,
    PORT,
    SOCKET,
    STATE,
    config_problems,
    message_problem,
    read_printed,
    turn_arguments,
    turns_of,
)
from collect.runners.openclaw.config import agent_name, openclaw_config
from collect.runners.openclaw.host import OpenClawHost
from collect.runners.openclaw.kept import Ran, keep_agent_files
from collect.runners.openclaw.log import log_of
from collect.runners.openclaw.session import Sessions, read_sessions
from collect.runners.openclaw.template import give_to
from collect.runners.trace import Trace, now_ms
from collect.runners.turns import workspace_of
from collect.sandbox.base import Folders, SandboxError
from collect.workspace.record import free_folder
from schemas.run.config import PlannedTrial

VALIDATION_TIMEOUT_S = 60.0
KEYLESS = "api_key_missing"
NOT_STARTED = "container_error"


class Started(NamedTuple):
    """What is the same for all attempts at a trial."""

    trace: Trace
    at_ms: int
    """In ms since the epoch."""
    began: float
    """On `time.perf_counter`."""
    requests: int = 0
    """Of earlier attempts to the model."""


class OpenClaw:
    """Runs the openclaw cases of one model; what they share lies in the host of the run."""

    def __init__(self, model: ResolvedModel, context: RunnerContext) -> None:
        host = context.hosts["openclaw"]  # opened with the run that has such cases
        assert isinstance(host, OpenClawHost)
        key = key_of(model)
        is_keyless = model.key_required and model.api_key_env and not key
        self._keyless = f"environment variable {model.api_key_env} is not set" if is_keyless else ""
        provider = provider_of(model, key or None, context.completions)
        assert isinstance(provider, OverHttp)  # others are refused before anything runs
        self._provider, self._model = provider, model
        self._host = host
        self._run_dir, self._clock = context.run_dir, context.clock

    async def aclose(self) -> None:
        """Close the connections to the model; the host is the run's."""
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
        number, retries = 1, self._model.setting("retries", case)
        while True:
            await slot.before_request()
            try:
                folders = await self._host.sandbox.folders()
            except SandboxError as exc:
                return unsent_execution(trial, case, NOT_STARTED, str(exc), NOT_STARTED)
            async with self._attempt(trial, case, slot, folders) as attempt:
                failure = attempt.failure
                wait = None
                if failure is not None and attempt.may_be_repeated and number <= _whole(retries):
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
        host = self._host
        request, pace = self._request(trial, case), self._model.requests_per_minute
        wire = AgentWire(self._provider, request, slot, is_paced=pace is not None)
        key = f"{trial.run_id}/{trial.model_id}/{trial.case_id}/{trial.repetition}"
        session_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"benchlake:{key}"))
        agent_id = host.assignments[case.case_id]
        attempt = Attempt(wire, folders, agent_id, session_id, folders.workspace.parent / "door")
        try:
            try:
                await self._set_up(case, attempt)
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
                await host.sandbox.remove(folders)

    async def _set_up(self, case: LoadedCase, attempt: Attempt) -> None:
        """Give the trial its files, its configuration and its way to the model."""
        host, folders = self._host, attempt.folders
        agent = host.agents[attempt.agent_id].agent
        await asyncio.to_thread(host.templates[attempt.agent_id].copy_to, folders.workspace)
        port = _free_port() if host.profile.network == "host" else PORT
        attempt.port = port
        address = f"http://127.0.0.1:{port}"
        attempt.config = openclaw_config(agent, self._model, case, address, attempt.wire.password)
        state = folders.home / STATE
        state.mkdir(mode=0o700)
        (folders.home / CONFIG).write_bytes(
            orjson.dumps(attempt.config, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        )
        if os.geteuid() == 0:
            give_to(folders.home, folders.home.stat())
        try:
            attempt.door.mkdir()
            os.chmod(attempt.door, 0o711)  # noqa: PTH101, S103 - others go through, and list nothing
            await attempt.wire.door.open_socket(attempt.door / SOCKET)
        except OSError as exc:
            what = f"the way to the model cannot be opened: {exc}"
            raise SandboxError(what, "set TMPDIR to a folder with a short path") from exc
        if problem := await self._refusal(case, attempt):
            attempt.ended_by = "config_invalid"
            what = f"openclaw refuses the configuration of agent `{attempt.agent_id}`: {problem}"
            attempt.fail("config_invalid", what)
        elif what := message_problem(turns_of(case)):
            attempt.ended_by = "invalid_messages"
            attempt.fail("invalid_messages", what)

    async def _refusal(self, case: LoadedCase, attempt: Attempt) -> str:
        """Return what the version that runs says against a configuration; each is asked once."""
        agent = self._host.agents[attempt.agent_id].agent
        same = openclaw_config(agent, self._model, case, "http://127.0.0.1", "password")
        key = hashlib.sha256(orjson.dumps(same, option=orjson.OPT_SORT_KEYS)).hexdigest()
        checked = self._host.checked
        while (known := checked.get(key)) is not None:
            try:
                return await asyncio.shield(known)
            except asyncio.CancelledError:
                if not known.cancelled():
                    raise  # it is this trial that is cancelled
        checked[key] = asyncio.get_running_loop().create_future()
        try:
            problem = await self._validated(attempt)
        except BaseException:
            checked.pop(key).cancel()
            raise
        checked[key].set_result(problem)
        return problem

    async def _validated(self, attempt: Attempt) -> str:
        command = self._host.programs.command(
            ("config", "validate", "--json"), name="validate", timeout_s=VALIDATION_TIMEOUT_S
        )
        completed = await self._host.sandbox.run(attempt.folders, command)
        printed = read_printed(attempt.folders.tmp, "validate")
        if completed.exit_code == 0:
            return ""
        if printed.payload is not None and printed.payload.get("valid") is False:
            return config_problems(printed)
        said = printed.problem or f"ended by {completed.ended_by}"
        what = f"openclaw did not check its configuration: {said}"
        raise SandboxError(what)

    async def _take_turns(self, case: LoadedCase, attempt: Attempt) -> None:
        """Send one turn after another, until one does not end as it should."""
        profile, programs = self._host.profile, self._host.programs
        name = agent_name(self._host.agents[attempt.agent_id].agent)
        began = time.perf_counter()
        try:
            for number, text in enumerate(turns_of(case), start=1):
                left = profile.timeout_seconds - (time.perf_counter() - began)
                seconds = max(0.001, min(left, profile.turn_timeout_seconds or left))
                command = programs.command(
                    turn_arguments(name, attempt.session_id, text, seconds),
                    name=f"turn-{number}",
                    timeout_s=seconds,
                    door=attempt.door,
                    port=attempt.port,
                    network=profile.network != "endpoint",
                )
                at_ms = now_ms()
                completed = await self._host.sandbox.run(attempt.folders, command)
                printed = await asyncio.to_thread(
                    read_printed, attempt.folders.tmp, f"turn-{number}"
                )
                attempt.note_turn(at_ms, completed, printed, seconds)
                if attempt.failure is not None:
                    break
        finally:
            attempt.phases["agent"] = ms_since(began)

    async def _executed(
        self, trial: PlannedTrial, case: LoadedCase, attempt: Attempt, started: Started
    ) -> Execution:
        """Return the trial, with its trace and what it has left."""
        clock, trace = time.perf_counter(), started.trace
        host, calls = self._host, attempt.wire.calls
        sessions = await asyncio.to_thread(
            read_sessions,
            attempt.folders.home / STATE,
            agent_name(host.agents[attempt.agent_id].agent),
            attempt.session_id,
        )
        facts: dict[str, JsonValue] = {
            "agent_id": attempt.agent_id,
            "session_id": attempt.session_id,
            "turns_completed": attempt.turns_completed,
            "ended_by": attempt.ended_by,
        }
        trace.runner("agent_invoked", **facts)
        tool_ms = await asyncio.to_thread(note_log, trace, log_of(sessions), calls, self._model)
        if attempt.is_limited:
            trace.runner("limit", limit=attempt.ended_by)
        target = free_folder(self._run_dir / workspace_of(trial))
        try:
            await self._keep(target, case, attempt, sessions, trace)
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
        sessions: Sessions,
        trace: Trace,
    ) -> None:
        """Keep what a trial has left, and what the agent was and did; raises OSError."""
        host = self._host
        before = host.templates[attempt.agent_id].before
        await host.sandbox.keep(attempt.folders, target, named_outside(case.checks), before)
        ran = Ran(host.version, self._model.model)
        await asyncio.to_thread(keep_agent_files, target, attempt, sessions, trace.events, ran)

    def _request(self, trial: PlannedTrial, case: LoadedCase) -> Request:
        """Return the settings that hold for every request of a trial."""

        def number(name: str) -> float | None:
            value = self._model.setting(name, case)
            return value if isinstance(value, int | float) else None

        max_tokens = number("max_tokens")
        return Request(
            messages=(),
            timeout_s=self._host.profile.timeout_seconds,
            stream=True,
            temperature=number("temperature"),
            top_p=number("top_p"),
            max_tokens=None if max_tokens is None else int(max_tokens),
            seed=seed_of(self._model, case, trial.repetition),
        )


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _free_port() -> int:
    """Return a port on which nobody listens on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
