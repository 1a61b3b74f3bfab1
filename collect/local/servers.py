"""The servers that a run starts for its embedded models: one for each file, ended with the run."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import JsonValue

from collect.config import ResolvedModel, RunInputs
from collect.config.embedded import file_problem, name_of
from collect.config.project_files import problem_at
from collect.local.model import ENGINE_ADVICE, LocalModel, refuse_missing_engine, serving
from collect.local.server import KEY_VARIABLE
from collect.local.weights import fetch_weights
from schemas.errors import ConfigError, Interrupted, LocalModelError, Problem
from schemas.io.yaml import read_yaml
from schemas.run.model_names import ModelNames

Say = Callable[[str], None]

File = str | None
"""Path of a GGUF file; None is the packaged model."""


class Servers:
    """The servers of some models while the `with` block runs."""

    def __init__(self, models: Iterable[ResolvedModel], say: Say = lambda _: None) -> None:
        """Start nothing yet; models that are asked elsewhere start nothing at all."""
        self._users: dict[File, list[ResolvedModel]] = {}
        models = tuple(models)
        self._names = ModelNames.of_models(models)
        for model in models:
            if model.embedded is not None:
                self._users.setdefault(model.embedded.model_file, []).append(model)
        self._say = say
        self._key = secrets.token_hex(24)
        self._before: str | None = None
        self._running: dict[File, LocalModel] = {}
        self._start_ms: dict[File, int] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start every server and wait until it answers.

        Raises:
            LocalModelError: one of them does not start; the others are ended.
        """
        self._before = os.environ.get(KEY_VARIABLE)
        try:
            for file, users in self._users.items():
                self._start(file, users)
        except BaseException:
            self._stack.close()
            raise
        if self._users:
            os.environ[KEY_VARIABLE] = self._key
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._users:
            os.environ.pop(KEY_VARIABLE)
            if self._before is not None:
                os.environ[KEY_VARIABLE] = self._before

    def served(self, models: Iterable[ResolvedModel]) -> tuple[ResolvedModel, ...]:
        """Return the models as they can be asked now; others as they are."""
        return tuple(map(self._served, models))

    def obituary(self, model: ResolvedModel) -> str | None:
        """Return how a model's server ended by itself; None while it runs, and for others."""
        if model.embedded is None or model.embedded.model_file not in self._running:
            return None
        return self._running[model.embedded.model_file].obituary

    def started(self) -> Iterator[tuple[str, dict[str, JsonValue]]]:
        """Yield (model_id, facts of its server) for the record of a run."""
        for file, users in self._users.items():
            for model in users:
                assert model.embedded is not None
                yield (
                    model.model_id,
                    {
                        "engine": model.embedded.engine,
                        "context_tokens": model.embedded.context_tokens,
                        "threads": model.embedded.threads,
                        "slots": slots_of(users),
                        "start_ms": self._start_ms[file],
                    },
                )

    def _start(self, file: File, users: list[ResolvedModel]) -> None:
        first = users[0]
        assert first.embedded is not None
        name = name_of(first.embedded)
        called = self._names.of(first.model_id)
        self._say(f"starting the embedded model {name} (model `{called}`) ...")
        began = time.monotonic()
        local = serving(
            weights_of(file, self._say),
            alias=name,
            api_key=self._key,
            slots=slots_of(users),
            context_tokens=first.embedded.context_tokens,
            threads=first.embedded.threads,
            say=self._say,
        )
        try:
            self._running[file] = self._stack.enter_context(local)
        except LocalModelError as exc:
            text = f"model `{first.model_id}`: {exc}"
            raise LocalModelError(text) from exc
        took = time.monotonic() - began
        self._start_ms[file] = round(took * 1000)
        self._say(f"{name} answers after {took:.1f} s")

    def _served(self, model: ResolvedModel) -> ResolvedModel:
        if model.embedded is None:
            return model
        url = self._running[model.embedded.model_file].base_url
        is_root = not model.base_url.endswith("/v1")
        return replace(
            model,
            base_url=url.removesuffix("/v1") if is_root else url,
            api_key_env=KEY_VARIABLE,
            key_required=True,
        )


def slots_of(users: Iterable[ResolvedModel]) -> int:
    """Return how many requests a server has to serve at once."""
    return max(model.max_concurrency for model in users)


def weights_of(file: File, say: Say) -> Path:
    """Return the file to serve; the packaged one is fetched when it is not there.

    Raises:
        LocalModelError: it cannot be fetched.
        Interrupted: Ctrl-C meanwhile.
    """
    if file is not None:
        return Path(file)
    try:
        return fetch_weights(say)
    except KeyboardInterrupt as exc:
        raise Interrupted from exc


def refuse_unservable(inputs: RunInputs, say: Say) -> None:
    """Look for what the machine lacks to serve a suite's own models, before anything is asked.

    Raises:
        ConfigError: naming the suite's file, the field and what to do, for each model.
    """
    source = read_yaml(inputs.suite_path)
    numbers = {model.model_id: number for number, model in enumerate(inputs.suite.models)}
    problems = []
    for model, field, what, advice in _lacks(inputs.models, say):
        key = ("models", numbers.get(model.model_id, 0), field)
        problems.append(problem_at(source, key, what, advice=advice))
    if problems:
        raise ConfigError(problems)


def refuse_unservable_again(run_dir: Path, models: Iterable[ResolvedModel], say: Say) -> None:
    """Look for the same before a stored run goes on.

    Raises:
        ConfigError: naming each model and what to do.
    """
    problems = [
        Problem(run_dir / "config.json", f"model `{model.model_id}`: {what}", field, advice=advice)
        for model, field, what, advice in _lacks(models, say)
    ]
    if problems:
        raise ConfigError(problems)


def _lacks(
    models: Iterable[ResolvedModel], say: Say
) -> Iterator[tuple[ResolvedModel, str, str, str]]:
    """Yield (model, field, what is missing, what to do)."""
    for model in models:
        if model.embedded is None:
            continue
        file = model.embedded.model_file
        try:
            refuse_missing_engine()
        except LocalModelError:
            what = "`embedded` needs its engine, which is not installed"
            yield model, "provider", what, ENGINE_ADVICE
            continue
        if file is not None:
            if (what_is_wrong := file_problem(Path(file))) is not None:
                advice = f"put the file back at {file}"
                yield model, "model_file", what_is_wrong, advice
            continue
        try:
            weights_of(file, say)
        except LocalModelError as exc:
            what, *more = str(exc).splitlines()
            yield model, "provider", what, "; ".join(line.strip() for line in more)
