"""Brings runs into the lake, in groups: two processes when there is much to do.

Each core reads lines of its own. A helper runs `main`: it reads names of runs from its standard
input, a group a line, and answers with a line. It ends with the process that started it, whose end
closes the pipe; a group it has begun is finished under the locks that it holds itself.
"""

from __future__ import annotations

import base64
import os
import pickle
import queue
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from schemas.errors import AnalyzeError
from schemas.lake import Lake, LakeChange, lake_of

N_PROCESSES = 2

LAST_GROUP_S = 120
"""How long a process may take to finish its group once no more groups are wanted."""

MAX_GROUP_RUNS = 400
"""Runs that are locked and read together; each lock is an open file."""

MAX_GROUP_BYTES = 64 * 2**20
"""Bytes of logs in a group: what is held in memory at one moment."""

MIN_PARALLEL_BYTES = 48 * 2**20
"""Bytes of logs from which on a second process pays for its start."""


def append_runs(lake: Lake, sizes: Mapping[str, int]) -> Iterator[tuple[list[str], LakeChange]]:
    """Yield groups of runs with what was brought in of each, as they are done.

    Args:
        lake: the lake.
        sizes: bytes of the log of each run, by the name of its folder.

    Raises:
        OSError: the lake cannot be written.
        AnalyzeError: a process died.
    """
    groups = list(_groups(sizes))
    is_little = sum(sizes.values()) < MIN_PARALLEL_BYTES
    if is_little or len(groups) < 2 or (os.cpu_count() or 1) < 2:
        for group in groups:
            yield group, lake.append_run(*group)
    else:
        yield from _in_processes(lake.folder.parent, groups)


def _in_processes(
    runs_dir: Path, groups: list[list[str]]
) -> Iterator[tuple[list[str], LakeChange]]:
    """Yield each group with what was brought in of it, as the processes finish them."""
    todo: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    for group in groups:
        todo.put(group)
    done: queue.SimpleQueue[tuple[list[str], LakeChange] | Exception] = queue.SimpleQueue()
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
    done: queue.SimpleQueue[tuple[list[str], LakeChange] | Exception],
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
        answer: LakeChange | Exception
        try:
            answer = Lake(lake_of(runs_dir)).append_run(*orjson.loads(line))
        except OSError as exc:
            answer = exc
        sys.stdout.buffer.write(base64.b64encode(pickle.dumps(answer)) + b"\n")
        sys.stdout.buffer.flush()


def _groups(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_most = (
        MAX_GROUP_RUNS if most == resource.RLIM_INFINITY else max(1, min(MAX_GROUP_RUNS, most // 2))
    )
    group: list[str] = []
    n_bytes = 0
    for name, size in sizes.items():
        if group and (len(group) >= n_most or n_bytes + size > MAX_GROUP_BYTES):
            yield group
            group, n_bytes = [], 0
        group.append(name)
        n_bytes += size
    if group:
        yield group
