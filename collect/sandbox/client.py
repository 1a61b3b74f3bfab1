"""The sandbox as the collector has it: folders for a trial, commands in them, what they leave.

The work is done by a helper process (`collect.sandbox.helper`). When that dies, what it ran dies
with it, and the folders of all trials under way are lost: whoever waits, and every later call, gets
a `SandboxError`. It is not started again, since those trials could not go on: `collect run
--resume` makes them anew.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from collect.config.endpoints import without_secrets
from collect.sandbox.base import Backend, Command, Completed, Folders, SandboxError
from collect.sandbox.output import unpacked
from collect.workspace import HOME, TMP
from collect.workspace.record import NOTHING, Before, keep_workspace
from collect.workspace.snapshot import Budget
from schemas.config.sandbox import MB, SandboxProfile
from schemas.errors import printable
from schemas.run.workspace import Workspace

HELPER_MODULE = "collect.sandbox.helper"

SLOTS_A_CORE = 4
"""Commands at once; more wait for their turn, and their time begins then."""

MAX_LINE_BYTES = 1 << 20
"""Of an answer: what is kept of a command's output, and a little more."""

START_TIMEOUT_S = 30.0
END_TIMEOUT_S = 90.0
"""How long the helper may take to end its commands and to remove its files."""

MAX_ERROR_CHARS = 500

Message = dict[str, Any]

Serve = Callable[[socket.socket], None]
"""Takes a socket that listens where a command runs."""

MAX_NUMBER_BYTES = 32
"""Of the name of a command in the channel of sockets."""


class Sandbox:
    """Where the commands of a run are locked in; made by `open`."""

    def __init__(
        self,
        profile: SandboxProfile,
        backend: Backend,
        shows: Sequence[str] = (),
        slots: int | None = None,
    ) -> None:
        self._limits, self._backend = profile.limits, backend
        self._slots = SLOTS_A_CORE * (os.cpu_count() or 1) if slots is None else slots
        self.shows = tuple(shows)
        """Files and folders that commands find though they lie in a closed folder of root's."""
        self._name = f"benchlake-{secrets.token_hex(6)}"
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._problem: SandboxError | None = None
        self._serving: dict[int, Serve] = {}
        self._channel: socket.socket | None = None
        self._process: Process | None = None
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        profile: SandboxProfile,
        backend: Backend,
        shows: Sequence[str] = (),
        slots: int | None = None,
    ) -> Sandbox:
        """Start the helper.

        Args:
            profile: with the limits.
            backend: that locks in.
            shows: files and folders that commands are to find though they lie in a folder of root's
                that is closed to others; of no matter where this is not root.
            slots: commands at once; None: as many as keep the cores busy.

        Raises:
            SandboxError: it cannot be started, or finds no place for its files.
        """
        sandbox = cls(profile, backend, shows, slots)
        await asyncio.to_thread(backend.prepare)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await sandbox._start()
        except BaseException as exc:
            await sandbox.aclose()
            if isinstance(exc, OSError):  # a time-out is one
                message = f"the sandbox's helper cannot be started: {exc or 'it does not answer'}"
                raise SandboxError(message) from exc
            raise
        return sandbox

    @property
    def backend(self) -> Backend:
        """What locks the commands in."""
        return self._backend

    @property
    def pid(self) -> int | None:
        """The process id of the helper."""
        return self._process.pid if self._process is not None else None

    async def folders(self) -> Folders:
        """Make the folders of a trial, which are empty; raises SandboxError."""
        trial = Path((await self._ask({"do": "folders"}))["trial"])
        return Folders(trial / "workspace", trial / "home", trial / "tmp")

    async def run(
        self, folders: Folders, command: Command, serve: Serve | None = None
    ) -> Completed:
        """Run a command in the folders of a trial, and return when nothing of it runs any more.

        Cancelling this ends the command, and waits until it is gone.

        Args:
            folders: of the trial.
            command: what to run.
            serve: is given the socket that listens on the command's port, if it has one.

        Raises:
            SandboxError: it could not be locked in; it did not run.
        """
        number = next(self._numbers)
        name = f"{self._name}-{number}"
        content = self._run_message(folders, command, name, number)
        if serve is not None:
            self._serving[number] = serve
        try:
            answer = await self._ask(content, number)
        except asyncio.CancelledError:
            if number in self._answers:
                with contextlib.suppress(SandboxError):
                    self._send({"id": 0, "do": "stop", "run": number})
                    await self._answer(number)
            raise
        finally:
            self._serving.pop(number, None)
        completed = unpacked(answer)
        if completed.exit_code and self._backend.is_engine:
            why = await asyncio.to_thread(self._backend.refusal, name, completed)
            if why:
                raise SandboxError(why)
        return completed

    def _run_message(self, folders: Folders, command: Command, name: str, number: int) -> Message:
        limits, backend = self._limits, self._backend
        seconds = limits.command_seconds if command.timeout_s is None else command.timeout_s
        job = {
            "argv": backend.argv(command, folders, name),
            "stdin": base64.b64encode(command.stdin).decode(),
            "environment": dict(backend.environment),
            "trial": str(folders.workspace.parent),
            "ending": backend.ending(name),
            "is_engine": backend.is_engine,
            "seconds": seconds,
            "memory": limits.memory_mb * MB,
            "processes": limits.processes,
            "size": limits.workspace_mb * MB,
            "files": limits.workspace_files,
            "output": limits.output_mb * MB,
            "port": command.port,
            "number": number,
        }
        return {"do": "run", "job": job}

    async def keep(
        self,
        folders: Folders,
        target: Path,
        named: Sequence[str] = (),
        before: Before = NOTHING,
    ) -> Workspace | None:
        """Copy and list what a trial has left, in a new folder, up to the limits.

        Nothing of the trial runs meanwhile. All of the workspace is kept, and of /tmp and the home
        what is named.

        Args:
            folders: of the trial.
            target: the new folder.
            named: absolute paths, as commands see them.
            before: what the workspace began with.

        Returns:
            What was there; None for nothing, and then no folder is made.

        Raises:
            OSError: the copy cannot be written, or `target` is there already.
        """
        limits = self._limits
        budget = Budget(
            size=limits.workspace_mb * MB,
            files=limits.workspace_files,
            file_size=limits.file_mb * MB,
        )
        elsewhere = {TMP: folders.tmp, HOME: folders.home}
        return await asyncio.to_thread(
            keep_workspace,
            folders.workspace,
            target,
            budget,
            elsewhere=elsewhere,
            named=named,
            before=before,
        )

    async def remove(self, folders: Folders) -> None:
        """Remove the folders of a trial; raises SandboxError."""
        await self._ask({"do": "remove", "trial": str(folders.workspace.parent)})

    async def aclose(self) -> None:
        """End every command, remove every file, and wait for the helper.

        One that was killed has removed nothing: another one is started for that alone.
        """
        process, self._process = self._process, None
        if process is None:
            self._close_channel()
            return
        self._fail(SandboxError("the sandbox was closed"))
        with contextlib.suppress(OSError):
            self._writer.close()
            await self._writer.wait_closed()
        if await _ended(process) < 0:
            with contextlib.suppress(OSError):
                ours, theirs = socket.socketpair()
                ours.close()
                await _ended(await self._spawn(theirs))
        if self._reading is not None:
            await self._reading
        self._close_channel()

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE_BYTES)
        self._process = await self._spawn(theirs)
        self._reading = asyncio.create_task(self._read(self._process))
        await self._answer(0)

    async def _spawn(self, wire: socket.socket) -> Process:
        """Start a helper in a session of its own, so that Ctrl-C reaches the collector alone.

        `-P` keeps a folder of the user's called `collect` from being taken for ours.
        """
        options = [f"--slots={self._slots}"]
        if self._backend.is_engine:
            options.append("--engine")
        options += [f"--show={path}" for path in self.shows]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._take_channel(ours)
        with wire, theirs:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", HELPER_MODULE, f"--channel={theirs.fileno()}"),
                *options,
                pass_fds=(theirs.fileno(),),
                stdin=wire.fileno(),
                stdout=DEVNULL,
                stderr=PIPE,
                env=without_secrets(),
                start_new_session=True,
            )

    def _take_channel(self, channel: socket.socket) -> None:
        """Serve the sockets that come through a new channel, which takes the place of the old."""
        self._close_channel()
        channel.setblocking(False)
        self._channel = channel
        asyncio.get_running_loop().add_reader(channel, self._take_socket, channel)

    def _close_channel(self) -> None:
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None

    def _take_socket(self, channel: socket.socket) -> None:
        try:
            said, handles, _, _ = socket.recv_fds(channel, MAX_NUMBER_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            said, handles = b"", []
        if not said:  # the helper is gone
            self._close_channel()
        for handle in handles:
            listener = socket.socket(fileno=handle)
            listener.setblocking(False)
            serve = self._serving.get(int(said))
            if serve is None:  # its command is over
                listener.close()
            else:
                serve(listener)

    async def _ask(self, content: Message, number: int | None = None) -> Message:
        number = next(self._numbers) if number is None else number
        if self._problem is not None:
            raise self._problem
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, **content})
        return await self._answer(number)

    def _send(self, content: Message) -> None:
        self._writer.write(json.dumps(content).encode() + b"\n")

    async def _answer(self, number: int) -> Message:
        """Wait for an answer, which is still there when this is cancelled; raises SandboxError."""
        future = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
        answer = await asyncio.shield(future)
        del self._answers[number]
        if "error" in answer:
            raise SandboxError(answer["error"], answer.get("advice", ""))
        del answer["id"]
        return answer

    async def _read(self, process: Process) -> None:
        """Hand the answers out until the helper is gone; then all who wait are told why."""
        with contextlib.suppress(OSError, ValueError):
            while line := await self._reader.readline():
                answer = json.loads(line)
                future = self._answers.setdefault(
                    answer["id"], asyncio.get_running_loop().create_future()
                )
                if not future.done():
                    future.set_result(answer)
        if self._problem is None:
            self._fail(SandboxError(f"the sandbox's helper ended: {await _last_words(process)}"))

    def _fail(self, problem: SandboxError) -> None:
        self._problem = problem
        for future in self._answers.values():
            if not future.done():
                future.set_result({"id": 0, "error": str(problem), "advice": problem.advice})


async def _ended(process: Process) -> int:
    """Return the code with which a helper ended; it has some time for it."""
    try:
        async with asyncio.timeout(END_TIMEOUT_S):
            return await process.wait()
    except TimeoutError:
        process.kill()
        return await process.wait()


async def _last_words(process: Process) -> str:
    assert process.stderr is not None
    text = (await process.stderr.read()).decode("utf-8", "replace").strip()
    code = await process.wait()
    return printable(text[-MAX_ERROR_CHARS:]) or f"code {code}"
