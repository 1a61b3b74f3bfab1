"""One raw loop: build a body, send it, read JSON, check the answer, write one line of JSONL.

Run by raw_loops.py in an environment that has the library: what a collector would cost if it did
nothing else. Prints one JSON object. Latency is what code in that place would report: from before
the call to after it, or, in the bare protocol, from the write to the last byte.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from typing import BinaryIO

import orjson
from answers import MODEL, answer_of
from project import case_id_of, prompts_of
from quantiles import spread

LOOPS = ("httpx", "aiohttp", "protocol", "protocol-uvloop")


class Work:
    """The prompts that are left, and what came of the others."""

    def __init__(self, n: int, tokens: int, log: BinaryIO) -> None:
        self._log = log
        self._tokens = tokens
        self.prompts: Iterator[str] = iter(prompts_of(n))
        self.e2e_ms: list[float] = []
        self.passed = 0

    @staticmethod
    def body(prompt: str) -> bytes:
        """Return the body of one request."""
        messages = [{"role": "user", "content": prompt}]
        return orjson.dumps({"model": MODEL, "messages": messages, "stream": False})

    def finish(self, prompt: str, raw: bytes, e2e_s: float) -> None:
        """Check one answer and write it down."""
        answer = orjson.loads(raw)
        text = answer["choices"][0]["message"]["content"]
        passed = text == answer_of(prompt, self._tokens)
        self.passed += passed
        self.e2e_ms.append(e2e_s * 1000)
        line = {
            "case_id": case_id_of(prompt),
            "e2e_ms": round(e2e_s * 1000),
            "passed": passed,
            "raw_output": text,
            "output_tokens": answer["usage"]["completion_tokens"],
        }
        self._log.write(orjson.dumps(line) + b"\n")


async def with_httpx(work: Work, port: int, concurrency: int) -> None:
    """Ask with one stock httpx client."""
    import httpx  # noqa: PLC0415 - not in every environment

    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(limits=limits, timeout=None, headers=headers) as client:

        async def worker() -> None:
            for prompt in work.prompts:
                began = time.perf_counter()
                response = await client.post(url, content=work.body(prompt))
                work.finish(prompt, response.content, time.perf_counter() - began)

        await asyncio.gather(*(worker() for _ in range(concurrency)))


async def with_aiohttp(work: Work, port: int, concurrency: int) -> None:
    """Ask with one aiohttp session."""
    import aiohttp  # type: ignore[import-not-found] # noqa: PLC0415 - never a dependency of ours

    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    connector = aiohttp.TCPConnector(limit=concurrency)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for prompt in work.prompts:
                began = time.perf_counter()
                async with session.post(url, data=work.body(prompt)) as response:
                    raw = await response.read()
                work.finish(prompt, raw, time.perf_counter() - began)

        await asyncio.gather(*(worker() for _ in range(concurrency)))


class Bare(asyncio.Protocol):
    """A worker that is a connection: the next request goes out when an answer is in."""

    def __init__(self, work: Work, done: asyncio.Future[None]) -> None:
        self._work = work
        self._done = done
        self._unread = b""
        self._prompt = ""
        self._began = 0.0
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = transport  # type: ignore[assignment]  # of a TCP connection
        self._send()

    def data_received(self, data: bytes) -> None:
        """Finish the answer once its content-length is there."""
        self._unread += data
        head, found, body = self._unread.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        took = time.perf_counter() - self._began
        self._unread = b""
        self._work.finish(self._prompt, body, took)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail when the endpoint hung up on us."""
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the endpoint hung up"))

    def _send(self) -> None:
        assert self._transport is not None
        prompt = next(self._work.prompts, None)
        if prompt is None:
            if not self._done.done():
                self._done.set_result(None)
            self._transport.close()
            return
        self._prompt = prompt
        body = self._work.body(prompt)
        head = (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        self._began = time.perf_counter()
        self._transport.write(head % len(body) + body)


async def with_protocol(work: Work, port: int, concurrency: int) -> None:
    """Ask with a bare asyncio protocol a connection."""
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(concurrency)]
    for end in ends:
        await loop.create_connection(lambda end=end: Bare(work, end), "127.0.0.1", port)
    await asyncio.gather(*ends)


def main() -> None:
    """Run one loop and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("-n", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    options = parser.parse_args()
    ways = {"httpx": with_httpx, "aiohttp": with_aiohttp}
    way = ways.get(options.loop, with_protocol)
    factory = None
    if options.loop == "protocol-uvloop":
        import uvloop  # noqa: PLC0415 - not in every environment

        factory = uvloop.new_event_loop
    with tempfile.TemporaryFile(buffering=0) as log, asyncio.Runner(loop_factory=factory) as runner:
        work = Work(options.n, options.tokens, log)
        began, cpu = time.perf_counter(), time.process_time()
        runner.run(way(work, options.port, options.concurrency))
        took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
    print(json.dumps(took | {"passed": work.passed, "e2e_ms": spread(work.e2e_ms)}))


if __name__ == "__main__":
    main()
