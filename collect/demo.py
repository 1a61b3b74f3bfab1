"""The starter suites on the embedded model: a real benchmark without a server or a key."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from collect.config import ResolvedModel, RunInputs, load_inputs, runnable
from collect.local.model import ALIAS, LocalModel
from collect.local.server import KEY_VARIABLE
from collect.local.weights import fetch_weights
from collect.start import Wish, start
from collect.starter import starter_configs
from schemas.base import slugify
from schemas.errors import EXIT_INTERRUPTED, EXIT_OK, counted

RUNS = (("transports", "once"), ("starter", "demo"))
"""Suite and run profile of each run; the one that tells most about the model comes last."""


def demo(runs_dir: Path, model_file: Path | None, *, as_json: bool, again: str) -> int:
    """Fetch the model if need be, serve it, make both runs, and return the worse exit code.

    Raises:
        LocalModelError: the model cannot be fetched or served.
    """
    path = model_file or fetch_weights(_say)
    alias = ALIAS if model_file is None else model_file.stem
    worst = EXIT_OK
    with starter_configs() as folder, LocalModel(model_file=path, alias=alias) as local:
        os.environ[KEY_VARIABLE] = local.api_key
        for number, (suite, profile) in enumerate(RUNS, start=1):
            inputs = runnable(_here(load_inputs(suite, profile, working_dir=folder), local))
            cases = counted(len(inputs.cases), "case")
            _say(f"{number} of {len(RUNS)}: {inputs.suite.title}, {cases}")
            wish = Wish(runs_dir, as_json=as_json, again=again, with_page=number == len(RUNS))
            code = start(inputs, wish)
            if code == EXIT_INTERRUPTED:
                return code
            worst = max(worst, code)
    return worst


def _here(inputs: RunInputs, local: LocalModel) -> RunInputs:
    """Return the inputs with every model that can be asked from here, as it is served."""
    models = []
    for model in inputs.models:
        if model.executable is not None and shutil.which(model.executable) is None:
            _say(f"`{model.executable}` is not on PATH: the demo leaves `{model.model_id}` out")
            continue
        models.append(_served(model, local))
    return replace(inputs, models=tuple(models))


def _served(model: ResolvedModel, local: LocalModel) -> ResolvedModel:
    """Return a suite's model as the embedded server serves it."""
    renamed = local.alias != ALIAS and model.label is not None  # the others name a transport
    root = local.base_url.removesuffix("/v1")
    return replace(
        model,
        model_id=slugify(local.alias) if renamed else model.model_id,
        label=local.alias if renamed else model.label,
        model=local.alias,
        base_url=local.base_url if model.executable is None else root,
        api_key_env=KEY_VARIABLE,
        key_required=True,
        is_loopback=True,
        model_build=local.model_sha256,
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
