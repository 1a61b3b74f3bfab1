"""The proxy between a command line tool and its server: who is let through, and what passes."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading

import pytest
import uvloop

from collect.http_client import WireTransport
from collect.providers.claude_code.proxy import Proxy
from tests.support.endpoint import Endpoint

SECRET = {"x-api-key": "the-real-key"}
PATH = "/v1/messages"


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def opened(request, endpoint):
    """A proxy on a loop of its own, and a call that is let in."""
    loop = request.param()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(20)

    async def made():
        return Proxy(endpoint.base_url.removesuffix("/v1"), PATH, SECRET, WireTransport())

    proxy = run(made())
    url = run(proxy.url())
    yield proxy, url.rpartition(":")[2], run
    run(proxy.aclose())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def knock(port, method="POST", path=PATH, body=b"{}", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
    try:
        connection.request(
            method, path, body, {name.replace("_", "-"): v for name, v in headers.items()}
        )
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def plain(wire, request):
    wire.answer({"hello": "you"}, headers=("request-id: r1", "set-cookie: a=b"))


def test_a_call_with_its_password_passes_and_the_key_is_added_behind(opened, endpoint):
    proxy, port, _ = opened
    endpoint.script = plain
    with proxy.call() as call:
        status, headers, body = knock(
            port,
            path=f"{PATH}?beta=true",
            x_api_key=call.password,
            anthropic_version="1",
            cookie="c",
        )

    (sent,) = endpoint.requests
    assert (status, json.loads(body)) == (200, {"hello": "you"})
    assert sent.line == f"POST {PATH}?beta=true HTTP/1.1"
    assert sent.headers["x-api-key"] == "the-real-key"
    assert sent.headers["anthropic-version"] == "1"
    assert "cookie" not in sent.headers
    names = {name.lower() for name in headers}
    assert "request-id" in names
    assert "set-cookie" not in names
    assert call.exchange.complete
    assert call.exchange.last_byte >= call.exchange.written


def test_a_password_may_come_as_a_token(opened, endpoint):
    proxy, port, _ = opened
    endpoint.script = plain
    with proxy.call() as call:
        status, _, _ = knock(port, authorization=f"Bearer {call.password}")
    assert status == 200
    assert "authorization" not in endpoint.requests[0].headers


@pytest.mark.parametrize("said", [{}, {"x_api_key": "guess"}, {"authorization": "Bearer "}])
def test_nobody_else_is_let_through(opened, endpoint, said):
    proxy, port, _ = opened
    with proxy.call():
        status, _, body = knock(port, **said)
    assert status == 401
    assert b"authentication_error" in body
    assert endpoint.requests == []


def test_a_password_ends_with_its_call(opened, endpoint):
    proxy, port, _ = opened
    with proxy.call() as call:
        pass
    assert knock(port, x_api_key=call.password)[0] == 401
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/files"), ("DELETE", PATH), ("POST", "/"), ("PUT", PATH)]
)
def test_nothing_is_asked_but_a_model(opened, endpoint, method, path):
    proxy, port, _ = opened
    with proxy.call() as call:
        assert knock(port, method, path, x_api_key=call.password)[0] == 404
    assert endpoint.requests == []


def test_a_call_asks_once(opened, endpoint):
    proxy, port, _ = opened
    endpoint.script = plain
    with proxy.call() as call:
        answers = [knock(port, x_api_key=call.password)[0] for _ in range(3)]
    assert answers == [200, 400, 400]
    assert len(endpoint.requests) == 1


def test_whether_somebody_is_there_is_answered_at_the_door(opened, endpoint):
    _, port, _ = opened
    assert knock(port, "HEAD", "/", body=None)[0] == 200
    assert endpoint.requests == []


def test_a_redirect_is_not_followed_and_leads_the_tool_nowhere(opened, endpoint):
    proxy, port, _ = opened
    other = Endpoint()
    moved = f"Location: {other.base_url}/messages"
    endpoint.script = lambda wire, request: wire.answer({}, status=307, headers=(moved,))
    with proxy.call() as call:
        status, headers, _ = knock(port, x_api_key=call.password)
    other.close()
    assert (status, other.requests) == (307, [])
    assert "location" not in {name.lower() for name in headers}


def test_an_answer_that_breaks_off_does_not_look_whole(opened, endpoint):
    proxy, port, _ = opened

    def cut(wire, request):
        wire.send(b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf")
        wire.close()

    endpoint.script = cut
    with proxy.call() as call, pytest.raises(http.client.IncompleteRead) as caught:
        knock(port, x_api_key=call.password)
    assert caught.value.partial == b"half"
    assert call.failure is not None


def test_a_server_that_is_gone_is_said(opened, endpoint):
    proxy, port, _ = opened
    endpoint.close()
    with proxy.call() as call:
        status, _, _ = knock(port, x_api_key=call.password)
    assert status == 502
    assert call.failure.failure_type == "connection_error"


def test_what_is_still_asked_ends_with_the_call(opened, endpoint):
    proxy, port, run = opened
    arrived, over = threading.Event(), threading.Event()

    def hold(wire, request):
        arrived.set()
        over.wait(20)

    endpoint.script = hold
    context = proxy.call()
    call = context.__enter__()
    answers = []

    def ask():
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(knock(port, x_api_key=call.password))

    async def leave():
        context.__exit__(None, None, None)

    asking = threading.Thread(target=ask)
    asking.start()
    assert arrived.wait(20)
    run(leave())
    asking.join(20)
    assert not asking.is_alive()
    over.set()
    assert answers == []
    assert not call.exchange.complete


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    ],
)
def test_what_is_no_request_is_shut_out_and_harms_nobody_else(opened, endpoint, raw):
    proxy, port, _ = opened
    with socket.create_connection(("127.0.0.1", int(port)), timeout=20) as sock:
        sock.sendall(raw)
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(100) == b""
    endpoint.script = plain
    with proxy.call() as call:
        assert knock(port, x_api_key=call.password)[0] == 200


def test_the_servers_time_runs_at_the_door(opened, endpoint):
    proxy, port, _ = opened
    over = threading.Event()
    endpoint.script = lambda wire, request: over.wait(20)
    with proxy.call(0.3) as call:
        status, _, _ = knock(port, x_api_key=call.password)
    over.set()
    assert status == 502
    assert (call.failure.failure_type, str(call.failure)) == (
        "timeout",
        "no complete answer within 0.3 s",
    )


def test_a_mistake_of_ours_behind_the_door_is_told_by_the_call_and_not_by_a_log(
    opened, endpoint, monkeypatch, capfd
):
    proxy, port, _ = opened

    async def broken(*_):
        message = "a bug beside the-real-key"
        raise RuntimeError(message)

    monkeypatch.setattr(proxy.transport, "post", broken)
    with proxy.call() as call:
        status, _, _ = knock(port, x_api_key=call.password)
    assert status == 502
    assert call.failure.failure_type == "exception"
    assert "the-real-key" not in "".join(capfd.readouterr())
