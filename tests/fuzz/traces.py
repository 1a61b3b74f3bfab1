"""Files of traces and stored cases: one frame is read, and what is no trace is a sentence."""

import tempfile
from pathlib import Path

import zstandard

from analyze.show.trace_file import Beginning, NoTrace, read_beginning, read_trace
from collect.run_folder.stored_inputs import read_cases
from schemas.errors import NotResumable
from schemas.run.trace import MAGIC, PADDING_MAGIC, Artifact, whole_frame

WORDS = [
    MAGIC,
    PADDING_MAGIC + b"\x08\0\0\0" + b"\0" * 8,
    zstandard.compress(b"{}\n"),
    zstandard.compress(b"\0" * 50_000_000),
    b'{"run_id":"r","model_id":"m","case_id":"one","repetition":1,"wall_ms":1,"request":{},',
    b'"trace":[',
    b'{"event_type":"message","sequence":0,"at_ms":1,"role":"user","content":"x"},',
    b'{"event_type":"final_output","sequence":1,"at_ms":1,"content":"y"}',
    b'{"event_type":"other"}',
    b'"schema_version":99,',
    b"]}",
    b"[" * 300,
    b"null",
    b"1e999",
    b"\\ud800",
    b"\n",
    b"\xff",
]

NAME = "artifacts/m.jsonl.zst"
FEW = 300


def check(data):
    """An input that begins like no frame is the content of one."""
    raw = data if data[:4] in {MAGIC, PADDING_MAGIC} else zstandard.compress(data)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        run_dir = Path(folder)
        path = run_dir / NAME
        path.parent.mkdir()
        path.write_bytes(raw)
        for offset in (0, len(raw) // 2, len(raw), 10**17):
            found = read_trace(run_dir, f"{NAME}#{offset}")
            assert isinstance(found, Artifact | NoTrace)
            begun = read_beginning(run_dir, f"{NAME}#{offset}", FEW)
            assert isinstance(begun, Artifact | NoTrace | Beginning)
            _check_alike(found, begun)
            with path.open("rb") as file:
                frame = whole_frame(file, offset)
            if isinstance(found, Artifact):
                assert frame is not None, "a trace is shown that a repair would cut off"
                assert raw[offset:].startswith(frame)
        cases = run_dir / "cases.jsonl.zst"
        cases.write_bytes(raw)
        refused = ""
        try:
            read_cases(cases)
        except NotResumable as exc:
            refused = str(exc)
        assert "\n" not in refused


def _check_alike(found, begun):
    """What is read of the beginning of a trace is the beginning of what is read of all of it."""
    if isinstance(found, Artifact) and isinstance(begun, Beginning):
        assert found.trace[: len(begun.events)] == begun.events
    elif isinstance(begun, Artifact):
        assert begun == found
    assert "\n" not in getattr(found, "why", "")
