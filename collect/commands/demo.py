"""The starter suites on the embedded model: a real benchmark without a server or a key."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from collect.commands.init import starter_configs
from collect.commands.run import start
from collect.config import ResolvedModel, RunInputs, load_inputs, runnable
from collect.config.embedded import (
    CONTEXT_TOKENS,
    PACKAGED_MODEL,
    default_threads,
    engine,
    file_problem,
    name_of,
)
from collect.execute.spec import RunRequest
from collect.local.model import refuse_missing_engine
from collect.local.servers import weights_of
from schemas.base import slugify
from schemas.errors import EXIT_INTERRUPTED, EXIT_OK, LocalModelError, counted
from schemas.run.config import EmbeddedServer

RUNS = (("transports", "once"), ("starter", "demo"))
"""Suite and run profile of each run; the one that tells most about the model comes last."""


def demo(runs_dir: Path, model_file: Path | None, *, as_json: bool, again: str) -> int:
    """Fetch the model if need be, make both runs, and return the worse exit code.

    Raises:
        LocalModelError: the model cannot be fetched or served.
    """
    refuse_missing_engine()
    if model_file is not None and (what := file_problem(model_file)) is not None:
        text = f"{model_file} {what}"
        raise LocalModelError(text)
    file = None if model_file is None else str(model_file.absolute())
    weights_of(file, _say)
    served = EmbeddedServer(
        model_file=file, context_tokens=CONTEXT_TOKENS, threads=default_threads(), engine=engine()
    )
    worst = EXIT_OK
    with starter_configs() as folder:
        for number, (suite, profile) in enumerate(RUNS, start=1):
            inputs = runnable(
                _served_inputs(load_inputs(suite, profile, working_dir=folder), served)
            )
            cases = counted(len(inputs.cases), "case")
            _say(f"{number} of {len(RUNS)}: {inputs.suite.title}, {cases}")
            is_last = number == len(RUNS)
            request = RunRequest(runs_dir, as_json=as_json, again=again, with_page=is_last)
            code = start(inputs, request)
            if code == EXIT_INTERRUPTED:
                return code
            worst = max(worst, code)
    return worst


def _served_inputs(inputs: RunInputs, served: EmbeddedServer) -> RunInputs:
    """Return the inputs with every model that can be asked from here, served by the run."""
    models = []
    for model in inputs.models:
        if model.executable is not None and shutil.which(model.executable) is None:
            _say(f"`{model.executable}` is not on PATH: the demo leaves `{model.model_id}` out")
            continue
        models.append(_served(model, served))
    return replace(inputs, models=tuple(models))


def _served(model: ResolvedModel, served: EmbeddedServer) -> ResolvedModel:
    """Return a suite's model as the run serves it, through the transport that the suite names."""
    name = name_of(served)
    renamed = name != PACKAGED_MODEL and model.label is not None  # the others name a transport
    root = "http://127.0.0.1"
    return replace(
        model,
        model_id=slugify(name) if renamed else model.model_id,
        label=name if renamed else model.label,
        model=name,
        base_url=f"{root}/v1" if model.executable is None else root,
        api_key_env=None,
        key_required=False,
        is_loopback=True,
        embedded=served,
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
