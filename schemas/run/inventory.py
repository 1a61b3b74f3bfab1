"""What a run was made with: the machine, the versions, the resources before and after."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from pydantic import Field

from schemas.base import SCHEMA_VERSION, Count, Positive, Record, Slug

GroupKey = tuple[str, str, str | None]
"""(provider, model, thinking_level)."""


class Host(Record):
    """The machine the collector ran on."""

    uname: str
    python: str
    cpu_count: int
    memory_bytes: int


class CommandError(Record):
    """A command of the inventory that gave no answer."""

    error: str


class OllamaModel(Record):
    """One line of `ollama list`."""

    name: str
    size: str


class ServedModel(Record):
    """What the server of one ollama_openai model says of it; null where it does not say."""

    model_id: Slug
    is_ollama: bool | None = Field(
        default=None,
        description="False: OpenAI-compatible, not Ollama; null: not asked, or no answer.",
    )
    server_version: str | None = None
    digest: str | None = Field(default=None, description="sha256, in the fingerprint.")
    parameter_size: str | None = Field(default=None, description="Such as 3.2B.")
    quantization: str | None = Field(default=None, description="Such as Q4_K_M.")
    context_length: int | None = Field(default=None, description="Tokens the model was made for.")
    num_ctx: int | None = Field(
        default=None, description="Tokens its own parameters ask for; null: the server's default."
    )
    loaded_context_length: int | None = Field(
        default=None, description="Tokens it is in memory with; null when it was not loaded."
    )


class ConfigCommit(Record):
    """The state of the git repository that the suite lies in, for the files that were read."""

    commit: str | None = Field(description="Null before the first commit.")
    branch: str | None = Field(description="Null when none is checked out.")
    is_dirty: bool = Field(description="Some of these files differ from the commit.")
    changed: tuple[str, ...] = Field(
        default=(), description="Which, from the repository's root; at most 20."
    )
    n_outside: Count = Field(default=0, description="Files that were read from elsewhere.")


class Inventory(Record):
    """inventory.json."""

    schema_version: Positive = SCHEMA_VERSION
    run_id: str
    created_at: str = Field(description="UTC, ISO 8601, with Z.")
    host: Host
    packages: dict[str, str] = Field(description="Versions of benchlake and what it stands on.")
    sandbox: str | None = Field(
        default=None, description="Version of what locks commands in; null: no case needs it."
    )
    ollama_list: str | CommandError
    ollama_models: tuple[OllamaModel, ...]
    ollama_store_du: str | CommandError
    claude_version: str | CommandError
    keys_present: tuple[str, ...] = Field(description="Names of key variables that are set.")
    ollama_ps: str | CommandError | None = Field(
        default=None, description="What `ollama ps` prints: models in memory before the run."
    )
    versions: dict[str, str | CommandError] = Field(
        default_factory=dict,
        description="Of ollama, claude, openclaw, node, git, docker, podman, and docker_server.",
    )
    agents: dict[str, str | None] = Field(
        default_factory=dict,
        description="Versions of the run's agents, by agent_id, as they say them where they run; "
        "null: one does not say.",
    )
    served_models: tuple[ServedModel, ...] = ()
    config_commit: ConfigCommit | CommandError | None = Field(
        default=None, description="Null: the configs are not in a git repository."
    )


class DiskRoot(Record):
    """The line of `df -h /`."""

    fs: str
    size: str
    used: str
    avail: str
    use_pct: str


class ResourceSnapshot(Record):
    """A parsed resources_<tag>_before.txt or _after.txt; what was not printed is null."""

    path: str
    mem_total: str | None = None
    mem_used: str | None = None
    mem_free: str | None = None
    mem_shared: str | None = None
    mem_buff_cache: str | None = None
    mem_available: str | None = None
    disk_root: DiskRoot | None = None
    ollama_store_du: str | None = None
    ollama_ps: tuple[str, ...] = ()


def resource_tags(keys: Iterable[GroupKey]) -> dict[GroupKey, str]:
    """Return the file-name tag of each (provider, model, thinking_level), unique among them.

    `ollama_openai__llama3.2_3b__none`; names that clean up to the same text get a hash each.
    """
    cleaned = {
        key: re.sub(r"[^A-Za-z0-9_.-]+", "_", "__".join((key[0], key[1], key[2] or "none")))
        for key in keys
    }
    tags = list(cleaned.values())
    return {
        key: tag
        if tags.count(tag) == 1
        else f"{tag}-{hashlib.sha256(repr(key).encode()).hexdigest()[:8]}"
        for key, tag in cleaned.items()
    }
