"""A proxy on this machine, between the Claude Code CLI and the server that it asks.

The tool gets a password for one call and never the key: the key is added behind the proxy and goes
to the suite's own server, since no redirect is followed here. (The Claude Code CLI follows one to
any host and takes its key along.) The tool gets an answer only once it is complete, since nobody
watches it stream.

Our own transport stamps what passes, so that latency is that of the wire. The CLI reports less: it
gives no status of a good answer, does not notice a stream that ends without its end marker, and
its times include its own work. Its output is used only for what it alone knows.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from collect.http_client import Deadline, Exchange, Target, Transport, WireError
from collect.providers import http_reply
from collect.providers.base import NOT_READ, Reply
from collect.providers.http import events

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 64_000_000
"""Bytes of a request; more is no prompt."""

NOT_PASSED_ON = frozenset(
    {"host", "connection", "keep-alive", "content-length", "accept-encoding", "transfer-encoding",
     "x-api-key", "authorization", "proxy-authorization", "cookie", "te", "upgrade", "expect"}
)  # fmt: skip
"""Headers that are ours to write, or that belong to the connection."""

NOT_GIVEN_BACK = frozenset(
    {b"connection", b"keep-alive", b"content-length", b"content-encoding", b"transfer-encoding",
     b"location", b"set-cookie", b"upgrade", b"trailer"}
)  # fmt: skip
"""Headers of an answer that are ours to write, or lead elsewhere."""


OVER = (
    *(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError),
    asyncio.CancelledError,  # by us alone, at the end of a call: nobody waits for a visit
)
"""How a connection of the tool may end."""


@dataclass
class Call:
    """One call of the tool: its password, and the one request that it may make with it."""

    password: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    exchange: Exchange | None = None
    failure: WireError | None = None
    """Why the exchange broke off."""
    timeout_s: float | None = None
    """How long the server may take, from the moment the request is here."""
    visits: set[asyncio.Task[None]] = field(default_factory=set)
    """Its connections; they end with it, since nobody is left to read."""


@dataclass(eq=False, repr=False)
class Proxy:
    """Listens on loopback while a provider lives."""

    base_url: str
    """Of the server behind the proxy."""
    path: str
    """What may be posted to, with all below it."""
    secret: Mapping[str, str]
    """Headers that are added, such as the key; empty: the server wants none."""
    transport: Transport
    """Carries what passes."""
    _calls: dict[str, Call] = field(default_factory=dict)
    _server: asyncio.Server | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _visits: set[asyncio.Task[None]] = field(default_factory=set)

    async def url(self) -> str:
        """Return where the tool may knock; the first time opens the proxy."""
        async with self._opening:
            if self._server is None:
                self._server = await asyncio.start_server(
                    self._visit, "127.0.0.1", 0, limit=MAX_HEAD_BYTES
                )
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @contextmanager
    def call(self, timeout_s: float | None = None) -> Iterator[Call]:
        """Let one call of the tool in; what it still asks afterwards is broken off."""
        call = Call(timeout_s=timeout_s)
        self._calls[call.password] = call
        try:
            yield call
        finally:
            del self._calls[call.password]
            for visit in call.visits:
                visit.cancel()

    async def aclose(self) -> None:
        """Close the proxy and what is behind it."""
        if self._server is not None:
            self._server.close()
            for visit in self._visits:
                visit.cancel()
            await asyncio.gather(*self._visits, return_exceptions=True)
        await self.transport.aclose()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        assert visit is not None
        self._visits.add(visit)
        visit.add_done_callback(self._visits.discard)
        with suppress(*OVER):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *lines = head.strip().split("\r\n")
                method, path, _ = line.split(" ", 2)
                pairs = (one.partition(":") for one in lines)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                length = int(headers.get("content-length", 0))
                if not 0 <= length <= MAX_BODY_BYTES or "transfer-encoding" in headers:
                    break
                body = await reader.readexactly(length)
                writer.write(await self._answer(method, path, headers, body))
                await writer.drain()
                if self._is_cut(headers):
                    break
        writer.close()

    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        if method in {"HEAD", "GET"}:
            return _response(200)  # whether somebody is there, which tools like to know first
        call = self._call_of(headers)
        if call is None:
            return _response(401, _error("authentication_error", "not the password of a call"))
        if method != "POST" or not path.startswith(self.path):
            return _response(404, _error("not_found_error", "nothing is asked here but a model"))
        if call.exchange is not None:
            return _response(400, _error("invalid_request_error", "a call asks once"))
        return await self._forward(call, path, headers, body)

    def _is_cut(self, headers: Mapping[str, str]) -> bool:
        """Return whether what was handed on is no whole answer, and must not look like one."""
        call = self._call_of(headers)
        return call is not None and call.failure is not None

    def _call_of(self, headers: Mapping[str, str]) -> Call | None:
        said = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        for password, call in self._calls.items():
            if hmac.compare_digest(password.encode(), said.encode()):
                return call
        return None

    async def _forward(
        self, call: Call, path: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        kept = {
            name: value
            for name, value in headers.items()
            if name not in NOT_PASSED_ON and value.isascii()
        }
        if (visit := asyncio.current_task()) is not None:
            call.visits.add(visit)
        call.exchange = exchange = Exchange()
        target = Target.of(
            f"{self.base_url}{path}", kept | {"accept-encoding": "identity", **self.secret}
        )
        try:
            async with Deadline(call.timeout_s, exchange):
                await self.transport.post(target, body, exchange)
        except TimeoutError:
            message = f"no complete answer within {call.timeout_s:g} s"
            call.failure = WireError(message, "timeout", "timeout")
        except WireError as exc:
            call.failure = exc
        except Exception as exc:  # noqa: BLE001 - a mistake of ours: told by the trial, not by a log
            call.failure = WireError(f"{type(exc).__name__}: {exc}", "exception", "door")
        if call.failure is not None and not exchange.status:
            return _response(502, _error("api_error", "the server broke off"))
        given = [pair for pair in exchange.headers.items() if pair[0] not in NOT_GIVEN_BACK]
        missing = 0 if call.failure is None else 1
        return _response(exchange.status, exchange.body(), given, missing)


def _error(kind: str, message: str) -> bytes:
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


def _response(
    status: int,
    body: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
    missing: int = 0,
) -> bytes:
    """Return an answer; with `missing` bytes it is one that was cut."""
    named = headers or [(b"content-type", b"application/json")]
    lines = [b"HTTP/1.1 %d -" % status, b"Content-Length: %d" % (len(body) + missing)]
    lines += [b"%s: %s" % pair for pair in named]
    return b"\r\n".join([*lines, b"", body])


def with_the_wire(reply: Reply, call: Call) -> Reply:
    """Return what the CLI brought, with the facts of the wire."""
    exchange = call.exchange
    if exchange is None:  # the CLI never asked
        return replace(reply, accepted=False)
    failure = None if call.failure is None else http_reply.broken(call.failure, exchange)
    if failure is None and not exchange.complete:  # we ended the CLI before its answer was there
        return replace(reply, accepted=exchange.accepted)
    wire = http_reply.read_answer(exchange, failure, _read_stream, _read_whole)
    facts = replace(
        reply,
        http_status=wire.http_status,
        e2e_ms=wire.e2e_ms,
        ttft_ms=wire.ttft_ms,
        accepted=exchange.accepted,
        requests=max(1, exchange.requests),
        retry_after_s=wire.retry_after_s if wire.retry_after_s is not None else reply.retry_after_s,
    )
    if wire.failure_type is None and reply.failure_type == "timeout":
        message = "the answer was there in time, and the command did not read it to its end"
        return facts.failed("cli_error", error_code=NOT_READ, error_message=message)
    is_limit = reply.failure_type == "http_429"  # the CLI knows a used-up plan by its words
    if wire.failure_type is None or is_limit:
        return facts
    return facts.failed(
        wire.failure_type, error_code=wire.error_code, error_message=wire.error_message
    )


def _read_stream(exchange: Exchange) -> Reply:
    """Return the times of a stream of the Messages API, or why it is not whole.

    llama.cpp leaves `message_start` out of an answer that begins with a character of several
    tokens; the CLI can make nothing of that.
    """
    first_text, has_begun = None, False
    try:
        for event, end in events(exchange.body()):
            data = orjson.loads(event)
            kind = data.get("type") if isinstance(data, dict) else None
            if kind == "message_start":
                has_begun = True
            elif kind == "content_block_delta":
                delta = data.get("delta")
                if first_text is None and isinstance(delta, dict) and delta.get("text"):
                    first_text = exchange.moment_of(end)
            elif kind == "message_stop":
                if not has_begun:
                    return http_reply.malformed(
                        Reply(), http_reply.Malformed("a message that never began")
                    )
                return Reply(
                    e2e_ms=http_reply.since_written(exchange, exchange.moment_of(end)),
                    ttft_ms=http_reply.since_written(exchange, first_text),
                )
            elif kind == "error":
                return http_reply.error_event(Reply(), *http_reply.error_of(data))
    except orjson.JSONDecodeError as exc:
        return http_reply.malformed(Reply(), exc)
    return http_reply.no_end(Reply())


def _read_whole(data: Any) -> Reply:
    """Refuse what is no stream: the CLI asks for nothing else."""
    what = "a JSON object" if isinstance(data, dict) else type(data).__name__
    message = f"{what} came where a stream was asked for"
    raise http_reply.Malformed(message)
