"""The processes of the analysis that a run starts: the mirror beside it, push and report after it.

The mirror may be killed at any moment, by an operator or for want of memory, and the run goes on:
another one continues where Parquet ends. In any case a last one completes the work at the end.

The collector never loads what draws the report: `analyze report` does, in a process of its own. An
error there affects neither the run nor its exit code: a report can be made at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collect.config.endpoints import without_secrets
from collect.console.progress import RunReport
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, display_path, printable
from schemas.io.own_files import open_own

END_TIMEOUT_S = 180.0
"""Sealing and summing up 100,000 trials takes seconds; past this something is broken."""

LEFT_S = 5.0
"""How long what is left of a child that has ended, or was killed, may take."""

STEADY_S = 10.0
"""A child that lived this long was of use; one that dies sooner may never be."""

MAX_EARLY_DEATHS = 5
"""Early deaths in a row after which only the end is tried again."""

PAUSE_S = 0.5
"""Before the first new start; doubled with each early death."""

MIRROR_MODULE = "analyze.mirror"
"""What the child runs; started by its name, never imported by the collector."""

ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own pool keeps 20 MB more, and is no quicker here."""

Note = Callable[[str], None]

NAME = "report.html"
"""The report in the run's folder."""

REPORT_TIMEOUT_S = 600.0
"""A report of a million trials takes seconds; past this something is broken."""

REPORT_END_TIMEOUT_S = 5.0
"""How long the process of a report or push may take to end after it was told to."""

PUSH_TIMEOUT_S = 900.0
"""A push of a million rows takes minutes; past this the network is broken."""

OF_SERVERS = ("AWS_", "AZURE_", "GOOGLE_")
"""What the names of variables begin with that a push needs, secret ones too."""


def mirror_command(run_dir: Path) -> tuple[str, ...]:
    """Return the command of the child that follows a run.

    `-P` keeps a folder of the user's called `collect` from being taken for ours.
    """
    return (sys.executable, "-P", "-m", MIRROR_MODULE, str(run_dir))


@dataclass(eq=False)
class MirrorChild:
    """Follows one run; ends by itself when this process does."""

    run_dir: Path
    on_note: Note
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _process: Process | None = None
    _following: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, run_dir: Path, on_note: Note = lambda _: None) -> MirrorChild:
        """Start the child; what it says goes to run.log, and `on_note` hears of each death."""
        child = cls(run_dir, on_note)
        child._process = await child._spawn()
        child._following = asyncio.create_task(child._keep_alive())
        return child

    @property
    def pid(self) -> int | None:
        """The process id while one runs."""
        alive = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and alive else None

    async def finish(self) -> str | None:
        """Let the child seal and sum up; return what went wrong, or None."""
        self._ending.set()
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                if self._following is not None:
                    await self._following
                code = await self._end()
                if code is None or code < 0:  # it is dead; one more, from start to end
                    self._process = await self._spawn()
                    code = await self._end()
        except TimeoutError:
            await self._kill()
            return f"the mirror did not finish within {END_TIMEOUT_S:g} s"
        if code == 0:
            return None
        return f"the mirror {_ended(code)}; see {self.run_dir / 'run.log'}"

    async def last_words(self) -> list[str]:
        """Return the lines that the child left when it went well; nothing of any other."""
        process = self._process
        if process is None or process.stdout is None or process.returncode != 0:
            return []
        try:
            async with asyncio.timeout(LEFT_S):
                left = await process.stdout.read()
        except TimeoutError:  # a process of its own holds the pipe
            return []
        return [printable(line) for line in left.decode("utf-8", "replace").splitlines()]

    async def _kill(self) -> None:
        """End the child; one that even so does not go is left to the system."""
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEFT_S):
                await self._process.wait()

    async def _keep_alive(self) -> None:
        """Start the child again whenever it dies, until the end, or until that is hopeless."""
        deaths = 0
        while not self._ending.is_set():
            began = time.monotonic()
            await self._death_or_end()
            if self._ending.is_set():
                return
            deaths = 1 if time.monotonic() - began >= STEADY_S else deaths + 1
            what = f"the mirror {_ended(self._process.returncode if self._process else None)}"
            if deaths > MAX_EARLY_DEATHS:
                self.on_note(f"{what}, {deaths} times in a row; it is run once more at the end")
                return
            self.on_note(f"{what}; it is started again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S * 2 ** (deaths - 1)):
                    await self._ending.wait()
            if not self._ending.is_set():
                self._process = await self._spawn()

    async def _death_or_end(self) -> None:
        """Wait until the child is dead, or until the run is over."""
        if self._process is None:
            return
        waits = [
            asyncio.ensure_future(self._process.wait()),
            asyncio.ensure_future(self._ending.wait()),
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _end(self) -> int | None:
        """Tell the child that the run is over and return its exit code; None when it was dead."""
        if self._process is None or self._process.returncode is not None:
            return None
        if self._process.stdin is not None:
            self._process.stdin.close()
        return await self._process.wait()

    async def _spawn(self) -> Process | None:
        """Start a process; None when the system has no room for one.

        It is in a session of its own, so that Ctrl-C reaches the collector alone.
        """
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(open_own(self.run_dir, "run.log", flags), "ab") as log:
                return await asyncio.create_subprocess_exec(
                    *mirror_command(self.run_dir),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env=ENVIRONMENT | without_secrets(),
                    start_new_session=True,
                )
        except OSError as exc:
            self.on_note(f"the mirror cannot be started: {exc.strerror}")
            return None


def _ended(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "could not be started"
    if code < 0:
        return f"was killed ({signal.Signals(-code).name})"
    return f"ended with code {code}"


def add_page(report: RunReport) -> None:
    """Write the report of a run that has ended into its folder; say why there is none.

    Who has interrupted the run waits for nothing more, and gets the command instead.

    The run's report gets the page's path, and code 130 when somebody interrupts this.
    """
    run_dir = Path(report.run_dir)
    why, code = "the run was interrupted", EXIT_INTERRUPTED
    if report.exit_code != EXIT_INTERRUPTED:
        why, code = _make(run_dir)
    page = run_dir / NAME
    if code == EXIT_OK and page.is_file():
        report.report_path = str(page)
        return
    if code == EXIT_INTERRUPTED:
        report.exit_code = code
    again = shlex.join(("analyze", "report", display_path(run_dir.absolute())))  # D-I2
    sys.stderr.write(f"no report: {why}; the run is kept, and this makes one: {again}\n")


def add_push(report: RunReport, url: str) -> None:
    """Push a run that has ended to a shared lake, however it did; say why it is not there.

    The run's report gets the URL; where it is not there, code 1 unless it has another one: a runner
    that is thrown away takes the run with it. Ctrl-C ends this, and gives code 130.
    """
    run_dir = Path(report.run_dir)
    runs = ("--runs", str(run_dir.absolute().parent), "--no-sync")
    words = ("push", run_dir.name, url, *runs)
    why, code = _made(words, PUSH_TIMEOUT_S, without_secrets() | _of_servers())
    if code == EXIT_OK:
        report.pushed_to = url
        return
    if code == EXIT_INTERRUPTED or report.exit_code == EXIT_OK:
        report.exit_code = code
    again = shlex.join(
        ("analyze", "push", run_dir.name, url, "--runs", display_path(run_dir.parent))
    )
    sys.stderr.write(f"not pushed: {why}; the run is kept, and this pushes it: {again}\n")


def _of_servers() -> dict[str, str]:
    """Return the variables with which servers of objects are reached."""
    return {name: value for name, value in os.environ.items() if name.startswith(OF_SERVERS)}


def _make(run_dir: Path) -> tuple[str, int]:
    """Return how the report ended, in words and as an exit code."""
    return _made(("report", str(run_dir.absolute())), REPORT_TIMEOUT_S, without_secrets())


def _made(words: tuple[str, ...], timeout_s: float, env: dict[str, str]) -> tuple[str, int]:
    """Return how a command of `analyze` ended, in words and as an exit code."""
    try:
        process, is_interrupted = _start(words, env)
        code = _wait(process, timeout_s, is_interrupted)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except OSError as exc:
        return f"it cannot be started ({exc.strerror})", EXIT_BAD_NEWS
    except subprocess.TimeoutExpired:
        return f"it took more than {timeout_s:g} s", EXIT_BAD_NEWS
    if code == EXIT_INTERRUPTED:
        return "interrupted", code
    return f"`analyze {words[0]}` ended with code {code}", code


def _start(words: tuple[str, ...], env: dict[str, str]) -> tuple[subprocess.Popen[bytes], bool]:
    """Start a command, which tells its errors itself; say whether Ctrl-C came meanwhile.

    `-P` keeps a folder of the user's called `analyze` from being taken for ours. It is in our
    group, so that Ctrl-C reaches it as well. Ctrl-C waits here: a process would be lost otherwise.
    """
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        process = subprocess.Popen(
            (sys.executable, "-P", "-m", "analyze", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=env,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    return process, bool(came)


def _wait(process: subprocess.Popen[bytes], timeout_s: float, is_interrupted: bool) -> int:
    """Return how a process ended; it does not outlive this function."""
    try:
        if is_interrupted:
            raise KeyboardInterrupt
        return process.wait(timeout_s)
    except BaseException:
        process.terminate()
        try:
            process.wait(REPORT_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the system has it
                process.wait(REPORT_END_TIMEOUT_S)
        raise


def bring_in(run_dir: Path) -> list[str]:
    """Bring what is new of a run that has ended into the lake, and sum the run up again.

    Returns:
        What went wrong, in sentences; the run's folder has all of it in any case.
    """
    return asyncio.run(brought_in(run_dir))


async def brought_in(run_dir: Path) -> list[str]:
    """Do what `bring_in` does, on a loop that has other things to do."""
    notes: list[str] = []
    child = await MirrorChild.start(run_dir, notes.append)
    if (trouble := await child.finish()) is not None:
        notes.append(f"{trouble}; `{_summarize_command(run_dir)}` tries again")
    return notes


def _summarize_command(run_dir: Path) -> str:
    return shlex.join(("analyze", "summarize", display_path(run_dir.absolute())))
