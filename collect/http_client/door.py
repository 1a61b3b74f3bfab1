"""A door on this machine through which a tool asks a model: HTTP/1.1 in, answers out as they come.

The tool knows no key and reaches nothing else. Any number of requests are answered at once. An
answer is handed on piece by piece; one that breaks off is cut, so that it never looks whole. A tool
that goes away takes its request with it: nobody is left to read, and a server would go on at the
user's cost.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from collect.http_client.exchange import Exchange

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 64_000_000
"""Bytes of a request; more is no prompt."""

LONG_BODY_BYTES = 1_000_000
"""A request that is longer takes so much memory that few are held at once."""

LOOK_S = 0.2
"""Between two looks whether a tool that says no more is still there."""

NOT_GIVEN_BACK = frozenset(
    {b"connection", b"keep-alive", b"content-length", b"content-encoding", b"transfer-encoding",
     b"location", b"set-cookie", b"upgrade", b"trailer"}
)  # fmt: skip
"""Headers of an answer that are ours to write, or lead elsewhere."""

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    502: "api_error",
}
"""What the usual APIs call an error of these statuses."""

JSON = ((b"content-type", b"application/json"),)

OVER = (
    *(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError),
    asyncio.CancelledError,  # by us alone, when the door closes: nobody waits for a visit
)
"""How a connection of the tool may end."""


@dataclass(frozen=True, slots=True)
class Knock:
    """One request of a tool."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def password(self) -> str:
        """What the tool says instead of a key."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer


class Answer:
    """What a tool is answered; written as it comes."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.is_begun = self.is_whole = False

    def begin(self, status: int, headers: Iterable[tuple[bytes, bytes]] = JSON) -> None:
        """Write the head of an answer whose length nobody knows yet."""
        self.is_begun = True
        given = [b"%s: %s" % pair for pair in headers if pair[0] not in NOT_GIVEN_BACK]
        lines = [b"HTTP/1.1 %d -" % status, b"Transfer-Encoding: chunked", *given, b"", b""]
        self._writer.write(b"\r\n".join(lines))

    def send(self, data: bytes) -> None:
        """Write a piece of the body."""
        if data:
            self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """Write the end of an answer that is whole."""
        self.is_whole = True
        self._writer.write(b"0\r\n\r\n")

    def empty(self, status: int) -> None:
        """Write an answer without a body."""
        self.is_begun = self.is_whole = True
        self._writer.write(b"HTTP/1.1 %d -\r\nContent-Length: 0\r\n\r\n" % status)

    def refuse(self, status: int, message: str) -> None:
        """Write an answer of ours in the shape that the usual APIs have for errors."""
        self.begin(status)
        error = {"type": KINDS[status], "message": message}
        self.send(orjson.dumps({"type": "error", "error": error}))
        self.end()


class HandedOn(Exchange):
    """An exchange of which every piece is handed on the moment it is there."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Answer, end: object = None) -> None:
        """Take where to hand it on, and what marks the end of the body."""
        super().__init__(end)  # type: ignore[arg-type]
        self._answer = answer

    def begin(self, status: int, headers: dict[bytes, bytes]) -> None:
        """Take the head of the answer and hand it on."""
        super().begin(status, headers)
        self._answer.begin(status, headers.items())

    def add(self, moment: float, data: bytes, pieces: int = 1) -> bool:
        """Take in what arrived of the body and hand it on, decoded."""
        before = self.size
        is_end = super().add(moment, data, pieces)
        self._answer.send(bytes(self._body[before:]))
        return is_end


Handler = Callable[[Knock, Answer], Awaitable[None]]
"""Answers one request; an answer that it leaves without an end is cut."""


@dataclass(eq=False, repr=False)
class Door:
    """Listens for a tool until it is closed.

    Args:
        handler: of each request.
        max_visits: connections at once; more are closed, since each takes a file and memory.
        max_long_bodies: requests of more than `LONG_BODY_BYTES` at once; more wait to be read.
    """

    handler: Handler
    max_visits: int = 10_000
    max_long_bodies: int = 100
    _server: asyncio.Server | None = None
    _more: list[asyncio.Server] = field(default_factory=list)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _visits: set[asyncio.Task[None]] = field(default_factory=set)
    _is_closed: bool = False
    _room: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Make room for long requests."""
        self._room = asyncio.Semaphore(self.max_long_bodies)

    async def open_port(self) -> str:
        """Listen on loopback, from the first call on, and return the address."""
        async with self._opening:
            if self._server is None:
                self._server = await asyncio.start_server(
                    self._visit, "127.0.0.1", 0, limit=MAX_HEAD_BYTES
                )
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def open_socket(self, path: Path) -> None:
        """Listen on a socket in the file system, which every user may write to.

        On Linux its folder may lie as deep as it likes: the kernel takes a path of 107 bytes, and
        the number of an open folder stands for all of it.

        Raises:
            OSError: its path is longer than the kernel takes, or its folder is not there.
        """
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            place = f"/proc/self/fd/{folder}/{path.name}" if sys.platform == "linux" else str(path)
            self._server = await asyncio.start_unix_server(self._visit, place, limit=MAX_HEAD_BYTES)
        finally:
            os.close(folder)
        os.chmod(path, 0o666)  # noqa: PTH101, S103 - its folder is one trial's

    async def open_listener(self, listener: socket.socket) -> None:
        """Listen on a socket of somebody else's, which is ours from here on."""
        if self._is_closed:
            listener.close()
            return
        server = await asyncio.start_server(self._visit, sock=listener, limit=MAX_HEAD_BYTES)
        self._more.append(server)

    async def aclose(self) -> None:
        """Close the door and break off what is still asked."""
        self._is_closed = True
        for server in (*filter(None, (self._server,)), *self._more):
            server.close()
        for visit in self._visits:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_closed or len(self._visits) >= self.max_visits:
            writer.transport.abort()
            return
        visit = asyncio.current_task()
        assert visit is not None
        self._visits.add(visit)
        visit.add_done_callback(self._visits.discard)
        begun = b""
        try:
            with suppress(*OVER):
                while (asked := await _head(reader, begun)) is not None:
                    knock, length = asked
                    async with self._room if length > LONG_BODY_BYTES else nullcontext():
                        knock = replace(knock, body=await reader.readexactly(length))
                        answer = Answer(writer)
                        begun = await self._answered(knock, answer, reader, writer.is_closing)
                        del knock
                    await writer.drain()
                    if not answer.is_whole:
                        break
        finally:
            writer.close()

    async def _answered(
        self, knock: Knock, answer: Answer, reader: asyncio.StreamReader, gone: Callable[[], bool]
    ) -> bytes:
        """Answer a request, as long as the tool is there; return what has come of the next one."""
        handling = asyncio.ensure_future(self.handler(knock, answer))
        more = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((handling, more), return_when=asyncio.FIRST_COMPLETED)
            while not (handling.done() or gone()):  # it asks already, or says no more and may read
                await asyncio.wait((handling,), timeout=LOOK_S)
            if handling.done():
                handling.result()
            return more.result() if more.done() else b""
        finally:
            for task in (handling, more):
                task.cancel()
            await asyncio.gather(handling, more, return_exceptions=True)


async def _head(reader: asyncio.StreamReader, begun: bytes) -> tuple[Knock, int] | None:
    """Return the next request without its body, and how long that is.

    None: it is longer than a prompt, or of no known length.
    """
    head = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.strip().split("\r\n")
    method, path, _ = line.split(" ", 2)
    pairs = (one.partition(":") for one in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", 0))
    if not 0 <= length <= MAX_BODY_BYTES or "transfer-encoding" in headers:
        return None
    return Knock(method, path, headers, b""), length
