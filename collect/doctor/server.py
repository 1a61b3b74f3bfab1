"""What kind of server answered, and which models it says it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from collect.doctor.http_get import Look

Kind = Literal["Ollama", "llama.cpp", "vLLM", "LM Studio", "OpenRouter", "OpenAI", "Anthropic"]

OWNERS: Mapping[str, Kind] = {
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "organization_owner": "LM Studio",
    "organization-owner": "LM Studio",
    "openai": "OpenAI",
    "openai-internal": "OpenAI",
    "system": "OpenAI",
    "library": "Ollama",
}
"""`owned_by` of a listed model to who says so."""

HOSTS: Mapping[str, Kind] = {
    "openrouter.ai": "OpenRouter",
    "api.openai.com": "OpenAI",
    "api.anthropic.com": "Anthropic",
}

KNOWS_ITS_NAMES: frozenset[Kind] = frozenset({"Ollama", "vLLM", "OpenRouter", "OpenAI"})
"""Servers that refuse a name which is not on their list."""

Entry = Mapping[str, JsonValue]


def entries_of(data: JsonValue) -> tuple[Entry, ...] | None:
    """Return the models of a list, as OpenAI, Anthropic, Ollama and others write one."""
    rows = data
    if isinstance(data, dict):
        rows = data["data"] if isinstance(data.get("data"), list) else data.get("models")
    if not isinstance(rows, list):
        return None
    return tuple(row for row in rows if isinstance(row, dict) and name_of(row))


def name_of(entry: Entry) -> str:
    """Return what a listed model is asked for as."""
    for field in ("id", "model", "name"):
        value = entry.get(field)
        if isinstance(value, str) and value:
            return value
    return ""


def version_of(look: Look | None) -> str | None:
    """Return the version that an Ollama says it is."""
    data = look.data if look is not None and look.is_good else None
    version = data.get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) and version else None


def kind_of(
    host: str, listing: Look, entries: tuple[Entry, ...], *, is_ollama: bool
) -> Kind | None:
    """Return what answers, by what only it says; None: something else."""
    if is_ollama:
        return "Ollama"
    if listing.headers.get("server", "").lower().startswith("llama.cpp"):
        return "llama.cpp"
    first = entries[0] if entries else {}
    if "supported_parameters" in first:
        return "OpenRouter"
    owner = first.get("owned_by")
    if isinstance(owner, str) and owner in OWNERS:
        return OWNERS[owner]
    return HOSTS.get(host)
