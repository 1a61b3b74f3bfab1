"""The server's process seen from its parent: started, waited for, and ended without fail."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NoReturn

from collect.environment import without_secrets
from collect.local import server
from schemas.errors import LocalModelError

STOP_SECONDS = 5.0
"""The server ends within 0.1 s of being asked; a stuck one is killed after this."""
LOG_LINES = 8
"""Enough of the engine's log to hold the reason of a failed start."""
POLL_SECONDS = 0.05
TELL_SECONDS = 5.0
"""Between two sentences on a start that takes long."""


class Child:
    """One server process, running from construction to `stop`."""

    def __init__(
        self,
        arguments: list[str],
        *,
        api_key: str,
        start_seconds: float,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start it.

        Args:
            arguments: of `collect.local.server`.
            api_key: that requests must carry.
            start_seconds: after which a start has failed.
            say: receives a sentence every few seconds of a start.
        """
        self._start_seconds = start_seconds
        self._say = say
        self._began = time.monotonic()
        self._deadline = self._began + start_seconds
        self._tell_at = self._began + TELL_SECONDS
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # nameless: no kill leaves it behind
        self._process = subprocess.Popen(
            # By path and with -P: nothing in the working directory can be imported by mistake.
            [sys.executable, "-P", server.__file__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=without_secrets() | {server.KEY_VARIABLE: api_key, "OMP_WAIT_POLICY": "PASSIVE"},
            # Ctrl-C is for the run, which still wants to finish and record what is in flight.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def obituary(self) -> str | None:
        """How it ended by itself, with the last lines of its log; None while it runs."""
        if self._process.poll() is None:
            return None
        return f"ended by itself (exit code {self._process.returncode}){self._last_lines()}"

    def wait_until_ready(self) -> int:
        """Return the port on which the server answers.

        Raises:
            LocalModelError: It ended, or did not answer in time; with the last lines of its log.
        """
        port = self._port()
        while not _is_healthy(port):
            if self._process.poll() is not None:
                self._fail(f"ended by itself (exit code {self._process.returncode})")
            self._tell()
            if time.monotonic() > self._deadline:
                self._fail(f"was not healthy within {self._start_seconds:g} s")
            time.sleep(POLL_SECONDS)
        return port

    def stop(self) -> None:
        """End the process, politely for 5 s and then by its id, and close what is open."""
        process = self._process
        with self._log:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._kill()
            if process.stdout is not None:
                process.stdout.close()

    def _kill(self) -> None:
        """End the process at once; one that even so does not go is left to the system."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)

    def _port(self) -> int:
        """Return the port from the server's one line on standard output."""
        out = self._process.stdout
        assert out is not None
        while not select.select([out], [], [], self._pause())[0]:
            self._tell()
            if time.monotonic() > self._deadline:
                self._fail(f"did not start within {self._start_seconds:g} s")
        if not (line := out.readline()):
            self._fail("could not start")
        return int(json.loads(line)["port"])

    def _pause(self) -> float:
        """Return the seconds until there is something to say, or the start has failed."""
        return max(0.0, min(self._deadline, self._tell_at) - time.monotonic())

    def _tell(self) -> None:
        """Say that the start goes on, every few seconds of it."""
        now = time.monotonic()
        if now >= self._tell_at:
            self._tell_at += TELL_SECONDS
            self._say(f"the model is being loaded: {now - self._began:.0f} s")

    def _fail(self, what: str) -> NoReturn:
        """Raise what happened, with the server's last words."""
        self._kill()  # the log's offset is shared with it: read only afterwards
        text = f"the local model's server {what}{self._last_lines()}"
        raise LocalModelError(text)

    def _last_lines(self) -> str:
        """Return the end of the log of a server that has ended, each line on one of its own."""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        return "".join(f"\n  {line}" for line in lines[-LOG_LINES:])


def _is_healthy(port: int) -> bool:
    """Whether `GET /health` says 200; False while nobody listens yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
