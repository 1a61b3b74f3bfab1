"""What tells a stretch of a log from another: lakes hold it, so it is the same for ever."""

import pytest

from schemas.lake.log_coverage import TAIL_BYTES, tail_before


@pytest.mark.parametrize(
    ("content", "end", "tail"),
    [
        (b"one\ntwo\n", 8, "c3f9c8c283a2b1f2"),
        (b"one\ntwo\n", 4, "2c8b08da5ce60398"),
        (b"one\n" + b"x" * (TAIL_BYTES - 1) + b"\n", TAIL_BYTES + 4, "f7ddf5d443f1f023"),
    ],
)
def test_the_bytes_before_a_place_have_the_hash_they_always_had(tmp_path, content, end, tail):
    log = tmp_path / "results.jsonl"
    log.write_bytes(content)

    assert tail_before(log, end) == tail
