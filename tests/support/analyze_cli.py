"""Calls the `analyze` command in this process, or as a process of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass

from typer.testing import CliRunner

import analyze.cli
from analyze.render.screen import screen_lines
from analyze.render.text import UNLIMITED
from schemas.errors import BenchError
from tests.support.forks import forks
from tests.support.paths import ROOT


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def call(*args, columns=100):
    """Return what a command printed and how it ended."""
    env = {"COLUMNS": str(columns)}
    words = [str(arg) for arg in args]
    result = CliRunner().invoke(analyze.cli.app_for(words), words, env=env)
    if isinstance(result.exception, BenchError):
        return Done(result.exception.exit_code, result.stdout, str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def on_screen(document, columns=UNLIMITED):
    """Return what a command prints of a document."""
    return "\n".join(screen_lines(document, columns))


def forked(*args, cwd, **env):
    """Return the same of a process of its own, spared the imports (`tests.support.forks`)."""
    words = [str(arg) for arg in args]
    done = forks("analyze").run(cwd, words, os.environ | {"PYTHONPATH": str(ROOT)} | env)
    return Done(done.returncode, done.stdout, done.stderr)


def process(*args, cwd, **env):
    """Return the same of a process from nothing: for what is loaded, and by which command."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "analyze", *map(str, args)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
