"""The mirror child, as the collector sees it: start it, and wait for it at the end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

END_TIMEOUT_S = 120.0
"""Sealing and summing up 100,000 trials takes seconds; past this something is broken."""


class MirrorChild:
    """Follows one run; ends by itself when this process does."""

    def __init__(self, process: asyncio.subprocess.Process, log_path: Path) -> None:
        self._process = process
        self._log_path = log_path

    @classmethod
    async def start(cls, run_dir: Path) -> MirrorChild:
        """Start the child; what it has to say goes to the run's run.log.

        It is in a session of its own, so that Ctrl-C reaches the collector alone. `-P` keeps a
        folder of the user's called `collect` from being taken for ours.
        """
        log_path = run_dir / "run.log"
        with log_path.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "collect.mirror",
                str(run_dir),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return cls(process, log_path)

    async def finish(self) -> str | None:
        """Let the child seal and sum up; return what went wrong, or None."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                code = await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return f"the mirror did not finish within {END_TIMEOUT_S:g} s"
        if code == 0:
            return None
        return f"the mirror ended with code {code}; see {self._log_path}"
