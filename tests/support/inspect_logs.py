"""Writes logs of Inspect as the tool does: zips of every shape, and JSON."""

import json
import struct
import zipfile
import zlib

import zstandard

EVAL = {
    "eval_id": "Ev1", "run_id": "Rn1", "task_id": "Tk1", "created": "2026-05-01T10:00:00+00:00",
    "task": "pkg/sums", "model": "openai/gpt-x",
    "dataset": {"name": "sums", "samples": 2, "sample_ids": ["a", "b"], "shuffled": False},
    "config": {"epochs": 1}, "model_generate_config": {"reasoning_effort": "low"},
    "model_args": {"seed": 3, "api_key": "hunter2hunter2"}, "packages": {"inspect_ai": "0.3.285"},
}  # fmt: skip

USAGE = {
    "input_tokens": 10, "output_tokens": 5, "total_tokens": 25, "input_tokens_cache_read": 8,
    "input_tokens_cache_write": 2, "total_cost": 0.5,
}  # fmt: skip


def header(**fields):
    spec = EVAL | fields.pop("eval", {})
    return {"version": 2, "status": "success", "eval": spec, "plan": {}} | fields


def results(*scores):
    """Of a head; each is (scorer, name, {metric: value})."""
    return {
        "scores": [
            {
                "scorer": scorer, "name": name, "reducer": None,
                "metrics": {key: {"name": key, "value": value} for key, value in metrics.items()},
            }
            for scorer, name, metrics in scores
        ]
    }  # fmt: skip


def message(role, content, **fields):
    return {"role": role, "content": content} | fields


def output(text="4", **fields):
    choice = {"message": message("assistant", text, id="out"), "stop_reason": "stop"}
    return {"model": "gpt-x-0501", "choices": [choice], "usage": USAGE} | fields


def sample(sample_id="a", epoch=1, value="C", **fields):
    scores = {"match": {"value": value, "answer": "4", "explanation": "said 4"}}
    return {
        "id": sample_id, "epoch": epoch, "input": "2+2?", "target": "4", "scores": scores,
        "messages": [message("user", "2+2?", id="in"), message("assistant", "4", id="out")],
        "output": output(), "model_usage": {"openai/gpt-x": USAGE},
        "started_at": "2026-05-01T10:00:01+00:00", "completed_at": "2026-05-01T10:00:03.5+00:00",
        "total_time": 2.5, "working_time": 2.0, "uuid": f"u-{sample_id}-{epoch}",
    } | fields  # fmt: skip


def event(kind, **fields):
    return {"event": kind, "timestamp": "2026-05-01T10:00:02+00:00"} | fields


def member(sample_id="a", epoch=1):
    return f"samples/{sample_id}_epoch_{epoch}.json"


def members(*samples, head=None, **more):
    """The members of a whole log, in the tool's order."""
    found = {member(one["id"], one["epoch"]): one for one in samples}
    return found | more | {"header.json": head or header()}


def write_eval(path, found, method="deflate"):
    """Write a log; `found` is a mapping, or pairs where a name may stand twice."""
    pairs = found.items() if isinstance(found, dict) else found
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        (name, value if isinstance(value, bytes) else json.dumps(value).encode())
        for name, value in pairs
    ]
    if method == "zstd":
        path.write_bytes(zstd_zip(parts))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, raw in parts:
            zipped.writestr(zipfile.ZipInfo(name), raw, zipfile.ZIP_DEFLATED)
    return path


def zstd_zip(parts):
    """A zip of members of two zstd frames each (method 93), which `zipfile` does not write."""
    body, directory = b"", b""
    for name, raw in parts:
        half = len(raw) // 2
        packed = b"".join(
            zstandard.ZstdCompressor().compress(one) for one in (raw[:half], raw[half:])
        )
        facts = struct.pack(
            "<HHHHHIIIHH", 63, 0x800, 93, 0, 0x21, zlib.crc32(raw), len(packed), len(raw),
            len(name.encode()), 0,
        )  # fmt: skip
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + facts + place + name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + packed
    ends = struct.pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + ends


def chunked(one, events=(), pool=(), attachments=(), refs=()):
    """The members of a sample in chunks of two items."""
    folder = f"samples/{one['id']}_epoch_{one['epoch']}"
    left_out = {"messages", "events", "attachments", "metadata"}
    shell = {name: value for name, value in one.items() if name not in left_out}
    found = {f"{folder}/sample.json": shell | {"message_refs": [*refs]}}
    found[f"{folder}/skeleton.json"] = {"spans": []}
    found[f"{folder}/events/stats.json"] = {}
    for kind, items in (("messages", pool), ("events", events), ("attachments", attachments)):
        for at in range(0, len(items), 2):
            found[f"{folder}/{kind}/{at}.json"] = [*items[at : at + 2]]
    return found


def write_json(path, *samples, head=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps((head or header()) | {"samples": [*samples]}, indent=2))
    return path
