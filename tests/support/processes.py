"""The processes of runs, found by their command lines; and proof that they would be found.

Most tests look for processes that must not be there. Under another name than the one they were
started by none would ever be found, and no test would notice: so each look-up finds one first.
"""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import psutil

from collect.execute.mirror_process import MIRROR_MODULE, mirror_command
from collect.local import model as local_child
from tests.support.interpreter import assert_are_modules
from tests.support.kept_run import command

COLLECTOR = "collect"
"""In the command line of a collector, after `-m`."""

SERVER_FILE = local_child.server.__file__
"""In the command line of the server of an embedded model."""


def mirrors_of(run_dir):
    """Return the mirrors that follow a run."""
    assert_mirrors_are_found()
    return _at_work({MIRROR_MODULE}, run_dir)


def processes_of(folder):
    """Return the collectors and mirrors at work in a folder."""
    assert_mirrors_are_found()
    assert_collectors_are_found()
    return _at_work({COLLECTOR, MIRROR_MODULE}, folder)


def servers_of(folder):
    """Return the servers of embedded models that were started from a folder."""
    assert_servers_are_found()
    return _servers(folder)


def _at_work(words, folder):
    """Return the processes with one of the words that name something in the folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        command, cwd = process.info["cmdline"] or [], process.info["cwd"] or "/"
        if words & set(command) and any(Path(cwd, word).is_relative_to(folder) for word in command):
            found.append(process)
    return found


def _servers(folder):
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if SERVER_FILE in (process.info["cmdline"] or []) and process.info["cwd"] == str(folder)
    ]


@cache
def assert_mirrors_are_found():
    """Start a mirror as a collector does, by an absolute path and by a relative one."""
    assert_are_modules(MIRROR_MODULE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for run_dir in (folder / "r", Path("r")):
            with _halted(mirror_command(run_dir), folder) as pid:
                for place in (folder, folder / "r"):
                    assert _appears(pid, partial(_at_work, {MIRROR_MODULE}, place))
                assert pid not in _ids(_at_work({MIRROR_MODULE}, folder / "other"))


@cache
def assert_collectors_are_found():
    """Start a collector as the tests do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with _halted(command("run", "--runs", folder), "/") as pid:
            assert _appears(pid, partial(_at_work, {COLLECTOR}, folder))


@cache
def assert_servers_are_found():
    """Start the server of an embedded model, which could not serve without its arguments."""
    server = local_child.LocalModel([], api_key="none", start_seconds=1.0)
    try:
        os.kill(server.pid, signal.SIGSTOP)
        assert _appears(server.pid, partial(_servers, Path.cwd()))
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.stop()


@contextmanager
def _halted(command, cwd):
    """Start a process that stands still before it does anything, and end it."""
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE) as process:
        try:
            process.send_signal(signal.SIGSTOP)
            yield process.pid
        finally:
            process.kill()


def _appears(pid, look):
    """Return whether a process is found, within the time that a busy machine takes.

    Whoever starts one hears that it began before the system has its command line.
    """
    deadline = time.monotonic() + 10
    while pid not in _ids(look()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _ids(processes):
    return {process.pid for process in processes}
