"""Gives runs that nobody made the traces of agents at work, as long and as wordy as is wanted.

A turn is an answer with its tokens and its cost, a call of a tool and what came of it: three steps,
of which the result holds most of the text. One call in nine fails, one in four writes, and every
tenth trial goes round in circles for a while.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

STEPS_A_TURN = 3
TOOLS = ("read_file", "exec_shell", "write_file", "grep")
TURN_MS = 900
LINE = "{number:5}  def step_{number}(state, {word}):  # {bits:08x}\n"
WORDS = ("parser", "invoice", "router", "kernel", "ticket", "orchid", "planner", "budget")


def write_agent_traces(run_dir: Path, *, turns: int, text_bytes: int) -> int:
    """Write artifacts/<model_id>.jsonl.zst of a run, and where each trace begins into its log.

    Args:
        run_dir: of a run that is not in a lake yet.
        turns: of each trial.
        text_bytes: of a step, on average.

    Returns:
        How many steps the traces become.
    """
    (run_dir / "artifacts").mkdir()
    compressor = zstandard.ZstdCompressor(level=3)
    frames: dict[str, bytearray] = {}
    lines = []
    log = run_dir / "results.jsonl"
    n_steps = 0
    for number, raw in enumerate(log.read_bytes().splitlines()):
        row = orjson.loads(raw)
        name = f"artifacts/{row['model_id']}.jsonl.zst"
        file = frames.setdefault(name, bytearray())
        row |= {
            "artifact_path": f"{name}#{len(file)}", "tool_ms": 5 * turns, "tool_call_source": "api",
        }  # fmt: skip
        key = {name: row[name] for name in ("run_id", "model_id", "case_id", "repetition")}
        trace = list(_trace(row, turns, text_bytes, random.Random(number)))
        n_steps += 2 + STEPS_A_TURN * turns
        file += compressor.compress(orjson.dumps(key | {"trace": trace}) + b"\n")
        lines.append(orjson.dumps(row) + b"\n")
    for name, file in frames.items():
        (run_dir / name).write_bytes(file)
    log.write_bytes(b"".join(lines))
    return n_steps


def _trace(
    row: dict[str, Any], turns: int, text_bytes: int, chance: random.Random
) -> Iterator[dict[str, Any]]:
    """Yield the events of one trial."""
    at_ms = row["started_at_ms"]
    yield {"event_type": "message", "role": "user", "content": "Mend it.", "at_ms": at_ms}
    circles = range(turns // 3, turns // 2) if chance.randrange(10) == 0 else range(0)
    for turn in range(turns):
        at_ms += TURN_MS
        yield _reply(turn, at_ms)
        yield from _turn(turn, at_ms, text_bytes, random.Random(0) if turn in circles else chance)
    yield _reply(turns, at_ms + TURN_MS)
    yield {"event_type": "message", "role": "assistant", "content": "Done.", "at_ms": at_ms}


def _reply(turn: int, at_ms: int) -> dict[str, Any]:
    usage = {
        "input_tokens": 900 + 300 * turn, "cached_input_tokens": 250 * turn, "output_tokens": 80,
        "usage_cached": "inside", "usage_counts": "delta",
    }  # fmt: skip
    detail = {"usage": usage, "e2e_ms": 600, "cost_usd": 0.001, "cost_source": "provider"}
    return {"event_type": "runner", "name": "provider_reply", "at_ms": at_ms, "detail": detail}


def _turn(
    turn: int, at_ms: int, text_bytes: int, chance: random.Random
) -> Iterator[dict[str, Any]]:
    """Yield what is said, which tool is called and what it returned."""
    tool, word = chance.choice(TOOLS), chance.choice(WORDS)
    arguments = (
        {"command": f"pytest -q -k {word}"}
        if tool == "exec_shell"
        else {"path": f"src/package_{chance.randrange(7)}/{word}_{chance.randrange(40)}.py"}
    )
    call_id = f"call_{turn}"
    said = f"I look at the {word} before I change anything."
    yield {"event_type": "message", "role": "assistant", "content": said, "at_ms": at_ms}
    yield {
        "event_type": "tool_call", "call_id": call_id, "tool_name": tool, "at_ms": at_ms,
        "raw_arguments": orjson.dumps(arguments).decode(), "parsed_arguments": arguments,
    }  # fmt: skip
    n_lines = max(1, round((STEPS_A_TURN * text_bytes - 100) / len(LINE)))
    output = "".join(
        LINE.format(number=number, word=chance.choice(WORDS), bits=chance.getrandbits(32))
        for number in range(chance.randrange(2 * n_lines) + 1)
    )
    is_failed = chance.randrange(9) == 0
    yield {
        "event_type": "tool_result", "call_id": call_id, "at_ms": at_ms + 5, "duration_ms": 5,
        "output": output, "status": "error" if is_failed else "success",
        "exit_code": int(is_failed) if tool == "exec_shell" else None,
        "shown_bytes": len(output), "truncated": False,
    }  # fmt: skip
