"""How fast a large log of Inspect becomes a run, and how much memory that takes.

    python benchmarks/inspect_logs.py                      60,000 samples of 5.7 KB, three rounds
    python benchmarks/inspect_logs.py --quick              6,000 samples, one round
    python benchmarks/inspect_logs.py --samples 360000     2 GB of small samples
    python benchmarks/inspect_logs.py --large              2 GB in 500 samples
    python benchmarks/inspect_logs.py --samples 30000 --logs 300

A made log, or a folder of several, is imported, and brought into the lake with its steps; each is a
process of its own, from start to end. Where the pinned Inspect is (`make inspect`), its
`samples_df` reads the same log in the same round: from summaries, and with messages, for which it
reads whole samples. Exits 1 when a must is missed; times on a busy machine say little, the ratios
of one round more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import budgets
import psutil
from watched import watch

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / ".tools" / "inspect-0.3.285" / "bin/python"
TIMEOUT_S = 3_600

N, QUICK, LARGE = 60_000, 6_000, 500
BYTES, LARGE_BYTES = 5_700, 4_000_000
"""Samples of a log, and about how much a sample is in JSON."""

FRAMEWORK = 2_000
"""Bytes of a sample that are no text of its model."""

MUST_RATE, MUST_MB, MUST_RATIO = 8_000, 1_000, 3
"""Of an import: samples a second, peak memory, how many times as fast as the tool's frame with
messages, for which it reads whole samples, as the import does."""

WORDS = ("lake", "river", "stone", "cloud", "forest", "number", "seven", "because", "where", "of")
MODEL, AT = "mockllm/model", "2026-01-01T00:00:00+00:00"
USAGE = {"input_tokens": 900, "output_tokens": 120, "total_tokens": 1_020}

FRAME = """
import sys
from inspect_ai.analysis import SampleMessages, SampleSummary, samples_df
columns = SampleSummary + (SampleMessages if sys.argv[2] == "messages" else [])
print(len(samples_df(sys.argv[1], columns=columns, quiet=True)))
"""


def head(n: int, eval_id: str) -> dict[str, Any]:
    """Return the head of a log."""
    config = {"epochs": 1}
    dataset = {"name": "made", "samples": n, "sample_ids": list(range(1, n + 1))}
    spec = {
        "eval_id": eval_id, "run_id": eval_id, "created": AT, "task": "made", "task_id": "made",
        "task_version": 0, "dataset": dataset, "model": MODEL, "config": config,
    }  # fmt: skip
    metrics = {"accuracy": {"name": "accuracy", "value": 0.5}}
    score = {"name": "match", "scorer": "match", "metrics": metrics}
    results = {"total_samples": n, "completed_samples": n, "scores": [score]}
    stats = {"started_at": AT, "completed_at": AT}
    return {
        "version": 2, "status": "success", "eval": spec, "plan": {"name": "plan", "steps": []},
        "results": results, "stats": stats,
    }  # fmt: skip


def sample(number: int, text: str, eval_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a sample and its summary: a question, an answer, one request."""
    answer = {"role": "assistant", "content": text, "id": f"a{number}", "source": "generate"}
    asked = {"role": "user", "content": f"{number}: {text[:200]}", "id": f"q{number}"}
    choice = {"message": answer, "stop_reason": "stop"}
    output = {"model": MODEL, "choices": [choice], "usage": USAGE, "time": 0.5}
    event = {
        "event": "model", "timestamp": AT, "completed": AT, "working_start": 0.0, "model": MODEL,
        "input": [asked], "tools": [], "tool_choice": "auto", "config": {}, "output": output,
        "working_time": 0.5, "uuid": f"e{number}",
    }  # fmt: skip
    scores = {"match": {"value": "CI"[number % 2], "answer": text[:20]}}
    both = {
        "id": number, "epoch": 1, "input": asked["content"], "target": text[:20],
        "uuid": f"{eval_id}-{number}", "scores": scores, "metadata": {},
        "model_usage": {MODEL: USAGE},
        "started_at": AT, "completed_at": AT, "total_time": 0.6, "working_time": 0.5,
    }  # fmt: skip
    more = {"messages": [asked, answer], "output": output, "store": {}, "events": [event]}
    return both | more | {"attachments": {}}, both | {"completed": True, "message_count": 2}


def write_log(path: Path, n: int, n_bytes: int) -> int:
    """Write a log; return the bytes of its samples, unpacked."""
    chance, total, eval_id = random.Random(1), 0, path.stem
    pool = " ".join(chance.choices(WORDS, k=n_bytes))
    third = max(1, (n_bytes - FRAMEWORK) // 3)
    summaries = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as log:
        for number in range(1, n + 1):
            begin = chance.randrange(len(pool) - third)
            whole, short = sample(number, pool[begin : begin + third], eval_id)
            content = json.dumps(whole)
            total += len(content)
            log.writestr(f"samples/{number}_epoch_1.json", content)
            summaries.append(json.dumps(short))
        log.writestr("summaries.json", f"[{','.join(summaries)}]")
        log.writestr("header.json", json.dumps(head(n, eval_id)))
    return total


@dataclass(frozen=True)
class Took:
    """What one command took, with all processes that it started."""

    wall_s: float
    peak_mb: float


def took(command: list[str], folder: Path, env: dict[str, str] | None = None) -> Took:
    """Run a command to its end, which has to be a good one."""
    peak_mb = 0.0

    def look() -> None:
        nonlocal peak_mb
        there = 0
        for one in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it ended in between
                there += one.memory_full_info().pss
        peak_mb = max(peak_mb, there / 1e6)

    done = watch(command, cwd=folder, env=env, poll_ms=100, on_poll=look, timeout_s=TIMEOUT_S)
    if done.exit_code:
        raise RuntimeError(done.output[-2_000:])
    return Took(done.wall_s, peak_mb)


def one_round(logs: Path, folder: Path, python: str, *, with_peer: bool) -> dict[str, Took]:
    """Import, sync and read by the tool itself; return what each took."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    analyze = [python, "-P", "-m", "analyze"]
    done = {
        "import": took([*analyze, "import", "inspect", str(logs), "--runs", "runs"], folder),
        "sync": took([*analyze, "sync", "--runs", "runs"], folder),
    }
    if with_peer:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "INSPECT_DISPLAY": "none"}
        for kind in ("summaries", "messages"):
            command = [str(PEER), "-c", FRAME, str(logs), kind]
            done[kind] = took(command, folder, env)
    return done


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return the medians of all rounds."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        logs = folder / "logs"
        logs.mkdir()
        n_bytes = sum(
            write_log(logs / f"made{number}.eval", options.samples // options.logs, options.bytes)
            for number in range(options.logs)
        )
        with_peer = PEER.exists() and not options.alone
        rounds = [
            one_round(logs, folder, options.python, with_peer=with_peer)
            for _ in range(options.rounds)
        ]
    found: dict[str, Any] = {"samples": options.samples, "unpacked_mb": round(n_bytes / 1e6)}
    for what in rounds[0]:
        found[f"{what}_s"] = round(median(one[what].wall_s for one in rounds), 2)
    found["import_per_s"] = round(options.samples / found["import_s"])
    both_s = median(one["import"].wall_s + one["sync"].wall_s for one in rounds)
    found["with_lake_per_s"] = round(options.samples / both_s)
    for what in ("import", "sync"):
        found[f"{what}_mb"] = round(max(one[what].peak_mb for one in rounds))
    if with_peer:
        for kind in ("summaries", "messages"):
            ratio = median(one[kind].wall_s / one["import"].wall_s for one in rounds)
            found[f"{kind}_ratio"] = round(ratio, 2)
    return found


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="6,000 samples, one round")
    parser.add_argument("--large", action="store_true", help="500 samples of 4 MB")
    parser.add_argument("--samples", type=int, help="of the log")
    parser.add_argument("--logs", type=int, default=1, help="that the samples are spread over")
    parser.add_argument("--bytes", type=int, help="of JSON of a sample, about")
    parser.add_argument("--rounds", type=int, help="by default three")
    parser.add_argument("--alone", action="store_true", help="without the tool itself")
    parser.add_argument("--folder", type=Path, help="where to write; by default the system's own")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    default = (LARGE, LARGE_BYTES) if options.large else (QUICK if options.quick else N, BYTES)
    options.samples = options.samples or default[0]
    options.bytes = options.bytes or default[1]
    options.rounds = options.rounds or (1 if options.quick else 3)
    found = measured(options)
    if options.json:
        print(json.dumps(found))
    else:
        print(
            budgets.table(("what", "figure"), [(name, f"{one:,}") for name, one in found.items()])
        )
    is_missed = found["import_mb"] > MUST_MB
    if not (options.large or options.quick):
        is_missed |= found["import_per_s"] < MUST_RATE
        is_missed |= found.get("messages_ratio", MUST_RATIO) < MUST_RATIO
    sys.exit(is_missed)


if __name__ == "__main__":
    main()
