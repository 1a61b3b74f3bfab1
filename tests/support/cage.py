"""A sandbox that tests use from outside of its event loop, and what they compare the machine by."""

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import stat
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

from collect.sandbox import Bwrap, Command, Sandbox
from collect.sandbox.scratch import PREFIX
from schemas.config.sandbox import SandboxLimits, SandboxProfile

OTHER_USER = 65_533
"""Neither root nor the user that the helper becomes."""

AS_OTHER_USER = f"""
os.setgroups([])
os.setresgid({OTHER_USER}, {OTHER_USER}, {OTHER_USER})
os.setresuid({OTHER_USER}, {OTHER_USER}, {OTHER_USER})
"""
"""Only what is imported is found as root: it may lie where nobody else may look."""

STARTER = """
import argparse, os, sys
import collect.sandbox.helper as helper
argparse.ArgumentParser().parse_args([])
{}
del sys.argv[1:4]
helper.main()
"""

USERS = ("root", "unprivileged") if os.geteuid() == 0 else ("unprivileged",)

LIMITS = SandboxLimits(
    command_seconds=60,
    cpu_seconds=2,
    memory_mb=200,
    processes=30,
    file_mb=20,
    workspace_mb=60,
    workspace_files=600,
    output_mb=4,
)
MOUNTED = re.compile(rf" (/|/usr|/tmp|/proc|/dev) |/(old|new)root|/workspace|/{PREFIX}")
"""Other tests and programs mount things elsewhere meanwhile."""

PROFILE = SandboxProfile(limits=LIMITS)


def require_bwrap():
    """Skip where a sandbox cannot be tested; in CI that fails."""
    if shutil.which("bwrap") is None:
        reason = "needs bubblewrap: apt-get install bubblewrap"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


class Cage:
    """A sandbox and its event loop in a thread."""

    def __init__(self, profile=PROFILE, backend=None, shows=()):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self.sandbox = self.call(Sandbox.open(profile, backend or Bwrap(profile.limits), shows))
        except BaseException:
            self._end_loop()
            raise

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def folders(self):
        return self.call(self.sandbox.folders())

    def run(self, *argv, folders=None, **settings):
        """Run a command, in folders of its own where none are given."""
        own = self.folders() if folders is None else folders
        try:
            return self.call(self.sandbox.run(own, Command(argv=argv, **settings)))
        finally:
            if folders is None:
                self.call(self.sandbox.remove(own))

    def sh(self, script, folders=None, **settings):
        return self.run("/bin/sh", "-c", script, folders=folders, **settings)

    def python(self, script, folders=None, **settings):
        return self.run("/usr/bin/python3", "-I", "-c", script, folders=folders, **settings)

    def children(self):
        """Return the processes below the helper."""
        return descendants(self.sandbox.pid)

    def close(self):
        try:
            self.call(self.sandbox.aclose())
        finally:
            self._end_loop()

    def _end_loop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def helper_with(code):
    """Let helpers start with some code of Python before they do anything."""
    with tempfile.TemporaryDirectory() as folder:
        starter = Path(folder, "python")
        command = shlex.join((sys.executable, "-P", "-c", STARTER.format(code)))
        starter.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        starter.chmod(0o755)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", str(starter))
            yield


def helper_of(user):
    """Let helpers start as this process is, or as another user without rights."""
    if user == "root" or os.geteuid() != 0:
        return contextlib.nullcontext()
    return helper_with(AS_OTHER_USER)


@contextlib.contextmanager
def cage_of(user, profile=PROFILE):
    """Hold a cage whose helper was started by a user."""
    require_bwrap()
    with helper_of(user):
        cage = Cage(profile)
    try:
        yield cage
    finally:
        cage.close()


@contextlib.contextmanager
def temporary_folder():
    """Hold a folder for the temporary files of helpers alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder).chmod(0o1777)
        patch.setenv("TMPDIR", folder)
        yield Path(folder)


def scratch_folders(folder):
    """Return the scratch folders below the one for temporary files."""
    return [path for path in folder.iterdir() if path.name.startswith(PREFIX)]


def processes_naming(folder):
    """Return the processes with a folder in their command lines."""
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.fsencode(folder) in read(path)
    ]


def read(path):
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def descendants(pid):
    """Return the processes below one."""
    try:
        return {child.pid for child in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


def mounts():
    """Return what is mounted where a command of these tests, or bwrap, could mount something."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return sorted(line for line in lines if MOUNTED.search(line))


def files_below(folder):
    """Return what a copy holds: content of files, targets of links, None for folders."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if stat.S_ISREG(mode) else None
    return found
