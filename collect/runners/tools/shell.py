"""The tool `exec_shell`, and how a command of any tool is run in the trial's sandbox."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from pydantic import JsonValue

from collect.runners.tools.base import ToolContext, ToolResult, ToolServices, failed
from collect.sandbox.base import Command, Completed, Output, SandboxError

MAX_ARGUMENT_BYTES = 131_071
"""Of one argument of a command, as Linux allows."""

SHELL = ("/bin/sh", "-c")
BASH = ("/bin/bash", "-c")
HAS_BASH = "test -x /bin/bash"

ENDS: Mapping[str, str] = {
    "time": "the command was ended: it took longer than {command_seconds} s",
    "memory": "the command was ended: it used more than {memory_mb} MB of memory",
    "processes": "the command was ended: it had more than {processes} processes",
    "workspace": "the command was ended: its files are more than {workspace_mb} MB or "
    "{workspace_files} in number",
    "output": "the command was ended: it printed more than {output_mb} MB",
    "stopped": "the command was ended",
}
"""What a model is told of the limit that ended its command."""


class SandboxTool:
    """A tool whose work is done by commands in the sandbox."""

    def __init__(self, services: ToolServices) -> None:
        self._sandbox = services.sandbox
        self._limits = services.limits.model_dump()

    async def aclose(self) -> None:
        """Nothing: the run holds the sandbox."""

    async def run(
        self, context: ToolContext, *argv: str, stdin: bytes = b""
    ) -> Completed | ToolResult:
        """Return what came of a command in the trial's folders; else the call's result."""
        if any("\0" in one for one in argv):
            return failed("the arguments hold a NUL character", "invalid_arguments")
        if any(len(one.encode()) > MAX_ARGUMENT_BYTES for one in argv):
            most = f"{MAX_ARGUMENT_BYTES:,}"
            return failed(f"a command or path has at most {most} bytes", "invalid_arguments")
        try:
            assert self._sandbox is not None  # a run without one refuses the case
            if context.folders is None:
                context.folders = await self._sandbox.folders()
            command = Command(argv=argv, stdin=stdin, network=context.network)
            return await self._sandbox.run(context.folders, command)
        except SandboxError as exc:
            return ToolResult(output={"error": str(exc)}, is_error=True, outage=str(exc))

    def ended(self, completed: Completed) -> str | None:
        """Return what the model is told of a limit that ended its command; None: none did."""
        if completed.ended_by == "exit":
            return None
        return ENDS[completed.ended_by].format_map(self._limits)


class ExecShell(SandboxTool):
    """Runs a command, by bash where the sandbox has one."""

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._shell: tuple[str, ...] | None = None
        """Found out by the first call."""

    async def call(self, arguments: Mapping[str, JsonValue], context: ToolContext) -> ToolResult:
        """Return what the command printed; its return code is no error of the tool's."""
        command = str(arguments["command"])
        if self._shell is None:
            found = await self.run(context, *SHELL, HAS_BASH)
            if isinstance(found, ToolResult):
                return found
            self._shell = BASH if found.exit_code == 0 else SHELL
        completed = await self.run(context, *self._shell, command)
        if isinstance(completed, ToolResult):
            return completed
        output: dict[str, JsonValue] = {
            "command": command,
            "returncode": returncode_of(completed),
            "stdout": text_of(completed.stdout),
            "stderr": text_of(completed.stderr),
        }
        error = self.ended(completed)
        if error is not None:
            output |= {"error": error, "error_type": completed.ended_by}
        return ToolResult(
            output=output,
            is_error=error is not None,
            produced_bytes=completed.stdout.produced + completed.stderr.produced,
            is_cut=any(one.cut_at is not None for one in (completed.stdout, completed.stderr)),
            raw=raw_of(stdout=completed.stdout, stderr=completed.stderr),
            facts=facts_of(completed),
        )


def returncode_of(completed: Completed) -> int | None:
    """Return the exit code, or the negative number of the signal that ended the command."""
    if completed.exit_code is not None:
        return completed.exit_code
    return None if completed.signal is None else -completed.signal


def text_of(output: Output) -> str:
    """Return what was printed as text; bytes that are no UTF-8 are escaped."""
    data, at = output.data, output.cut_at
    if at is None:
        return data.decode(errors="backslashreplace")
    left_out = output.produced - len(data)
    head, tail = (part.decode(errors="backslashreplace") for part in (data[:at], data[at:]))
    return f"{head}\n[... {left_out:,} of {output.produced:,} bytes left out ...]\n{tail}"


def raw_of(**outputs: Output) -> dict[str, JsonValue]:
    """Return those outputs that are no UTF-8, as base64 under `<name>_base64`."""
    return {
        f"{name}_base64": base64.b64encode(output.data).decode()
        for name, output in outputs.items()
        if not _is_text(output.data)
    }


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def facts_of(completed: Completed) -> dict[str, JsonValue]:
    """Return what the trace keeps of a process."""
    names = ("exit_code", "ended_by", "cpu_ms", "peak_memory_bytes", "oom_kills", "throttled_ms")
    return {name: getattr(completed, name) for name in names}
