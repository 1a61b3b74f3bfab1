"""How many hooks a second the sandbox runs, and what of one takes the time.

    python benchmarks/hooks.py            five rounds
    python benchmarks/hooks.py --quick    two rounds

A hook that returns true at once, over a trial with 20 files, 8 looks at once as a run makes them.
Below stand its parts: the sandbox with `/bin/true`, a Python that does nothing, what a hook is
likely to import. As root a Python that `nobody` can execute is needed, as for hooks themselves.

The helper is at low priority, as in a run: whatever else this machine does is in the figures, so
that the best round is told as well.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from budgets import table

from collect.hooks import Hooks, HookSubject, Python
from collect.sandbox import Bwrap, Command, Sandbox
from schemas.config.checks import DeterministicCheck
from schemas.config.evaluation_profile import SecurityPolicy
from schemas.config.sandbox import DEFAULT_SANDBOX

ROUNDS, QUICK_ROUNDS = 5, 2
LOOKS, AT_ONCE = 160, 8
FILES = 20

SOURCE = "def judge(artifact, context):\n    return True\n"
HOOK = DeterministicCheck(
    check_id="own", python_hook={"path": "judge.py", "callable_name": "judge"}
)

PARTS = {
    "python, nothing": ("-I", "-S", "-B", "-c", "import os; os._exit(0)"),
    "python with site": ("-I", "-B", "-c", "import os; os._exit(0)"),
    "python, import json": ("-I", "-S", "-B", "-c", "import os, json; os._exit(0)"),
    "python, import typing": ("-I", "-S", "-B", "-c", "import os, typing; os._exit(0)"),
    "python, import inspect": ("-I", "-S", "-B", "-c", "import os, inspect; os._exit(0)"),
}

Rates = dict[str, list[float]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", help="that hooks run in, where this one is closed to nobody")
    options = parser.parse_args()
    load = os.getloadavg()
    python = Python.running() if options.python is None else Python(options.python, (), ())
    if (closed := python.closed_folder()) is not None:
        sys.exit(f"{closed} is closed to nobody: name another interpreter with --python")
    with tempfile.TemporaryDirectory() as folder:
        work = measure(Path(folder), python, QUICK_ROUNDS if options.quick else ROUNDS)
        rates = asyncio.run(work)
    if options.json:
        machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": load}
        print(json.dumps({"machine": machine, "a_second": rates}, indent=1))
        return
    rows = [
        [name, f"{statistics.median(found):.0f}", f"{max(found):.0f}"]
        for name, found in rates.items()
    ]
    print(f"load at the start {load[0]:.2f}; {os.cpu_count()} cores, {AT_ONCE} at once\n")
    print(table(["a second", "median", "best"], rows))


async def measure(folder: Path, python: Python, n_rounds: int) -> Rates:
    """Return how many a second there were of each kind, in each round."""
    subject = made_subject(folder)
    sandbox = await Sandbox.open(DEFAULT_SANDBOX, Bwrap(DEFAULT_SANDBOX.limits))
    try:
        hooks = await Hooks.open(sandbox, SecurityPolicy(allow_local_python_hooks=True), python)

        async def look() -> None:
            result = await hooks.run(HOOK, subject)
            assert result.outcome == "passed", result

        await look()
        works = {"a hook": look, "/bin/true": _command(sandbox, python)}
        works |= {name: _command(sandbox, python, argv) for name, argv in PARTS.items()}
        rates: Rates = {name: [] for name in works}
        for _ in range(n_rounds):
            for name, work in works.items():
                rates[name].append(await _rate(work))
        await hooks.aclose()
    finally:
        await sandbox.aclose()
    return rates


def made_subject(folder: Path) -> HookSubject:
    """Return a trial with its files and the folder of its case."""
    left, case = folder / "left", folder / "case"
    for place in (left, case):
        place.mkdir()
    for number in range(FILES):
        (left / f"{number}.txt").write_text("x" * 1_000)
    (case / "test.yaml").write_text("schema_version: 1\n")
    (case / "judge.py").write_text(SOURCE)
    return HookSubject(
        run_id="run",
        case_id="case",
        suite_id="suite",
        model_id="model",
        status="success",
        trace=[{"event_type": "final_output", "content": "42" * 500}],
        snapshot=left,
        case_folder=case,
        hook_hashes={"own": hashlib.sha256(SOURCE.encode()).hexdigest()},
    )


def _command(
    sandbox: Sandbox, python: Python, argv: tuple[str, ...] = ()
) -> Callable[[], Awaitable[None]]:
    """Return what runs a program in folders of its own, bound as a hook is."""
    program = (python.executable, *argv) if argv else ("/bin/true",)
    command = Command(argv=program, binds=python.binds, is_first_process=True)

    async def work() -> None:
        folders = await sandbox.folders()
        done = await sandbox.run(folders, command)
        await sandbox.remove(folders)
        assert done.exit_code == 0, done

    return work


async def _rate(work: Callable[[], Awaitable[None]]) -> float:
    async def some() -> None:
        for _ in range(LOOKS // AT_ONCE):
            await work()

    began = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return LOOKS / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
