"""The embedded model as a context manager: what the demo and the tests hold in their hands.

Imports nothing heavy: the engine lives in the child process alone (`collect.local.server`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import secrets
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from collect.config.embedded import (
    CONTEXT_TOKENS,
    ENGINE,
    PACKAGED_MODEL,
    SLOTS,
    default_threads,
    file_problem,
)
from collect.local.child import Child
from schemas.errors import LocalModelError

START_SECONDS = 60.0
"""A start takes 0.5 s on a quiet machine, and several seconds on a loaded one."""
ENGINE_ADVICE = "`pip install 'benchlake[local]'`"
READ_BYTES_PER_SECOND = 50_000_000
"""Of a slow disk, from which a large model is read."""


class LocalModel:
    """A model served by a child process while the `with` block runs.

    Attributes:
        base_url: Root of the OpenAI-compatible API, on loopback; empty outside the `with` block.
        api_key: Random unless it was given; the server refuses requests without it.
        alias: The model's name in requests and answers.
        model_file: The GGUF file being served.
    """

    def __init__(
        self,
        *,
        model_file: Path,
        alias: str = PACKAGED_MODEL,
        api_key: str | None = None,
        slots: int = SLOTS,
        context_tokens: int = CONTEXT_TOKENS,
        threads: int | None = None,
        start_seconds: float | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start nothing yet.

        Args:
            model_file: the GGUF file to serve.
            alias: what the model is called in requests and answers.
            api_key: that requests must carry; None: a new one.
            slots: requests that are served at once.
            context_tokens: tokens of each of them, its answer included.
            threads: cores that are computed with; None: half of them.
            start_seconds: after which a start has failed; None: by the size of the file.
            say: receives a sentence every few seconds of a start.
        """
        self.model_file = model_file.absolute()
        self.alias = alias
        self.base_url = ""
        self.api_key = api_key or secrets.token_hex(24)
        self._slots = slots
        self._context_tokens = context_tokens
        self._threads = default_threads() if threads is None else threads
        self._start_seconds = start_seconds
        self._say = say
        self._child: Child | None = None

    @cached_property
    def model_sha256(self) -> str:
        """SHA-256 of the served file; the first use reads all of it (98 MB: 0.1 s)."""
        return sha256_of(self.model_file)

    @property
    def pid(self) -> int | None:
        """Process id of the server; None outside the `with` block."""
        return self._child.pid if self._child else None

    @property
    def obituary(self) -> str | None:
        """How the server ended by itself; None while it runs and outside the `with` block."""
        return self._child.obituary if self._child else None

    def __enter__(self) -> Self:
        """Start the server and wait until it answers.

        Raises:
            LocalModelError: The engine is not installed, the file is no model, or the server did
                not answer in time; the text ends with the server's last words.
        """
        refuse_missing_engine()
        if (what := file_problem(self.model_file)) is not None:
            text = f"{self.model_file} {what}"
            raise LocalModelError(text)
        options = {
            "model": self.model_file,
            "alias": self.alias,
            "slots": self._slots,
            "context": self._context_tokens,
            "threads": self._threads,
        }
        self._child = Child(
            [f"--{name}={value}" for name, value in options.items()],
            api_key=self.api_key,
            start_seconds=self._start_seconds or self._patience(),
            say=self._say,
        )
        try:
            port = self._child.wait_until_ready()
        except BaseException:  # Ctrl-C during the start, too, must leave no server behind
            self._stop()
            raise
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server."""
        self._stop()

    def _patience(self) -> float:
        """Return the seconds a start may take: what a slow disk needs for the file, and more."""
        return START_SECONDS + self.model_file.stat().st_size / READ_BYTES_PER_SECOND

    def _stop(self) -> None:
        self.base_url = ""
        if self._child is not None:
            self._child.stop()
            self._child = None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, all of which is read.

    Raises:
        OSError: it cannot be.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_missing_engine() -> None:
    """Raise unless the engine is installed.

    Raises:
        LocalModelError: it is not.
    """
    if importlib.util.find_spec(ENGINE) is None:
        text = f"the local model needs its engine: {ENGINE_ADVICE}"
        raise LocalModelError(text)
