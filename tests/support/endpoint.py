"""A scripted endpoint on a real socket, and the answers it may be scripted with."""

import contextlib
import json
import os
import socket
import socketserver
import struct
import threading
import time


class Request:
    """One HTTP request as the endpoint received it."""

    def __init__(self, line, headers, body):
        self.line = line
        self.headers = headers
        self.body = json.loads(body) if body else None


def chunk(text=None, finish=None, **fields):
    """Return one chunk of a streamed chat completion."""
    delta = {} if text is None else {"content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"model": "served-m", "choices": choices} | fields


def sse(*objects, end=True):
    """Return chunks as server-sent events."""
    events = [f"data: {json.dumps(one)}\n\n" for one in objects]
    return "".join([*events, "data: [DONE]\n\n"] if end else events).encode()


def usage(prompt=7, completion=3):
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def stream_of(text, **fields):
    """Return the events of a whole streamed answer: null first delta, words, usage, end."""
    words = [chunk(f"{word} ") for word in text.split(" ")]
    words[-1] = chunk(text.split(" ")[-1])
    first = {"model": "served-m", "choices": [{"delta": {"role": "assistant", "content": None}}]}
    last = {"model": "served-m", "choices": [], "usage": usage()} | fields
    return sse(first, *words, chunk(finish="stop"), last)


def whole(text, **fields):
    """Return an answer that is not streamed."""
    message = {"role": "assistant", "content": text}
    return {
        "model": "served-m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage(),
    } | fields


class Wire:
    """What a script may do to the connection."""

    def __init__(self, sock):
        self.sock = sock

    def send(self, raw):
        self.sock.sendall(raw)

    def answer(self, body, status=200, content_type="application/json", headers=()):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}"]
        lines += [f"Content-Length: {len(raw)}", *headers]
        self.send("\r\n".join([*lines, "", ""]).encode() + raw)

    def stream(self, raw):
        self.answer(raw, content_type="text/event-stream")

    def open_stream(self):
        self.send(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")

    def sleep(self, seconds):
        time.sleep(seconds)

    def reset(self):
        """End the connection with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.sock.detach())

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        os.close(self.sock.detach())


class Endpoint:
    """Listens on loopback; `script(wire, request)` decides what happens.

    Whether it is an Ollama, which every run asks before its plan, is apart: `look` and `looks`.
    """

    def __init__(self):
        self.requests = []
        self.looks = []
        self.look = lambda wire, request: wire.answer({"error": "no such path"}, status=404)
        self.script = lambda wire, request: wire.stream(stream_of("Hello there."))
        endpoint = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while (request := endpoint._read(self.rfile)) is not None:
                    is_look = request.line.startswith("GET /api/tags ")
                    (endpoint.looks if is_look else endpoint.requests).append(request)
                    script = endpoint.look if is_look else endpoint.script
                    try:
                        script(Wire(self.connection), request)
                    except OSError:
                        return
                    if self.connection.fileno() < 0:
                        return

            def finish(self):
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            block_on_close = False
            request_queue_size = 512  # a full one makes the kernel reset connections

            def handle_error(self, request, client_address):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @staticmethod
    def _read(file):
        try:
            line = file.readline().decode()
            headers = {}
            while header := file.readline().decode().strip():
                name, _, value = header.partition(":")
                headers[name.lower()] = value.strip()
        except OSError:
            return None
        if not line:
            return None
        return Request(line.strip(), headers, file.read(int(headers.get("content-length", 0))))

    def close(self):
        self._server.shutdown()
        self._server.server_close()
