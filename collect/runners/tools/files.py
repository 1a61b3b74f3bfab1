"""The tools `read_file` and `write_file`: commands in the sandbox, which alone sees the files."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from collect.runners.tools.base import ToolContext, ToolResult
from collect.runners.tools.shell import SHELL, SandboxTool, facts_of, raw_of, text_of
from collect.sandbox.base import Completed

READ = 'exec cat < "$1"'
WRITE = 'case $1 in */*) mkdir -p -- "${1%/*}/" || exit;; esac; exec cat > "$1"'
"""Take a path as it is, whatever it begins with."""


class ReadFile(SandboxTool):
    """Reads a file."""

    async def call(self, arguments: Mapping[str, JsonValue], context: ToolContext) -> ToolResult:
        """Return the content of a file."""
        path = str(arguments["path"])
        completed = await self.run(context, *SHELL, READ, "sh", path)
        if isinstance(completed, ToolResult):
            return completed
        if (problem := problem_of(completed, self.ended(completed))) is not None:
            return problem
        return ToolResult(
            output={"path": path, "content": text_of(completed.stdout)},
            produced_bytes=completed.stdout.produced,
            is_cut=completed.stdout.cut_at is not None,
            raw=raw_of(content=completed.stdout),
            facts=facts_of(completed),
        )


class WriteFile(SandboxTool):
    """Writes a file."""

    async def call(self, arguments: Mapping[str, JsonValue], context: ToolContext) -> ToolResult:
        """Write a file with the folders above it, and return how many bytes it has."""
        path, content = str(arguments["path"]), str(arguments["content"]).encode()
        completed = await self.run(context, *SHELL, WRITE, "sh", path, stdin=content)
        if isinstance(completed, ToolResult):
            return completed
        if (problem := problem_of(completed, self.ended(completed))) is not None:
            return problem
        return ToolResult(
            output={"path": path, "bytes_written": len(content)}, facts=facts_of(completed)
        )


def problem_of(completed: Completed, ended: str | None) -> ToolResult | None:
    """Return why a file could not be read or written, as the shell says it; None: it was."""
    if ended is None and completed.exit_code == 0:
        return None
    said = completed.stderr.data.decode(errors="backslashreplace").strip()
    lines = [line.removeprefix("sh: 1: ").removeprefix("sh: ") for line in said.splitlines()]
    error = ended or "; ".join(lines) or f"ended with {completed.exit_code}"
    return ToolResult(
        output={"error": error, "error_type": completed.ended_by if ended else "file_error"},
        is_error=True,
        produced_bytes=completed.stdout.produced,
        facts=facts_of(completed),
    )
