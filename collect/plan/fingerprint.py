"""Hashes that say whether two trials are the same: what reached the model, and from where.

D-A2 (case_hash) and D-F1 (named parts). In: all that can change the output or the verdict.
Out: titles, paths, concurrency, time-outs, retries, other models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from urllib.parse import urlsplit

import orjson
from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.config.models import ROUTING_OPTIONS
from collect.config.resolved import NO_CONTEXT, as_json
from collect.config.runners import RUNNERS
from collect.config.tools import TOOLS, needs_sandbox
from schemas.base import Record
from schemas.config.case import CaseContext
from schemas.config.run_profile import AgentRunProfile
from schemas.config.tools import WebSearchSettings
from schemas.run.config import (
    PART_DIGITS,
    FingerprintParts,
    RunCommands,
    RunOpenClaw,
    RunSandbox,
)

SAMPLING = ("temperature", "top_p", "max_tokens")
"""Settings that change an answer; the seed enters as the one that is really sent."""


def digest(value: JsonValue) -> str:
    """Return the sha256 of canonical JSON: sorted keys, no white space, UTF-8."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def case_hash(case: LoadedCase) -> str:
    """Return the hash of everything in a case that reaches the model or decides the verdict."""
    return digest(
        {
            "messages": [as_json(message) for message in case.messages],
            "attachments": [list(attachment) for attachment in case.attachments],
            "validator": _dumped(case.validator),
            "expected_tool_calls": list(case.expected_tool_calls),
            "turns": [as_json(turn) for turn in case.turns],
            "tools": _tools(case.context),
            "runner_type": case.runner_type,
            "expected_artifact": _expected_artifact(case.context),
            "checks": [check.model_dump(mode="json") for check in case.checks],
            "hooks": [list(hook) for hook in case.hooks],
            "expectations": _dumped(case.expectations),
            "rubric": _dumped(case.rubric),
        }
    )


def _expected_artifact(context: CaseContext) -> JsonValue:
    """Return what an openclaw case expects; most cases share one context that expects nothing."""
    return _nothing() if context is NO_CONTEXT else context.openclaw.model_dump(mode="json")


def _tools(context: CaseContext) -> JsonValue:
    """Return what a case offers its model to call; most offer nothing."""
    probe = context.llm_probe
    if not probe.tools or probe.tool_choice == "auto":
        return list(probe.tools)
    return [*probe.tools, {"tool_choice": probe.tool_choice}]


@cache
def _nothing() -> JsonValue:
    return NO_CONTEXT.openclaw.model_dump(mode="json")


def _dumped(record: Record | None) -> JsonValue:
    return None if record is None else record.model_dump(mode="json")


def seed_of(model: ResolvedModel, case: LoadedCase, repetition: int) -> int | None:
    """Return the seed a repetition is sent with."""
    seed = model.setting("seed", case)
    if not isinstance(seed, int):
        return None
    return seed + repetition - 1 if model.setting("seed_per_repetition", case) else seed


def model_parts(model: ResolvedModel) -> tuple[str, str]:
    """Return the endpoint and harness parts, the same for every trial of a model."""
    parts, options = urlsplit(model.base_url), model.request_options
    where = f"loopback{parts.path}" if model.is_loopback else f"{parts.netloc}{parts.path}"
    endpoint: dict[str, JsonValue] = {
        "provider": model.provider,
        "base_url": where,
        "model": model.model,
    }
    if model.embedded is not None:
        endpoint["served"] = {
            "context_tokens": model.embedded.context_tokens,
            "engine": model.embedded.engine,
        }
    if model.routing is not None:
        endpoint["routing"] = {name: options.get(name) for name in ROUTING_OPTIONS}
    major = version("benchlake").partition(".")[0]
    harness: dict[str, JsonValue] = {"harness": "benchlake", "major": major}
    if model.harness_version is not None:
        harness["cli"] = model.harness_version
    return digest(endpoint), digest(harness)


def settings_part(model: ResolvedModel, case: LoadedCase, repetition: int) -> str:
    """Return the hash of the settings in force; each repetition is a sample of its own."""
    names = (*SAMPLING, "max_turns") if case.context.llm_probe.tools else SAMPLING
    routed = ROUTING_OPTIONS if model.routing is not None else ()  # the endpoint's part
    in_force: dict[str, JsonValue] = {name: model.setting(name, case) for name in names}
    in_force |= {
        "seed": seed_of(model, case, repetition),
        "thinking_level": model.thinking_level,
        "request_options": {
            name: one for name, one in model.request_options.items() if name not in routed
        },
        "repetition": repetition,
    }
    if case.runner_type == "openclaw":
        in_force["primary_params"] = dict(model.primary_params)
    return digest(in_force)


class SettingsParts:
    """The settings part of many trials; cases without settings of their own share one hash."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str, int], str] = {}

    def of(self, model: ResolvedModel, case: LoadedCase, repetition: int) -> str:
        """Return the settings part of one trial."""
        if case.settings or case.context.llm_probe.tools or case.runner_type != "llm_probe":
            return settings_part(model, case, repetition)
        key = model.model_id, repetition
        if key not in self._shared:
            self._shared[key] = settings_part(model, case, repetition)
        return self._shared[key]


def tools_part(
    case: LoadedCase, sandbox: RunSandbox | None, search: WebSearchSettings | None
) -> str | None:
    """Return the hash of the tools a case offers; None when it offers none.

    In it are what the model is told of them, where their commands run within which limits, and
    where is searched; what a suite is called is no part of it, though results that name it drop.
    """
    probe = case.context.llm_probe
    if not probe.tools:
        return None
    kinds = [TOOLS[name] for name in probe.tools]
    shown: list[JsonValue] = [[kind.description, dict(kind.parameters)] for kind in kinds]
    locked = sandbox if needs_sandbox(case) else None
    searched = search if "web_search" in probe.tools else None
    return digest([probe.model_dump(mode="json"), shown, _dumped(locked), _dumped(searched)])


def image_part(inputs: RunInputs, case: LoadedCase) -> str | None:
    """Return the hash of where a case of an agent runs: version, image, network, limits."""
    name = RUNNERS[case.runner_type].block
    block: AgentRunProfile | None = getattr(inputs.profile, name) if name else None
    if block is None:
        return None
    found: RunOpenClaw | RunCommands | None = getattr(inputs, name)
    facts = block.model_dump(mode="json", include={"executable", "network", "limits"})
    facts["image"] = block.image if found is None else found.image_digest
    facts["version"] = None if found is None else found.version_of(inputs.agents[case.case_id])
    return digest(facts)


def agent_part(inputs: RunInputs, case: LoadedCase) -> str | None:
    """Return the fingerprint of the agent that a case runs with."""
    agent_id = inputs.agents.get(case.case_id)
    return None if agent_id is None else inputs.agent_fingerprints.get(agent_id)


def fingerprint(parts: Mapping[str, str | None]) -> str:
    """Return the run_fingerprint: sha256 over the whole hash of every part, absent ones null."""
    return digest(dict(parts))


def kept_parts(parts: Mapping[str, str | None]) -> FingerprintParts:
    """Return what a plan keeps of the hashes."""
    return FingerprintParts(
        **{name: part[:PART_DIGITS] for name, part in parts.items() if part is not None}
    )
