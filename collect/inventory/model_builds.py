"""Which weights, and which version of a CLI, would answer now: part of a trial's fingerprint.

A server is asked which models it holds and a CLI for its version; no model is queried. Without an
answer the build is unknown, which never stops a run. What servers of local models report is kept
in the record of a run.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from collect.config import ResolvedModel, RunInputs
from collect.config.endpoints import PROVIDERS, key_of
from collect.inventory.git import Output, output_of
from schemas.errors import ConfigError, nearest, printable
from schemas.io.files import sha256_of
from schemas.redact import redact
from schemas.run.inventory import ServedModel

if TYPE_CHECKING:
    from collect.inventory.ollama import InstalledModel, OllamaServer

MAX_VERSION_CHARS = 200
"""Characters kept of a version."""

Address = tuple[str, str | None]
"""(base_url, api_key_env): models that share it share their server."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server of local models, and what it says it holds."""

    client: OllamaServer | None
    """None: it may not be asked, since a run would not ask it either."""
    is_ollama: bool | None = None
    """None: nobody answered."""
    installed: Mapping[str, InstalledModel] = field(default_factory=dict)
    """By canonical name."""


@dataclass(frozen=True, slots=True)
class Builds:
    """What was found out about the models of a run."""

    servers: Mapping[Address, Server] = field(default_factory=dict)
    versions: Mapping[str, Output] = field(default_factory=dict)
    """By command."""
    files: Mapping[str | None, str | None] = field(default_factory=dict)
    """sha256 of each file that runs serve themselves; None is the packaged one."""

    def server(self, model: ResolvedModel) -> Server | None:
        """Return a model's own server; None when it was not asked."""
        return (
            self.servers.get(_address(model)) if PROVIDERS[model.provider].may_be_ollama else None
        )

    def installed_model(self, model: ResolvedModel) -> InstalledModel | None:
        """Return a model as its own server lists it."""
        server = self.server(model)
        if server is None or not server.is_ollama:
            return None
        from collect.inventory.ollama import canonical  # noqa: PLC0415 - see `look_up`

        return server.installed.get(canonical(model.model))

    def of(self, model: ResolvedModel) -> ResolvedModel:
        """Return a model with what is known of its weights and its CLI."""
        if model.embedded is not None:
            known = self.files.get(model.embedded.model_file)
            model = replace(model, model_build=model.model_build or known)
        if model.executable is not None:
            said = self.versions.get(model.executable)
            line = None if said is None else said.first_line
            version = None if line is None else printable(redact(line))[:MAX_VERSION_CHARS]
            return replace(model, harness_version=model.harness_version or version)
        held = self.installed_model(model)
        return model if held is None else replace(model, model_build=held.digest)

    def warning(self, model: ResolvedModel) -> str | None:
        """Return what to do about a model that its Ollama does not have; None: all is well."""
        server = self.server(model)
        if server is None or not server.is_ollama or self.installed_model(model) is not None:
            return None
        from collect.inventory.ollama import canonical  # noqa: PLC0415 - see `look_up`

        near = nearest(canonical(model.model), server.installed)
        hint = f"did you mean `{near}`? " if near else ""
        pull = shlex.join(["ollama", "pull", model.model])
        return (
            f"model `{model.model_id}`: the Ollama at {model.base_url} has no `{model.model}`; "
            f"{hint}`{pull}` fetches it"
        )


async def look_up(models: Iterable[ResolvedModel]) -> Builds:
    """Ask every server and CLI once, all at the same time, for what is not known yet."""
    models = tuple(models)
    asked = {
        _address(model): model
        for model in models
        if PROVIDERS[model.provider].may_be_ollama
        and model.model_build is None
        and model.embedded is None
    }
    files = dict.fromkeys(
        model.embedded.model_file
        for model in models
        if model.embedded is not None and model.model_build is None
    )
    commands = dict.fromkeys(
        model.executable for model in models if model.executable and model.harness_version is None
    )
    servers, said, hashes = await asyncio.gather(
        asyncio.gather(*(_server(model) for model in asked.values())),
        asyncio.gather(*(output_of(command, "--version") for command in commands if command)),
        asyncio.gather(*(asyncio.to_thread(_sha256, file) for file in files)),
    )
    names = (command for command in commands if command)
    return Builds(
        dict(zip(asked, servers, strict=True)),
        dict(zip(names, said, strict=True)),
        dict(zip(files, hashes, strict=True)),
    )


def with_builds(inputs: RunInputs, builds: Builds) -> RunInputs:
    """Return the inputs with what was found out, and a warning for each model that is not there."""
    warnings = [text for model in inputs.models if (text := builds.warning(model)) is not None]
    models = tuple(builds.of(model) for model in inputs.models)
    return replace(inputs, models=models, warnings=(*inputs.warnings, *warnings))


def _sha256(file: str | None) -> str | None:
    """Return the hash of a model file, or None when it cannot be read."""
    from collect.local.weights import SHA256  # noqa: PLC0415 - few runs serve a model

    try:
        return SHA256 if file is None else sha256_of(Path(file))
    except OSError:
        return None


async def _server(model: ResolvedModel) -> Server:
    from collect.inventory.ollama import OllamaServer, canonical  # noqa: PLC0415 - not every run

    try:
        key = key_of(model)
    except ConfigError:
        return Server(None)
    if model.key_required and not key:
        return Server(None)
    client = OllamaServer(model.base_url, key, is_loopback=model.is_loopback)
    is_ollama, held = await client.listed_models()
    return Server(client, is_ollama, {canonical(one.name): one for one in held})


def _address(model: ResolvedModel) -> Address:
    return model.base_url, model.api_key_env


async def served_models(models: Iterable[ResolvedModel], builds: Builds) -> tuple[ServedModel, ...]:
    """Return a record of each ollama_openai model; one that no Ollama holds says little."""
    asked = [model for model in models if PROVIDERS[model.provider].may_be_ollama]
    return tuple(await asyncio.gather(*(_served(model, builds) for model in asked)))


async def _served(model: ResolvedModel, builds: Builds) -> ServedModel:
    server, held = builds.server(model), builds.installed_model(model)
    if server is None or server.client is None or not server.is_ollama:
        is_ollama = None if server is None else server.is_ollama
        return ServedModel(model_id=model.model_id, is_ollama=is_ollama)
    client = server.client
    if held is None:
        return ServedModel(
            model_id=model.model_id, is_ollama=True, server_version=await client.version()
        )
    version, loaded, details = await asyncio.gather(
        client.version(), client.loaded(), client.details(held.name)
    )
    return ServedModel(
        model_id=model.model_id,
        is_ollama=True,
        server_version=version,
        digest=held.digest,
        parameter_size=held.parameter_size,
        quantization=held.quantization,
        context_length=details.context_length,
        num_ctx=details.num_ctx,
        loaded_context_length=loaded.get(held.name),
    )
