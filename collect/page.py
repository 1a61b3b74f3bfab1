"""The report of a run that has ended, made by `analyze report` in a process of its own.

The collector never loads what draws it. Whatever goes wrong here, the run itself is kept, and so is
its exit code: a report can be made at any time.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from collect.console.progress import RunReport
from collect.environment import without_secrets
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, shown

NAME = "report.html"

LONGEST_S = 600.0
"""A report of a million trials takes seconds; past this something is broken."""

ENDING_S = 5.0
"""How long a process may take to end after it was told to."""


def add_page(report: RunReport) -> None:
    """Write the report of a run that has ended into its folder; say why there is none.

    Who has interrupted the run waits for nothing more, and gets the command instead.

    Args:
        report: of the run; gets the page's path, and code 130 when somebody interrupts this.
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
    sys.stderr.write(f"no report: {why}; the run is kept, and this makes one: {_again(run_dir)}\n")


def _again(run_dir: Path) -> str:
    """Return the command that makes the report of a run (D-I2)."""
    return shlex.join(("analyze", "report", shown(run_dir.absolute())))


def _make(run_dir: Path) -> tuple[str, int]:
    """Return how it ended, in words and as an exit code."""
    try:
        process, is_interrupted = _start(run_dir)
        code = _wait(process, is_interrupted)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except OSError as exc:
        return f"it cannot be started ({exc.strerror})", EXIT_BAD_NEWS
    except subprocess.TimeoutExpired:
        return f"it took more than {LONGEST_S:g} s", EXIT_BAD_NEWS
    if code == EXIT_INTERRUPTED:
        return "interrupted", code
    return f"`analyze report` ended with code {code}", code


def _start(run_dir: Path) -> tuple[subprocess.Popen[bytes], bool]:
    """Start `analyze report`, which tells its errors itself; say whether Ctrl-C came meanwhile.

    `-P` keeps a folder of the user's called `analyze` from being taken for ours. It is in our
    group, so that Ctrl-C reaches it as well. Ctrl-C waits here: a process would be lost otherwise.
    """
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        process = subprocess.Popen(
            (sys.executable, "-P", "-m", "analyze", "report", str(run_dir.absolute())),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=without_secrets(),
        )
    finally:
        signal.signal(signal.SIGINT, before)
    return process, bool(came)


def _wait(process: subprocess.Popen[bytes], is_interrupted: bool) -> int:
    """Return how a process ended; it does not outlive this function."""
    try:
        if is_interrupted:
            raise KeyboardInterrupt
        return process.wait(LONGEST_S)
    except BaseException:
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the system has it
                process.wait(ENDING_S)
        raise
