"""Progress of long work: seen on a terminal, and nowhere else."""

import os
import pty
import subprocess
import sys

from tests.support.paths import ROOT

WORK = """
import analyze.render.progress as progress
progress.MIN_PROGRESS_S = 0.0
with progress.Progress() as tell:
    tell("runs read", 1500, 3000)
print("done")
"""


def run(stderr):
    return subprocess.run(
        [sys.executable, "-c", WORK],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=60,
        check=True,
    )


def test_a_terminal_shows_one_line_that_is_gone_in_the_end():
    ours, theirs = pty.openpty()
    try:
        assert run(theirs).stdout == "done\n"
        assert os.read(ours, 1000) == b"\r\x1b[Kruns read: 1,500 of 3,000\r\x1b[K"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_pipe_gets_nothing():
    done = run(subprocess.PIPE)
    assert (done.stdout, done.stderr) == ("done\n", "")
