"""What the server of a shared lake says, in a sentence and without anything that is a key."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError

from schemas.errors import AnalyzeError, printable
from schemas.io.shared_url import Location
from schemas.redact import redact

BRANCH = re.compile(r"\s*↳\s*")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")

STATUS = r"status code: "

SAID = (
    (r"no credentials found|credential provider was not enabled|Account must be specified",
     "needs credentials, which are read from the environment: AWS_* or AZURE_*"),
    (rf"{STATUS}403|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed",
     "refuses these credentials (403)"),
    (rf"{STATUS}401", "wants credentials (401)"),
    (r"NoSuchBucket|ContainerNotFound|bucket does not exist", "has no such bucket"),
    (rf"{STATUS}503|SlowDown", "is overloaded (503)"),
    (rf"{STATUS}5\d\d", "fails by itself (5xx)"),
    (rf"{STATUS}409|{STATUS}412|Failed to commit transaction|Concurrent transaction|"
     "Invalid table version",
     "takes no commit: others were always first, or it refuses conditional writes (409, 412)"),
    (rf"{STATUS}4\d\d", "refuses the request (4xx)"),
    (r"timed out", "does not answer in time"),
    (r"request or response body|decoding response", "breaks off its answers"),
    (r"Connection refused|error sending request|dns error|tcp connect|connection closed",
     "cannot be reached"),
    (r"URL scheme is not allowed",
     "is reached without TLS, which AWS_ALLOW_HTTP=true or AZURE_ALLOW_HTTP=true allows"),
)  # fmt: skip
"""What an error of the library says, and what it means."""

N_FINAL = 4
"""Of these that no further request changes."""

GONE = re.compile(r"Object at location \S+ not found")
"""Of an error about a file that the log names and that is not there."""

OF_A_SERVER = re.compile(r"Generic \S+ error|Kernel error|HTTP error", re.IGNORECASE)
"""Of an error about the way to a file, rather than the file."""


PANIC = re.compile(
    rb"\n?thread '[^\n]*panicked at [^\n]*\n(?:[^\n]*\n)*?note: [^\n]*BACKTRACE[^\n]*\n"
)
"""What the library writes to standard error where a server refuses a file, beside its error."""


class ShareFailed(AnalyzeError):
    """A shared lake could not be read or written."""

    def __init__(self, location: Location, error: Exception, end: str) -> None:
        super().__init__(f"{location.url}: {said_by(error)}; {end}")


class SharedFileDamaged(ShareFailed):
    """A file of a shared lake is not what was written there."""


class SharedLakeBusy(ShareFailed):
    """Others were always first."""


def _plain(error: Exception) -> str:
    """Return what an error says on one line, whose parts the library draws as a tree."""
    return BRANCH.sub(": ", COLOUR.sub("", str(error)))


def is_of_a_file(error: Exception) -> bool:
    """Return whether an error of a reader is about what stands in a file, or one that is gone."""
    text = _plain(error)
    if isinstance(error, FileNotFoundError) or GONE.search(text):
        return True
    has_errno = isinstance(error, OSError) and error.errno is not None
    return not (isinstance(error, DeltaError) or has_errno or OF_A_SERVER.search(text))


def is_final(error: Exception) -> bool:
    """Return whether the same request would be refused again: it is about rights or the place."""
    text = _plain(error)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern, _ in SAID[:N_FINAL])


def said_by(error: Exception) -> str:
    """Return what an error of the library means, in words and without keys."""
    text = _plain(error)
    for pattern, meaning in SAID:
        if re.search(pattern, text, re.IGNORECASE):
            return meaning
    line = redact(text).partition("\n")[0].partition("<")[0]  # without the body of an answer
    return f"cannot be used ({printable(line)[:300].strip()})"


@contextmanager
def without_panics() -> Iterator[None]:
    """Keep what the library writes to standard error by itself; all else is written afterwards."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as kept:
        before = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            kept.seek(0)
            if said := PANIC.sub(b"", kept.read()):
                os.write(2, said)
