"""Cases of OpenClaw: its configuration, its command lines, its sessions.

The configuration is checked by the version that runs it; each once.
"""

from __future__ import annotations

import asyncio
import hashlib

import orjson

from collect.config import LoadedCase, ResolvedModel
from collect.runners.agents.attempt import Attempt, TurnResult
from collect.runners.agents.inside import read_printed
from collect.runners.agents.runner import AgentRunner, Evidence
from collect.runners.agents.turns import word_problem
from collect.runners.base import RunnerContext
from collect.runners.openclaw.command import (
    CONFIG,
    STATE,
    answer_of,
    config_problems,
    problem_of,
    turn_arguments,
    turns_of,
)
from collect.runners.openclaw.config import agent_name, openclaw_config
from collect.runners.openclaw.install import argv_of
from collect.runners.openclaw.log import log_of
from collect.runners.openclaw.session import raw_lines, read_sessions
from collect.sandbox.base import Command, SandboxError

VALIDATION_TIMEOUT_S = 60.0


class OpenClaw(AgentRunner):
    """Runs the openclaw cases of one model."""

    kind = "openclaw"

    def __init__(self, model: ResolvedModel, context: RunnerContext) -> None:
        super().__init__(model, context)
        self._argv = argv_of(self._place.profile)

    def program(self, agent_id: str) -> str:  # noqa: ARG002
        """Return the name of the command."""
        return "openclaw"

    def turns(self, case: LoadedCase) -> list[str]:
        """Return the message of each invocation."""
        return turns_of(case)

    async def set_up(self, case: LoadedCase, attempt: Attempt) -> None:
        """Write openclaw.json, and have it checked."""
        agent = self._place.agents[attempt.agent_id].agent
        attempt.config = openclaw_config(
            agent, self._model, case, attempt.address, attempt.wire.password
        )
        home = attempt.folders.home
        (home / STATE).mkdir(mode=0o700)
        (home / CONFIG).write_bytes(
            orjson.dumps(attempt.config, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        )
        self.give_home(attempt.folders)
        if problem := await self._refusal(case, attempt):
            attempt.ended_by = "config_invalid"
            what = f"openclaw refuses the configuration of agent `{attempt.agent_id}`: {problem}"
            attempt.fail("config_invalid", what)
        elif what := word_problem(turns_of(case)):
            attempt.ended_by = "invalid_messages"
            attempt.fail("invalid_messages", what)

    def command(self, case: LoadedCase, attempt: Attempt, text: str, seconds: float) -> Command:  # noqa: ARG002
        """Return one invocation in the session of the trial."""
        name = agent_name(self._place.agents[attempt.agent_id].agent)
        return self._place.inside.command(
            (*self._argv, *turn_arguments(name, attempt.session_id, text, seconds)),
            name=_file_of(attempt),
            timeout_s=seconds,
            door=attempt.door,
            network=self._place.profile.network != "endpoint",
        )

    def turn_result(self, attempt: Attempt, exit_code: int | None) -> TurnResult:  # noqa: ARG002
        """Return what was printed."""
        printed = read_printed(attempt.folders.tmp, _file_of(attempt))
        payload = printed.payload
        return TurnResult(
            answer_of(payload), problem_of(printed), printed.out, printed.err, payload
        )

    def evidence(self, attempt: Attempt) -> Evidence:
        """Return the sessions that openclaw has stored."""
        agent = agent_name(self._place.agents[attempt.agent_id].agent)
        sessions = read_sessions(attempt.folders.home / STATE, agent, attempt.session_id)
        files = {}
        if sessions.main is not None:
            files["session.jsonl"] = raw_lines(sessions.main)
        for other in sessions.others:
            files[f"session-{other.session_id}.jsonl"] = raw_lines(other)
        return Evidence(log_of(sessions), files)

    async def _refusal(self, case: LoadedCase, attempt: Attempt) -> str:
        """Return what the version that runs says against a configuration; each is asked once."""
        agent = self._place.agents[attempt.agent_id].agent
        same = openclaw_config(agent, self._model, case, "http://127.0.0.1", "password")
        key = hashlib.sha256(orjson.dumps(same, option=orjson.OPT_SORT_KEYS)).hexdigest()
        checked = self._place.checked
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
        command = self._place.inside.command(
            (*self._argv, "config", "validate", "--json"),
            name="validate",
            timeout_s=VALIDATION_TIMEOUT_S,
        )
        completed = await self._place.sandbox.run(attempt.folders, command)
        printed = read_printed(attempt.folders.tmp, "validate")
        if completed.exit_code == 0:
            return ""
        if printed.payload is not None and printed.payload.get("valid") is False:
            return config_problems(printed)
        said = problem_of(printed) or f"ended by {completed.ended_by}"
        what = f"openclaw did not check its configuration: {said}"
        raise SandboxError(what)


def _file_of(attempt: Attempt) -> str:
    """Return the name of the files to which the turn under way prints."""
    return f"turn-{len(attempt.turns) + 1}"
