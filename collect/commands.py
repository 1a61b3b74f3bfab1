"""Runs the small commands whose output a run records, such as `free -h`."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass

OLLAMA_STORE = os.path.expanduser("~/.ollama")  # noqa: PTH111 - given to `du` as text


@dataclass(frozen=True)
class Output:
    """What a command printed, or why it printed nothing."""

    text: str
    error: str | None = None


async def output_of(*command: str, timeout_s: float = 10.0) -> Output:
    """Return a command's standard output; never raises for what the command does."""
    if shutil.which(command[0]) is None:
        return Output("", f"{command[0]} is not installed")
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"LC_ALL": "C"},
        )
    except OSError as exc:
        return Output("", f"{command[0]} cannot be run: {exc.strerror}")
    try:
        out, err = await asyncio.wait_for(process.communicate(), timeout_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        return Output("", f"no answer within {timeout_s:g} s")
    text = out.decode(errors="replace")
    if process.returncode != 0:
        said = err.decode(errors="replace").strip() or f"exit code {process.returncode}"
        return Output(text, said)
    return Output(text)
