"""What `analyze push`, `pull` and `sync --lake` say and understand, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from schemas.errors import MAX_SHOWN_PROBLEMS, ConfigError, Problem, counted, printable

if TYPE_CHECKING:
    from analyze.share.compaction import Compacted
    from analyze.share.pull import Pulled
    from analyze.share.push import Pushed


def began_since(text: str | None) -> int | None:
    """Return the beginning of a day or month, UTC, in ms since 1970.

    Raises:
        ConfigError: the text is neither `2026-10-01` nor `2026-10`.
    """
    if text is None:
        return None
    for form in ("%Y-%m-%d", "%Y-%m"):
        try:
            day = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return int(day.timestamp()) * 1000
    what = f"--since is `{printable(text)}`; a day is such as 2026-10-01, a month 2026-10"
    raise ConfigError([Problem(None, what)])


def push_text(url: str, done: Sequence[Pushed], *, as_json: bool) -> str:
    """Return what became of the runs that were to be pushed."""
    if as_json:
        found = {"url": url, "runs": [asdict(one) for one in done]}
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    lines = []
    for outcome in ("pushed", "pushed again"):
        if some := [one for one in done if one.outcome == outcome]:
            n_rows = counted(sum(one.n_rows for one in some), "row")
            lines.append(f"{counted(len(some), 'run')} {outcome} to {url} ({n_rows})")
    if n_there := sum(one.outcome == "there already" for one in done):
        lines.append(f"{counted(n_there, 'run')} there already")
    lines += _listed(
        [f"{one.run_id}: not pushed: {one.why}" for one in done if one.outcome == "not pushed"]
    )
    return "\n".join(lines or ["there is no run to push"]) + "\n"


def pull_text(url: str, done: Pulled, *, as_json: bool) -> str:
    """Return what a pull did."""
    if as_json:
        return json.dumps({"url": url} | asdict(done), indent=2, ensure_ascii=False) + "\n"
    lines = []
    if done.n_runs:
        n_rows = counted(done.n_rows, "row")
        lines.append(f"{counted(done.n_runs, 'run')} pulled from {url} ({n_rows})")
    if done.n_there:
        lines.append(f"{counted(done.n_there, 'run')} here already")
    if done.own:
        lines.append(f"{counted(len(done.own), 'run')} left: the folder is here")
    if done.ahead:
        lines.append(f"{counted(len(done.ahead), 'run')} left: there is more of it here; push it")
    return "\n".join([*lines, *_listed(done.refused)] or [nothing_in(url, done)]) + "\n"


def no_run_in(url: str) -> str:
    """Return that a shared lake has no run, and what brings one there."""
    return f"no run in {url}: `analyze push RUN {url}` brings one there"


def nothing_in(url: str, done: Pulled) -> str:
    """Return why no run is wanted, as a mistyped URL or suite has it."""
    if not done.n_known:
        return no_run_in(url)
    suites = ", ".join(map(printable, done.suites[:MAX_SHOWN_PROBLEMS]))
    return f"none of {counted(done.n_known, 'run')} in {url} is wanted; of these suites: {suites}"


def compacted_text(url: str, done: Compacted, *, as_json: bool) -> str:
    """Return what became of a shared lake's files."""
    if as_json:
        return json.dumps({"url": url} | asdict(done), indent=2, ensure_ascii=False) + "\n"
    lines = []
    if done.months:
        n_before = counted(sum(one.n_files_before for one in done.months), "file")
        n_now = sum(one.n_files for one in done.months)
        tables = ", ".join(dict.fromkeys(one.table for one in done.months))
        lines.append(f"{n_now:,} in place of {n_before} ({tables})")
    if n_dropped := sum(one.n_rows_dropped for one in done.months):
        lines.append(f"{counted(n_dropped, 'row')} of replaced pushes dropped")
    if done.n_removed:
        lines.append(f"{counted(done.n_removed, 'old file')} removed")
    lines += _listed([f"{one}: others were always first; it is as it was" for one in done.busy])
    lines += _listed([f"damaged: {one}" for one in done.damaged])
    if done.is_interrupted:
        lines.append("interrupted; the same command again goes on")
    if not lines and not done.n_runs and not done.failed:
        return no_run_in(url) + "\n"
    nothing = "nothing was done" if done.failed else "nothing to do"
    return f"{url}: " + "\n".join(lines or [nothing]) + "\n"


def _listed(problems: Sequence[str]) -> list[str]:
    shown = [printable(one) for one in problems[:MAX_SHOWN_PROBLEMS]]
    n_more = len(problems) - len(shown)
    return [*shown, f"and {n_more:,} more"] if n_more else shown
