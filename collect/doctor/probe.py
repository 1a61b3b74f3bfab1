"""Asks one address what it is and which models it has, with the key a run would send and no other.

A key goes to its own address only: the rules (D-H4) were applied when the suite was loaded,
redirects are not followed, and every look of a visit goes to the same host. What may hang (a name
server, a dead network drive) runs in threads where nobody has to wait for it; those of
`asyncio.to_thread` are waited for when the program ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.endpoints import (
    OAUTH_TOKEN,
    PROVIDERS,
    host_of,
    is_loopback,
    key_of,
    url_problem,
)
from collect.doctor.http_get import GET_TIMEOUT_S, GetResult, ProbeClient
from collect.http_client import needs_proxy
from schemas.errors import ConfigError
from schemas.redact import MIN_SECRET_CHARS

Answer = TypeVar("Answer")

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

VISIT_S = 8.5
"""What finding a host and its list of models may take."""

WHOLE_S = 9.5
"""What a visit may take; looks beyond the first are given up then, and what is known is told."""


async def run_in_thread(function: Callable[[], Answer]) -> Answer:
    """Return what a function returns, or raise what it raises; it may be abandoned at any time."""
    future: Future[Answer] = Future()

    def work() -> None:
        with contextlib.suppress(InvalidStateError):  # nobody waits any more
            try:
                future.set_result(function())
            except Exception as exc:  # noqa: BLE001 - handed to the one who waits
                future.set_exception(exc)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(future)


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
    for key in ("id", "model", "name"):
        value = entry.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def version_of(result: GetResult | None) -> str | None:
    """Return the version that an Ollama says it is."""
    data = result.data if result is not None and result.is_good else None
    version = data.get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) and version else None


def kind_of(
    host: str, listing: GetResult, entries: tuple[Entry, ...], *, is_ollama: bool
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


@dataclass(frozen=True, slots=True)
class Address:
    """An address as some models of the suites are asked there."""

    base_url: str
    is_anthropic: bool
    """It speaks Anthropic's API rather than OpenAI's."""
    api_key_env: str | None
    key: str = field(repr=False)

    @classmethod
    def of(cls, model: ResolvedModel) -> Address:
        """Return where a model is asked; a variable that holds no key sends none."""
        try:
            key = key_of(model)
        except ConfigError:
            key = ""
        return cls(model.base_url, PROVIDERS[model.provider].is_anthropic, model.api_key_env, key)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, to be taken out of what is shown; short ones are words like `ollama`."""
        return (self.key,) if len(self.key) >= MIN_SECRET_CHARS else ()

    @property
    def root(self) -> str:
        """Return the address without the `/v1` that OpenAI's API lies below."""
        return self.base_url if self.is_anthropic else self.base_url.removesuffix("/v1")

    @property
    def list_url(self) -> str:
        """Return where the models are listed."""
        return f"{self.base_url}/v1/models" if self.is_anthropic else f"{self.base_url}/models"

    @property
    def sends_key(self) -> bool:
        """Return whether the looks carry the key; a subscription's token is for the CLI alone."""
        return bool(self.key) and self.api_key_env != OAUTH_TOKEN

    def headers(self) -> dict[str, str]:
        """Return the key as this kind of server wants it."""
        version = {"anthropic-version": "2023-06-01"} if self.is_anthropic else {}
        bearer = {"Authorization": f"Bearer {self.key}"}
        key = {"x-api-key": self.key} if self.is_anthropic else bearer
        return version | key if self.sends_key else version


@dataclass(frozen=True, slots=True)
class Visit:
    """What an address said."""

    address: Address
    listing: GetResult
    entries: tuple[Entry, ...] | None = None
    """The models on its list; None: there is no list."""
    kind: Kind | None = None
    version: str | None = None
    below_v1: bool = False
    """The list is not where it was looked for, but below `/v1` of the address."""
    about_key: GetResult | None = None
    """What a page says that needs the key, where the list does not need it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the listed models."""
        return tuple(name_of(entry) for entry in self.entries or ())


def usual_places() -> tuple[Address, ...]:
    """Return where a local Ollama is found, for when no suite names an address."""
    ollama = PROVIDERS["ollama_openai"]
    base_url = ollama.base_url(None)
    if url_problem(base_url):
        return ()
    return (Address(base_url, is_anthropic=False, api_key_env=None, key=""),)


async def visit(address: Address) -> Visit:
    """Return what an address says of itself; never raises for the other side."""
    started, ends = time.perf_counter(), asyncio.get_running_loop().time() + WHOLE_S
    client = ProbeClient(address.base_url, is_loopback=is_loopback(host_of(address.base_url)))
    try:
        async with asyncio.timeout(VISIT_S):
            said = await _first(address, client)
    except TimeoutError:
        ms = (time.perf_counter() - started) * 1000
        return Visit(address, GetResult(address.list_url, ms, trouble="timeout", error="too slow"))
    else:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends):
                return await _more(said, client)
        return said
    finally:
        await client.aclose()


async def _first(slot: Address, client: ProbeClient) -> Visit:
    """Return what the list of models says, and whether an Ollama says it."""
    host, headers = host_of(slot.base_url), slot.headers()
    unknown = await _unknown_host(slot.base_url)
    if unknown is not None:
        return Visit(slot, unknown)
    listing, about = await asyncio.gather(
        client.get(slot.list_url, headers),
        _nothing() if host in HOSTS else client.get(f"{slot.root}/api/version", headers),
    )
    entries = entries_of(listing.data) if listing.is_good else None
    version = version_of(about)
    kind = kind_of(host, listing, entries or (), is_ollama=version is not None)
    return Visit(slot, listing, entries, kind, version)


async def _more(said: Visit, client: ProbeClient) -> Visit:
    """Return the visit with what the first answers gave reason to ask."""
    place, listing, headers = said.address, said.listing, said.address.headers()
    if said.version is not None and not said.entries:  # an empty Ollama lists `null`
        tags = await client.get(f"{place.root}/api/tags", headers)
        if tags.is_good and (entries := entries_of(tags.data)) is not None and listing.is_good:
            return replace(said, entries=entries)
    if said.entries is None:
        if listing.status is None or place.is_anthropic or place.base_url.endswith("/v1"):
            return said
        again = await client.get(f"{place.base_url}/v1/models", headers)
        return replace(said, below_v1=again.is_good and entries_of(again.data) is not None)
    if place.sends_key and said.kind in {"OpenRouter", "llama.cpp"}:
        openrouter = said.kind == "OpenRouter"
        url = f"{place.base_url}/key" if openrouter else f"{place.root}/props"
        return replace(said, about_key=await client.get(url, headers))
    return said


async def _nothing() -> None:
    """Stand in for a look that is not made."""


async def _unknown_host(base_url: str) -> GetResult | None:
    """Return a look at a host that has no address, or None; a proxy looks names up itself."""
    where = urlsplit(base_url)
    if not is_loopback(where.hostname or "") and needs_proxy(base_url):
        return None
    started = time.perf_counter()
    try:
        async with asyncio.timeout(GET_TIMEOUT_S):
            await run_in_thread(lambda: socket.getaddrinfo(where.hostname, where.port or 443))
    except TimeoutError:
        error = f"no name server answered within {GET_TIMEOUT_S:g} s"
    except (OSError, UnicodeError) as exc:
        error = str(exc)
    else:
        return None
    ms = (time.perf_counter() - started) * 1000
    return GetResult(base_url, ms, trouble="dns", error=error)
