"""A server of objects as Azure Blob Storage is one, with faults in front of it: azurite."""

import base64
import hashlib
import hmac
import http.client
import os
import re
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from tests.support.object_server import ObjectServer, Proxy
from tests.support.paths import ROOT

PROGRAM = ROOT / ".tools/node_modules/azurite/dist/src/blob/main.js"
ACCOUNT = "benchlaketests"
VERSION = "2021-08-06"
LISTENS = re.compile(r"listens on http://127\.0\.0\.1:(\d+)")
START_S = 60


class AzureServer(ObjectServer):
    """The same as `ObjectServer` with another protocol; a bucket is a container here."""

    def __init__(self):
        self._key = os.urandom(64)
        self.secrets = (base64.b64encode(self._key).decode(),)
        self._said = tempfile.NamedTemporaryFile(prefix="azurite-")  # noqa: SIM115 - until `close`
        self._process = subprocess.Popen(
            ["node", PROGRAM, "--inMemoryPersistence", "--disableTelemetry",
             "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort", "0"],
            env=os.environ | {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{self.secrets[0]}"},
            stdout=self._said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._port = self._listening_on()
        self._proxy = Proxy(self._port, self.secrets)
        self._n_buckets = 0
        self.bucket = ""

    def _listening_on(self):
        deadline = time.monotonic() + START_S
        while True:
            text = Path(self._said.name).read_text(encoding="utf-8")
            if found := LISTENS.search(text):
                return int(found[1])
            assert self._process.poll() is None, text
            assert time.monotonic() < deadline, text
            time.sleep(0.05)

    def close(self):
        """End both servers."""
        self._proxy.close()
        with self._process as process:
            process.kill()
        self._said.close()

    def new_bucket(self):
        """Make an empty container, which is the one that everything is about from now on."""
        self.heal()
        self.forget()
        self._n_buckets += 1
        self.bucket = f"team-{self._n_buckets}"
        self._asked("PUT", self.bucket, restype="container")

    @property
    def url(self):
        """Return where a shared lake may be."""
        return f"az://{self.bucket}/lake"

    def env_of(self, port):
        """Return the variables by the port."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": self.secrets[0],
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}",
            "AZURE_ALLOW_HTTP": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def objects(self, prefix=""):
        """Return all objects of the container by their keys."""
        listed = self._asked("GET", self.bucket, comp="list", prefix=prefix, restype="container")
        keys = re.findall(r"<Blob><Name>(.*?)</Name>", listed.decode())
        assert "<NextMarker>" not in listed.decode()
        return {key: self.read(key) for key in map(unquote, keys)}

    def read(self, key):
        """Return an object."""
        return self._asked("GET", f"{self.bucket}/{quote(key, safe='/')}")

    def _asked(self, method, path, **query):
        """Return what the server answers; signed as its protocol wants it ("Shared Key")."""
        moment = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = {"x-ms-date": moment, "x-ms-version": VERSION}
        lines = [method, *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())]
        lines.append(f"/{ACCOUNT}/{ACCOUNT}/{path}")
        lines += [f"{name}:{value}" for name, value in sorted(query.items())]
        digest = hmac.new(self._key, "\n".join(lines).encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        words = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            client.request(method, f"/{ACCOUNT}/{path}?{words}", headers=headers)
            answer = client.getresponse()
            content = answer.read()
            assert answer.status < 300, content
            return content
        finally:
            client.close()
