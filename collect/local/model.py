"""The embedded model as a context manager, for a run and for tests.

The server is a child process: started, awaited until it is ready, and always ended. Imports nothing
heavy: only the child loads the engine (`collect.local.server`).
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import secrets
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from collect.config import embedded
from collect.config.endpoints import without_secrets
from collect.local import server
from schemas.errors import LocalModelError

STOP_SECONDS = 5.0
"""The server ends within 0.1 s of being asked; a stuck one is killed after this."""
LOG_LINES = 8
"""Enough of the engine's log to hold the reason of a failed start."""
POLL_SECONDS = 0.05
TELL_SECONDS = 5.0
"""Between two progress messages of a slow start."""

START_SECONDS = 60.0
"""A start takes 0.5 s on a quiet machine, and several seconds on a loaded one."""
ENGINE_ADVICE = "`pip install 'benchlake[local]'`"
READ_BYTES_PER_SECOND = 50_000_000
"""Of a slow disk, from which a large model is read."""


class LocalModel:
    """One server process, running from construction to `stop`.

    Attributes:
        api_key: The server refuses requests without it.
        base_url: Root of the OpenAI-compatible API, on loopback; empty until it answers.
    """

    def __init__(
        self,
        arguments: list[str],
        *,
        api_key: str,
        start_seconds: float,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start it; something is said every few seconds of a start."""
        self.api_key = api_key
        self.base_url = ""
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

    def wait_until_ready(self) -> None:
        """Wait until the server answers.

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
        self.base_url = f"http://127.0.0.1:{port}/v1"

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


@contextmanager
def serving(
    model_file: Path,
    *,
    alias: str = embedded.PACKAGED_MODEL,
    api_key: str | None = None,
    slots: int = embedded.MAX_SLOTS,
    context_tokens: int = embedded.CONTEXT_TOKENS,
    threads: int | None = None,
    start_seconds: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[LocalModel]:
    """Serve a GGUF file while the `with` block runs.

    Args:
        model_file: the file to serve.
        alias: what the model is called in requests and answers.
        api_key: that requests must carry; None: a new one.
        slots: requests that are served at once.
        context_tokens: tokens of each of them, its answer included.
        threads: cores that are computed with; None: half of them.
        start_seconds: after which a start has failed; None: by the size of the file.
        say: receives a sentence every few seconds of a start.

    Raises:
        LocalModelError: The engine is not installed, the file is no model, or the server did not
            answer in time; the text ends with the server's last words.
    """
    refuse_missing_engine()
    model_file = model_file.absolute()
    if (what := embedded.file_problem(model_file)) is not None:
        text = f"{model_file} {what}"
        raise LocalModelError(text)
    options = {
        "model": model_file,
        "alias": alias,
        "slots": slots,
        "context": context_tokens,
        "threads": embedded.default_threads() if threads is None else threads,
    }
    # What a slow disk needs for the file, and more.
    patience = START_SECONDS + model_file.stat().st_size / READ_BYTES_PER_SECOND
    model = LocalModel(
        [f"--{name}={value}" for name, value in options.items()],
        api_key=api_key or secrets.token_hex(24),
        start_seconds=start_seconds or patience,
        say=say,
    )
    try:  # Ctrl-C during the start, too, must leave no server behind
        model.wait_until_ready()
        yield model
    finally:
        model.stop()


def refuse_missing_engine() -> None:
    """Raise unless the engine is installed.

    Raises:
        LocalModelError: it is not.
    """
    if importlib.util.find_spec(embedded.ENGINE) is None:
        text = f"the local model needs its engine: {ENGINE_ADVICE}"
        raise LocalModelError(text)
