"""Logs that real agents have left of scripted conversations, and what readers make of them."""

import json
import random
from importlib import import_module

import orjson
from pydantic import TypeAdapter

from collect.config.runners import TRACE_FORMATS
from collect.runners.agents.events import note_log
from collect.runners.trace import Trace
from schemas.lake.rows.trace_steps import steps_of
from schemas.run.trace import TraceEvent
from tests.support.hostile_strings import STRINGS
from tests.support.hostile_traces import STRANGE
from tests.support.paths import ROOT

SAMPLES = ROOT / "tests/collect/runners/agents/samples"
EVENTS = TypeAdapter(list[TraceEvent])


def read(form, files):
    """Return what the reader of a form makes of files."""
    module, _, function = TRACE_FORMATS[form].reads.partition(":")
    return getattr(import_module(module), function)(files)


def log_of(form, *names):
    """Return what the reader of a form makes of samples."""
    return read(form, {name: (SAMPLES / name).read_bytes() for name in names})


def main_of(log):
    """Return the entries of the only trajectory of a log without notes."""
    assert log.notes == ()
    (main,) = log.trajectories
    assert main.path == "main"
    return main.entries


def brief(entry):
    """Return what an entry is in a few words: kind, text, calls or exit code, tokens."""
    words = [entry.kind, (entry.text or entry.error)[:20]]
    words += [[one.name for one in entry.calls]] if entry.calls else []
    if entry.kind == "tool_result":
        words += [entry.exit_code, entry.is_error]
    if entry.usage is not None:
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        words.append(tuple(entry.usage.get(name) for name in names))
    return tuple(words)


def tokens(entries):
    """Return tokens in, cached and out of what happened here."""
    known = [one.usage for one in entries if one.usage is not None and not one.is_copied]
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    return tuple(sum(one.get(name, 0) for one in known) for name in names)


def noted(log, model, calls=()):
    """Return the events of a log, which every reader of traces takes, and the steps of them."""
    trace = Trace()
    note_log(trace, log, list(calls), model)
    EVENTS.validate_json(orjson.dumps(trace.events), strict=False)
    (part,) = steps_of(trace.events, "a#0", ("asked-m", "served-m"))
    return trace.events, part.rows


def spoiled(raw, seed):
    """Return lines, or a document, with strange values in some places and some lines torn."""
    chance = random.Random(seed)

    def strange():
        return json.loads(json.dumps(chance.choice([*STRANGE, *STRINGS[:8]])))

    def spoil(value):
        if chance.random() < 0.03:
            return strange()
        if isinstance(value, dict):
            return {name: spoil(one) for name, one in value.items() if chance.random() > 0.01}
        if isinstance(value, list):
            return [spoil(one) for one in value]
        return value if chance.random() > 0.08 else strange()

    lines = [raw] if raw.startswith(b"{\n") else raw.splitlines()
    found = [json.dumps(spoil(json.loads(one))).encode() for one in lines]
    return b"\n".join(one[: chance.randrange(len(one))] if not chance.randrange(9) else one
                      for one in found)  # fmt: skip
