"""Gives runs that nobody made the traces that a collector leaves: a frame for each trial.

Answers come from results.jsonl, whose lines name their frame afterwards. Long ones look like the
work of an agent: it says what it does, calls a tool, reads what came of it, one in nine an error.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from schemas.run.trace import (
    Artifact,
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    ToolResultEvent,
    TraceEvent,
)

QUESTION = "Which of these is right? Say why in a few sentences.\n"
TURN_MS = 900
TOOLS = ("read_file", "grep", "run_tests", "write_file")


def write_traces(run_dir: Path, *, turns: int = 0) -> None:
    """Write artifacts/<model_id>.jsonl.zst of a run, and where each trace begins into its log.

    Args:
        run_dir: of a run that is not in a lake yet.
        turns: how often each trial calls a tool; 0 for a question and its answer.
    """
    folder = run_dir / "artifacts"
    folder.mkdir()
    compressor = zstandard.ZstdCompressor(level=3)
    frames: dict[str, bytearray] = {}
    lines = []
    log = run_dir / "results.jsonl"
    for number, raw in enumerate(log.read_bytes().splitlines()):
        row = orjson.loads(raw)
        name = f"artifacts/{row['model_id']}.jsonl.zst"
        file = frames.setdefault(name, bytearray())
        row["artifact_path"] = f"{name}#{len(file)}"
        text = _artifact(row, tuple(_trace(row, turns, random.Random(number)))).model_dump_json()
        file += compressor.compress(text.encode() + b"\n")
        lines.append(orjson.dumps(row) + b"\n")
    for name, file in frames.items():
        (run_dir / name).write_bytes(file)
    log.write_bytes(b"".join(lines))


def _artifact(row: dict[str, Any], trace: tuple[TraceEvent, ...]) -> Artifact:
    return Artifact(
        run_id=row["run_id"],
        model_id=row["model_id"],
        case_id=row["case_id"],
        repetition=row["repetition"],
        wall_ms=row["ended_at_ms"] - row["started_at_ms"],
        request={"model": row["model"], "temperature": 0},
        usage={"prompt_tokens": row["input_tokens"], "completion_tokens": row["output_tokens"]},
        trace=trace,
    )


def _trace(row: dict[str, Any], turns: int, chance: random.Random) -> Iterator[TraceEvent]:
    """Yield the events of one trial: the question, what was done, and its answer or its failure."""
    begin_ms = row["started_at_ms"]
    question = f"{QUESTION}{row['prompt_name']}"
    yield MessageEvent(sequence=0, at_ms=begin_ms, role="user", content=question)
    sequence = 1
    for turn in range(turns):
        for event in _turn(sequence, begin_ms + TURN_MS * turn, turn, chance):
            yield event
            sequence += 1
    end_ms = begin_ms + TURN_MS * turns
    if not row["success"]:
        detail = {"failure_type": row["failure_type"], "message": row["error_message"]}
        yield RunnerEvent(sequence=sequence, at_ms=end_ms, name="failure", detail=detail)
        return
    answer = row["raw_output"]
    yield MessageEvent(sequence=sequence, at_ms=end_ms, role="assistant", content=answer)
    yield FinalOutputEvent(sequence=sequence + 1, at_ms=end_ms, content=answer)


def _turn(sequence: int, at_ms: int, turn: int, chance: random.Random) -> Iterator[TraceEvent]:
    """Yield what is said, which tool is called and what it returned."""
    tool = chance.choice(TOOLS)
    path = f"src/package_{turn % 7}/module_{chance.randrange(40)}.py"
    call_id = f"call_{turn}"
    said = f"Step {turn + 1}: I look at `{path}` before I change anything, with {tool}."
    yield MessageEvent(sequence=sequence, at_ms=at_ms, role="assistant", content=said)
    arguments = {"path": path, "line": chance.randrange(400)}
    yield ToolCallEvent(
        sequence=sequence + 1,
        at_ms=at_ms + 200,
        call_id=call_id,
        tool_name=tool,
        raw_arguments=orjson.dumps(arguments).decode(),
        parsed_arguments=arguments,
    )
    is_error = chance.randrange(9) == 0
    lines = [
        f"{line:4}  def step_{line}(state):  # {chance.getrandbits(48):x}"
        for line in range(chance.choice((1, 3, 8, 20)))
    ]
    yield ToolResultEvent(
        sequence=sequence + 2,
        at_ms=at_ms + 600,
        call_id=call_id,
        status="error" if is_error else "success",
        output=f"{path}: no such file" if is_error else "\n".join(lines),
    )
