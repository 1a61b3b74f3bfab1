"""What is known of a model and of how it was asked, in the words of Every Eval Ever.

Nothing is guessed: who runs a model is known of a run's own server, of an address of this machine
and of services that serve from their own hosts; whether weights are open, of the packaged model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from analyze.exporters.eee.names import UNATTRIBUTED, model_id_of
from analyze.exporters.eee.transcript import texts_of
from analyze.show.trace_file import NoTrace, read_content
from schemas.run.config import RunConfig, RunModel
from schemas.run.inventory import Inventory, ServedModel

Deployment = Literal["self_deployed", "externally_managed", "unknown"]

SERVICES = frozenset({"api.openai.com", "api.anthropic.com", "openrouter.ai"})
"""Hosts of services that run, or route to, models of others for everyone."""

CLOUD = ("cloud", "-cloud")
"""Ends the tag of a model that an Ollama asks its maker's own servers for."""

PARTS = {"temperature": "number", "top_p": "number", "top_k": "number", "max_tokens": "count"}
"""Settings that the format has a field for, and what each of them is."""

MAX_PROMPT_BYTES = 1 << 24
"""Of one exchange with a judge."""


@dataclass(frozen=True)
class AskedModel:
    """One model of a run, with as much as its folder says of it."""

    model_id: str
    provider: str
    model: str
    thinking_level: str | None
    resolved: RunModel | None = None
    served: ServedModel | None = None

    @property
    def host(self) -> str | None:
        """Of the address that was asked; None where nobody wrote it down."""
        return None if self.resolved is None else urlsplit(self.resolved.base_url).hostname

    @property
    def name(self) -> str:
        """What the format calls it: `developer/model`."""
        return model_id_of(self.model, self.provider, self.host)


def asked_model(
    model_id: str,
    asked: tuple[str, str, str | None],
    config: RunConfig | None,
    inventory: Inventory | None,
) -> AskedModel:
    """Return what is known of a model.

    Args:
        model_id: its local name.
        asked: provider, model string and thinking level.
        config: of the run; None where its folder is elsewhere, or another tool's.
        inventory: of the run, in the same way.
    """
    models = () if config is None else config.models
    served = () if inventory is None else inventory.served_models
    return AskedModel(
        model_id,
        *asked,
        resolved=next((one for one in models if one.model_id == model_id), None),
        served=next((one for one in served if one.model_id == model_id), None),
    )


def model_info(asked: AskedModel) -> dict[str, JsonValue]:
    """Return the `model_info` of a model that a run asked."""
    resolved, served = asked.resolved, asked.served
    embedded = None if resolved is None else resolved.embedded
    is_packaged = embedded is not None and embedded.model_file is None
    details = {
        "deployment_type": _deployment(asked),
        "model_availability": "open_weights" if is_packaged else "unknown",
        "model_id": asked.model_id,
        "thinking_level": asked.thinking_level,
        "model_build": None if resolved is None else resolved.model_build,
        "harness_version": None if resolved is None else resolved.harness_version,
    }
    if served is not None:
        named = served.model_dump(exclude_none=True, exclude={"model_id", "is_ollama"})
        details |= {f"served_{name}": value for name, value in named.items()}
    info: dict[str, JsonValue] = {"name": asked.model, "id": asked.name}
    if asked.provider:
        info["inference_platform"] = asked.provider
    if embedded is not None and embedded.engine is not None:
        info["inference_engine"] = {"name": embedded.engine}
    elif served is not None and served.is_ollama:
        version = {"version": served.server_version} if served.server_version else {}
        info["inference_engine"] = {"name": "Ollama", **version}
    return {**info, "additional_details": {**texts_of(details)}}


def _deployment(asked: AskedModel) -> Deployment:
    resolved, host = asked.resolved, asked.host
    if resolved is None:
        return "unknown"
    if asked.model.endswith(CLOUD) and asked.served is not None and asked.served.is_ollama:
        return "externally_managed"
    if resolved.embedded is not None or _is_here(host):
        return "self_deployed"
    if host in SERVICES or resolved.routing is not None:
        return "externally_managed"
    is_ollama = asked.served is not None and asked.served.is_ollama
    return "self_deployed" if is_ollama else "unknown"


def _is_here(host: str | None) -> bool:
    try:
        return host == "localhost" or (host is not None and ip_address(host).is_loopback)
    except ValueError:
        return False


def judge_info(model: str) -> dict[str, JsonValue]:
    """Return the `model_info` of a judge, of which a run keeps the model string."""
    unknown = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {
        "name": model,
        "id": model_id_of(model, UNATTRIBUTED),
        "additional_details": {**unknown},
    }


def judge_prompt(folder: Path | None, reference: str | None) -> str | None:
    """Return what a judge was told before the first trial; None where nobody kept it.

    Args:
        folder: of the run; None where it is elsewhere.
        reference: `artifact_path` of one of its answers.
    """
    content = read_content(folder, reference, MAX_PROMPT_BYTES)
    if isinstance(content, NoTrace):
        return None
    try:
        said = json.loads(content)["exchanges"][0]["messages"]
        return next(str(one["content"]) for one in said if one["role"] == "system")
    except (ValueError, LookupError, TypeError, StopIteration, RecursionError):
        return None


def generation_config(
    asked: AskedModel, config: RunConfig | None, tools: tuple[str, ...]
) -> dict[str, JsonValue] | None:
    """Return the settings in force; None where nobody wrote them down.

    Args:
        asked: the model.
        config: of the run.
        tools: that its cases offer.
    """
    if config is None or asked.resolved is None:
        return None
    settings = {name: one.value for name, one in asked.resolved.settings.items()}
    args: dict[str, JsonValue] = {
        name: settings.pop(name)
        for name, kind in PARTS.items()
        if _is_number(settings.get(name), is_count=kind == "count")
    }
    if asked.thinking_level is not None:
        args["reasoning"] = asked.thinking_level != "none"
    limit = settings.get("timeout_seconds")
    if _is_number(limit, is_count=True):
        args["eval_limits"] = {"time_limit": settings.pop("timeout_seconds")}
    if (sandbox := _sandbox(config)) is not None:
        args["sandbox"] = sandbox
    if tools:
        args["agentic_eval_config"] = {"available_tools": [{"name": one} for one in tools]}
    details = texts_of({**settings, "thinking_level": asked.thinking_level})
    if of_cases := dict(_of_cases(config)):
        details["case_settings"] = json.dumps(of_cases, ensure_ascii=False)
    return {"generation_args": args, "additional_details": {**details}}


def _is_number(value: JsonValue, *, is_count: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) and value >= 1 if is_count else True


def _sandbox(config: RunConfig) -> dict[str, JsonValue] | None:
    """Return where commands of models, or the agents themselves, were locked in."""
    if config.sandbox is not None:
        found = {"type": config.sandbox.backend, "config": config.sandbox.image}
    elif (place := config.openclaw or config.agent) is not None:
        found = {"type": place.docker_cli or place.executable, "config": place.image}
    else:
        return None
    return {name: value for name, value in found.items() if value is not None}


def _of_cases(config: RunConfig) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    for case_id, settings in sorted(config.case_settings.items()):
        yield case_id, {name: one.value for name, one in settings.items()}
