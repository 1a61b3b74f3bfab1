"""openclaw.json of a trial: what the agent and the suite's model say, and where the model is asked.

The model is the suite's alone. It is reached through a door of ours, so the file holds a password
of one trial and never a key. Whether the pinned version takes the file, that version says itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel
from collect.config.endpoints import PROVIDERS
from collect.workspace import WORKSPACE
from schemas.config.agent import Agent

CUSTOM = "custom"
"""What openclaw calls the service of a model that is not behind OpenRouter."""

APIS: Mapping[str, str] = {
    "openai_responses": "openai-responses",
    "anthropic_messages": "anthropic-messages",
}
"""Providers that speak another API than chat completions, as openclaw names it."""

CONTEXT_TOKENS = 200_000
MAX_TOKENS = 16_384
"""Of a model of which nobody says more."""

ALIAS = "default"

REASONS = ("reason", "thinking", "minimax")
"""Parts of names of models that reason though nobody asks for it."""

SANDBOX_OFF: JsonValue = {"mode": "off"}
"""Openclaw's own sandbox starts containers, of which there are none inside."""


def model_ref(model: ResolvedModel) -> str:
    """Return what openclaw calls a model: `openrouter/<vendor>/<model>`, or `custom/<model>`."""
    return f"{_service(model)}/{model.model}"


def agent_name(agent: Agent) -> str:
    """Return the id that openclaw knows an agent by, which may differ from its folder's."""
    name = agent.openclaw.agent.get("id", agent.agent_id)
    return str(name)


def openclaw_config(
    agent: Agent, model: ResolvedModel, case: LoadedCase, address: str, password: str
) -> dict[str, Any]:
    """Return openclaw.json.

    Args:
        agent: with its fragments.
        model: of the suite.
        case: that is run, whose settings are its own.
        address: where the agent asks for the model.
        password: what it says there.
    """
    primary, parts = model_ref(model), agent.openclaw
    params = {**parts.model_defaults.primary_params, **model.primary_params}
    if model.thinking_level is not None:
        params["reasoning"] = {**_mapping(params.get("reasoning")), "effort": model.thinking_level}
    of_model: dict[str, Any] = dict(parts.model_defaults.model_extra or {})
    of_model["alias"] = next(filter(None, parts.model_defaults.aliases.values()), ALIAS)
    if params:
        of_model["params"] = params
    defaults = {"skipBootstrap": True, **parts.agents_defaults}
    if isinstance(defaults.get("sandbox"), str):
        defaults["sandbox"] = SANDBOX_OFF
    defaults |= {
        "workspace": WORKSPACE,
        "model": {"primary": primary},
        "models": {primary: of_model},
    }
    entry = {name: one for name, one in parts.agent.items() if name != "prompt"}
    entry |= {"id": agent_name(agent), "model": primary}
    return {
        "agents": {"defaults": defaults, "list": [entry]},
        "models": {
            "mode": "replace",
            "providers": {
                _service(model): {
                    "baseUrl": address
                    if PROVIDERS[model.provider].is_anthropic
                    else f"{address}/v1",
                    "apiKey": password,
                    "api": APIS.get(model.provider, "openai-completions"),
                    "models": [_entry(model, case, params)],
                }
            },
        },
    }


def _service(model: ResolvedModel) -> str:
    return "openrouter" if PROVIDERS[model.provider].has_upstreams else CUSTOM


def _entry(model: ResolvedModel, case: LoadedCase, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what openclaw is to know of the model; it plans its context by that."""
    most = params.get("max_tokens", model.setting("max_tokens", case))
    context = None if model.embedded is None else model.embedded.context_tokens
    is_named = any(word in model.model.lower() for word in REASONS)
    return {
        "id": model.model,
        "name": model.label or model.model,
        "reasoning": bool(params.get("reasoning")) or is_named,
        "input": ["text", "image"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": CONTEXT_TOKENS if context is None else context,
        "maxTokens": most if isinstance(most, int) and most > 0 else MAX_TOKENS,
    }


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
