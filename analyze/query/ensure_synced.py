"""What `analyze sync` and every other command do to the lake before they read it.

The result of a sync is printed as text or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.render.progress import Progress
from schemas.errors import (
    MAX_SHOWN_PROBLEMS,
    AnalyzeError,
    ConfigError,
    Problem,
    RunNotFound,
    counted,
    printable,
)
from schemas.lake import Lake, lake_of

if TYPE_CHECKING:
    from analyze.lake.sync import Synced

UNHARMED = "nothing of the runs themselves is lost"


def sync_changes(runs_dir: Path, progress: Callable[[str], None]) -> None:
    """Bring what is new into the lake, where anything is, and say in a line what went wrong."""
    from analyze.lake.sync import has_changes  # noqa: PLC0415 - not needed by `--no-sync`

    with disk_errors(lake_of(runs_dir)):
        if not has_changes(runs_dir):
            return
    from analyze.lake.repair import report_quarantined  # noqa: PLC0415

    synced = sync_runs(runs_dir, None)
    if synced.read_only:
        progress(f"note: {lake_of(runs_dir)} cannot be written; what is in it is read")
    report_quarantined(synced, progress)
    if synced.problems:
        first, n_more = synced.problems[0], len(synced.problems) - 1
        more = f" (and {n_more:,} more; `analyze sync` lists them)" if n_more else ""
        progress(f"warning: {first}{more}")


def sync_runs(
    runs_dir: Path, names: Sequence[str] | None, *, with_text: bool | None = None
) -> Synced:
    """Bring runs into the lake.

    Args:
        runs_dir: the folder that holds the runs.
        names: of their folders; by default every one that was not pruned.
        with_text: texts of steps come in, from now on; None: as before.

    Raises:
        RunNotFound: there is no folder by one of the names.
    """
    from analyze.lake.sync import sync  # noqa: PLC0415 - loads pyarrow

    require_folder(runs_dir)
    only = [_folder(runs_dir, name) for name in names] if names else None
    with Progress() as progress, disk_errors(lake_of(runs_dir)):
        if with_text is not None:
            Lake(lake_of(runs_dir)).take_texts(taken=with_text)

        def report(n_done: int, n_bytes: int) -> None:
            if n_bytes:
                progress.show(f"bringing runs into the lake: {n_done / n_bytes:.0%}")

        return sync(runs_dir, only=only, progress=report)


def prune_runs(runs_dir: Path, run_ids: Sequence[str], *, texts_alone: bool = False) -> int:
    """Remove the rows of runs from the lake, or texts of steps alone; return how many there were.

    Raises:
        ConfigError: no run is named.
        RunNotFound: the lake holds none by one of the ids.
    """
    from analyze.lake.repair import retry_while_moving, settle  # noqa: PLC0415 - the engine

    if not run_ids:
        what = "--prune needs the runs whose rows are to go: `analyze sync --prune RUN...`"
        raise ConfigError([Problem(None, what)])
    require_folder(runs_dir)
    lake = lake_of(runs_dir)

    known = Lake(lake)
    known.refresh()
    for run_id in run_ids:
        if run_id not in known.run_ids:
            raise RunNotFound(run_id, lake, known.run_ids)

    def prune(_: list[Path]) -> int:
        with Lake.open(lake) as opened:
            return opened.prune(run_ids, texts_alone=texts_alone)

    with disk_errors(lake):
        return retry_while_moving(lake, prune, partial(settle, lake, writes=True))


@contextmanager
def disk_errors(folder: Path, end: str = UNHARMED) -> Iterator[None]:
    """Turn what the disk refuses into an error of ours.

    Args:
        folder: is named where the error names no file.
        end: of the sentence, for what became of the work.
    """
    try:
        yield
    except OSError as exc:
        message = f"{exc.filename or folder}: {exc.strerror or exc}; {end}"
        raise AnalyzeError(message) from exc


def require_folder(runs_dir: Path) -> None:
    """Refuse a folder of runs that is not there.

    Raises:
        ConfigError: says which option names another.
    """
    if not runs_dir.is_dir():
        raise ConfigError([Problem(runs_dir, "there is no such folder; --runs names another")])


def _folder(runs_dir: Path, name: str) -> Path:
    from schemas.run.layout import is_run_folder  # noqa: PLC0415 - looking for news does without

    if is_run_folder(folder := runs_dir / Path(name).name):
        return folder
    known = [path.name for path in runs_dir.iterdir() if is_run_folder(path)]
    raise RunNotFound(name, runs_dir, known)


def sync_text(synced: Synced, *, as_json: bool = False) -> str:
    """Return what a sync did: counts first, then each known problem, new ones first."""
    if as_json:
        return json.dumps(asdict(synced), indent=2, ensure_ascii=False) + "\n"
    lines = ["nothing new"]
    if synced.n_rows or synced.n_runs:
        runs = counted(synced.n_runs, "run")
        lines = [f"{counted(synced.n_rows, 'row')} of {runs} brought into the lake"]
    if synced.n_compacted:
        files = counted(synced.n_compacted, "small file was", "small files were")
        lines.append(f"{files} put together")
    if synced.read_only:
        lines.append("the lake cannot be written, so it stays as it is")
    lines += [f"damaged: {printable(one)}" for one in synced.set_aside]
    if synced.n_with_problems:
        lines.append(f"{counted(synced.n_with_problems, 'run')} with problems")
    problems = tuple(dict.fromkeys((*synced.problems, *synced.known_problems)))
    lines += [f"  {printable(problem)}" for problem in problems[:MAX_SHOWN_PROBLEMS]]
    if more := len(problems[MAX_SHOWN_PROBLEMS:]):
        lines.append(f"  and {more:,} more")
    return "\n".join(lines) + "\n"


def prune_text(n_rows: int, *, as_json: bool = False, texts_alone: bool = False) -> str:
    """Return what a prune did."""
    if as_json:
        return json.dumps({"n_rows_removed": n_rows}) + "\n"
    if texts_alone:
        return (
            f"{counted(n_rows, 'text')} of steps removed from the lake; traces are as they were\n"
        )
    return (
        f"{counted(n_rows, 'row')} removed from the lake; folders are as they were "
        "(`analyze sync RUN` brings one back)\n"
    )
