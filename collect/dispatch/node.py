"""A shard on a node of a cluster: its folder is made there, and copied back while it grows.

Whoever started it asks for what is new several times a second. When nobody does, nothing new begins
until somebody asks again: its part of the limits may belong to others by then.
"""

from __future__ import annotations

import contextlib
import os
import platform
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.dispatch.messages import Division, Lines, line_of, message_of
from collect.dispatch.processes import END_S, READ_BYTES, shard_command
from collect.dispatch.replica import Changes, Copy, Original
from collect.limits import NOTHING
from schemas.io.own_files import take_lock

LEASE_S = 3.0
"""After which nothing new begins unless somebody has asked."""

LOOK_S = 0.1


PREFIX = "benchlake-shard-"

NEW_S = 60.0
"""How old the folder of a shard has to be to be one that was left."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a shard's folder and its project are, below one folder."""

    working_dir: str
    run_dir: str


@dataclass(frozen=True, slots=True)
class News:
    """What a shard has said and written since it was asked."""

    lines: Sequence[bytes]
    changes: Changes
    code: int | None
    """How its process has ended; None: it runs."""


class NodeShard:
    """One attempt at a shard on this machine.

    Args:
        place: where things are, as on the machine that it comes from.
    """

    def __init__(self, place: Place) -> None:
        clear_left(Path(tempfile.gettempdir()))
        self._root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self._root, os.O_RDONLY)
        take_lock(self._lock)
        shutil.copytree(Path.cwd(), self._root, dirs_exist_ok=True)
        self._working_dir = self._root / place.working_dir
        self._working_dir.mkdir(parents=True, exist_ok=True)
        self._run_dir = self._root / place.run_dir
        self._run_dir.mkdir(parents=True)
        self._copy = Copy(self._run_dir)
        self._original = Original(self._run_dir)
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = Lines()
        self._heard: list[bytes] = []
        self._division = line_of(Division(0, *NOTHING))
        self._asked_at = time.monotonic()
        self._is_paused = False
        self._saying = threading.Lock()

    def receive(self, changes: Changes) -> str:
        """Take in a part of the folder before it begins; return the machine's name."""
        self._copy.apply(changes)
        return platform.node()

    def begin(self, line: bytes, keys: Mapping[str, str]) -> None:
        """Start the process; it alone is given the keys, as environment variables.

        Raises:
            OSError: it cannot be started.
        """
        self._original.take_as_sent()
        with (self._run_dir / "run.log").open("ab") as log:
            self._process = subprocess.Popen(
                shard_command(self._run_dir),
                cwd=self._working_dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **keys, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,
            )
        self._say(line)
        self._asked_at = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def exchange(self, lines: Sequence[bytes], wait_s: float) -> News:
        """Say lines to the process, wait a little, and return what is new of it."""
        assert self._process is not None
        with self._saying:
            self._asked_at = time.monotonic()
            if self._is_paused:
                self._is_paused = False
                self._write(self._division)
        for line in lines:
            self._say(line)
        code = self._process.poll()
        self._listen(0.0 if code is not None else wait_s)
        changes = self._original.changes()
        if not changes.is_all:  # what was said may be of what is still to be sent
            return News((), changes, None)
        heard, self._heard = self._heard, []
        return News(heard, changes, code)

    def end(self) -> None:
        """End the process, and take away what it left: the folder is elsewhere by now."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        shutil.rmtree(self._root, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _say(self, line: bytes) -> None:
        with self._saying:
            if isinstance(message_of(line), Division):
                self._division = line
            self._write(line)

    def _write(self, line: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _listen(self, wait_s: float) -> None:
        """Read what the process says, until nothing comes for a moment or the wait is over."""
        assert self._process is not None
        assert self._process.stdout is not None
        handle, deadline = self._process.stdout.fileno(), time.monotonic() + wait_s
        while True:
            left = max(deadline - time.monotonic(), 0.0)
            if not select.select([handle], [], [], left)[0]:
                return
            if not (piece := os.read(handle, READ_BYTES)):
                time.sleep(min(left, LOOK_S))
                return
            self._heard += self._lines.add(piece)

    def _watch(self) -> None:
        """Let nothing new begin while nobody asks."""
        while (process := self._process) is not None and process.poll() is None:
            time.sleep(LOOK_S)
            with self._saying:
                if self._process is None:
                    return
                if time.monotonic() - self._asked_at > LEASE_S and not self._is_paused:
                    self._is_paused = True
                    division = message_of(self._division)
                    assert isinstance(division, Division)
                    self._write(line_of(Division(division.number, *NOTHING)))


def clear_left(folder: Path) -> None:
    """Take away what shards left whose node was killed; those that are made hold a lock."""
    for left in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime < NEW_S:  # its lock may be about to be taken
                continue
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                take_lock(handle, wait_s=0)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)
