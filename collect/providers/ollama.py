"""Ollama's own API: which models it holds in memory, and letting go of them.

A second model in memory takes the room and the bandwidth that the first one is measured with.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx
import orjson

CHECKS = 5
"""How often is looked whether a model is gone, after 0.5, 1, 1.5 … seconds."""

TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Unloaded:
    """What came of asking a server to let go of its other models."""

    asked: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Still in memory after the last check."""
    error: str | None = None


async def unload_others(base_url: str, keep: str) -> Unloaded:
    """Ask the server behind an OpenAI-compatible address to unload every model but one.

    Args:
        base_url: as the suite has it, ending in `/v1`.
        keep: the model that may stay.

    Returns:
        What was asked for; an `error` when the server is no Ollama or cannot be reached.
    """
    root = base_url.removesuffix("/v1")
    async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
        try:
            others = await _loaded(client, root, keep)
            for name in others:
                body = {"model": name, "keep_alive": 0}
                (await client.post(f"{root}/api/generate", json=body)).raise_for_status()
            left = others
            for check in range(1, CHECKS + 1):
                if not left:
                    break
                await asyncio.sleep(0.5 * check)
                left = await _loaded(client, root, keep)
        except (httpx.HTTPError, orjson.JSONDecodeError, KeyError, TypeError) as exc:
            return Unloaded(error=f"{type(exc).__name__}: {exc}")
    return Unloaded(others, left)


async def _loaded(client: httpx.AsyncClient, root: str, keep: str) -> tuple[str, ...]:
    response = await client.get(f"{root}/api/ps")
    response.raise_for_status()
    names = (str(model["name"]) for model in orjson.loads(response.content)["models"])
    return tuple(name for name in names if name not in {keep, f"{keep}:latest"})
