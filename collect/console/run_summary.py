"""The last words of a run: a table per model, what to do next, and where things lie.

They also say how small a drop of the pass rate the run could show.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from collect.console.progress import RunReport
from collect.plan.plan import PlanSize
from schemas.base import is_apart
from schemas.config.project import Thresholds
from schemas.errors import EXIT_INTERRUPTED, counted, printable, runs_flag
from schemas.run.config import RunConfig, load_run_config, output_limits
from schemas.run.model_names import NO_NAMES, ModelNames, with_names

WRITTEN = ("results.jsonl", "summary.json", "summary.md")

MAX_NAMED_MODELS = 3
"""Models, or groups of which the same is known, that each have a line."""


def show(
    report: RunReport,
    again: str,
    detectable: Sequence[str],
    limits: Thresholds,
    *,
    is_first: bool = True,
    with_page: bool = False,
) -> None:
    """Print the table, what came of the run and the paths; the last line is the next command.

    Args:
        report: what came of the run.
        again: the command that makes the run once more.
        detectable: how small a difference a run of this size can show.
        limits: what is worth a warning.
        is_first: there is no earlier run of the suite to compare it with.
        with_page: its report is made anyway.
    """
    run_dir = Path(report.run_dir)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120)
    has_numbers = report.is_summed_up and report.present > 0
    groups = _groups(run_dir / "summary.json") if has_numbers else []
    config = load_run_config(run_dir / "config.json") if groups else None
    names = ModelNames.of_models(config.models) if config else NO_NAMES
    if groups:
        console.print(_table(groups, names))
    doubts = distrust(groups, limits, config, names)
    judged = () if report.judging is None else report.judging.lines(run_dir)
    said = (
        *report.open_shifts,
        *doubts,
        *_outcome(report),
        *judged,
        *(detectable if groups else ()),
    )
    for line in said:
        console.print(Text(line))
    for name in WRITTEN if report.is_summed_up else WRITTEN[:1]:
        if (run_dir / name).exists():
            console.print(Text(f"{run_dir / name}"), soft_wrap=True)
    then = _next(report, again, is_first=is_first, with_page=with_page)
    if then is not None:
        console.print(Text(f"next: {then}"), soft_wrap=True)


def distrust(
    groups: list[dict[str, Any]],
    limits: Thresholds,
    config: RunConfig | None = None,
    names: ModelNames = NO_NAMES,
) -> list[str]:
    """Return what keeps a model's numbers from being taken at face value."""
    lines = []
    for group in groups:
        name, coverage = printable(names.of(group["model_id"])), group["coverage"]
        least = limits.min_coverage
        if coverage is not None and coverage < least:
            lines.append(
                f"warning: {name}: only {_share_text(coverage, least)} % of the scorable trials "
                f"have a verdict (limit {100 * least:g} %); the rest is in no rate"
            )
        share = group["n_timeout"] / group["n_planned"]
        if share > limits.timeout_warning_share:
            most = limits.timeout_warning_share
            lines.append(
                f"warning: {name}: {_share_text(share, most)} % of the trials timed out (limit "
                f"{100 * most:g} %); a longer timeout_seconds may tell more"
            )
        n_cut, most = group["failures"].get("output_truncated", 0), limits.truncation_warning_share
        if n_cut > most * group["n_total"]:
            ended = output_limits(config, group["model_id"]) if config else ()
            by = f" at max_tokens {' or '.join(f'{one:,}' for one in ended[:3])}" if ended else ""
            were, they = ("was", "it counts") if n_cut == 1 else ("were", "they count")
            lines.append(
                f"warning: {name}: {n_cut:,} of {counted(group['n_total'], 'answer')} "
                f"({_share_text(n_cut / group['n_total'], most)} %) {were} cut off{by} (limit "
                f"{100 * most:g} %); {they} as failed"
            )
    return lines


def _share_text(share: float, limit: float) -> str:
    """Return a share in percent, with as many digits as tell it from the limit."""
    texts = (f"{100 * share:.{digits}f}" for digits in (1, 2, 3))
    return next((text for text in texts if float(text) != round(100 * limit, 3)), f"{100 * share}")


def _groups(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    groups: list[dict[str, Any]] = orjson.loads(path.read_bytes())["models"]
    return groups


def _table(groups: list[dict[str, Any]], names: ModelNames) -> Table:
    table = Table(title=None, pad_edge=False)
    for name in ("model", "passed", "95 % interval", "coverage", "p50 ms", "p95 ms", "ttft p50"):
        table.add_column(name, justify="left" if name == "model" else "right")
    table.add_column("tool tier")
    table.add_column("failures")
    for group in groups:
        latency, ttft = group["latency_ms"], group["ttft_ms"]
        table.add_row(
            Text(printable(names.of(group["model_id"]))),
            _percent(group["passed_rate"]),
            _interval(group["passed_rate"], group["passed_ci95"]),
            _percent(group["coverage"]),
            _percentile(latency, "p50"),
            _percentile(latency, "p95"),
            _percentile(ttft, "p50"),
            Text(_tier(group["tool_use"])),
            Text(
                ", ".join(f"{printable(kind)} {n}" for kind, n in group["failures"].items()) or "–"
            ),
        )
    return table


def _tier(tool_use: dict[str, Any]) -> str:
    if tool_use["tier"] is None:
        return "unrated"
    return f"{tool_use['tier']}{'' if tool_use['tier_confident'] else ' (unsure)'}"


def _interval(rate: float | None, interval: dict[str, Any] | None) -> Text:
    """An interval of something else than the rate beside it says of what."""
    if interval is None:
        return Text("–")
    estimate = interval["estimate"]
    mean = f"case mean {100 * estimate:.1f}: " if is_apart(rate, estimate) else ""
    return Text(f"{mean}{100 * interval['low']:.1f} – {100 * interval['high']:.1f} %")


def _percent(value: float | None) -> Text:
    return Text("–" if value is None else f"{100 * value:.1f} %")


def _percentile(times: dict[str, Any], name: str) -> Text:
    """An unsupported percentile is grey: too few trials stand behind it."""
    style = "" if times["supported"][name] else "dim"
    if name in times.get("beyond_limit", ()):
        return Text("> limit", style=style)
    value = times[name]
    return Text("–") if value is None else Text(f"{value:,.0f}", style=style)


def _outcome(report: RunReport) -> list[str]:
    """Say what came of the run."""
    lines = [
        f"{report.present} of {counted(report.planned, 'trial')}, {report.passed} passed, "
        f"{report.wall_ms / 1000:.1f} s"
    ]
    if report.exit_code == EXIT_INTERRUPTED:
        lines.append("interrupted: what was finished is kept and summed up")
    if report.success < report.present:
        statuses = ", ".join(f"{name} {count}" for name, count in sorted(report.by_status.items()))
        lines.append(f"by status: {statuses}; the reasons are in `error_message` of results.jsonl")
    if not _is_open(report) and report.exit_code and report.success < report.present:
        lines.append("no retry mends what failed; a new run with --reuse asks only that again")
    return lines


def _is_open(report: RunReport) -> bool:
    """Return whether the run can go on: trials are missing, or failed and worth another try."""
    return report.present < report.planned or report.n_open > 0


def _next(report: RunReport, again: str, *, is_first: bool, with_page: bool) -> str | None:
    """Return the command that comes next; None: the report is what to look at."""
    if _is_open(report):
        return again
    run_dir = Path(report.run_dir)
    if not report.is_summed_up:
        return shlex.join(["analyze", "summarize", report.run_dir])
    if report.exit_code:
        return shlex.join(["analyze", "show", report.run_dir])
    if is_first:
        return None if with_page else shlex.join(["analyze", "report", report.run_dir])
    runs = runs_flag(run_dir.parent)
    return shlex.join(["analyze", "compare", "previous", run_dir.name, *runs])


def is_first(runs_dir: Path, suite_id: str) -> bool:
    """Return whether no more than one run of a suite is there, of which shards are parts."""
    from collect.plan.previous_runs import runs_of  # noqa: PLC0415 - not before the first request

    return len(runs_of(runs_dir, suite_id)) <= 1


def detectable_lines(
    sizes: Mapping[str, PlanSize],
    runs_dir: Path,
    suite_id: str,
    limits: Thresholds,
    names: ModelNames,
) -> list[str]:
    """Return what a run of a size can and cannot show, by what `collect plan` learns from.

    The run itself is one of the folder by now.
    """
    from analyze.power.render import closing_line, merged  # noqa: PLC0415 - not
    from collect.plan.previous_runs import (  # noqa: PLC0415
        MAX_READ_BYTES,
        powers_of,
        previous_outcomes,
    )

    runs = previous_outcomes(runs_dir, suite_id, sizes, at_most=MAX_READ_BYTES)
    plans = with_names(merged(powers_of(sizes, runs, limits)), names)
    lines = [closing_line(plan) for plan in plans[:MAX_NAMED_MODELS]]
    if len(plans) > MAX_NAMED_MODELS:
        lines.append(f"and {len(plans) - MAX_NAMED_MODELS} more: `analyze power` has them all")
    return lines
