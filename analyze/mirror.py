"""Entry of the child process that turns a run's log into Parquet while the run goes on.

`python -m analyze.mirror RUN_DIR`. Its standard input is a pipe that nobody writes to: when it
ends, the collector is done or dead, and the child seals what is there, writes the summary and
goes. The only module of collect that loads pyarrow and duckdb, in a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from analyze.summary.summarize import summarize_run, write_files
from schemas.errors import BenchError, DamagedFile, display_path
from schemas.lake import Lake, lake_of, set_aside
from schemas.output.summary import RunSummary
from schemas.run.result import misfit

if TYPE_CHECKING:
    from schemas.lake import RunMirror

POLL_S = 0.5
NICENESS = 10
"""The run's own work comes first."""

MAX_PAUSE_S = 60.0
"""Between attempts to write while the lake cannot be written; each one doubles the pause."""

TROUBLES = (BenchError, OSError, ValidationError)
"""A full disk, a strange file in the lake, another process at it: somebody may put it right."""

MAX_LOOK_S = 1.3
"""For the shifts that stand, at the end of a run whose results are safe already. A third
of a second is enough for a hundred runs of a thousand trials."""

LOCK_WAIT_S = 120.0
"""For the child of a collector that was killed: it seals and sums up before it goes."""


class Follower:
    """Mirrors one run until the collector ends, and sums it up."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._lake = lake_of(run_dir.parent)
        self._mirror: RunMirror | None = None
        self._warm = False

    def run(self) -> None:
        """Follow the log to its end; hold the run's lock until the summary is written.

        Raises:
            BenchError, OSError, ValidationError: what could not be done at the very end.
        """
        pause = 0.0
        try:
            while not select.select([sys.stdin], [], [], pause)[0]:
                try:
                    self._mended().step()
                except TROUBLES as exc:
                    if pause <= POLL_S:
                        _say(f"{_sentence(exc, self._lake)}; it is tried again")
                    pause = min(max(2 * pause, 2 * POLL_S), MAX_PAUSE_S)
                else:
                    pause = POLL_S
                    self._warm_up()
            self._seal()
            self._seal()  # once more from what the lake really holds: somebody may have deleted it
            write_files(self._run_dir, self._summary())
        finally:
            if self._mirror is not None:
                self._mirror.close()

    def _mended(self) -> RunMirror:
        """Return the mirror, after what is damaged was put out of its way."""
        while self._mirror is None:
            try:
                self._mirror = Lake(self._lake).follow_run(self._run_dir, LOCK_WAIT_S)
            except DamagedFile as exc:
                self._set_aside(exc)
        return self._mirror

    def _set_aside(self, damaged: DamagedFile) -> None:
        """Put a damaged file out of the way; what it held of this run is read from the log again.

        Other runs' rows are made again by the next sync.
        """
        lake = Lake(self._lake)
        aside = set_aside(lake, [damaged])
        lake.save()
        for one in aside:
            _say(f"{display_path(self._lake / one.name)}: {one.found}; it is kept as {one.kept_as}")
        if not aside:
            raise damaged  # looked at again it is sound: another reason has to be found

    def _seal(self) -> None:
        """Seal all that there is, and let go of the state of what is in the lake."""
        mirror = self._mended()
        mirror.step()
        mirror.seal()
        for problem in mirror.problems:
            _say(problem)
        mirror.close()
        self._mirror = None

    def _warm_up(self) -> None:
        """Sum up once while there is time: the engine and its libraries are loaded at the end."""
        if not self._warm:
            self._warm = True
            import analyze.regressions.open_shifts  # noqa: F401, PLC0415 - needed at the end

            with contextlib.suppress(BenchError, OSError):
                self._summary()

    def _summary(self) -> RunSummary:
        return summarize_run(self._run_dir, self._lake, threads=1, progress=_say)


def _sentence(exc: Exception, lake: Path) -> str:
    """Return an error as a sentence; the engine of Parquet words those of the disk its own way."""
    if isinstance(exc, OSError) and exc.errno is not None:
        return f"{os.strerror(exc.errno)}: {exc.filename or lake}"
    if isinstance(exc, ValidationError):
        return f"{exc.title}: {misfit(exc)}"
    return str(exc)


def _say(what: str) -> None:
    """Write to run.log; on a full disk the exit code alone has to say it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"mirror: {what}\n")
        sys.stderr.flush()


def _tell_open_shifts(run_dir: Path) -> None:
    """Print what stands at the run, for the collector's last words.

    Nobody waits for it: what takes longer, or goes wrong, is left to `analyze runs`.
    """
    lines: list[str] = []

    def look() -> None:
        from analyze.regressions.open_shifts import open_after_run  # noqa: PLC0415 - as above

        with contextlib.suppress(Exception):
            lines.extend(open_after_run(run_dir))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(MAX_LOOK_S)
    if not looking.is_alive():
        with contextlib.suppress(OSError):
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()


class _WithoutPandas(MetaPathFinder):
    """Keeps pyarrow from loading pandas, which it looks for and nothing here needs.

    Where pandas is installed that takes 40 MB and half a second of every run.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        """Find nothing, and end the search for pandas.

        Raises:
            ModuleNotFoundError: it is pandas.
        """
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def main() -> int:
    """Follow the run named on the command line, then summarise it; return the exit code."""
    os.nice(NICENESS)
    sys.meta_path.insert(0, _WithoutPandas())
    run_dir = Path(sys.argv[1])
    try:
        Follower(run_dir).run()
    except TROUBLES as exc:
        problem = _sentence(exc, lake_of(run_dir.parent))
        _say(f"{problem}; `analyze summarize {run_dir}` tries again")
        return 1
    _tell_open_shifts(run_dir)
    return 0


if __name__ == "__main__":
    # All is on the disk. Taking the libraries apart would cost the user another 0.07 s.
    os._exit(main())
