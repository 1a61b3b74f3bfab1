"""Cases of agents by configuration: a command line a turn, read as the configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from collect.config import LoadedCase
from collect.config.runners import TRACE_FORMATS
from collect.runners.agents.attempt import Attempt, TurnResult
from collect.runners.agents.inside import Printed, read_printed
from collect.runners.agents.runner import AgentRunner, Evidence
from collect.runners.agents.turns import plain_turns, word_problem
from collect.runners.command.install import PROGRAM_INSIDE
from collect.runners.command.reading import answer_in, log_files, read_inside, usage_in
from collect.sandbox.base import Command
from collect.workspace import HOME, WORKSPACE
from collect.workspace.files import Unreadable
from schemas.config.command_agent import STDOUT, CommandAgent
from schemas.formats.agent_logs.log import AgentLog

PROMPTS = "/run/prompts"
"""Where the folder of the prompts is bound, read-only: a link of the agent's leads nowhere."""

MAX_PROBLEM_CHARS = 500
MAX_USAGE_BYTES = 8_000_000


class CommandRunner(AgentRunner):
    """Runs the command cases of one model."""

    kind = "command"

    def program(self, agent_id: str) -> str:
        """Return the name of the agent."""
        return agent_id

    def turns(self, case: LoadedCase) -> list[str]:
        """Return what the agent is told in each turn."""
        return plain_turns(case)

    async def set_up(self, case: LoadedCase, attempt: Attempt) -> None:
        """Write the files that the agent's home begins with."""
        command = self._command(attempt)
        home, values = attempt.folders.home, self._values(attempt, "")
        for name, text in command.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(**values), encoding="utf-8")
        self.give_home(attempt.folders)
        if command.prompt == "argument" and (what := word_problem(plain_turns(case))):
            attempt.ended_by = "invalid_messages"
            attempt.fail("invalid_messages", f"{what}; `prompt: stdin` takes it")

    def command(self, case: LoadedCase, attempt: Attempt, text: str, seconds: float) -> Command:  # noqa: ARG002
        """Return the command line of the next turn."""
        command, place = self._command(attempt), self._place
        values = self._values(attempt, text)
        number = len(attempt.turns) + 1
        binds = [place.programs[attempt.agent_id]] if attempt.agent_id in place.programs else []
        if command.prompt == "file":
            prompts = attempt.folders.added("prompts")  # its agent writes nothing there
            prompt = prompts / f"{number}.txt"
            prompt.write_text(text, encoding="utf-8")
            prompt.chmod(0o644)
            binds.append((str(prompts), PROMPTS))
        argv = command.argv if number == 1 or not command.next_argv else command.next_argv
        return place.inside.command(
            [word.format(**values) for word in argv],
            name=f"turn-{number}",
            timeout_s=seconds,
            environment={name: one.format(**values) for name, one in command.environment.items()},
            stdin=text.encode() if command.prompt == "stdin" else b"",
            binds=binds,
            door=attempt.door,
            network=place.profile.network != "endpoint",
        )

    def turn_result(self, attempt: Attempt, exit_code: int | None) -> TurnResult:
        """Return what the turn has said, by what the agent's configuration says of it."""
        command = self._command(attempt)
        printed = read_printed(attempt.folders.tmp, f"turn-{len(attempt.turns) + 1}")
        text, why = answer_in(command.answer, printed.out, attempt.folders)
        if command.usage is not None:
            self._note_usage(command, attempt, printed)
        return TurnResult(
            text=text,
            problem=_last_line(printed) or why,
            out=printed.out,
            err=printed.err,
            meaning=None if exit_code is None else command.exit_codes.get(exit_code),
        )

    def evidence(self, attempt: Attempt) -> Evidence:
        """Return the agent's own log."""
        logs = self._command(attempt).logs
        if logs is None:
            return Evidence(AgentLog(), {})
        paths = list(logs.paths)
        for name, place in {"{home}": HOME, "{workspace}": WORKSPACE}.items():
            paths = [one.replace(name, place) for one in paths]
        found, notes = log_files(paths, attempt.folders)
        if STDOUT in logs.paths:
            for number, turn in enumerate(attempt.turns, start=1):
                found[f"turn-{number}.out"] = str(turn["stdout"]).encode()
        module, _, name = TRACE_FORMATS[logs.format].reads.partition(":")
        log: AgentLog = getattr(import_module(module), name)(found)
        names = [f"log-{n}-{name.rpartition('/')[2]}" for n, name in enumerate(found, start=1)]
        kept = dict(zip(names, found.values(), strict=True))
        return Evidence(replace(log, notes=(*notes, *log.notes)), kept)

    def _command(self, attempt: Attempt) -> CommandAgent:
        command = self._place.agents[attempt.agent_id].agent.command
        assert command is not None  # else the case is another runner's
        return command

    def _values(self, attempt: Attempt, text: str) -> Mapping[str, Any]:
        """Return what the names in braces stand for."""
        number = len(attempt.turns) + 1
        return {
            "prompt": text,
            "prompt_file": f"{PROMPTS}/{number}.txt",
            "model": self._model.model,
            "base_url": f"{attempt.address}/v1",
            "address": attempt.address,
            "api_key": attempt.wire.password,
            "session_id": attempt.session_id,
            "turn": str(number),
            "workspace": WORKSPACE,
            "home": HOME,
            "program": PROGRAM_INSIDE,
        }

    def _note_usage(self, command: CommandAgent, attempt: Attempt, printed: Printed) -> None:
        """Keep what the agent tells of its tokens, for where none came by the door."""
        declared = command.usage
        assert declared is not None
        text = printed.out
        if declared.source == "file":
            try:
                raw = read_inside(attempt.folders, declared.path or "", MAX_USAGE_BYTES)
                text = raw.decode("utf-8", "replace")
            except Unreadable:
                text = ""
        attempt.usage_texts.append(text)
        if (found := usage_in(declared, attempt.usage_texts)) is not None:
            attempt.usage, attempt.cost_usd = found


def _last_line(printed: Printed) -> str:
    lines = [line.strip() for line in printed.err.splitlines() if line.strip()]
    return lines[-1][:MAX_PROBLEM_CHARS] if lines else ""
