"""A door before the model's server that can fail, as networks and servers do.

What it lets through it passes on byte by byte, so that the time to the first token is the server's.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fate = Callable[[int], str]
"""What happens to the n-th request, from 1: `pass`, `500` or `gone` (closed without a word)."""

LOST = b'{"error":{"message":"a passing fault","type":"server_error","code":null}}'


def always_pass(_: int) -> str:
    """Let every request through."""
    return "pass"


class Door:
    """Listens on loopback while the `with` block runs."""

    def __init__(self, upstream: str) -> None:
        self.fate: Fate = always_pass
        self.n_requests = 0
        self._upstream = urlsplit(upstream).netloc
        self._lock = threading.Lock()
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                door._answer(self, body)

            def do_GET(self) -> None:
                door._pass(self, b"")

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Door:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def begin(self, fate: Fate) -> None:
        """Count from 1 again, with another fate."""
        self.fate, self.n_requests = fate, 0

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        with self._lock:
            self.n_requests += 1
            fate = self.fate(self.n_requests)
        if fate == "pass":
            self._pass(handler, body)
        elif fate == "500":
            handler.send_response(500)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(LOST)))
            handler.end_headers()
            handler.wfile.write(LOST)
        else:
            handler.close_connection = True

    def _pass(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Ask the server the same, and pass on what it says as it comes."""
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        names = ("Authorization", "Content-Type", "Accept")
        headers = {name: value for name in names if (value := handler.headers[name])}
        try:
            connection.request(handler.command, handler.path, body or None, headers)
            answer = connection.getresponse()
            handler.send_response(answer.status)
            handler.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            while piece := answer.read1(65_536):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.write(b"0\r\n\r\n")
        finally:
            connection.close()
