"""Eight readers, four collectors and a compaction at once: does anybody ever count wrong?

`python benchmarks/together.py [--seconds 60]`. Each collector makes run after run through the real
mirror, in small batches, stopped and resumed in the middle, in this month and in past ones. One
process syncs and compacts in a loop and is killed now and then. Readers count through `live_files`
or a session: no count may be less than before or more than was written; finished runs are exact.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import duckdb

from analyze.lake.sync import sync
from analyze.query.session import open_session
from schemas.lake import compact, lake_of, live_files
from schemas.lake.mirror import log_mirror, run_mirror
from schemas.run.config import FingerprintParts, PlannedTrial, RunConfig
from schemas.run.result import Result

N_READERS, N_WRITERS = 8, 4
N_TRIALS = 25
"""Of a run; results beyond them are second and third records of the same trials."""
SEAL_ROWS = 8
SMALL_FILES = 12
"""In this month, so that it is compacted often."""
LIVES_ON_S = 4.0
"""At most, after a first whole sync, until the process that compacts is killed."""
LONGER = 4
"""Times the seconds that were asked for, until something was merged."""
REST_S = 0.05
"""Between two looks of a reader: there are more readers than cores."""
MONTHS_MS = (1_764_547_199_000, 1_764_547_200_000, int(time.time() * 1000))
HASH, PART = "a" * 64, "a" * 16

COUNTS = """
select
    run_id, count(*), count(distinct record_no), max(record_no), count(distinct case_id),
    count(supersedes), count(distinct supersedes)
from {source}
group by run_id
"""


def result_line(run_id: str, number: int) -> bytes:
    """Return the line of a run's result with this number, from 0."""
    result = Result(
        run_id=run_id, provider="openai_chat", model="m", thinking_level=None, prompt_id="p",
        prompt_name=None, availability_status="ok", started_at_ms=1, ended_at_ms=2, e2e_ms=number,
        ttft_ms=None, success=True, failure_type=None, objective_pass=None, violation=None,
        input_tokens=1, output_tokens=1, raw_output=f"answer {number}", tool_calls=(),
        tool_call_count=0, tool_use_success=False, suite_id="s", case_id=f"c{number % N_TRIALS}",
        model_id="m", repetition=1, case_hash=HASH, run_fingerprint=HASH, fingerprint_version=1,
        runner_type="llm_probe", status="success", passed=None, error_code=None,
        error_message=None, http_status=200, attempt_count=1, requested_model="m",
        served_model=None, served_provider=None, finish_reason="stop", reasoning_tokens=None,
        cached_input_tokens=None, cost_usd=None, cost_source=None, token_source=None,
        validator_type=None, checks_passed=0, checks_failed=0, checks_errored=0, checks=(),
        expected_tools=(), tool_call_source=None, tags=(), raw_output_truncated=False,
        artifact_path=None, reused_from_run_id=None, clock_late_ms=None,
    )  # fmt: skip
    return result.model_dump_json().encode() + b"\n"


def new_run(runs_dir: Path, run_id: str, started_at_ms: int) -> Path:
    """Make the folder of a run before its first trial, all of it or nothing."""
    folder = runs_dir / f".new-{run_id}"
    folder.mkdir()
    parts = FingerprintParts(case=PART, settings=PART, endpoint=PART, harness=PART)
    plan = [
        PlannedTrial(
            run_id=run_id, suite_id="s", model_id="m", case_id=f"c{number}", repetition=1,
            trial_no=number, provider="openai_chat", model="m", prompt_id="p", case_hash=HASH,
            run_fingerprint=HASH, fingerprint_parts=parts, is_scorable=False,
        ).model_dump_json()
        for number in range(N_TRIALS)
    ]  # fmt: skip
    config = RunConfig(
        run_id=run_id, started_at_ms=started_at_ms, benchlake_version="0", suite_id="s",
        suite_title="S", suite_path="s.yaml", run_profile_id="p", run_profile_path="p.yaml",
        execution_policy={}, models=(), case_settings={}, n_planned=N_TRIALS, config_files={},
        allowed_hosts=(), warnings=(),
    )  # fmt: skip
    (folder / "plan.jsonl").write_text("".join(line + "\n" for line in plan))
    event = {"record_type": "event", "run_id": run_id, "event": "begin", "at_ms": 1}
    (folder / "results.jsonl").write_text(json.dumps(event) + "\n")
    (folder / "config.json").write_text(config.model_dump_json())
    return folder.rename(runs_dir / run_id)


def write(runs_dir: Path, done_dir: Path, writer: int, all_there: Barrier, stop: Event) -> None:
    """Make one run after the other, as a collector and its mirror do."""
    log_mirror.MAX_BATCH_ROWS = SEAL_ROWS
    all_there.wait()
    rng = random.Random(writer)
    number = 0
    while not stop.is_set():
        n_results = rng.randrange(10, 3 * N_TRIALS)
        run_id = f"w{writer}-{number:04d}-{n_results:06d}"
        folder = new_run(runs_dir, run_id, MONTHS_MS[number % len(MONTHS_MS)])
        for begin, end in ((0, n_results // 2), (n_results // 2, n_results)):
            follower = run_mirror.RunMirror(folder, lake_of(runs_dir), wait_s=60, is_growing=True)
            for line in range(begin, end):
                with (folder / "results.jsonl").open("ab") as log:
                    log.write(result_line(run_id, line))
                follower.step()
                time.sleep(0.003)
            follower.seal()
            follower.close()
        (done_dir / run_id).touch()
        number += 1


def keep_tidy(runs_dir: Path, messages: Any) -> None:
    """Sync and compact until killed."""
    compact.MAX_SMALL_FILES = SMALL_FILES
    while True:
        synced = sync(runs_dir)
        for problem in synced.problems:
            messages.put(f"sync: {problem}")
        messages.put(synced.n_compacted)
        time.sleep(0.01)


class Reader:
    """Counts again and again, and judges each count by the one before."""

    def __init__(self, runs_dir: Path, done_dir: Path, messages: Any) -> None:
        self._runs_dir, self._done_dir, self._messages = runs_dir, done_dir, messages
        self._seen: collections.Counter[str] = collections.Counter()
        self._engine = duckdb.connect(config={"threads": 1})

    def by_files(self) -> list[tuple[Any, ...]]:
        """Count through a list of files, made anew when one was moved meanwhile."""
        while True:
            files = live_files(lake_of(self._runs_dir), "results")
            if not files:
                return []
            names = ", ".join(f"'{path}'" for path in files)
            try:
                return self._engine.execute(
                    COUNTS.format(source=f"read_parquet([{names}], union_by_name = true)")
                ).fetchall()
            except duckdb.IOException:
                if all(path.exists() for path in files):
                    raise

    def by_session(self) -> list[tuple[Any, ...]]:
        """Count as a command of the analysis would."""
        with open_session(self._runs_dir, sync=False, threads=1) as session:
            return session.rows(COUNTS.format(source="raw_results"))

    def look(self, way: str) -> int:
        """Count once; say what is wrong, and return how many rows there were."""
        finished = {path.name for path in self._done_dir.iterdir()}
        rows = self.by_files() if way == "files" else self.by_session()
        found: collections.Counter[str] = collections.Counter()
        for run_id, n_rows, n_numbers, last, n_trials, n_later, n_replaced in rows:
            most = int(run_id.rpartition("-")[2])
            found[run_id] = n_rows
            if not n_rows == n_numbers == last - 1 <= most:
                self._messages.put(
                    f"{way}: {run_id}: {n_rows} rows of {n_numbers} lines up to {last}"
                )
            if n_later != n_replaced or n_rows - n_later != n_trials:
                self._messages.put(f"{way}: {run_id}: {n_later} of {n_rows} replace {n_replaced}")
            if run_id in finished and n_rows != most:
                self._messages.put(f"{way}: {run_id}: {n_rows} rows of {most}, and it is finished")
        for run_id in finished - found.keys():
            self._messages.put(f"{way}: {run_id} is not there")
        for run_id, n_rows in (self._seen - found).items():
            self._messages.put(f"{way}: {run_id}: {n_rows} rows are gone")
        self._seen = found
        return found.total()


def read(
    folders: tuple[Path, Path], way: str, all_there: Barrier, stop: Event, messages: Any
) -> None:
    """Count until told to stop."""
    reader = Reader(*folders, messages)
    n_looks = 0
    all_there.wait()
    while not stop.is_set():
        try:
            reader.look(way)
        except Exception as exc:  # noqa: BLE001 - whatever reaches a reader is a finding
            messages.put(f"{way}: {type(exc).__name__}: {exc}")
        n_looks += 1
        time.sleep(REST_S)
    reader.look(way)
    messages.put((way, n_looks))


def together(folder: Path, seconds: float) -> tuple[list[str], dict[str, int]]:
    """Let all work for some seconds; return what went wrong, and how much was done."""
    runs_dir, done_dir = folder / "runs", folder / "done"
    runs_dir.mkdir()
    done_dir.mkdir()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["analyze.query.session", "schemas.lake.mirror.load_group", "schemas.lake.compact"]
    )
    stop, messages = context.Event(), context.Queue()
    all_there = context.Barrier(N_WRITERS + N_READERS + 1)
    writers = [
        context.Process(target=write, args=(runs_dir, done_dir, number, all_there, stop))
        for number in range(N_WRITERS)
    ]
    readers = [
        context.Process(
            target=read,
            args=(
                (runs_dir, done_dir),
                "session" if number % 2 else "files",
                all_there,
                stop,
                messages,
            ),
        )
        for number in range(N_READERS)
    ]
    for process in (*writers, *readers):
        process.start()
    all_there.wait(120)
    problems: list[str] = []
    done: collections.Counter[str] = collections.Counter()
    ends = time.monotonic() + seconds
    rng = random.Random(0)
    latest = ends + LONGER * seconds

    def is_on() -> bool:
        """Whether there is time left, or nothing was merged that could be counted wrong."""
        now = time.monotonic()
        return now < ends or (now < latest and not done["files replaced"])

    while is_on():
        tidy = context.Process(
            target=keep_tidy, args=(runs_dir, tidy_messages := context.SimpleQueue())
        )
        tidy.start()
        lives_until, n_before = math.inf, done["syncs"]
        while is_on() and time.monotonic() < lives_until:
            while not tidy_messages.empty():
                _note(tidy_messages.get(), problems, done)
            if lives_until == math.inf and done["syncs"] > n_before:
                lives_until = time.monotonic() + rng.uniform(0, LIVES_ON_S)
            time.sleep(0.01)
        os.kill(tidy.pid or 0, signal.SIGKILL)
        tidy.join()
        done["kills"] += 1
    stop.set()
    n_left = N_READERS
    while n_left:
        n_left -= isinstance(what := messages.get(timeout=120), tuple)
        _note(what, problems, done)
    for process in (*writers, *readers):
        process.join()
        if process.exitcode:
            problems.append(f"{process.name} ended with exit code {process.exitcode}")
    sync(runs_dir)
    at_end = context.SimpleQueue()
    for way in ("files", "session"):
        done[f"rows at the end by {way}"] = Reader(runs_dir, done_dir, at_end).look(way)
    while not at_end.empty():
        problems.append(f"at the end: {at_end.get()}")
    done["runs"] = len(list(done_dir.iterdir()))
    done["files at the end"] = len(live_files(lake_of(runs_dir), "results"))
    return problems, dict(done)


def _note(what: object, problems: list[str], done: collections.Counter[str]) -> None:
    if isinstance(what, str):
        problems.append(what)
    elif isinstance(what, tuple):
        done[f"looks by {what[0]}"] += what[1]
    elif isinstance(what, int):
        done["syncs"] += 1
        done["files replaced"] += what


def main() -> int:
    """Run it, print what was done and what was wrong; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    folder = Path(tempfile.mkdtemp(prefix="benchlake-"))
    problems, done = together(folder, parser.parse_args().seconds)
    print(json.dumps(done))
    for problem in problems[:20]:
        print(f"WRONG: {problem}")
    if problems:
        print(f"{len(problems)} problems; all is left in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
