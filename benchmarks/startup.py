"""Start-up of the commands as a ratio to an empty typer app, alternating in one session.

P-8 and P-A11: `collect --help` and `analyze --help`, warm, at most 1.5 times that of an empty app.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

EMPTY = """
import typer
app = typer.Typer(rich_markup_mode=None, add_completion=False)
@app.command()
def hello() -> None: ...
app()
"""
ROUNDS = 15
BUDGET = 1.5
BIN = Path(sys.executable).parent


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    commands = {
        "empty typer app": [sys.executable, "-c", EMPTY, "--help"],
        "collect --help": [str(BIN / "collect"), "--help"],
        "analyze --help": [str(BIN / "analyze"), "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for round_no in range(ROUNDS + 1):
        for name, command in commands.items():
            took = seconds(command)
            if round_no:  # the first round warms the caches
                times[name].append(took)
    base = statistics.median(times["empty typer app"])
    print(f"{'command':<18} {'median s':>9} {'ratio':>6}  budget")
    over = False
    for name, took in times.items():
        median = statistics.median(took)
        budget = ""
        if name.endswith("--help"):
            late = median / base > BUDGET
            over = over or late
            budget = f"{BUDGET} {'MISSED' if late else 'kept'}"
        print(f"{name:<18} {median:9.3f} {median / base:6.2f}  {budget}")
    sys.exit(over)


if __name__ == "__main__":
    main()
