"""Starts the mirror of a run in a fork of one process that has imported all of it.

A mirror spends half a second of processor time on its imports, more than on a small run; hundreds
of runs are made here. Each mirror is a process of its own, with the arguments, environment and
open files that the collector gave it; `tests/support/mirror_client.py` stands where the collector
put it, waits for it and ends as it does. What a mirror from nothing does, and what happens when
one is killed, is tested with the real command line.
"""

import asyncio
import atexit
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from unittest import mock

from pydantic import BaseModel

from collect.execute.mirror_process import ENVIRONMENT, MIRROR_MODULE, mirror_command
from tests.support.paths import ROOT

CLIENT = Path(__file__).with_name("mirror_client.py")
REAL = asyncio.create_subprocess_exec
MIRROR = mirror_command(Path())[1:-1]


@cache
def address():
    """Return where the one process of this session listens; it is started at the first call."""
    folder = tempfile.TemporaryDirectory()
    path = str(Path(folder.name, "mirrors"))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listening.fileno())],
            cwd=ROOT, stdin=subprocess.PIPE, env=os.environ | ENVIRONMENT,
            pass_fds=[listening.fileno()],
        )  # fmt: skip

    def close():
        with process:
            process.kill()
        folder.cleanup()

    atexit.register(close)
    return path


def spawner(where):
    """Return what starts processes as asyncio does, but mirrors as forks."""

    def spawn(*command, **options):
        if command[1:-1] == MIRROR:
            client = (sys.executable, "-I", "-S", str(CLIENT), where, MIRROR_MODULE)
            command = (*client, command[-1])
        return REAL(*command, **options)

    return spawn


@contextlib.contextmanager
def forked_mirrors():
    """Let runs that are made in this process have their mirrors forked."""
    with mock.patch.object(asyncio, "create_subprocess_exec", spawner(address())):
        yield


@contextlib.contextmanager
def no_mirrors():
    """Let runs that are made in this process be without a mirror: who reads their log alone.

    What stands for it waits as a mirror does, until the collector is done, and is always well.
    """

    with mock.patch.object(asyncio, "create_subprocess_exec", spawn_no_mirror):
        yield


def spawn_no_mirror(*command, **options):
    """Start a process as asyncio does, but one that only waits where a mirror would be."""
    return REAL(*(("cat",) if command[1:-1] == MIRROR else command), **options)


def serve(listening):
    """Fork for each client, until whoever started this is gone.

    A mirror sums its run up once while there is time, to have the engine loaded at the end. Here
    it is, and that would cost a small run as much as its end.

    The first array that pyarrow makes loads pandas where there is one, as there is beside our
    tests: half of what is saved here.
    """
    import_module("analyze.regressions.open_shifts")
    import_module(MIRROR_MODULE).Follower._warm_up = lambda _: None
    import_module("pyarrow").array([1])
    build_records()
    read_lines = import_module("schemas.lake.rows.parse_log")
    read_lines.read_records([])
    read_lines.read_plan([])
    gc.freeze()
    signal.signal(signal.SIGCHLD, reap)
    with selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while sys.stdin not in [key.fileobj for key, _ in selector.select()]:
            client, _ = listening.accept()
            if os.fork() == 0:
                keep(client)
            client.close()


def build_records(kind=BaseModel):
    """Build what pydantic puts off until a record is made first: every fork would do it again."""
    for record in kind.__subclasses__():
        if record.__module__.partition(".")[0] in {"analyze", "collect", "schemas"}:
            record.model_rebuild()
        build_records(record)


def reap(*_):
    """Let go of keepers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def keep(client):
    """Fork once more, and tell the client how the mirror ended when it really has."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, files, _, _ = socket.recv_fds(client, 1_000_000, 4)
    job = json.loads(text)
    mirror = os.fork()
    if mirror == 0:
        become(job, files, client)
        os._exit(import_module(MIRROR_MODULE).main())
    for fd in files:
        os.close(fd)
    _, status = os.waitpid(mirror, 0)
    with contextlib.suppress(OSError):
        client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(job, files, client):
    """Take over what a process is started with."""
    client.close()
    os.setsid()
    os.fchdir(folder := files.pop())
    os.close(folder)
    os.environ.clear()
    os.environ.update(job["env"])
    for fd, opened in enumerate(files):
        os.dup2(opened, fd)
        os.close(opened)
    sys.argv = job["argv"]


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(socket.socket(fileno=int(sys.argv[1])))
