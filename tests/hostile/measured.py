"""Runs `collect` with bounded memory, and says what each call took.

With arguments: one call, as its own process. Without: jobs from standard input, each in a fork of
this process, so that hundreds take seconds and none can hurt the next.
"""

import atexit
import contextlib
import json
import os
import resource
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path

LIMIT = 1_500_000_000
ALARM = 30


def peak_bytes():
    """VmHWM is of this process alone; ru_maxrss holds that of the process that started it too."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [row for row in status.read_text().splitlines() if row.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts in bytes


def bounded():
    with contextlib.suppress(ValueError, OSError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def once():
    peak_file = Path(os.environ["BENCHLAKE_PEAK"])
    atexit.register(lambda: peak_file.write_text(str(peak_bytes())))
    runpy.run_module("collect", run_name="__main__", alter_sys=True)


def in_fork(job):
    """Run one job in a child that never comes back from here."""
    signal.alarm(ALARM)
    os.chdir(job["cwd"])
    out = os.open(job["said"], os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = ["collect", *job["argv"]]
    code = 1
    try:
        collect.cli.main()
    except SystemExit as exc:
        code = exc.code or 0
    except Exception:  # noqa: BLE001  # the traceback is what the test looks for
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    Path(job["peak"]).write_text(str(peak_bytes()))
    os._exit(code)


def many():
    for job in json.load(sys.stdin):
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            in_fork(job)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        outcome = {"code": code, "seconds": time.monotonic() - began}
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    bounded()
    if len(sys.argv) > 1:
        once()
    else:
        import collect.cli
        import collect.commands.plan
        import collect.commands.run
        import collect.commands.validate
        import collect.config
        from tests.support.forked_mirror import build_records

        build_records()
        many()
