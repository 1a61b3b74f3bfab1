"""The embedded model as a context manager: what the demo and the tests hold in their hands.

Imports nothing heavy: the engine lives in the child process alone (`collect.local.server`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import secrets
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from collect.local.child import Child
from schemas.errors import LocalModelError

ALIAS = "smollm2-135m"
"""What the embedded model is called in requests and answers; the starter suite asks for it."""
SLOTS = 4
CONTEXT_TOKENS = 4096
"""Per slot; with four slots the server takes about 0.5 GB of memory."""
START_SECONDS = 60.0
"""A start takes 0.5 s on a quiet machine, and several seconds on a loaded one."""


class LocalModel:
    """A model served by a child process while the `with` block runs.

    Attributes:
        base_url: Root of the OpenAI-compatible API, on loopback; empty outside the `with` block.
        api_key: Random, new for each object; the server refuses requests without it.
        alias: The model's name in requests and answers.
        model_file: The GGUF file being served.
    """

    def __init__(
        self,
        *,
        model_file: Path,
        alias: str = ALIAS,
        slots: int = SLOTS,
        context_tokens: int = CONTEXT_TOKENS,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.model_file = model_file.absolute()
        self.alias = alias
        self.base_url = ""
        self.api_key = secrets.token_hex(24)
        self._slots = slots
        self._context_tokens = context_tokens
        self._start_seconds = start_seconds
        self._child: Child | None = None

    @cached_property
    def model_sha256(self) -> str:
        """SHA-256 of the served file; the first use reads all of it (98 MB: 0.1 s)."""
        with self.model_file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def pid(self) -> int | None:
        """Process id of the server; None outside the `with` block."""
        return self._child.pid if self._child else None

    def __enter__(self) -> Self:
        """Start the server and wait until it answers.

        Raises:
            LocalModelError: The engine is not installed, the file is no model, or the server did
                not answer in time; the text ends with the server's last words.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            text = "the local model needs its engine: `pip install 'benchlake[local]'`"
            raise LocalModelError(text)
        _refuse_other_files(self.model_file)
        arguments = ["--model", str(self.model_file), "--alias", self.alias]
        arguments += ["--slots", str(self._slots), "--context", str(self._context_tokens)]
        self._child = Child(arguments, api_key=self.api_key, start_seconds=self._start_seconds)
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

    def _stop(self) -> None:
        self.base_url = ""
        if self._child is not None:
            self._child.stop()
            self._child = None


def _refuse_other_files(path: Path) -> None:
    """Refuse at once what is no GGUF file at all; the engine judges the rest."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as exc:
        text = f"cannot read the model file {path}: {exc.strerror}"
        raise LocalModelError(text) from exc
    if start != b"GGUF":
        text = f"{path} is no GGUF file: it starts with {start!r}"
        raise LocalModelError(text)
