"""The key of a model, from its environment variable."""

from __future__ import annotations

import os
from collections.abc import Iterable

from collect.config.resolved import ResolvedModel
from schemas.errors import ConfigError, Problem


def key_of(model: ResolvedModel) -> str:
    """Return a model's key; empty when it has none, or none is set.

    Raises:
        ConfigError: what is set cannot be a key.
    """
    key = (os.environ.get(model.api_key_env) or "").strip() if model.api_key_env else ""
    if not (key.isascii() and key.isprintable()) or " " in key:
        what = f"environment variable {model.api_key_env} holds characters that no key has"
        raise ConfigError([Problem(None, what)])
    return key


def refuse_unusable_keys(models: Iterable[ResolvedModel]) -> None:
    """Look at every key before anything is written or asked.

    Raises:
        ConfigError: naming each variable that holds no key.
    """
    problems = []
    for model in models:
        try:
            key_of(model)
        except ConfigError as exc:
            problems += [problem for problem in exc.problems if problem not in problems]
    if problems:
        raise ConfigError(problems)
