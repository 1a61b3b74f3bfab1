"""`collect run` beside Inspect AI, lm-evaluation-harness and pydantic-evals, on the same work.

    python benchmarks/peers.py [--rounds 3] [-n 1000] [--concurrency 64 256] [--only NAME ...]

Each tool is installed by name into an environment of its own (kept in the user's cache folder),
gets N prompts with an exact answer each, and is measured as a whole process. Alternating, medians.
Linux only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from budgets import table
from environments import CannotInstall, default_folder, environment_with, version_of
from measured import LATENCY_MS, TOKENS, Measured, Work, environment, measure
from served import Served
from watched import Watched, watch

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300
OURS = "benchlake"
HEADINGS = ["tool", "version", "N", "in flight", "wall / floor", "wall s", "CPU ms / trial"]
HEADINGS += ["with children", "reported p50", "p99", "first request s", "note"]


@dataclass(frozen=True)
class Peer:
    """A tool that does the same work."""

    name: str
    packages: tuple[str, ...]
    """What pip installs; the first is the tool itself."""
    script: str


PEERS = (
    Peer("inspect-ai", ("inspect-ai", "openai"), "peer_inspect.py"),
    Peer("lm_eval", ("lm_eval[api]",), "peer_lm_eval.py"),
    Peer("pydantic-evals", ("pydantic-evals", "openai"), "peer_pydantic_evals.py"),
)


@dataclass(frozen=True)
class Took:
    """What one tool took for the work once."""

    over_floor: float
    wall_s: float
    cpu_ms: float
    all_cpu_ms: float
    p50_ms: float | None
    p99_ms: float | None
    start_s: float | None
    note: str


def took(
    process: Watched,
    work: Work,
    e2e_ms: dict[str, float | None] | None,
    first_ns: int | None,
    note: str,
) -> Took:
    """Return the figures that all tools have in common."""
    return Took(
        over_floor=process.wall_s / work.floor_s,
        wall_s=process.wall_s,
        cpu_ms=process.cpu_s * 1000 / work.n,
        all_cpu_ms=(process.cpu_s + process.children_cpu_s) * 1000 / work.n,
        p50_ms=(e2e_ms or {}).get("p50"),
        p99_ms=(e2e_ms or {}).get("p99"),
        start_s=None if first_ns is None else (first_ns - process.started_ns) / 1e9,
        note=note,
    )


def run_ours(work: Work) -> Took:
    """Do the work with `collect run`."""
    found: Measured = measure(work)
    first_ns = found.endpoint["first_arrival_ns"]
    return took(found.process, work, found.e2e_ms, first_ns, "; ".join(found.problems()))


def run_peer(peer: Peer, python: Path, work: Work) -> Took:
    """Do the work with another tool."""
    with (
        Served(latency_ms=LATENCY_MS, tokens=TOKENS) as served,
        tempfile.TemporaryDirectory() as at,
    ):
        command = [str(python), str(HERE / peer.script), f"--base-url={served.base_url}"]
        command += [f"-n={work.n}", f"--concurrency={work.concurrency}", f"--tokens={TOKENS}"]
        process = watch(command, cwd=Path(at), env=environment(), timeout_s=TIMEOUT_S)
        stats = served.stats()
    lines = [line for line in process.output.strip().splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if line.startswith('{"passed"')), None)
    if process.exit_code or said is None:
        why = lines[-1] if lines else f"exit code {process.exit_code}"
        if process.wall_s >= TIMEOUT_S:
            why = f"not done in {TIMEOUT_S} s: {stats['answered']} of {work.n} answers"
        return took(process, work, None, stats["first_arrival_ns"], why)
    found = json.loads(said)
    note = "" if found["passed"] == work.n else f"{found['passed']} of {work.n} right"
    if stats["requests"] != work.n:
        note = f"{note} {stats['requests']} requests".strip()
    return took(process, work, found["e2e_ms"], stats["first_arrival_ns"], note)


def cells(name: str, release: str, work: Work, found: Sequence[Took]) -> list[str]:
    """Return the medians of all rounds."""
    row = [name, release, f"{work.n:,}", str(work.concurrency)]
    for field, digits in (
        ("over_floor", 2),
        ("wall_s", 1),
        ("cpu_ms", 2),
        ("all_cpu_ms", 2),
        ("p50_ms", 0),
        ("p99_ms", 0),
        ("start_s", 2),
    ):
        known = [figure for one in found if (figure := getattr(one, field)) is not None]
        row.append(f"{statistics.median(known):.{digits}f}" if known else "-")
    return [*row, "; ".join(sorted({one.note for one in found} - {""}))]


def main() -> None:
    """Install, run in turn and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--only", nargs="+", choices=[peer.name for peer in PEERS])
    parser.add_argument("--env-dir", type=Path, default=default_folder())
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("this benchmark reads /proc, which only Linux has")
    pythons: dict[str, Path] = {}
    releases = {OURS: version("benchlake")}
    rows = []
    chosen = [peer for peer in PEERS if options.only is None or peer.name in options.only]
    for peer in chosen:
        try:
            python = environment_with(options.env_dir, peer.name, list(peer.packages))
            releases[peer.name] = version_of(python, peer.packages[0].partition("[")[0])
            pythons[peer.name] = python
        except CannotInstall as exc:
            rows.append([peer.name, *["-"] * 10, f"cannot be installed here: {exc}"])
    works = [Work(options.n, concurrency) for concurrency in options.concurrency]
    found: dict[tuple[str, Work], list[Took]] = {}
    measure(Work(50, 16))  # warms the caches, as do the runs of the peers below
    for peer in chosen:
        if peer.name in pythons:
            run_peer(peer, pythons[peer.name], Work(50, 16))
    for number in range(options.rounds):
        for work in works:
            sys.stderr.write(f"round {number + 1}: {work.name}: {OURS} ...\n")
            found.setdefault((OURS, work), []).append(run_ours(work))
            for peer in chosen:
                if peer.name in pythons:
                    sys.stderr.write(f"round {number + 1}: {work.name}: {peer.name} ...\n")
                    one = run_peer(peer, pythons[peer.name], work)
                    found.setdefault((peer.name, work), []).append(one)
    for work in works:
        for (name, its), all_rounds in found.items():
            if its == work:
                rows.append(cells(name, releases[name], work, all_rounds))
    print(f"true latency {LATENCY_MS} ms, medians of {options.rounds} rounds, whole processes")
    print(table(HEADINGS, rows))


if __name__ == "__main__":
    main()
