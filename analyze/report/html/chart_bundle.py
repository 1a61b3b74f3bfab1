"""The library that draws the charts, as one script for the page.

Loading it takes more than a second and holds Python's lock: so a process of its own loads it while
the numbers are read, and ends with its parent.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schemas.errors import AnalyzeError

DIE_WITH_PARENT = "import ctypes;ctypes.CDLL(None).prctl(1, 9);" if sys.platform == "linux" else ""
"""For one that is killed; elsewhere the process ends a second later, when nobody reads it."""

FETCH = (
    f"{DIE_WITH_PARENT}import sys, vl_convert;"
    "sys.stdout.buffer.write(vl_convert.javascript_bundle().encode('utf-8'))"
)

FETCH_S = 120
"""Of a second or two; a process that is stopped must not hold the page for ever."""


@contextmanager
def bundle_meanwhile() -> Iterator[Callable[[], str]]:
    """Fetch the script beside other work; its process does not outlive the block.

    What is yielded waits for the script, once. It raises AnalyzeError when there is none.
    """
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
    return out.decode()
