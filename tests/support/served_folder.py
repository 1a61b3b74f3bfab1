"""A folder over HTTP on the loopback interface, and what pages of it report back."""

import contextlib
import json
import queue
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Handler(SimpleHTTPRequestHandler):
    """Serves files, and keeps what is posted."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.put(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_args):
        """Say nothing."""


@contextlib.contextmanager
def served(folder):
    """Serve a folder for the block; yield its URL and a queue of what is posted."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    server.posted = queue.Queue()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.posted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
