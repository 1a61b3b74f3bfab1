"""Groups of runs are brought in by two processes: each core reads lines of its own.

A helper reads names of runs from its standard input, a group a line, and answers with a line. It
ends with the process that started it, whose end closes the pipe; a group it has begun is finished
under the locks that it holds itself.
"""

from __future__ import annotations

import base64
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson

from analyze.lake.load_group import Brought, bring_group
from schemas.errors import AnalyzeError

N_PROCESSES = 2

LAST_GROUP_S = 120
"""How long a process may take over the group it has when no more is wanted of it."""


def in_processes(runs_dir: Path, groups: list[list[str]]) -> Iterator[tuple[list[str], Brought]]:
    """Yield each group with what was brought in of it, as the processes finish them.

    Raises:
        OSError: the lake cannot be written.
        AnalyzeError: a process died.
    """
    todo: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    for group in groups:
        todo.put(group)
    done: queue.SimpleQueue[tuple[list[str], Brought] | Exception] = queue.SimpleQueue()
    # Not with -m: there this module, and what it defines and pickles, would have another name.
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(runs_dir)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(min(N_PROCESSES, len(groups)))
    ]
    for process in processes:
        threading.Thread(target=_feed, args=(process, todo, done), daemon=True).start()
    try:
        for _ in groups:
            answer = done.get()
            if isinstance(answer, Exception):
                raise answer
            yield answer
    finally:
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in processes:
            try:
                process.wait(LAST_GROUP_S)
            except subprocess.TimeoutExpired:  # what it was bringing in is brought in by the next
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _feed(
    process: subprocess.Popen[bytes],
    todo: queue.SimpleQueue[list[str]],
    done: queue.SimpleQueue[tuple[list[str], Brought] | Exception],
) -> None:
    """Give one process a group after the other."""
    assert process.stdin is not None
    assert process.stdout is not None
    while True:
        try:
            group = todo.get_nowait()
        except queue.Empty:
            return
        try:
            process.stdin.write(orjson.dumps(group) + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError):
            answer = b""
        if not answer:
            done.put(AnalyzeError("a process that brings runs into the lake died; sync again"))
            return
        result = pickle.loads(base64.b64decode(answer))  # noqa: S301 - our own process
        done.put(result if isinstance(result, Exception) else (group, result))
        if isinstance(result, Exception):
            return


def main() -> None:
    """Bring in groups until standard input ends."""
    runs_dir = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        answer: Brought | Exception
        try:
            answer = bring_group(runs_dir, orjson.loads(line))
        except OSError as exc:
            answer = exc
        sys.stdout.buffer.write(base64.b64encode(pickle.dumps(answer)) + b"\n")
        sys.stdout.buffer.flush()
