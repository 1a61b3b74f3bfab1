"""One run of the real `collect run` against the endpoint, from an empty folder, measured whole."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from project import case_id_of, write_project
from pyarrow.parquet import ParquetFile
from quantiles import quantile, spread
from served import Served
from watched import POLL_MS, Watched, watch

RUN_ID = "bench"
COMMAND = ("-P", "-m", "collect", "run", "--suite", "bench", "--run-profile", "bench")
COMMAND += ("--runs", "runs", "--run-id", RUN_ID, "--json")
TOKENS = 16
LATENCY_MS = 200
GAP_MS = 20
TAIL_POLL_MS = 4
FAULTS = "429=0.03,500=0.02,reset=0.02,truncate=0.01"
KB = 1e3


@dataclass(frozen=True)
class Work:
    """What a run has to do."""

    n: int
    concurrency: int
    stream: bool = False
    faults: str = ""
    tail: bool = False
    """Whether to look when each line becomes readable."""

    @property
    def name(self) -> str:
        """Return a short name for tables."""
        kind = ", streaming" * self.stream + ", faults" * bool(self.faults)
        return f"{self.n:,} at {self.concurrency}{kind}"

    @property
    def e2e_ms(self) -> float:
        """Return the true latency of an answer."""
        return LATENCY_MS + GAP_MS * (TOKENS - 1) * self.stream

    @property
    def floor_s(self) -> float:
        """Return the least wall clock that the work can take."""
        return self.n * self.e2e_ms / 1000 / self.concurrency


@dataclass(frozen=True)
class Measured:
    """What came of it."""

    work: Work
    process: Watched
    endpoint: dict[str, Any]
    e2e_ms: dict[str, float | None]
    ttft_ms: dict[str, float | None]
    clock_late_ms: float | None
    lost: int
    doubled: int
    not_passed: int
    parquet_rows: int
    summed: int
    record_bytes: int
    artifact_bytes: int
    visible_ms: dict[str, float | None]

    @property
    def over_floor(self) -> float:
        """Return wall clock of the whole process by the least possible."""
        return self.process.wall_s / self.work.floor_s

    @property
    def cpu_ms(self) -> float:
        """Return CPU of the collector's own process per trial."""
        return self.process.cpu_s * 1000 / self.work.n

    @property
    def start_s(self) -> float:
        """Return seconds from process start to the first request."""
        return (self.endpoint["first_arrival_ns"] - self.process.started_ns) / 1e9

    @property
    def end_s(self) -> float:
        """Return seconds from the last answer to exit."""
        return (self.process.ended_ns - self.endpoint["last_finish_ns"]) / 1e9

    def problems(self) -> list[str]:
        """Return why this run does not count as done; budgets do not cover for wrong results."""
        found = {
            f"exit code {self.process.exit_code}": self.process.exit_code != 0,
            f"{self.lost} trials lost": self.lost,
            f"{self.doubled} trials recorded twice": self.doubled,
            f"{self.not_passed} trials not passed": self.not_passed,
            f"{self.parquet_rows:,} rows of Parquet": self.parquet_rows != self.work.n,
            f"{self.summed:,} trials in the summary": self.summed != self.work.n,
        }
        return [what for what, wrong in found.items() if wrong]


class _Tail:
    """Notes when each line of a growing results.jsonl could be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._rest = b""
        self.seen: list[tuple[int, bytes]] = []

    def look(self) -> None:
        """Read what is new."""
        if self._file < 0:
            try:
                self._file = os.open(self._path, os.O_RDONLY)
            except FileNotFoundError:
                return
        now = time.monotonic_ns()
        while data := os.read(self._file, 1 << 20):
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.seen += [(now, line) for line in lines]

    def lags_ms(self, log: list[tuple[str, int, int, str]]) -> list[float]:
        """Return per trial the time from the endpoint's last byte to a readable line."""
        finished = {case_id_of(prompt): ended for prompt, _, ended, kind in log if kind == "ok"}
        lags = []
        for at, raw in self.seen:
            line = orjson.loads(raw)
            if line["record_type"] == "result" and line["case_id"] in finished:
                lags.append((at - finished[line["case_id"]]) / 1e6)
        os.close(self._file)
        return lags


def environment() -> dict[str, str]:
    """Return this process's environment without keys, servers and proxies."""
    unwanted = ("_API_KEY", "_TOKEN", "_BASE", "_BASE_URL", "_PROXY")
    return {
        name: value for name, value in os.environ.items() if not name.upper().endswith(unwanted)
    }


def measure(work: Work, python: str = sys.executable) -> Measured:
    """Make one run in a new folder with a new endpoint."""
    with (
        tempfile.TemporaryDirectory(prefix="benchlake-") as made,
        Served(
            latency_ms=LATENCY_MS,
            ttft_ms=LATENCY_MS,
            tokens=TOKENS if work.stream else 1,
            gap_ms=GAP_MS,
            faults=work.faults,
        ) as served,
    ):
        folder = Path(made).resolve()
        write_project(
            folder,
            base_url=served.base_url,
            n=work.n,
            concurrency=work.concurrency,
            tokens=TOKENS if work.stream else 1,
            stream=work.stream,
        )
        run_dir = folder / "runs" / RUN_ID
        tail = _Tail(run_dir / "results.jsonl") if work.tail else None
        process = watch(
            [python, *COMMAND],
            cwd=folder,
            env=environment(),
            poll_ms=TAIL_POLL_MS if tail else POLL_MS,
            on_poll=tail.look if tail else None,
        )
        if process.exit_code not in {0, 1} or "Traceback" in process.output:
            message = f"collect run ended with exit code {process.exit_code}:\n"
            raise RuntimeError(message + process.output)
        lags = tail.lags_ms(served.log()) if tail else []
        return _measured(work, process, served.stats(), run_dir, lags)


def _measured(
    work: Work, process: Watched, endpoint: dict[str, Any], run_dir: Path, lags: list[float]
) -> Measured:
    lines = [orjson.loads(line) for line in (run_dir / "results.jsonl").read_bytes().splitlines()]
    rows = [line for line in lines if line["record_type"] == "result"]
    records = Counter((row["model_id"], row["case_id"], row["repetition"]) for row in rows)
    lake = run_dir.parent / "lake"
    sealed = sorted((lake / "results").rglob("*.parquet"))
    summary = run_dir / "summary.json"
    groups = orjson.loads(summary.read_bytes())["models"] if summary.exists() else []
    late = [row["clock_late_ms"] for row in rows if row["clock_late_ms"] is not None]
    return Measured(
        work=work,
        process=process,
        endpoint=endpoint,
        e2e_ms=spread([row["e2e_ms"] for row in rows if row["success"] and row["e2e_ms"]]),
        ttft_ms=spread([row["ttft_ms"] for row in rows if row["ttft_ms"] is not None]),
        clock_late_ms=quantile(late, 1.0),
        lost=work.n - len(records),
        doubled=sum(number - 1 for number in records.values()),
        not_passed=sum(row["passed"] is not True for row in rows),
        parquet_rows=sum(ParquetFile(path).metadata.num_rows for path in sealed),
        summed=sum(group["n_total"] for group in groups),
        record_bytes=sum(
            path.stat().st_size
            for path in (
                run_dir / "plan.jsonl",
                run_dir / "results.jsonl",
                *lake.rglob("*.parquet"),
            )
        ),
        artifact_bytes=sum(path.stat().st_size for path in (run_dir / "artifacts").rglob("*.zst")),
        visible_ms=spread(lags),
    )
