"""How many requests a second the endpoint answers on one core at latency 0.

Pipelined keep-alive connections from this process, a bare protocol; the endpoint is another
process. It must reach 20,000, ten times what any budget of the collector asks of it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from pathlib import Path

import uvloop
from answers import MODEL
from project import prompts_of
from served import Served

MUST = 20_000
CONNECTIONS = 8
DEPTH = 32
REQUESTS = 200_000
MARK = b"HTTP/1.1 200 OK"


def request_bytes(prompt: str) -> bytes:
    """Return one whole request."""
    body = b'{"model":"%s","messages":[{"role":"user","content":"%s"}],"stream":false}' % (
        MODEL.encode(),
        prompt.encode(),
    )
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


class Pipeline(asyncio.Protocol):
    """Keeps DEPTH requests on their way until `batches` are used up."""

    def __init__(self, batches: list[bytes], done: asyncio.Future[None]) -> None:
        self._batches = batches
        self._done = done
        self._seen = 0
        self._tail = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first batch."""
        self._transport = transport  # type: ignore[assignment]  # of a TCP connection
        self._send()

    def data_received(self, data: bytes) -> None:
        """Count answers; a whole batch of them calls for the next."""
        joined = self._tail + data
        self._seen += joined.count(MARK)
        self._tail = joined[-len(MARK) + 1 :]
        # A batch is answered in one write, so its last status line is at most one read early.
        if self._seen >= DEPTH and joined.endswith(b"}"):
            self._seen -= DEPTH
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail when the endpoint hung up on us."""
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the endpoint hung up"))

    def _send(self) -> None:
        assert self._transport is not None
        if self._batches:
            self._transport.write(self._batches.pop())
        elif not self._done.done():
            self._done.set_result(None)
            self._transport.close()


def _same(pipeline: Pipeline) -> Pipeline:
    return pipeline


async def rate(port: int) -> float:
    """Return requests a second."""
    loop = asyncio.get_running_loop()
    prompts = prompts_of(REQUESTS)
    each = REQUESTS // CONNECTIONS
    ends = []
    pipelines = []
    for number in range(CONNECTIONS):
        own = [request_bytes(prompt) for prompt in prompts[number * each : (number + 1) * each]]
        batches = [
            b"".join(own[at : at + DEPTH]) for at in range(0, len(own) // DEPTH * DEPTH, DEPTH)
        ]
        ends.append(loop.create_future())
        pipelines.append(Pipeline(batches, ends[-1]))
    sent = sum(len(pipeline._batches) * DEPTH for pipeline in pipelines)
    began = time.perf_counter()
    for pipeline in pipelines:
        await loop.create_connection(partial(_same, pipeline), "127.0.0.1", port)
    await asyncio.gather(*ends)
    return sent / (time.perf_counter() - began)


def main() -> None:
    """Print the rate; exit 1 below the must."""
    with Served(latency_ms=0, tokens=16) as served:
        found = uvloop.run(rate(served.port))
        stats = served.stats()
        ticks = Path(f"/proc/{served.pid}/stat").read_text().rpartition(")")[2].split()
    cpu_s = (int(ticks[11]) + int(ticks[12])) / 100
    verdict = "ok" if found >= MUST else "MISSED"
    print(
        f"endpoint: {found:,.0f} requests/s at latency 0 ({stats['requests']:,} requests, "
        f"{cpu_s / stats['requests'] * 1e6:.0f} us of CPU each); must {MUST:,}: {verdict}"
    )
    sys.exit(found < MUST)


if __name__ == "__main__":
    main()
