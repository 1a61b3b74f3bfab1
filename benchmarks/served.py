"""Starts the endpoint as a process of its own, and asks it what it saw."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

ENDPOINT = Path(__file__).resolve().parent / "endpoint.py"


class Served:
    """A running endpoint; ends with the `with` block, or with this process."""

    def __init__(self, **options: float | str) -> None:
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self._process = subprocess.Popen(
            [sys.executable, str(ENDPOINT), "--attached", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            message = f"the endpoint did not start: {flags}"
            raise RuntimeError(message)
        facts = json.loads(line)
        self.port: int = facts["port"]
        self.base_url: str = facts["base_url"]
        self.pid = self._process.pid

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def stats(self) -> dict[str, Any]:
        """Return the endpoint's counters and its own lateness."""
        found: dict[str, Any] = self._ask("GET", "/stats")
        return found

    def log(self) -> list[tuple[str, int, int, str]]:
        """Return (prompt, arrival ns, last byte ns, outcome) of every finished request."""
        return [tuple(entry) for entry in self._ask("GET", "/log")]

    def reset(self) -> None:
        """Forget everything seen so far."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()
