"""An OpenAI-compatible endpoint of exactly known latency, fast enough not to matter.

A bare asyncio protocol on uvloop. Latency counts from the arrival of the whole request. Answers
are handed to the kernel at once, not at the end of the loop's turn, and the endpoint keeps a
record of how late it was itself, so that a slow machine is not booked to the client.

    python benchmarks/endpoint.py --port 0 --latency-ms 200 --ttft-ms 200 --tokens 16 --gap-ms 20 \
        --faults 429=0.03,500=0.02,reset=0.02,truncate=0.01 --seed 7

The first line on stdout is JSON with the port. `latency` is that of a whole answer; a streamed one
sends its first token after `ttft` and the last after (tokens - 1) gaps more.
GET /stats, GET /log (every request with its nanoseconds) and POST /reset are for the benchmark.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import socket
import struct
import sys
import time

import orjson
import uvloop
from alarm import Alarm
from answers import MODEL, json_answer, prompt_of
from service import Record, Service

MODELS = orjson.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
LINGER_RESET = struct.pack("ii", 1, 0)


class Exchange:
    """One request being answered."""

    __slots__ = ("arrived_ns", "at", "connection", "fault", "prompt", "steps")

    def __init__(
        self,
        connection: Connection,
        arrived_ns: int,
        prompt: str,
        steps: list[tuple[int, bytes]],
        fault: str | None,
    ) -> None:
        self.connection = connection
        self.arrived_ns = arrived_ns
        self.prompt = prompt
        self.steps = steps
        self.fault = fault
        self.at = 0

    def step(self, due_ns: int) -> None:
        """Write what is due, and have the rest done in its time."""
        connection = self.connection
        record = connection.service.record
        if connection.transport is None:
            record.abandoned += 1
            record.in_flight -= 1
            return
        connection.write(self.steps[self.at][1])
        now = time.monotonic_ns()
        record.late_ns.append(now - due_ns)
        self.at += 1
        if self.at < len(self.steps):
            next_ns = self.arrived_ns + self.steps[self.at][0]
            connection.service.alarm.at(next_ns, self.step)
            return
        record.in_flight -= 1
        record.log.append((self.prompt, self.arrived_ns, now, self.fault or "ok"))
        connection.done(self.fault)


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests that come early wait until the one before is done."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.transport: asyncio.Transport | None = None
        self._fd = -1
        self._unread = b""
        self._ready: list[bytes] = []
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket: answers go to it directly."""
        self.transport = transport  # type: ignore[assignment]  # of a TCP server
        self._fd = transport.get_extra_info("socket").fileno()
        self.service.record.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Forget the socket; its answers are dropped when they come due."""
        self.transport = None

    def data_received(self, data: bytes) -> None:
        """Read every request that has come whole."""
        self._unread = self._unread + data if self._unread else data
        self._read()

    def _read(self) -> None:
        while self._unread and not self._busy and self.transport is not None:
            unread = self._unread
            end = unread.find(b"\r\n\r\n")
            if end < 0:
                break
            head = unread[:end].lower()
            start = head.find(b"\r\ncontent-length:")
            length = 0
            if start >= 0:
                length = int(head[start + 17 :].partition(b"\r\n")[0])
            elif b"\r\ntransfer-encoding:" in head:
                self._ready.append(json_answer(411, b"{}"))
                break
            if len(unread) < end + 4 + length:
                break
            self._unread = unread[end + 4 + length :]
            path = unread[: unread.find(b"\r\n")].split(b" ", 2)[1]
            self._serve(path, unread[end + 4 : end + 4 + length], head.startswith(b"post"))
        if self._ready:
            self.write(b"".join(self._ready))
            self._ready.clear()

    def _serve(self, path: bytes, body: bytes, is_post: bool) -> None:
        if is_post and path.startswith((b"/v1/chat/completions", b"/v1/completions")):
            self._ask(path, body)
        elif path.startswith(b"/v1/models"):
            self._ready.append(json_answer(200, MODELS))
        elif path == b"/stats":
            self._ready.append(json_answer(200, orjson.dumps(self.service.record.summary())))
        elif path == b"/log":
            self._ready.append(json_answer(200, orjson.dumps(self.service.record.log)))
        elif is_post and path == b"/reset":
            self.service.record = Record()
            self._ready.append(json_answer(200, b"{}"))
        else:
            self._ready.append(json_answer(404, b'{"error":{"message":"no such path"}}'))

    def _ask(self, path: bytes, raw: bytes) -> None:
        arrived_ns = time.monotonic_ns()
        service, record = self.service, self.service.record
        body = orjson.loads(raw)
        prompt = prompt_of(body)
        record.requests += 1
        record.attempts[prompt] += 1
        record.first_arrival_ns = record.first_arrival_ns or arrived_ns
        steps = service.steps(path, body, prompt)
        fault = service.plan.fault(prompt, record.attempts[prompt])
        if fault is not None:
            record.faults[fault] += 1
            steps = service.spoil(fault, steps)
        if steps[0][0] == 0 and len(steps) == 1 and fault not in {"reset", "truncate"}:
            self._ready.append(steps[0][1])
            record.log.append((prompt, arrived_ns, time.monotonic_ns(), fault or "ok"))
            return
        record.in_flight += 1
        record.in_flight_max = max(record.in_flight_max, record.in_flight)
        self._busy = True
        exchange = Exchange(self, arrived_ns, prompt, steps, fault)
        service.alarm.at(arrived_ns + steps[0][0], exchange.step)

    def write(self, data: bytes) -> None:
        """Hand bytes to the kernel now; what it does not take goes by the transport."""
        if self.transport is None or not data:
            return
        sent = 0
        if not self.transport.get_write_buffer_size():
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:  # the client is gone; the loop will say so
                return
        if sent < len(data):
            self.transport.write(data[sent:])

    def done(self, fault: str | None) -> None:
        """Go on with the next request, or end the connection as the fault demands."""
        self._busy = False
        if self.transport is None:
            return
        if fault == "reset":
            with socket.socket(fileno=os.dup(self._fd)) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
            self.transport.abort()
            self.transport = None
        elif fault == "truncate":
            self.transport.close()
        elif self._unread:
            self._read()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--latency-ms", type=float, default=200, help="of a whole answer")
    parser.add_argument("--ttft-ms", type=float, default=200, help="to the first streamed token")
    parser.add_argument("--tokens", type=int, default=16, help="of an answer, at least 1")
    parser.add_argument("--gap-ms", type=float, default=20, help="between streamed tokens")
    parser.add_argument("--faults", default="", help="such as 429=0.03,500=0.02")
    parser.add_argument("--retry-after", type=int, help="seconds, sent with a 429")
    parser.add_argument("--seed", type=int, default=7, help="decides which prompts fail")
    parser.add_argument("--attached", action="store_true", help="end when stdin ends")
    return parser.parse_args()


async def serve(options: argparse.Namespace) -> None:
    """Serve until told to end."""
    loop = asyncio.get_running_loop()
    service = Service(options, Alarm(loop))
    server = await loop.create_server(
        lambda: Connection(service), "127.0.0.1", options.port, backlog=1024
    )
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"port": port, "base_url": f"http://127.0.0.1:{port}/v1"}), flush=True)
    ended = asyncio.Event()
    if options.attached:
        loop.add_reader(sys.stdin.fileno(), ended.set)
    gc.collect()
    gc.freeze()
    gc.disable()  # nothing here makes cycles, and a collection would be a late answer
    await ended.wait()


def main() -> None:
    """Run the endpoint."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with runner:
        try:
            runner.run(serve(parse()))
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
