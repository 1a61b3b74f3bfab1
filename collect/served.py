"""What the servers of local models say of them, for the record of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from collect.config import ResolvedModel
from collect.inventory.model_builds import Builds
from schemas.run.inventory import ServedModel


async def served_models(models: Iterable[ResolvedModel], builds: Builds) -> tuple[ServedModel, ...]:
    """Return a record of each ollama_openai model; one that no Ollama holds says little."""
    asked = [model for model in models if model.provider == "ollama_openai"]
    return tuple(await asyncio.gather(*(_served(model, builds) for model in asked)))


async def _served(model: ResolvedModel, builds: Builds) -> ServedModel:
    server, held = builds.server(model), builds.held(model)
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
