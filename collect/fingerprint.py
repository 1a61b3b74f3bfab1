"""Hashes that say whether two trials are the same: what reached the model, and from where.

Decision A2 (case_hash) and F1 (named parts). In: all that can change the output or the verdict.
Out: titles, paths, concurrency, time-outs, retries, other models.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from urllib.parse import urlsplit

import orjson
from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel
from collect.config.loaded import as_json
from schemas.trial import FingerprintParts

SAMPLING = ("temperature", "top_p", "max_tokens")
"""Settings that change an answer; the seed enters as the one that is really sent."""


def digest(value: JsonValue) -> str:
    """Return the sha256 of canonical JSON: sorted keys, no white space, UTF-8."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def case_hash(case: LoadedCase) -> str:
    """Return the hash of everything in a case that reaches the model or decides the verdict."""
    validator = None if case.validator is None else case.validator.model_dump(mode="json")
    return digest(
        {
            "messages": [as_json(message) for message in case.messages],
            "attachments": [list(attachment) for attachment in case.attachments],
            "validator": validator,
            "expected_tool_calls": list(case.expected_tool_calls),
        }
    )


def seed_of(model: ResolvedModel, case: LoadedCase, repetition: int) -> int | None:
    """Return the seed a repetition is sent with."""
    seed = model.setting("seed", case)
    if not isinstance(seed, int):
        return None
    return seed + repetition - 1 if model.setting("seed_per_repetition", case) else seed


def model_parts(model: ResolvedModel) -> tuple[str, str]:
    """Return the endpoint and harness parts, the same for every trial of a model."""
    parts = urlsplit(model.base_url)
    where = f"loopback{parts.path}" if model.is_loopback else f"{parts.netloc}{parts.path}"
    endpoint: JsonValue = {"provider": model.provider, "base_url": where, "model": model.model}
    major = version("benchlake").partition(".")[0]
    return digest(endpoint), digest({"harness": "benchlake", "major": major})


def settings_part(model: ResolvedModel, case: LoadedCase, repetition: int) -> str:
    """Return the hash of the settings in force; each repetition is a sample of its own."""
    in_force: dict[str, JsonValue] = {name: model.setting(name, case) for name in SAMPLING}
    in_force |= {
        "seed": seed_of(model, case, repetition),
        "thinking_level": model.thinking_level,
        "request_options": dict(model.request_options),
        "repetition": repetition,
    }
    return digest(in_force)


def fingerprint(parts: FingerprintParts) -> str:
    """Return the run_fingerprint: sha256 over the named parts."""
    return digest(parts.model_dump())
