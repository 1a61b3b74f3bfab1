"""What an Ollama says of the models it holds, and letting go of those in memory.

Queries use our own transport; only unloading uses httpx. Any server behind an OpenAI-compatible
address may be queried. One that does not answer like an Ollama is none: llama.cpp returns 404,
others 200 with something else. A second model in memory would take memory and bandwidth from the
one that is measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson
from pydantic import JsonValue

from collect.http_client import Exchange, Target, WireError, WireTransport, needs_proxy
from schemas.errors import printable
from schemas.redact import redact

if TYPE_CHECKING:
    import httpx

QUERY_TIMEOUT_S = 2.0
"""Of one question, connecting included."""

MAX_NAME_CHARS = 200
"""Characters of a name or version; no real one is longer."""

HEX = frozenset("0123456789abcdef")

CHECKS = 5
"""How often is looked whether a model is gone, after 0.5, 1, 1.5 … seconds."""

UNLOAD_TIMEOUT_S = 10.0
"""Of one request while models are unloaded."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that an Ollama holds, as its list says."""

    name: str
    digest: str
    """sha256 of its manifest: weights, template and parameters."""
    parameter_size: str | None = None
    quantization: str | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """What an Ollama says of one model beyond its list."""

    context_length: int | None = None
    num_ctx: int | None = None


class OllamaServer:
    """One server behind an OpenAI-compatible address."""

    def __init__(self, base_url: str, key: str, *, is_loopback: bool) -> None:
        """Ask nothing yet; what stands before `/v1` is the server's root.

        A key is sent as a run sends it. No proxy stands before an address of this machine.
        """
        self._root = base_url.removesuffix("/v1")
        self._headers = {"Accept": "application/json", "User-Agent": "benchlake"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._is_loopback = is_loopback

    async def listed_models(self) -> tuple[bool | None, tuple[InstalledModel, ...]]:
        """Return whether an Ollama answers there, None when nobody does, and what it holds."""
        answered, said = await self._ask("/api/tags")
        if not answered:
            return None, ()
        models = said.get("models") if isinstance(said, dict) else None
        if not isinstance(models, list):
            return False, ()
        held = tuple(one for model in models if (one := _parse_installed(model)) is not None)
        return len(held) == len(models), held

    async def version(self) -> str | None:
        """Return the server's version."""
        return _text(_get((await self._ask("/api/version"))[1], "version"))

    async def loaded(self) -> dict[str, int | None]:
        """Return the models in memory, each with the context it was loaded with."""
        models = _get((await self._ask("/api/ps"))[1], "models")
        return {
            name: _count(_get(model, "context_length"))
            for model in (models if isinstance(models, list) else ())
            if (name := _text(_get(model, "name"))) is not None
        }

    async def details(self, name: str) -> Details:
        """Return what is known of one model."""
        said = (await self._ask("/api/show", {"model": name}))[1]
        info = _get(said, "model_info")
        family = _text(_get(info, "general.architecture"))
        return Details(_count(_get(info, f"{family}.context_length")), _num_ctx(said))

    async def _ask(self, path: str, body: JsonValue = None) -> tuple[bool, JsonValue]:
        """Return whether anybody answered, and the JSON of an answer with status 200."""
        exchange = Exchange()
        try:
            target = Target.of(self._root + path, self._headers)
            if not self._is_loopback and needs_proxy(target.url):
                return False, None  # unknown, for want of a client that knows proxies
            if body is None:
                target = replace(target, head=b"GET" + target.head.removeprefix(b"POST"))
            async with asyncio.timeout(QUERY_TIMEOUT_S):
                transport = WireTransport()
                try:
                    sent = b"" if body is None else orjson.dumps(body)
                    await transport.post(target, sent, exchange)
                finally:
                    await transport.aclose()
            return True, orjson.loads(exchange.body()) if exchange.status == 200 else None
        except orjson.JSONDecodeError:
            return True, None
        except (WireError, OSError, ValueError):  # nobody there, in time; or no such address
            return False, None


def canonical(name: str) -> str:
    """Return a model's name as Ollama compares it: `llama3.2` is `llama3.2:latest`."""
    name = name.casefold().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _parse_installed(model: JsonValue) -> InstalledModel | None:
    """Return one row of the list; None when it is no row of an Ollama's."""
    name, digest = _text(_get(model, "name")), _get(model, "digest")
    if name is None or not isinstance(digest, str):
        return None
    digest = digest.removeprefix("sha256:")
    if len(digest) != 64 or not HEX.issuperset(digest):
        return None
    details = _get(model, "details")
    size, quantization = _get(details, "parameter_size"), _get(details, "quantization_level")
    return InstalledModel(name, digest, _text(size), _text(quantization))


def _num_ctx(said: JsonValue) -> int | None:
    """Return the context that the model's own parameters set: `num_ctx 8192` on a line."""
    parameters = _get(said, "parameters")
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal():
            return int(words[1][:12])
    return None


def _get(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, Mapping) else None


def _text(value: JsonValue) -> str | None:
    """Return a text of the server as something that may be kept and shown."""
    return printable(redact(value))[:MAX_NAME_CHARS] if isinstance(value, str) and value else None


def _count(value: JsonValue) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if fits and isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class Unloaded:
    """What came of asking a server to let go of its other models."""

    requested: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    """Still in memory after the last check."""
    error: str | None = None


async def unload_others(base_url: str, keep: str) -> Unloaded:
    """Ask the server behind an OpenAI-compatible address to unload every model but one.

    Returns:
        What was asked for; an `error` when the server is no Ollama or cannot be reached.
    """
    root = base_url.removesuffix("/v1")
    import httpx  # noqa: PLC0415 - few runs unload a model, and none waits for this otherwise

    async with httpx.AsyncClient(timeout=UNLOAD_TIMEOUT_S, trust_env=False) as client:
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
