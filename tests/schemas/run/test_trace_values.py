"""A trace holds as many values as it may: those in its texts are none."""

import pytest
import zstandard

from schemas.run import trace
from schemas.run.trace import has_too_many_values, trace_content


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(trace, "MAX_TRACE_VALUES", 10)


@pytest.mark.parametrize(
    ("content", "is_too_many"),
    [
        (b"[" + b"1," * 9 + b"1]", False),
        (b"[" + b"1," * 10 + b"1]", True),
        (b"{" + b'"a":{},' * 5 + b'"b":1}', True),
        (b"[" * 10, False),
        (b"[" * 11, True),
        (b'["' + b"[{," * 99 + b'"]', False),
        (b'["\\"' + b"[{," * 99 + b'"]', False),
        (b'["\\\\",' + b"1," * 20 + b"1]", True),
        (b'"' + b"," * 99, False),
        (b"", False),
    ],
)
def test_values_are_counted_and_texts_are_not(content, is_too_many):
    assert has_too_many_values(content) is is_too_many


def test_a_frame_of_more_is_no_trace(tmp_path):
    path = tmp_path / "m.jsonl.zst"
    for content, is_trace in ((b"[1]", True), (b"[" + b"[]," * 99 + b"1]", False)):
        path.write_bytes(zstandard.ZstdCompressor().compress(content))
        with path.open("rb") as file:
            assert trace_content(file, 0) == (content if is_trace else None)
