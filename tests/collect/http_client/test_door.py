"""The door through which a tool asks: many at once, piece by piece, never whole when it is not."""

import asyncio
import contextlib
import re
import socket

import pytest

from collect.http_client.door import Answer, Door, HandedOn


async def knocked(reader, writer, path="/v1/x", body=b"{}", password="p", method="POST"):
    head = f"{method} {path} HTTP/1.1\r\nAuthorization: Bearer {password}\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def answered(reader):
    """Return the status and the body of a whole answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status = int(head.split()[1])
    if "Content-Length: 0" in head:
        return status, b""
    body = b""
    while size := int((await reader.readline()).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return status, body


def through(handler, visit, **limits):
    """Run a visit to a door; return what it returns."""

    async def run():
        door = Door(handler, **limits)
        host, port = re.fullmatch(r"http://(.*):(\d+)", await door.open_port()).groups()
        opened = []

        async def connect():
            reader, writer = await asyncio.open_connection(host, int(port))
            opened.append(writer)
            return reader, writer

        try:
            async with asyncio.timeout(10):
                return await visit(connect)
        finally:
            for writer in opened:
                writer.close()
            await door.aclose()
            await asyncio.sleep(0)

    return asyncio.run(run())


async def echo(knock, answer):
    answer.begin(200)
    answer.send(knock.path.encode() + b" " + knock.body + b" " + knock.password.encode())
    answer.end()


def test_one_connection_asks_again_and_again():
    async def visit(connect):
        reader, writer = await connect()
        found = []
        for number in range(50):
            await knocked(reader, writer, f"/{number}", b"x" * number)
            found.append(await answered(reader))
        writer.close()
        return found

    assert through(echo, visit) == [
        (200, f"/{number} {'x' * number} p".encode()) for number in range(50)
    ]


def test_requests_that_come_before_their_turn_are_answered_in_it():
    async def slow(knock, answer):
        await asyncio.sleep(0.05)
        await echo(knock, answer)

    async def visit(connect):
        reader, writer = await connect()
        for number in range(5):
            await knocked(reader, writer, f"/{number}", b"")
        return [await answered(reader) for _ in range(5)]

    assert through(slow, visit) == [(200, f"/{number}  p".encode()) for number in range(5)]


def test_many_are_answered_at_once_and_as_it_comes():
    came, met = [], asyncio.Event()

    async def together(knock, answer):
        answer.begin(200)
        answer.send(b"first ")
        await met.wait()
        answer.send(b"last")
        answer.end()

    async def one(connect):
        reader, writer = await connect()
        await knocked(reader, writer)
        await reader.readuntil(b"first ")  # before the twentieth has come, nobody has the last
        came.append(reader)
        if len(came) == 20:
            met.set()
        return await reader.readuntil(b"0\r\n\r\n")

    async def visit(connect):
        return await asyncio.gather(*(one(connect) for _ in range(20)))

    assert all(b"last" in one for one in through(together, visit))


def test_an_answer_that_breaks_off_is_cut():
    async def broken(knock, answer):
        answer.begin(200)
        answer.send(b"half")

    async def visit(connect):
        reader, writer = await connect()
        await knocked(reader, writer)
        return await reader.read()

    raw = through(broken, visit)
    assert raw.endswith(b"4\r\nhalf\r\n")


def test_a_tool_that_goes_away_takes_its_request_with_it():
    ended = asyncio.Event()

    async def endless(knock, answer):
        answer.begin(200)
        try:
            while True:
                answer.send(b"x")
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    async def visit(connect):
        reader, writer = await connect()
        await knocked(reader, writer)
        await reader.readuntil(b"x")
        writer.close()
        await ended.wait()
        return True

    assert through(endless, visit)


def test_a_tool_that_says_no_more_may_still_read():
    async def slow(knock, answer):
        await asyncio.sleep(0.3)
        await echo(knock, answer)

    async def visit(connect):
        reader, writer = await connect()
        await knocked(reader, writer)
        writer.write_eof()
        return await answered(reader)

    assert through(slow, visit)[0] == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"POST /\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"A: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab",
    ],
)
def test_what_is_no_request_ends_the_visit_and_nothing_else(raw):
    async def visit(connect):
        reader, writer = await connect()
        writer.write(raw)
        writer.write_eof()
        first = b""
        with contextlib.suppress(ConnectionResetError):  # what it never read was thrown away
            first = await reader.read()
        reader, writer = await connect()
        await knocked(reader, writer)
        return first, await answered(reader)

    first, second = through(echo, visit)
    assert first == b""
    assert second[0] == 200


def test_a_head_has_no_body():
    async def empty(knock, answer):
        answer.empty(200)

    async def visit(connect):
        reader, writer = await connect()
        await knocked(reader, writer, method="HEAD", body=b"")
        await knocked(reader, writer, method="HEAD", body=b"")
        return [await answered(reader), await answered(reader)]

    assert through(empty, visit) == [(200, b""), (200, b"")]


def test_what_an_exchange_takes_in_is_handed_on_without_what_is_ours():
    class Written:
        def __init__(self):
            self.raw = b""

        def write(self, data):
            self.raw += data

    written = Written()
    exchange = HandedOn(Answer(written))
    exchange.begin(201, {b"content-type": b"text/plain", b"content-length": b"9",
                         b"set-cookie": b"a", b"location": b"elsewhere"})  # fmt: skip
    exchange.add(1.0, b"abc")
    exchange.add(2.0, b"defghi")

    assert written.raw == (
        b"HTTP/1.1 201 -\r\nTransfer-Encoding: chunked\r\ncontent-type: text/plain\r\n\r\n"
        b"3\r\nabc\r\n6\r\ndefghi\r\n"
    )
    assert exchange.body() == b"abcdefghi"


def test_more_connections_than_may_be_are_closed_and_the_others_stay():
    async def visit(connect):
        held = [await connect() for _ in range(5)]
        await asyncio.sleep(0.05)
        further = [await connect() for _ in range(20)]
        for reader, _ in further:
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        reader, writer = held[0]
        await knocked(reader, writer)
        first = await answered(reader)
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.05)
        reader, writer = await connect()
        await knocked(reader, writer)
        return first[0], (await answered(reader))[0]

    assert through(echo, visit, max_visits=5) == (200, 200)


def test_long_requests_are_read_a_few_at_a_time():
    at_once = set()
    most = []

    async def slow(knock, answer):
        at_once.add(knock.path)
        most.append(len(at_once))
        await asyncio.sleep(0.05)
        at_once.discard(knock.path)
        answer.empty(200)

    async def one(connect, number):
        reader, writer = await connect()
        await knocked(reader, writer, f"/{number}", b"x" * 1_000_001)
        return (await answered(reader))[0]

    async def visit(connect):
        return await asyncio.gather(*(one(connect, number) for number in range(8)))

    assert through(slow, visit, max_long_bodies=2) == [200] * 8
    assert max(most) == 2


def test_who_comes_after_the_door_was_closed_is_not_answered():
    asked = []

    async def run():
        async def handler(knock, answer):
            asked.append(knock)

        door = Door(handler)
        host, port = re.fullmatch(r"http://(.*):(\d+)", await door.open_port()).groups()
        with socket.create_connection((host, int(port))) as late:
            late.sendall(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
            await asyncio.sleep(0)
            await door.aclose()
            await asyncio.sleep(0.1)

    asyncio.run(run())

    assert asked == []
