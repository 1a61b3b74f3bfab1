"""One command in the helper: started, looked at, ended, and gone before it is answered for."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from collect.sandbox.base import BLOCK_FD, STATUS_FD, Completed, EndedBy
from collect.sandbox.output import CHUNK_BYTES, LIMIT_SIGNALS, Stream, exit_of, opened_input, shared
from collect.sandbox.processes import Disk, children, taken_by
from collect.sandbox.scratch import PARTS
from collect.sandbox.trees import Usage, usage

LOOK_S = 0.05
"""Between two looks at a command."""

NEVER = float("-inf")
"""When a command was ended that was not."""

FIRST_LOOK_S = 0.02
"""Before it bwrap itself is all there is to see."""

MAX_SHARE = 0.1
"""Of a core that looking may take; where it takes longer, it is done less often."""

STEP_S = 0.005
"""Of counting files at a stretch, since other commands wait meanwhile."""

ENDING_S = 20.0
"""How long an engine may take to end a container."""

OWN_THREADS = 2
"""Of bwrap itself, outside and inside."""

RESTORED_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
"""A command is to find them as usual, whatever the helper, or `nohup` around it all, ignores."""

MAX_PIPE_BYTES = 1 << 20
"""What a pipe can hold, where a command has made it as large as it may."""

OOM_SCORE = b"1000"
"""Where the kernel is out of memory, it ends commands before anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be run and how much of the machine it may take; bytes and seconds."""

    argv: list[str]
    environment: Mapping[str, str]
    stdin: bytes
    trial: str
    ending: list[str] | None
    is_engine: bool
    seconds: float
    memory: int
    processes: int
    size: int
    files: int
    output: int
    port: int | None
    number: int

    @classmethod
    def of(cls, content: dict[str, Any]) -> Job:
        """Return a job from its JSON."""
        return cls(**content | {"stdin": base64.b64decode(content["stdin"])})


class Parent(Protocol):
    """What a command needs of the loop it runs in."""

    selector: selectors.BaseSelector

    @property
    def n_running(self) -> int:
        """Commands that run at the moment, at least 1."""

    def on_end(self, pid: int, call: Callable[[int, resource.struct_rusage], None]) -> bool:
        """Have a child's end told; False: it has been waited for already."""

    def known(self) -> set[int]:
        """Return the children whose end somebody waits for."""

    def listen(self, pid: int, port: int, number: int) -> str:
        """Hand out a socket that listens where a process is; return what went wrong."""


class Running:
    """A command that was started.

    Args:
        job: what to run.
        loop: where its end is noticed.
        when_done: is called once, with what came of it or why it could not be locked in.

    Raises:
        OSError: this machine has no room for another process or file.
    """

    def __init__(
        self, job: Job, loop: Parent, when_done: Callable[[Completed | str], None]
    ) -> None:
        self._job, self._loop, self._when_done = job, loop, when_done
        self._ended_by: EndedBy | None = None
        self.ended_at = NEVER
        """Moment of the monotonic clock, however it was ended."""
        self._exit_code: int | None = None
        self._init: int | None = None
        self._gate: int | None = None
        """What the command waits for, until this is closed."""
        self._refusal, self._said = "", b""
        self._ending: tuple[int, float] | None = None
        self._cpu_s = self._least_cpu_s = 0.0
        self._peak: int | None = None
        self._is_waited_for = False
        self._paths = [f"{job.trial}/{part}" for part in PARTS]
        self._disk = Disk.of(Path(job.trial))
        self._device = os.stat(job.trial).st_dev  # noqa: PTH116
        self.taken = self.stored = 0
        """Bytes of memory and on the disk, when they were last looked at."""
        self._deleted = 0
        self._allowed: tuple[int, int] | None = None
        self._counting: Generator[Usage] = usage(self._paths, opens=False)
        self._found = Usage()
        self._count_s = 0.0
        self._next_count = 0.0
        self._began = time.monotonic()
        self._next_look = self._began + FIRST_LOOK_S
        self._start()

    def _start(self) -> None:
        pipes = [os.pipe() for _ in range(3)]
        handles = [write for _, write in pipes]
        try:
            for read, _ in pipes:
                os.set_blocking(read, False)
            handles.append(opened_input(self._job.stdin))
            gate = []
            if self._job.port is not None:
                blocked, self._gate = os.pipe()
                handles.append(blocked)
                gate.append((os.POSIX_SPAWN_DUP2, blocked, BLOCK_FD))
            self._pid = os.posix_spawn(
                self._job.argv[0],
                self._job.argv,
                self._job.environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, handles[3], 0),
                    (os.POSIX_SPAWN_DUP2, handles[0], 1),
                    (os.POSIX_SPAWN_DUP2, handles[1], 2),
                    (os.POSIX_SPAWN_DUP2, handles[2], STATUS_FD),
                    *gate,
                ],
                setpgroup=0,
                setsigmask=(),
                setsigdef=RESTORED_SIGNALS,
            )
        except BaseException:
            for read, _ in pipes:
                os.close(read)
            self._open_gate()
            raise
        finally:
            for handle in handles:
                os.close(handle)
        self._streams = [Stream(pipes[0][0]), Stream(pipes[1][0])]
        self._status = pipes[2][0]
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._pid}/oom_score_adj").write_bytes(OOM_SCORE)
        for stream in self._streams:
            self._loop.selector.register(
                stream.handle, selectors.EVENT_READ, lambda stream=stream: self._read(stream)
            )
        if self._gate is not None:
            self._loop.selector.register(self._status, selectors.EVENT_READ, self._let_begin)
        self._loop.on_end(self._pid, self._first_ended)

    def _let_begin(self) -> None:
        """Once bwrap has said who the first process is: listen beside it, then let it begin."""
        self._take_status()
        if self._init is None:
            return
        self._loop.selector.unregister(self._status)
        port = self._job.port
        assert port is not None
        if why := self._loop.listen(self._init, port, self._job.number):
            self._refusal = f"nothing can listen on port {port} inside: {why}"
            self.end("stopped")
        self._open_gate()

    def _open_gate(self) -> None:
        """Let the command begin; nothing where it has, or did not wait."""
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None

    def _read(self, stream: Stream) -> None:
        if not stream.read():
            self._loop.selector.unregister(stream.handle)
        elif sum(one.produced for one in self._streams) > self._job.output:
            self.end("output")

    def end(self, why: EndedBy) -> None:
        """End it; the first reason counts. What came of it is told when it is gone."""
        if self._ended_by is not None:
            return
        self._ended_by, self.ended_at = why, time.monotonic()
        if not self._is_waited_for:
            self._kill()

    def _kill(self) -> None:
        """Kill the process that was started, with those that stayed in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)

    def look(self, now: float) -> None:
        """End it where it takes more than it may."""
        if self._ending is not None and now > self._ending[1]:
            os.kill(self._ending[0], signal.SIGKILL)
        if now - self._began > self._job.seconds:
            self.end("time")
        if not self._job.is_engine and now >= self._next_look:
            self._look_at_processes()
        if now >= self._next_count:
            self._count()

    def _pause(self, took_s: float) -> float:
        """Return how long not to look again, so that all commands together stay in the share."""
        return max(LOOK_S, took_s * self._loop.n_running / MAX_SHARE)

    def _look_at_processes(self) -> None:
        began = time.monotonic()
        found = taken_by(self._pid, self._device)
        self.taken, self._deleted = found.memory, found.deleted
        self._peak = max(self._peak or 0, found.memory)
        self._least_cpu_s = max(self._least_cpu_s, found.cpu_s)
        if found.memory > self._job.memory:
            self.end("memory")
        if found.threads - OWN_THREADS > self._job.processes:
            self.end("processes")
        now = time.monotonic()
        self._next_look = now + self._pause(now - began)

    def _count(self) -> None:
        """Count files for a moment; what was there before the command began is not its doing."""
        began = time.monotonic()
        is_whole = True
        for found in self._counting:
            self._found = found  # a count that was cut off at its last look goes on with nothing
            if self._is_over(found) or time.monotonic() - began > STEP_S:
                is_whole = False
                break
        found = self._found
        if self._is_over(found):
            self.end("workspace")
        stored = found.size + self._deleted
        self.stored = stored if is_whole else max(stored, self.stored)
        now = time.monotonic()
        self._count_s += now - began
        if is_whole:
            if self._allowed is None:
                self._allowed = max(found.size, self._job.size), max(found.files, self._job.files)
            self._next_count = now + self._pause(self._count_s)
            self._counting, self._count_s = usage(self._paths, opens=self._is_hidden()), 0.0

    def _is_over(self, found: Usage) -> bool:
        if self._allowed is None:
            return False
        size, files = self._allowed
        return found.size + self._deleted > size or found.files > files or found.is_too_deep

    def _is_hidden(self) -> bool:
        """Return whether the disk lost what no folder shows: one may be closed to its owner."""
        try:
            now = Disk.of(Path(self._job.trial))
        except OSError:
            return False
        lost_names = self._disk.names - now.names
        return self._disk.free - now.free > self._job.size or lost_names > self._job.files

    def _first_ended(self, status: int, spent: resource.struct_rusage) -> None:
        """The process that was started is gone; what it left behind goes now."""
        self._is_waited_for = True
        self._add(spent)
        self._kill()
        self._read_status()
        if self._job.is_engine:
            self._client_ended(os.waitstatus_to_exitcode(status))
        elif self._init is None:
            self._end_orphans()
        elif self._loop.on_end(self._init, self._init_ended):
            os.kill(self._init, signal.SIGKILL)
        else:
            self._done()

    def _end_orphans(self) -> None:
        """End, one by one, what was started before bwrap said who that is."""
        for pid in set(children(os.getpid())) - self._loop.known():
            os.kill(pid, signal.SIGKILL)
            if self._loop.on_end(pid, lambda *_: self._end_orphans()):
                return
        self._done()

    def _client_ended(self, code: int) -> None:
        """The client of an engine is gone; a container that it did not wait for is ended now."""
        self._exit_code = code if code >= 0 else None
        argv = self._job.ending
        if self._exit_code is None and argv is not None:
            with contextlib.suppress(OSError):
                pid = os.posix_spawn(argv[0], argv, self._job.environment)
                self._ending = pid, time.monotonic() + ENDING_S
                self._loop.on_end(pid, self._container_ended)
                return
        self._done()

    def _container_ended(self, status: int, _: resource.struct_rusage) -> None:
        if os.WIFSIGNALED(status):  # whether the container is gone nobody knows
            self._ended_by = None
        self._ending = None
        self._done()

    def _init_ended(self, _status: int, spent: resource.struct_rusage) -> None:
        self._add(spent)
        self._done()

    def _add(self, spent: resource.struct_rusage) -> None:
        self._cpu_s += spent.ru_utime + spent.ru_stime

    def _read_status(self) -> None:
        """Take the last that bwrap said."""
        with contextlib.suppress(KeyError):
            self._loop.selector.unregister(self._status)
        self._take_status()
        os.close(self._status)
        self._open_gate()

    def _take_status(self) -> None:
        """Take what bwrap said: who is the first process inside, how the command ended."""
        with contextlib.suppress(BlockingIOError):
            self._said += os.read(self._status, 1 << 16)
        *lines, rest = self._said.split(b"\n")
        self._said = rest
        for line in lines:
            with contextlib.suppress(ValueError):  # it was killed while it said so
                said = json.loads(line)
                self._init = said.get("child-pid", self._init)
                self._exit_code = said.get("exit-code", self._exit_code)

    def _done(self) -> None:
        """Nothing of it runs any more: take the last of its output, and tell.

        Processes that were killed together are waited for by nobody, so that what they took of the
        processor is known from the last look alone.
        """
        wall_ms = round((time.monotonic() - self._began) * 1000)
        for stream in self._streams:
            with contextlib.suppress(BlockingIOError):
                for _ in range(MAX_PIPE_BYTES // CHUNK_BYTES):
                    stream.read()
            with contextlib.suppress(KeyError):
                self._loop.selector.unregister(stream.handle)
            os.close(stream.handle)
        self._counting.close()
        stdout, stderr = shared(self._streams)
        if self._refusal:
            self._when_done(self._refusal)
            return
        if self._exit_code is None and self._ended_by is None:
            said = "" if self._job.is_engine else stderr.data.decode("utf-8", "replace").strip()
            self._when_done(said or f"{self._job.argv[0]} ended without telling how")
            return
        code, number = exit_of(self._exit_code)
        ended_by = self._ended_by or LIMIT_SIGNALS.get(number or 0, "exit")
        self._when_done(
            Completed(
                exit_code=code if self._ended_by is None else None,
                signal=number if self._ended_by is None else signal.SIGKILL,
                ended_by=ended_by,
                stdout=stdout,
                stderr=stderr,
                wall_ms=wall_ms,
                cpu_ms=None
                if self._job.is_engine
                else round(max(self._cpu_s, self._least_cpu_s) * 1000),
                peak_memory_bytes=self._peak,
            )
        )
