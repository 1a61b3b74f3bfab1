"""Runs `collect` and `analyze` in forks of a process that has imported them: half a second less.

Each call is a process of its own, with its own arguments, environment, output and exit code; only
the imports are shared, and those of its mirror too, unless a PYTHONPATH other than that of the
tests is to change something as either starts. What a start from nothing does is tested where it is
the point, with `python -m collect`.
"""

import asyncio
import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
import threading
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.support.forked_mirror import address, build_records, spawn_no_mirror, spawner
from tests.support.paths import ROOT

SECONDS = 120
"""Longer takes no call that ends."""

BEGUN_WITH = os.environ.get("PYTHONPATH")
"""What the tests themselves were started with."""

USED = {
    "collect": (
        "collect.cli",
        "collect.console.run_summary",
        "collect.inventory.ollama",
        "collect.commands.plan",
        "collect.providers.openai_chat",
        "collect.commands.run",
        "collect.commands.validate",
        "rich.progress",
        "typer.rich_utils",
    ),
    "analyze": (
        "analyze.cli",
        "analyze.comparison.compare",
        "analyze.query.session",
        "analyze.sql.output",
        "analyze.sql.repl",
        "analyze.summary.summarize",
        "analyze.query.dictionary",
        "analyze.query.run_ref",
        "typer.rich_utils",
    ),
}
"""What most calls of a command import."""


class Forks:
    """The process that forks, as seen by the tests."""

    def __init__(self, command):
        self.command = command
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", __name__, command],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, cwd, arguments, env, stdin="", out=None, has_mirror=True):
        """Run the command with arguments to its end, as `subprocess.run` would.

        `out` is a device or pipe that its output goes to; then none is returned. Without a
        mirror, what stands for one waits as it does and is always well.
        """
        with tempfile.TemporaryDirectory() as folder:
            said, read, err = (Path(folder, name) for name in ("in", "out", "err"))
            said.write_text(stdin, "utf-8")
            job = {"cwd": str(cwd), "argv": arguments, "env": env}
            job |= {"in": str(said), "out": out or str(read), "err": str(err)}
            other = env.get("PYTHONPATH") != BEGUN_WITH
            own = None if other else address()
            job["mirrors"] = own if has_mirror else ""
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
            if not ready:
                self.close()
                forks.cache_clear()
                raise subprocess.TimeoutExpired([self.command, *arguments], SECONDS)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(
                [self.command, *arguments],
                code,
                "" if out else read.read_text("utf-8"),
                err.read_text("utf-8"),
            )

    def close(self):
        with self._process as process:
            process.kill()


@cache
def forks(command):
    """Return the one process of this session for a command, started at the first call."""
    started = Forks(command)
    atexit.register(started.close)
    return started


def serve(command):
    """Read jobs and fork for each; the fork never comes back from here."""
    for name in USED[command]:
        import_module(name)
    build_records()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            become(command, json.loads(line))
            leave_after(command)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def leave_after(command):
    """Run the command and end as it does, without taking apart what it was forked with.

    That costs more than a small run. Exit functions run and output is written as ever; whatever
    is not the end of a command that was well goes the interpreter's own way.
    """
    code = 0
    try:
        runpy.run_module(command, run_name="__main__", alter_sys=True)
    except SystemExit as exc:
        if not isinstance(exc.code, int):
            raise
        code = exc.code
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def become(command, job):
    """Take over what a process is started with."""
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    new = os.O_WRONLY | os.O_CREAT
    for fd, path, flags in (
        (0, job["in"], os.O_RDONLY),
        (1, job["out"], new),
        (2, job["err"], new),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, fd)
        os.close(opened)
    sys.argv = [command, *job["argv"]]
    if job["mirrors"] is not None:
        mirrors = job["mirrors"]
        asyncio.create_subprocess_exec = spawner(mirrors) if mirrors else spawn_no_mirror


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(sys.argv[1])
