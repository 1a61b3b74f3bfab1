"""Throws made inputs at what reads the bytes of others, for so many seconds a target.

    python -m tests.fuzz --seconds 20                  every target
    python -m tests.fuzz yaml sql --seconds 600        two of them
    python -m tests.fuzz yaml --input FILE             one input again

The seed is fixed, so two runs begin with the same inputs; `--seed` gives others. Each target is a
process of its own: one that is killed, by the engine it calls or for its time, is a failure with
its input as well. An input that fails is made as small as can be, and kept in `.fuzz/`; once it is
mended it belongs into `tests/fuzz/corpus/`, which `make test` reads.
"""

import argparse
import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.inputs import inputs
from tests.fuzz.targets import CORPUS, TARGETS
from tests.support.paths import ROOT

KEPT = ROOT / ".fuzz"
ROUND = 200
"""Inputs of one seed."""

GRACE_S = 300
"""What a process may take beyond its time, to make a failing input small."""

SHOWN = 2_000


class TooDear(AssertionError):
    """An input took more time or memory than it may."""


def main():
    asked = arguments()
    if asked.child:
        return child(TARGETS[asked.targets[0]], asked.seconds, asked.seed)
    if asked.input is not None:
        return again(TARGETS[asked.targets[0]], asked.input)
    failed = [name for name in asked.targets or TARGETS if not fuzzed(TARGETS[name], asked)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=20, help="of each target (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the first inputs (0)")
    parser.add_argument("--input", type=Path, help="check this file only")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.input is not None and len(asked.targets) != 1:
        parser.error("--input needs one target")
    return asked


def fuzzed(target, asked):
    """Fuzz a target in a process of its own; return whether all went well."""
    command = [sys.executable, "-m", "tests.fuzz", target.name, "--child"]
    command += ["--seconds", str(asked.seconds), "--seed", str(asked.seed)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        try:
            code = process.wait(timeout=asked.seconds + GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = f"nothing for {GRACE_S} s"
        except BaseException:
            process.kill()
            raise
    current = current_of(target)
    if code not in {0, 1}:  # it could not tell itself
        report(target, current.read_bytes(), f"the process ended with {code}")
    current.unlink(missing_ok=True)
    return code == 0


def child(target, seconds, first_seed):
    """Fuzz a target until its time is over; return 1 after a failure."""
    deadline = time.monotonic() + seconds
    KEPT.mkdir(exist_ok=True)
    watch = Watch(target, deadline)
    strategy = inputs(target.corpus(), target.words)
    number = first_seed
    try:
        for data in target.corpus():
            watch(data)
        while time.monotonic() < deadline:
            seed(number)(round_of(strategy, watch))()
            number += 1
    except Exception:  # noqa: BLE001 - whatever it is, it is the finding
        data = watch.failing if watch.failing is not None else current_of(target).read_bytes()
        report(target, data, traceback.format_exc())
        return 1
    finally:
        target.close()
    print(f"{target.name}: {watch.n:,} inputs in {seconds:.0f} s, {number - first_seed} seeds")
    return 0


def round_of(strategy, watch):
    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def one_round(data):
        watch(data)

    return one_round


class Watch:
    """Checks inputs one after the other, each within its time and memory."""

    def __init__(self, target, deadline):
        self.n = 0
        self.failing = None
        self._target = target
        self._deadline = deadline
        self._current = current_of(target).open("wb", buffering=0)
        self._memory_kb = 0
        signal.signal(signal.SIGPROF, self._too_slow)

    def __call__(self, data):
        if self.failing is None and time.monotonic() > self._deadline:
            return
        self.n += 1
        os.pwrite(self._current.fileno(), data, 0)
        os.ftruncate(self._current.fileno(), len(data))
        before = peak_kb()
        signal.setitimer(signal.ITIMER_PROF, self._target.cpu_s)
        try:
            self._target.check(data)
            if (grown := peak_kb() - before) > self._target.memory_mb * 1024:
                forget_peak()
                message = f"the input took {grown // 1024} MB, {self._target.memory_mb} are allowed"
                raise TooDear(message)
        except Exception:
            if self.failing is None or len(data) <= len(self.failing):
                self.failing = data
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _too_slow(self, _number, _frame):
        message = f"the input took {self._target.cpu_s:.0f} s of a core and was not done"
        raise TooDear(message)


def peak_kb():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def forget_peak():
    """Begin the peak again, so that the same input is found again; only Linux can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def current_of(target):
    """Return the file with the input that is being checked."""
    KEPT.mkdir(exist_ok=True)
    return KEPT / f"{target.name}.current"


def report(target, data, why):
    """Keep a failing input, and say how to run it again."""
    name = hashlib.sha256(data).hexdigest()[:12]
    path = KEPT / target.name / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    more = f" (the first {SHOWN:,} bytes)" if len(data) > SHOWN else ""
    print(
        f"{target.name}: {why.rstrip()}\n\ninput of {len(data):,} bytes{more}: {data[:SHOWN]!r}\n"
        f"again: python -m tests.fuzz {target.name} --input {path.relative_to(ROOT)}\n"
        f"when it is mended: cp {path.relative_to(ROOT)} {CORPUS.relative_to(ROOT)}/{target.name}/",
        flush=True,
    )


def again(target, path):
    """Check one stored input."""
    KEPT.mkdir(exist_ok=True)
    try:
        Watch(target, float("inf"))(path.read_bytes())
    finally:
        target.close()
    print(f"{target.name}: {path} is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
