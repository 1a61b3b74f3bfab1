"""One model behind an HTTP API that takes JSON and answers with JSON or server-sent events.

Streaming is the default, since only a stream shows the time to the first token. e2e_ms starts
when the first request byte is written, so waiting for a connection is not booked to the model.
Requests are carried by our own HTTP/1.1, or by httpx where it is asked for or needed. Events are
read as in WHATWG HTML, section 9.2.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any, ClassVar

import orjson
from pydantic import JsonValue

from collect import http_client
from collect.config import ResolvedModel
from collect.config.endpoints import PROVIDERS
from collect.http_client.pool import CompletionQueue
from collect.providers.base import Prepared, Reply, Request
from collect.providers.http_reply import broken, read_answer
from collect.providers.ignored_settings import ignored
from schemas.errors import ConfigError, Problem

MAX_INLINE_PIECES = 2_000
"""Pieces of an answer above which it is read beside the event loop, which others wait for."""

MAX_INLINE_BYTES = 1_000_000
"""Bytes of an answer above which it is read there as well."""

MAX_NOTES = 10
"""Sentences about one model; a server may name another model in every answer."""

OF_A_TOOL = frozenset({"messages", "input", "stream", "store", "include"})
"""Parts of a body that are the tool's business where a tool asks: what it says, and how."""

STREAM_REFUSED = "the server refuses `stream`: asked without, time to first token is unknown"

SCHEMA_REFUSED = (
    "the server refuses a JSON Schema of the answer: asked without, the prompt alone says it"
)

OF_A_SCHEMA = ("response_format", "json_schema", "text.format", "structured output", "grammar")
"""What an error speaks of where a server takes no schema, or not this one."""

END_MARKER = b"[DONE]"
"""The data of the event that ends a stream of a chat completion."""

HEADER = re.compile(r"[!-~][ -~]{0,2000}")
"""A value of a header that a tool may have us send."""

LONE_CR = re.compile(rb"\r(?!\n)")
"""The end of a line, as LF and CR LF are."""


def target_of(url: str, headers: Mapping[str, str]) -> http_client.Target:
    """Return where requests are posted to.

    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        return http_client.Target.of(url, headers)
    except ValueError as exc:
        raise ConfigError([Problem(None, f"`{url}` cannot be asked: {exc}")]) from exc


def carrier_of(model: ResolvedModel, completions: CompletionQueue | None) -> http_client.Transport:
    """Return what carries the requests of a model.

    The setting `transport` may ask for httpx, and a proxy of the environment is reached through it
    too; a proxy is no part of this machine.

    Raises:
        ConfigError: the proxy that the environment names cannot be used.
    """
    wanted = model.settings.get("transport")
    stock = wanted is not None and wanted.value == "httpx"
    proxied = not model.is_loopback and http_client.needs_proxy(model.base_url)
    if not (stock or proxied):
        return http_client.WireTransport(completions)
    from collect.http_client.httpx_client import StockTransport  # noqa: PLC0415 - rarely needed, slow to load

    try:
        return StockTransport(
            max_connections=model.max_concurrency, trust_env=not model.is_loopback
        )
    except (ImportError, ValueError) as exc:
        what = f"the proxy that the environment names cannot be used: {exc}"
        raise ConfigError([Problem(None, what)]) from exc


class OverHttp(ABC):
    """One model behind one address; a subclass knows the body and how to read the answer."""

    path: ClassVar[str]
    """Below the base URL."""
    end: ClassVar[re.Pattern[bytes] | None]
    """What ends a stream before the body does; None: the body's own end."""
    handed_on: ClassVar[frozenset[str]] = frozenset()
    """Headers of a tool's request, by lower-case name, without which its body is refused."""

    def __init__(
        self, model: ResolvedModel, api_key: str | None, completions: CompletionQueue | None = None
    ) -> None:
        """Open nothing yet.

        Raises:
            ConfigError: the address or the proxy that the environment names cannot be used.
        """
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "User-Agent": "benchlake",
            "Content-Type": "application/json",
        }
        headers |= self.key_headers(api_key)
        self.model = model
        self._streams = self._takes_schemas = True
        self._noted: set[str] = set()
        self._target = target_of(f"{model.base_url}{self.path}", headers)
        self._transport = carrier_of(model, completions)

    def key_headers(self, api_key: str | None) -> dict[str, str]:
        """Return what says who asks: a key is sent as a bearer token."""
        return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}

    @property
    def tool_path(self) -> str:
        """Where a tool asks that was given the address of a server and knows its API."""
        return f"/v1{self.path.removeprefix('/v1')}"

    @abstractmethod
    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return what is sent; settings left out are the server's to choose."""

    @abstractmethod
    def read_stream(self, exchange: http_client.Exchange) -> Reply:
        """Return what a stream of events says."""

    @abstractmethod
    def read_whole(self, data: Any) -> Reply:
        """Return what an answer of one JSON value says; raises `Malformed`."""

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    def prepare(self, request: Request) -> Prepared:
        """Return a request as JSON; what a server refused to do it is not asked to again."""
        if not self._takes_schemas:
            request = replace(request, answer_schema=None)
        body = self.body(request, stream=request.stream and self._streams)
        body.update(self.model.request_options)
        return Prepared(request, body, orjson.dumps(body))

    async def ask(self, prepared: Prepared) -> Reply:
        """Send one request; a server that refuses to stream is asked once more without."""
        stale = prepared.request.answer_schema is not None and not self._takes_schemas
        if stale or (prepared.body["stream"] and not self._streams):
            prepared = self.prepare(prepared.request)
        reply = await self._ask(prepared)
        notes: list[str] = []
        if prepared.body["stream"] is True and _refuses(reply, "stream"):
            self._streams = False
            notes.append(STREAM_REFUSED)
            again = await self._ask(self.prepare(prepared.request))
            reply = replace(again, requests=reply.requests + again.requests)
        elif prepared.request.answer_schema is not None and _refuses(reply, *OF_A_SCHEMA):
            self._takes_schemas = False
            notes.append(SCHEMA_REFUSED)
            again = await self._ask(self.prepare(prepared.request))
            reply = replace(again, requests=reply.requests + again.requests)
        elif reply.failure_type is None:
            notes += ignored(prepared.body, reply)
        fresh = tuple(dict.fromkeys(note for note in notes if note not in self._noted))
        fresh = fresh[: max(0, MAX_NOTES - len(self._noted))]
        if not fresh:
            return reply
        self._noted.update(fresh)  # each is said once a run
        return replace(reply, notes=(*reply.notes, *fresh))

    def relayed(
        self, body: Mapping[str, JsonValue], request: Request, headers: Mapping[str, str]
    ) -> Prepared:
        """Return a request that a tool has written, with the settings of ours in it.

        Args:
            body: the tool's; its messages, its tools and whether it streams stay.
            request: whose settings stand in place of the tool's own.
            headers: the tool's, by lower-case name; those are sent that its body needs.
        """
        streams = body.get("stream") is True
        ours = self.body(request, stream=streams) | dict(self.model.request_options)
        settings = {name: one for name, one in ours.items() if name not in OF_A_TOOL}
        limits = set(PROVIDERS[self.model.provider].limits)
        replaced = limits if limits & settings.keys() else set()  # a server takes one of them
        kept = {name: one for name, one in body.items() if name not in replaced}
        whole: dict[str, JsonValue] = {**kept, **settings, "stream": streams}
        given = {name: one for name, one in headers.items() if name in self.handed_on}
        sent = {name: one for name, one in given.items() if HEADER.fullmatch(one)}
        return Prepared(request, whole, orjson.dumps(whole), sent)

    async def relay(self, prepared: Prepared, exchange: http_client.Exchange) -> Reply:
        """Send a tool's request once, and return what came of it; `exchange` takes the answer."""
        return await self._ask(prepared, exchange)

    async def _ask(self, prepared: Prepared, exchange: http_client.Exchange | None = None) -> Reply:
        if exchange is None:
            exchange = http_client.Exchange(self.end if prepared.body["stream"] else None)
        timeout_s, target = prepared.request.timeout_s, self._target
        if prepared.headers:
            target = target_of(target.url, {**target.headers, **prepared.headers})
        failure = None
        try:
            async with http_client.Deadline(timeout_s, exchange):
                await self._transport.post(target, prepared.raw, exchange)
        except TimeoutError:
            message = f"no complete answer within {timeout_s:g} s"
            failure = Reply(failure_type="timeout", error_code="timeout", error_message=message)
        except http_client.WireError as exc:
            failure = broken(exc, exchange)
        reading = (exchange, failure, self.read_stream, self.read_whole)
        if exchange.pieces > MAX_INLINE_PIECES or exchange.size > MAX_INLINE_BYTES:
            reply = await asyncio.to_thread(read_answer, *reading)
        else:
            reply = read_answer(*reading)
        return reply if exchange.requests < 2 else replace(reply, requests=exchange.requests)


def _refuses(reply: Reply, *words: str) -> bool:
    """Return whether a server takes a request for wrong, and speaks of one of some words."""
    said = (reply.error_message or "").lower()
    is_wrong = reply.failure_type in {"http_400", "http_422", "http_501"}
    return is_wrong and any(word in said for word in words)


def events(raw: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the data of every event in `raw` and the offset at which the event was complete.

    An event without its closing blank line is torn and left out; only an end marker is taken so,
    since some servers end there.
    """
    if raw.count(b"\r") != raw.count(b"\r\n"):
        raw = LONE_CR.sub(b"\n", raw)
    lines = BytesIO(raw)
    offset = 0
    if raw.startswith(BOM_UTF8):
        offset = lines.seek(len(BOM_UTF8))
    data: list[bytes] = []
    for ended in lines:
        offset += len(ended)
        line = ended.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line == b"data":
            data.append(b"")
        elif not line and data:
            if event := _joined(data):
                yield event, offset
            data = []
    if data and _joined(data) == END_MARKER:
        yield END_MARKER, offset


def _joined(data: list[bytes]) -> bytes:
    return data[0] if len(data) == 1 else b"\n".join(data)
