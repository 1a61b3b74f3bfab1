"""The process that starts, watches and ends the commands of a run.

`python -m collect.sandbox.helper --slots=8`, with a socket as its standard input

One for each run, at low priority, so that starting a command never makes the collector late. As
root it gives all rights up for good before it does anything, unless a container engine needs them.
It ends when the collector closes the socket or dies: then no command and no file of it is left.
Nothing slow is loaded here: standard library only.

The collector and the helper speak in lines of JSON. The collector writes `{"id": 1, "do": "run",
…}`, with `do` one of `folders`, `run`, `stop` and `remove`; each but `stop` is answered, under its
`id` and in any order, with its result or `{"error": …, "advice": …}`. The first line is the
helper's, with the `id` 0, when it is ready.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import resource
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collect.sandbox.base import Completed
from collect.sandbox.namespace import hand_over_listener
from collect.sandbox.output import not_started, packed
from collect.sandbox.processes import Disk, adopt_orphans, is_short_of_memory, leave_keyring
from collect.sandbox.running import LOOK_S, NEVER, Job, Running
from collect.sandbox.scratch import (
    UNPRIVILEGED,
    Scratch,
    begin_removal,
    dead_ones,
    end_commands,
    removed_at_once,
)

NICENESS = 10

RECEIVE_BYTES = 1 << 16

ENDING_S = 10.0
"""How long what was killed may take to go, before the helper goes all the same."""

ADVICE = "set TMPDIR to a folder with room in which every user may write, such as /var/tmp"

Ended = Callable[[int, resource.struct_rusage], None]
Message = dict[str, Any]


def main() -> None:
    """Serve until the socket is closed; exit code 1 when that cannot start."""
    parser = argparse.ArgumentParser(description="Run commands locked in.")
    parser.add_argument("--slots", type=int, required=True, help="commands at once")
    parser.add_argument("--engine", action="store_true", help="keep the rights of this user")
    parser.add_argument("--channel", type=int, required=True, help="for sockets that listen inside")
    parser.add_argument("--show", action="append", default=[], help="below a closed folder")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the collector, which ends us
    os.set_inheritable(options.channel, False)
    with socket.socket(fileno=os.dup(0)) as wire, socket.socket(fileno=options.channel) as channel:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        try:
            scratch = _prepared(options.show, gives_up_rights=not options.engine)
        except OSError as exc:
            where = f"{exc.filename}: " if exc.filename else ""
            text = f"the sandbox cannot be prepared: {where}{exc.strerror}"
            wire.sendall(_line({"id": 0, "error": text, "advice": ADVICE if where else ""}))
            sys.exit(1)
        try:
            Helper(wire, channel, scratch, options.slots).serve()
        finally:
            scratch.remove()


def _prepared(shows: list[str], *, gives_up_rights: bool) -> Scratch:
    """Return the scratch folder; raises OSError with the reason."""
    os.nice(NICENESS)
    os.chdir("/")
    os.umask(0o022)
    if gives_up_rights:
        if shows and os.geteuid() == 0:
            from collect.sandbox.namespace import show  # noqa: PLC0415 - few have such folders

            show(shows)
        leave_keyring()
        drop_rights()
    scratch = Scratch()
    if Disk.of(scratch.path).is_short or is_short_of_memory():
        scratch.remove()
        raise OSError(errno.ENOSPC, "the disk or the memory is full", str(scratch.path.parent))
    return scratch


def drop_rights() -> None:
    """As root: become a user without rights, for good.

    Raises:
        OSError: this process may not do so, or could come back.
    """
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    with contextlib.suppress(PermissionError):
        os.setuid(0)
        message = "root did not go away"
        raise OSError(errno.EPERM, message)


class Helper:
    """The loop: messages of the collector, output of commands, children that ended, time."""

    def __init__(
        self, wire: socket.socket, channel: socket.socket, scratch: Scratch, slots: int
    ) -> None:
        self.selector: selectors.BaseSelector = selectors.DefaultSelector()
        self._wire, self._channel = wire, channel
        self._scratch, self._slots = scratch, slots
        self._received = bytearray()
        self._to_send = bytearray()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._running: dict[int, Running] = {}
        self._ends: dict[int, Ended] = {}
        self._early: dict[int, tuple[int, resource.struct_rusage]] = {}
        self._is_closing = False
        self._next_look = 0.0
        wire.setblocking(False)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        adopt_orphans()
        self._wake_up, wake = os.pipe()
        for end in (self._wake_up, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        self.selector.register(wire, selectors.EVENT_READ, self._receive)
        self.selector.register(self._wake_up, selectors.EVENT_READ, self._signalled)

    @property
    def n_running(self) -> int:
        """Commands that run at the moment, at least 1."""
        return max(1, len(self._running))

    def on_end(self, pid: int, call: Ended) -> bool:
        """Have a child's end told; False: it has been waited for already."""
        if pid in self._ends:  # the number belongs to another one by now
            return False
        self._ends[pid] = call
        early = self._early.pop(pid, None)
        if early is None:
            try:
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                del self._ends[pid]
                return False
        else:
            del self._ends[pid]
            call(*early)
        return True

    def known(self) -> set[int]:
        """Return the children whose end somebody waits for."""
        return set(self._ends)

    def listen(self, pid: int, port: int, number: int) -> str:
        """Hand out a socket that listens where a process is; return what went wrong."""
        return hand_over_listener(pid, port, self._channel, number)

    def serve(self) -> None:
        """Work until the collector is gone and nothing runs any more."""
        self._answer(0, {"scratch": str(self._scratch.path)})
        dead = [*dead_ones(self._scratch.path)]
        end_commands(dead)
        for folder in dead:
            with contextlib.suppress(OSError):  # the next helper may have more room
                self._remove(folder)
        deadline = float("inf")
        while not self._is_closing or (self._ends and time.monotonic() < deadline):
            busy = bool(self._running)
            events = self.selector.select(LOOK_S if busy or self._is_closing else None)
            # An end closes the pipes of its command, so ends come last.
            for key, mask in sorted(events, key=lambda event: event[0].fd == self._wake_up):
                if key.fileobj is self._wire and mask & selectors.EVENT_WRITE:
                    self._send()
                elif mask & selectors.EVENT_READ:
                    key.data()
            now = time.monotonic()
            if now >= self._next_look:
                self._next_look = now + LOOK_S
                self._look(now)
            if self._is_closing and deadline == float("inf"):
                deadline = now + ENDING_S
                self._waiting.clear()
                for one in list(self._running.values()):
                    one.end("stopped")

    def _look(self, now: float) -> None:
        running = list(self._running.values())
        for one in running:
            one.look(now)
        if any(now - one.ended_at < ENDING_S for one in running):
            return  # it gives back what it took before another one has to go
        alive = [one for one in running if one.ended_at == NEVER]
        if alive and is_short_of_memory():
            max(alive, key=lambda one: one.taken).end("memory")
        elif alive:
            with contextlib.suppress(OSError):
                if Disk.of(self._scratch.path).is_short:
                    max(alive, key=lambda one: one.stored).end("workspace")

    def _signalled(self) -> None:
        numbers = os.read(self._wake_up, 1 << 12)
        self._is_closing |= signal.SIGTERM in numbers
        while self._ends:
            try:
                pid, status, spent = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            call = self._ends.pop(pid, None)
            if not self._running:
                self._early.clear()
            if call is None:
                self._early[pid] = status, spent
            else:
                call(status, spent)

    def _receive(self) -> None:
        try:
            chunk = self._wire.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            chunk = b""
        if not chunk:
            self._is_closing = True
            self.selector.unregister(self._wire)
            return
        self._received += chunk
        if b"\n" in chunk:
            *lines, rest = self._received.split(b"\n")
            self._received = rest
            for line in lines:
                self._obey(json.loads(line))

    def _answer(self, number: int, content: Message) -> None:
        self._to_send += _line({"id": number, **content})
        self._send()

    def _send(self) -> None:
        if self._is_closing:
            return
        try:
            while self._to_send:
                del self._to_send[: self._wire.send(self._to_send)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._to_send.clear()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._to_send else 0)
        self.selector.modify(self._wire, events, self._receive)

    def _obey(self, message: Message) -> None:
        number = message["id"]
        match message["do"]:
            case "folders":
                try:
                    trial = self._scratch.add_trial()
                except OSError as exc:
                    self._answer(number, {"error": f"{exc.filename}: {exc.strerror}"})
                else:
                    self._answer(number, {"trial": str(trial)})
            case "run":
                self._waiting.append((number, Job.of(message["job"])))
                self._start_next()
            case "stop":
                self._stop(message["run"])
            case "remove":
                try:
                    if removed_at_once(trial := Path(message["trial"])):
                        self._answer(number, {})
                    else:
                        self._remove(trial, lambda: self._answer(number, {}))
                except OSError as exc:
                    self._answer(number, {"error": f"{message['trial']}: {exc.strerror}"})

    def _start_next(self) -> None:
        while self._waiting and len(self._running) < self._slots and not self._is_closing:
            number, job = self._waiting.popleft()
            self._start(number, job)

    def _start(self, number: int, job: Job) -> None:
        def done(result: Completed | str) -> None:
            self._running.pop(number, None)
            self._answer(number, {"error": result} if isinstance(result, str) else packed(result))
            self._start_next()

        try:
            self._running[number] = Running(job, self, done)
        except (OSError, ValueError) as exc:
            result = not_started(exc)
            text = f"the sandbox cannot start a command: {exc}"
            self._answer(number, {"error": text} if result is None else packed(result))
        else:
            self._running[number].look(time.monotonic())

    def _stop(self, number: int) -> None:
        if number in self._running:
            self._running[number].end("stopped")
        for job in [one for one in self._waiting if one[0] == number]:
            self._waiting.remove(job)
            self._answer(number, {"error": "stopped before it began"})

    def _remove(self, folder: Path, when_done: Callable[[], None] | None = None) -> None:
        self.on_end(
            begin_removal(folder), lambda *_: when_done() if when_done is not None else None
        )


def _line(content: Message) -> bytes:
    return json.dumps(content).encode() + b"\n"


if __name__ == "__main__":
    main()
