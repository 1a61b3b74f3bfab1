"""A proxy on this machine, between the Claude Code CLI and the server that it asks.

The tool gets a password for one call and never the key: the key is added behind the proxy and goes
to the suite's own server, since no redirect is followed here. (The Claude Code CLI follows one to
any host and takes its key along.)

Our own transport stamps what passes, so that latency is that of the wire. The CLI reports less: it
gives no status of a good answer, does not notice a stream that ends without its end marker, and
its times include its own work. Its output is used only for what it alone knows.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from collect.http_client import Deadline, Exchange, Target, Transport, WireError
from collect.http_client.door import Answer, Door, HandedOn, Knock
from collect.providers import http_reply
from collect.providers.base import NOT_READ, Reply
from collect.providers.http import events

NOT_PASSED_ON = frozenset(
    {"host", "connection", "keep-alive", "content-length", "accept-encoding", "transfer-encoding",
     "x-api-key", "authorization", "proxy-authorization", "cookie", "te", "upgrade", "expect"}
)  # fmt: skip
"""Headers that are ours to write, or that belong to the connection."""


@dataclass
class Call:
    """One call of the tool: its password, and the one request that it may make with it."""

    password: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    exchange: Exchange | None = None
    failure: WireError | None = None
    """Why the exchange broke off."""
    timeout_s: float | None = None
    """How long the server may take, from the moment the request is here."""
    requests: set[asyncio.Task[Any]] = field(default_factory=set)
    """Those under way; they end with it, since nobody is left to read."""


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

    def __post_init__(self) -> None:
        """Make the door, which is closed."""
        self._door = Door(self._answer)

    async def url(self) -> str:
        """Return where the tool may knock; the first time opens the proxy."""
        return await self._door.open_port()

    @contextmanager
    def call(self, timeout_s: float | None = None) -> Iterator[Call]:
        """Let one call of the tool in; what it still asks afterwards is broken off."""
        call = Call(timeout_s=timeout_s)
        self._calls[call.password] = call
        try:
            yield call
        finally:
            del self._calls[call.password]
            for request in call.requests:
                request.cancel()

    async def aclose(self) -> None:
        """Close the proxy and what is behind it."""
        await self._door.aclose()
        await self.transport.aclose()

    async def _answer(self, knock: Knock, answer: Answer) -> None:
        if knock.method in {"HEAD", "GET"}:
            answer.empty(200)  # whether somebody is there, which tools like to know first
            return
        call = self._call_of(knock)
        if call is None:
            answer.refuse(401, "not the password of a call")
        elif knock.method != "POST" or not knock.path.startswith(self.path):
            answer.refuse(404, "nothing is asked here but a model")
        elif call.exchange is not None:
            answer.refuse(400, "a call asks once")
        else:
            await self._forward(call, knock, answer)

    def _call_of(self, knock: Knock) -> Call | None:
        for password, call in self._calls.items():
            if hmac.compare_digest(password.encode(), knock.password.encode()):
                return call
        return None

    async def _forward(self, call: Call, knock: Knock, answer: Answer) -> None:
        kept = {
            name: value
            for name, value in knock.headers.items()
            if name not in NOT_PASSED_ON and value.isascii()
        }
        if (request := asyncio.current_task()) is not None:
            call.requests.add(request)
        call.exchange = exchange = HandedOn(answer)
        target = Target.of(
            f"{self.base_url}{knock.path}", kept | {"accept-encoding": "identity", **self.secret}
        )
        try:
            async with Deadline(call.timeout_s, exchange):
                await self.transport.post(target, knock.body, exchange)
        except TimeoutError:
            message = f"no complete answer within {call.timeout_s:g} s"
            call.failure = WireError(message, "timeout", "timeout")
        except WireError as exc:
            call.failure = exc
        except Exception as exc:  # noqa: BLE001 - a mistake of ours: told by the trial, not by a log
            call.failure = WireError(f"{type(exc).__name__}: {exc}", "exception", "door")
        if call.failure is None:
            answer.end()
        elif not answer.is_begun:
            answer.refuse(502, "the server broke off")


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
