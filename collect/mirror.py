"""Entry of the child process that turns a run's log into Parquet while the run goes on.

`python -m collect.mirror RUN_DIR`. Its standard input is a pipe that nobody writes to: when it
ends, the collector is done or dead, and the child seals what is there, writes the summary and
goes. The only module of collect that loads pyarrow and duckdb, in a process of its own.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from analyze.summarize import write_summary
from schemas.lake import lake_of
from schemas.mirror import RunMirror

POLL_S = 0.5
NICENESS = 10
"""The run's own work comes first."""


def follow(run_dir: Path) -> list[str]:
    """Mirror a run until the collector ends; return the problems found in its log."""
    mirror = RunMirror(run_dir, lake_of(run_dir.parent))
    try:
        while not select.select([sys.stdin], [], [], POLL_S)[0]:
            mirror.step()
        mirror.step()
        mirror.seal()
    finally:
        mirror.close()
    return mirror.problems


def main() -> None:
    """Follow the run named on the command line, then summarise it."""
    os.nice(NICENESS)
    run_dir = Path(sys.argv[1])
    for problem in follow(run_dir):
        sys.stderr.write(f"mirror: {problem}\n")
    write_summary(run_dir, lake_of(run_dir.parent))


if __name__ == "__main__":
    main()
