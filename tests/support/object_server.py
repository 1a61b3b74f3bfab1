"""A server of objects as S3 is one, with faults in front of it.

moto answers, in a process of its own. Of two who create an object at a time S3 lets one win; moto
looks whether it is there and stores it in two steps, so here PUTs come one after the other. Between
it and whoever asks stands a proxy that counts requests and spoils those that it is told to.
"""

import http.client
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from urllib.parse import unquote

from tests.support.paths import ROOT

KEY = "Kq5noshapeofanaccesskey31"
SECRET = "Sv8noshapeofasecret/of+anykind77"
"""Unlike any known form of a key: only the variables tell that they are some."""

CODES = {
    400: "AuthorizationHeaderMalformed",
    403: "SignatureDoesNotMatch",
    409: "ConditionalRequestConflict",
    412: "PreconditionFailed",
    500: "InternalError",
    503: "SlowDown",
}
"""What S3 says with a status."""

CUT = "cut"
"""The connection ends, and nothing was done."""
TORN = "torn"
"""It ends in the middle of the answer."""
LOST = "lost"
"""What was asked for is done, and the answer never comes."""
SLOW = "slow"
"""The answer comes after seconds, or when all is well again."""


@dataclass(frozen=True)
class Request:
    """What somebody asked for."""

    method: str
    path: str
    """As it was meant, with the bucket and without the query."""
    query: str
    status: int | None
    """None: no answer was sent."""

    @property
    def is_data(self):
        """Whether it asks for rows, not for what a table says of itself."""
        return self.path.endswith(".parquet") and "/_delta_log/" not in self.path


@dataclass
class Fault:
    """What becomes of requests whose method and path fit."""

    what: int | str
    """A status, or one of the words above."""
    method: str
    path: str
    """A part of it."""
    n: float
    """How often; less with every time."""
    seconds: float


class ObjectServer:
    """A server on the loopback interface; a context manager.

    Each test takes a bucket of its own with `new_bucket`, which ends the faults and forgets the
    requests of the one before.
    """

    def __init__(self):
        import boto3  # not everybody has it
        import botocore.config

        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._port = int(self._process.stdout.readline())
        self.secrets = (KEY, SECRET)
        self._proxy = Proxy(self._port, self.secrets)
        self._n_buckets = 0
        self.bucket = ""
        self._client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{self._port}", region_name="us-east-1",
            aws_access_key_id=KEY, aws_secret_access_key=SECRET,
            config=botocore.config.Config(proxies={}, s3={"addressing_style": "path"}),
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End both servers."""
        self._client.close()
        self._proxy.close()
        with self._process as process:
            process.kill()

    def new_bucket(self):
        """Make an empty bucket, which is the one that everything is about from now on."""
        self.heal()
        self._proxy.requests = []
        self._n_buckets += 1
        self.bucket = f"team-{self._n_buckets}"
        self._client.create_bucket(Bucket=self.bucket)

    @property
    def url(self):
        """Return where a shared lake may be."""
        return f"s3://{self.bucket}/lake"

    @property
    def env(self):
        """Return the variables with which it is reached, through the proxy."""
        return self.env_of(self._proxy.server_port)

    @property
    def direct(self):
        """Return the same past the proxy."""
        return self.env_of(self._port)

    def env_of(self, port):
        """Return the variables by the port; nothing else is asked for keys."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    @property
    def requests(self):
        """Return what was asked for through the proxy."""
        return list(self._proxy.requests)

    def asked(self, *, method="", path=""):
        """Return the requests whose method and path fit."""
        return [one for one in self.requests if method in one.method and path in one.path]

    def forget(self):
        """Forget what was asked for."""
        self._proxy.requests = []

    def spoil(self, what, *, method="", path="", n=float("inf"), seconds=60.0):
        """Spoil the next `n` requests whose method and path fit, by default all.

        Args:
            what: a status, which S3's own words come with, or `CUT`, `TORN`, `LOST` or `SLOW`.
            method: by default any.
            path: a part of it.
            n: how many.
            seconds: how slow.
        """
        self._proxy.faults.append(Fault(what, method, path, n, seconds))

    @property
    def n_spoiled(self):
        """Return how many requests were spoiled since all was well."""
        return self._proxy.n_spoiled

    def heal(self):
        """Spoil nothing any more; who waits is answered."""
        self._proxy.heal()

    def objects(self, prefix=""):
        """Return all objects of the bucket by their keys."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix
        )
        keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return {key: self.read(key) for key in keys}

    def read(self, key):
        """Return an object."""
        return self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def write(self, key, content):
        """Put an object where it is, or where there is none."""
        self._client.put_object(Bucket=self.bucket, Key=key, Body=content)

    def remove(self, key):
        """Remove an object."""
        self._client.delete_object(Bucket=self.bucket, Key=key)


class Proxy(ThreadingHTTPServer):
    """Hands requests on, takes note of them and spoils some."""

    request_queue_size = 128

    def __init__(self, port, secrets):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.secrets = port, secrets
        self.requests = []
        self.faults = []
        self.n_spoiled = 0
        self.lock = threading.Lock()
        self.healed = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()

    def fault_of(self, method, path):
        """Return the first fault that fits, which is used up by one."""
        with self.lock:
            for fault in self.faults:
                if fault.n > 0 and fault.method in method and fault.path in path:
                    fault.n -= 1
                    self.n_spoiled += 1
                    return fault
        return None

    def heal(self):
        """Forget all faults."""
        with self.lock:
            self.faults, self.n_spoiled = [], 0
            self.healed.set()
            self.healed = threading.Event()

    def close(self):
        """End, whoever still waits."""
        self.heal()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request, client_address):
        """Say nothing of those who went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = 120
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = unquote(self.path).partition("?")
        fault = self.server.fault_of(self.command, path)
        what = None if fault is None else fault.what
        if what == SLOW:
            self.server.healed.wait(fault.seconds)
        if isinstance(what, int):
            self._refuse(what)
        elif what != CUT:
            answer = self._handed_on(body)
            what = answer.status if what in {None, SLOW} else what
            if what != LOST:
                self._answer(*answer, is_torn=what == TORN)
        if what in {CUT, LOST, TORN}:
            self.close_connection = True
            self.connection.shutdown(SHUT_RDWR)
        status = what if isinstance(what, int) else None
        self.server.requests.append(Request(self.command, path, query, status))

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one

    def setup(self):
        super().setup()
        self._client = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def finish(self):
        self._client.close()
        super().finish()

    def _handed_on(self, body):
        client = self._client
        client.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() != "connection":
                client.putheader(name, value)
        client.endheaders(body or None)
        answer = client.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())

    def _refuse(self, status):
        """Answer as S3 does; what came with the request is told back, and more than S3 knows."""
        said = (
            f"<Error><Code>{CODES[status]}</Code><AWSAccessKeyId>{self.server.secrets[0]}"
            f"</AWSAccessKeyId><Message>no: {self.server.secrets[-1]}</Message>"
            f"<StringToSign>{self.headers.get('Authorization')}</StringToSign></Error>"
        )
        self._answer(status, [("Content-Type", "application/xml")], said.encode())

    def _answer(self, status, headers, body, *, is_torn=False):
        self.send_response_only(status)
        length = str(len(body))
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_torn else body)
            self.wfile.flush()

    def log_message(self, *_args):
        """Say nothing."""


class Answer(tuple):
    """Status, headers and body."""

    def __new__(cls, status, headers, body):
        return super().__new__(cls, (status, headers, body))

    @property
    def status(self):
        return self[0]


def serve():
    """Serve objects until nobody holds our standard input; say on which port."""
    import moto.server
    from moto.moto_server import threaded_moto_server

    moto.server.MotoRequestHandler.disable_nagle_algorithm = True

    writing = threading.Lock()

    class OneWriter(moto.server.DomainDispatcherApplication):
        def get_backend_for_host(self, host):
            """Return the only service; moto looks through the folders of all with each request."""
            return "s3"

        def __call__(self, environ, start_response):
            if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
                return super().__call__(environ, start_response)
            with writing:
                return list(super().__call__(environ, start_response))

    threaded_moto_server.DomainDispatcherApplication = OneWriter
    server = moto.server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        serve()
