"""The starter suite on the embedded model: a real benchmark without a server or a key."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from collect.config import ResolvedModel, load_inputs
from collect.local.model import ALIAS, LocalModel
from collect.local.server import KEY_VARIABLE
from collect.local.weights import fetch_weights
from collect.start import Wish, start
from collect.starter import starter_configs
from schemas.base import slugify

SUITE = "starter"
RUN_PROFILE = "demo"


def demo(runs_dir: Path, model_file: Path | None, *, as_json: bool, again: str) -> int:
    """Fetch the model if need be, serve it, run the starter suite, and return the exit code.

    Raises:
        LocalModelError: the model cannot be fetched or served.
    """
    path = model_file or fetch_weights(_say)
    alias = ALIAS if model_file is None else model_file.stem
    with starter_configs() as folder, LocalModel(model_file=path, alias=alias) as local:
        os.environ[KEY_VARIABLE] = local.api_key
        inputs = load_inputs(SUITE, RUN_PROFILE, working_dir=folder)
        model = _served(inputs.models[0], local)
        only = replace(inputs, models=(model,))
        return start(only, Wish(runs_dir, as_json=as_json, again=again))


def _served(model: ResolvedModel, local: LocalModel) -> ResolvedModel:
    """Return the suite's model as the embedded server serves it."""
    own = local.alias != ALIAS
    return replace(
        model,
        model_id=slugify(local.alias) if own else model.model_id,
        label=local.alias if own else model.label,
        model=local.alias,
        base_url=local.base_url,
        api_key_env=KEY_VARIABLE,
        key_required=True,
        is_loopback=True,
        model_build=local.model_sha256,
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
