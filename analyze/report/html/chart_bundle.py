"""The library that draws the charts, as one script for the page.

To put it together takes more than a second and holds Python's lock: so a process of its own does it
while the numbers are read, and ends with its parent. It is kept in the user's cache, so that the
next page need not wait.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version

from schemas.errors import AnalyzeError
from schemas.io.cache_folder import cache_folder
from schemas.io.files import replacing

DIE_WITH_PARENT = "import ctypes;ctypes.CDLL(None).prctl(1, 9);" if sys.platform == "linux" else ""
"""For one that is killed; elsewhere the process ends a second later, when nobody reads it."""

FETCH = (
    f"{DIE_WITH_PARENT}import sys, vl_convert;"
    "sys.stdout.buffer.write(vl_convert.javascript_bundle().encode('utf-8'))"
)

FETCH_S = 120
"""Of a second or two; a process that is stopped must not hold the page for ever."""

KEPT = "charts.js"
"""In the cache: a line that says of what and how it was made, and the script."""


@contextmanager
def bundle_meanwhile() -> Iterator[Callable[[], str]]:
    """Fetch the script beside other work; its process does not outlive the block.

    What is yielded waits for the script, once. It raises AnalyzeError when there is none.
    """
    if (kept := _kept()) is not None:
        yield lambda: kept
        return
    command = [sys.executable, "-P", "-c", FETCH]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield lambda: _script_of(process)
        finally:
            process.kill()


def fetched_bundle() -> str:
    """Return the script, for whoever has nothing else to do meanwhile.

    Raises:
        AnalyzeError: there is none.
    """
    with bundle_meanwhile() as bundle:
        return bundle()


def _script_of(process: subprocess.Popen[bytes]) -> str:
    try:
        out, err = process.communicate(timeout=FETCH_S)
    except subprocess.TimeoutExpired:
        message = f"the library of the charts did not come within {FETCH_S} s"
        raise AnalyzeError(message) from None
    if process.returncode:
        words = err.decode(errors="replace").strip().rpartition("\n")[2]
        message = f"the library of the charts cannot be had ({words or process.returncode})"
        raise AnalyzeError(message)
    _keep(out)
    return out.decode()


def _kept() -> str | None:
    """Return the script that an earlier page has kept; None where it is another or was torn.

    One that another user wrote is not taken: it would act in every page.
    """
    try:
        with (cache_folder() / KEPT).open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            mark, _, script = file.read().partition(b"\n")
    except OSError:
        return None
    return script.decode() if mark == _mark_of(script) else None


def _keep(script: bytes) -> None:
    """Keep the script for the next page, where the cache can be written."""
    folder = cache_folder()
    if folder.parts[:1] == ("~",):  # of a user without a home
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / KEPT) as temporary:
            temporary.write_bytes(_mark_of(script) + b"\n" + script)


def _mark_of(script: bytes) -> bytes:
    """Return what says that a script is whole, and made by this version in this way."""
    made_by = f"{version('vl-convert-python')} {FETCH}"
    return hashlib.sha256(made_by.encode() + script).hexdigest().encode()
