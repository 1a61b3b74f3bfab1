"""The model that a run serves itself: which file, under which name, with which settings (D-E10)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from collect.config.resolved import ResolvedModel
from schemas.config.suite import ModelConfig
from schemas.run.config import EmbeddedServer

PACKAGED_MODEL = "smollm2-135m"
"""What the packaged model is called in requests and answers."""

CONTEXT_TOKENS = 4096
"""Of one conversation; four at once of the packaged model take about 0.5 GB of memory."""

MAX_SLOTS = 4
"""Conversations served at once, at most; each has a context of its own in memory."""

ENGINE = "xllamacpp"
MAGIC = b"GGUF"

OWN_FIELDS = ("model_file", "context_tokens", "threads")
FOREIGN_FIELDS = ("base_url", "api_key_env", "requested_model", "openrouter_model", "model_name")
"""Of a suite's model: where and as what it is asked, which is the run's own business here."""

Wrong = Callable[..., None]
"""Takes what is wrong, the field, and facts of a `Problem`."""


def embedded_of(
    model: ModelConfig, folder: Path, wrong: Wrong, *, is_embedded: bool
) -> EmbeddedServer | None:
    """Return the server of a suite's model; None, with the reason noted, when it has none.

    `model_file` is seen from the folder of the suite file.
    """
    for field in FOREIGN_FIELDS if is_embedded else OWN_FIELDS:
        if (value := getattr(model, field)) is None:
            continue
        advice = f"take it out, or set `provider: {'openai_chat' if is_embedded else 'embedded'}`"
        what = "a model with `provider: embedded` is served by the run, on this machine"
        what = what if is_embedded else "is for `provider: embedded`"
        shown = None if field in {"base_url", "api_key_env"} else f"`{value}`"
        wrong(what, field, found=shown, advice=advice)
    if not is_embedded:
        return None
    path = None
    if model.model_file is not None:
        path = folder / Path(model.model_file).expanduser()
        if (problem := file_problem(path)) is not None:
            wrong(problem, "model_file", found=f"`{model.model_file}`", advice=FILE_ADVICE)
            return None
    return EmbeddedServer(
        model_file=None if path is None else str(path.absolute()),
        context_tokens=model.context_tokens or CONTEXT_TOKENS,
        threads=model.threads or default_threads(),
        engine=engine(),
    )


FILE_ADVICE = (
    "name a GGUF file, seen from the suite file, or leave `model_file` out for the packaged model"
)


def file_problem(path: Path) -> str | None:
    """Return why a file cannot be served, as far as its first bytes tell; None when it may be."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a device or a pipe may never end
            return "is no file"
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except (OSError, ValueError) as exc:
        return f"cannot be read: {getattr(exc, 'strerror', None) or exc}"
    return None if start == MAGIC else f"is no GGUF file: it starts with {start!r}"


def name_of(embedded: EmbeddedServer) -> str:
    """Return what a model is called in requests and answers: its file's name without `.gguf`."""
    return PACKAGED_MODEL if embedded.model_file is None else Path(embedded.model_file).stem


def disagreements(models: Iterable[ResolvedModel]) -> list[tuple[ResolvedModel, str, str]]:
    """Return (model, field, what) of settings that differ between models of one file.

    One server has one context and one number of threads.
    """
    found = []
    first: dict[str | None, ResolvedModel] = {}
    for model in models:
        if model.embedded is None:
            continue
        other = first.setdefault(model.embedded.model_file, model)
        for field in ("context_tokens", "threads"):
            mine, its = getattr(model.embedded, field), getattr(other.embedded, field)
            if mine != its:
                what = f"model `{other.model_id}` has {its} with the same file: one server has both"
                found.append((model, field, what))
    return found


def with_relative_files(
    models: Iterable[ResolvedModel], run_dir: Path
) -> tuple[ResolvedModel, ...]:
    """Return the models with their files as they are seen from a run's folder."""
    return _with_files(models, lambda path: os.path.relpath(path, run_dir.absolute()))


def relocate_models(models: Iterable[ResolvedModel], run_dir: Path) -> tuple[ResolvedModel, ...]:
    """Return the models of a stored run with their files where they are from here."""
    return _with_files(models, lambda path: os.path.normpath(run_dir.absolute() / path))


def _with_files(
    models: Iterable[ResolvedModel], change: Callable[[str], str]
) -> tuple[ResolvedModel, ...]:
    def changed(model: ResolvedModel) -> ResolvedModel:
        if model.embedded is None or model.embedded.model_file is None:
            return model
        file = change(model.embedded.model_file)
        return replace(model, embedded=model.embedded.model_copy(update={"model_file": file}))

    return tuple(map(changed, models))


def engine() -> str | None:
    """Return the engine with its version; None when it is not installed."""
    try:
        return f"{ENGINE} {version(ENGINE)}"
    except PackageNotFoundError:
        return None


def usable_cores() -> int:
    """Return how many cores this process may use, at least one."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """Return half of the cores that this process may use, at least one.

    With all of them the engine's busy threads starve the client that measures it, and a loaded
    machine falls to a few tokens a second.
    """
    return max(1, usable_cores() // 2)
