"""Repair after kill -9 and power cuts: what was counted stays, what is torn goes, nothing moves."""

import io
import os
import time

import orjson
import pytest
import zstandard

from collect.run_folder.repair import repair
from schemas.errors import counted
from schemas.run.trace import whole_frame
from tests.support.run_rows import event, line_of, result
from tests.support.synced_files import Synced


def frame_of(text):
    return zstandard.ZstdCompressor(level=3).compress(text.encode() * 20)


class Folder:
    """A run's folder whose results and traces are put together by hand."""

    def __init__(self, root):
        self.root = root
        (root / "artifacts").mkdir()
        self.log = root / "results.jsonl"
        self.traces = root / "artifacts" / "m.jsonl.zst"
        self.log.write_bytes(b"")

    def add(self, repetition, text="trace", **fields):
        """Append a trace and the result that points at it; return where the trace begins."""
        offset = self.traces.stat().st_size if self.traces.exists() else 0
        with self.traces.open("ab") as file:
            file.write(frame_of(text))
        fields = {"artifact_path": f"artifacts/m.jsonl.zst#{offset}"} | fields
        self.put(line_of(result(repetition=repetition, **fields)))
        return offset

    def put(self, content):
        with self.log.open("ab") as file:
            file.write(content)

    def trace(self, offset):
        with self.traces.open("rb") as file:
            frame = whole_frame(file, offset)
        return frame and zstandard.ZstdDecompressor().decompress(frame)

    def content(self):
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_whole_run_is_left_alone(folder):
    folder.add(1)
    folder.put(line_of(event()))
    folder.add(2)
    before = folder.content()

    assert repair(folder.root) == []
    assert folder.content() == before


def test_an_empty_run_is_left_alone(folder):
    assert repair(folder.root) == []
    assert folder.log.read_bytes() == b""


def test_a_line_torn_at_any_byte_is_cut_off_and_the_lines_before_it_stay(folder):
    folder.add(1)
    whole = folder.log.read_bytes()
    last = line_of(result(repetition=2, raw_output='quotes " and \\ and é'))
    for cut in range(1, len(last) - 1):
        folder.log.write_bytes(whole + last[:cut])

        (note,) = repair(folder.root)

        assert folder.log.read_bytes() == whole, cut
        assert note == f"results.jsonl: a torn last line was cut off ({counted(cut, 'byte')})"


def test_a_line_that_only_lacks_its_newline_is_kept(folder):
    folder.add(1)
    whole = folder.log.read_bytes()
    folder.log.write_bytes(whole[:-1])

    assert repair(folder.root) == ["results.jsonl: its last line lacked the newline"]
    assert folder.log.read_bytes() == whole


@pytest.mark.parametrize("what", ["torn", "newline", "traces"])
def test_what_was_repaired_is_on_the_disk_before_the_run_goes_on(folder, monkeypatch, what):
    folder.add(1)
    changed = folder.traces if what == "traces" else folder.log
    if what == "newline":
        folder.log.write_bytes(folder.log.read_bytes()[:-1])
    else:
        with changed.open("ab") as file:
            file.write(b'{"torn' if what == "torn" else frame_of("torn")[:-3])
    synced = Synced(monkeypatch)

    assert len(repair(folder.root)) == 1

    assert synced.whole(changed), "synced as long as it is now"


@pytest.mark.parametrize("n_zeros", [1, 7, 4_096, 65_535, 65_536, 65_537, 200_000])
@pytest.mark.parametrize("torn", [b"", b'{"record_type":"resu'])
@pytest.mark.parametrize("before", [True, False])
def test_zeros_that_a_power_cut_left_are_cut_off(folder, n_zeros, torn, before):
    if before:
        folder.add(1)
    whole = folder.log.read_bytes()
    folder.put(torn + b"\0" * n_zeros)

    (note,) = repair(folder.root)

    assert folder.log.read_bytes() == whole
    assert f"({counted(len(torn) + n_zeros, 'byte')})" in note


def test_one_long_torn_line_is_all_there_is(folder):
    folder.put(b'{"raw_output":"' + b"x" * 300_000)

    repair(folder.root)

    assert folder.log.read_bytes() == b""


@pytest.mark.parametrize("junk", [b"\0\0\0\n", b"{]\n", b"\n", b"[1]\n", b"\xff\xfe\n", b"1\n"])
@pytest.mark.parametrize("place", ["middle", "end"])
def test_a_broken_line_that_ended_is_reported_and_kept(folder, junk, place):
    """The lake may have counted its bytes already: cutting it would hide the lines that follow."""
    folder.add(1)
    folder.put(junk)
    if place == "middle":
        folder.add(2)
    before = folder.content()

    notes = repair(folder.root)

    assert notes == ["results.jsonl: line 2 cannot be read; kept, and skipped by all"]
    assert folder.content() == before


def test_of_many_broken_lines_only_the_first_are_named(folder):
    folder.put(b"{]\n" * 50)

    (note,) = repair(folder.root)

    assert "line 1, 2, 3 and 47 more" in note


def test_a_trace_torn_at_any_byte_is_cut_off_and_a_whole_one_stays(folder):
    offsets = [folder.add(1, "one"), folder.add(2, "two")]
    whole = folder.traces.read_bytes()
    last = frame_of("three")
    for cut in range(1, len(last)):
        folder.traces.write_bytes(whole + last[:cut])

        (note,) = repair(folder.root)

        assert folder.traces.read_bytes() == whole, cut
        assert (
            note == "artifacts/m.jsonl.zst: the torn end of a trace was cut off "
            f"({counted(cut, 'byte')})"
        )
    folder.traces.write_bytes(whole + last)
    assert repair(folder.root) == []
    assert folder.traces.read_bytes() == whole + last, "an answer, though no result points at it"
    assert [folder.trace(offset)[:3] for offset in offsets] == [b"one", b"two"]


def test_a_trace_without_a_result_between_two_others_stays_where_it_is(folder):
    first = folder.add(1, "one")
    with folder.traces.open("ab") as file:
        file.write(frame_of("orphan"))
    second = folder.add(2, "two")
    before = folder.content()

    assert repair(folder.root) == []
    assert folder.content() == before
    assert (folder.trace(first)[:3], folder.trace(second)[:3]) == (b"one", b"two")


def test_the_trace_of_a_torn_line_stays(folder):
    folder.add(1, "one")
    log = folder.log.read_bytes()
    folder.add(2, "two")
    with folder.log.open("ab") as file:
        file.truncate(file.tell() - 10)

    traces = folder.traces.read_bytes()

    (note,) = repair(folder.root)

    assert "a torn last line was cut off" in note
    assert (folder.log.read_bytes(), folder.traces.read_bytes()) == (log, traces)


def test_whole_traces_after_a_hole_and_after_padding_stay(folder):
    lost = folder.add(1, "one")
    folder.traces.unlink()
    repair(folder.root)
    padded = folder.traces.stat().st_size
    with folder.traces.open("ab") as file:
        file.write(frame_of("orphan"))

    assert repair(folder.root) == []
    assert (folder.trace(lost), folder.trace(padded)[:6]) == (None, b"orphan")


def test_a_trace_that_a_power_cut_took_at_any_byte_gives_its_place_to_nobody_else(folder):
    first = folder.add(1, "one")
    lost = folder.add(2, "two")
    whole = folder.traces.read_bytes()
    log = folder.log.read_bytes()
    for left in range(lost, len(whole)):
        folder.log.write_bytes(log)
        folder.traces.write_bytes(whole[:left])

        (note,) = repair(folder.root)
        assert note == "artifacts/m.jsonl.zst: 1 trace is lost; every result is kept"
        assert repair(folder.root) == [], "done twice, the second time does nothing"
        third = folder.add(3, "three")

        assert third > lost, left
        assert folder.trace(first)[:3] == b"one"
        assert folder.trace(lost) is None
        assert folder.trace(third)[:5] == b"three"
        assert repair(folder.root) == []


@pytest.mark.parametrize("left", ["nothing", "zeros", "no file"])
def test_traces_that_are_gone_altogether_are_counted_and_the_file_stays_readable(folder, left):
    offsets = [folder.add(number, f"text {number}") for number in range(1, 6)]
    size = folder.traces.stat().st_size
    if left == "no file":
        folder.traces.unlink()
    else:
        folder.traces.write_bytes(b"" if left == "nothing" else b"\0" * size)

    assert repair(folder.root) == ["artifacts/m.jsonl.zst: 5 traces are lost; every result is kept"]
    new = folder.add(6, "new")

    assert new == offsets[-1] + 1, "no later trace may come to lie there, and no more is needed"
    reader = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(folder.traces.read_bytes()), read_across_frames=True
    )
    assert reader.read() == b"new" * 20, "any zstd reader passes over the padding"
    assert repair(folder.root) == []


def test_a_hole_before_a_whole_trace_moves_nothing(folder):
    hole, good = folder.add(1, "one"), folder.add(2, "two")
    content = folder.traces.read_bytes()
    folder.traces.write_bytes(b"\0" * good + content[good:])

    assert repair(folder.root) == []
    assert folder.trace(hole) is None
    assert folder.trace(good)[:3] == b"two"


def test_what_a_model_says_about_traces_moves_nothing(folder):
    """Only the line's own field counts, not a field inside what the model answered."""
    lie = {"artifact_path": "artifacts/m.jsonl.zst#99999999999"}
    folder.add(1, "one", parsed_output=lie, raw_output=orjson.dumps(lie).decode())
    folder.add(2, "two", parsed_output=lie)
    before = folder.content()

    assert repair(folder.root) == []
    assert folder.content() == before


@pytest.mark.parametrize(
    "path", ["/etc/passwd#1", "artifacts/../../x.jsonl.zst#1", "artifacts/m.jsonl.zst", "#", "x#-1"]
)
def test_a_place_that_is_none_of_ours_is_left_alone(folder, path):
    folder.add(1, artifact_path=path)
    folder.traces.unlink()
    before = folder.content()

    assert repair(folder.root) == []
    assert folder.content() == before


def test_half_written_files_go_when_nobody_can_be_writing_them_any_more(folder):
    old, fresh, other = (folder.root / name for name in (".tmp-old", ".tmp-fresh", "tmp-other"))
    for path in (old, fresh, other):
        path.write_text("x")
    hours_ago = time.time() - 7_200
    os.utime(old, (hours_ago, hours_ago))
    os.utime(other, (hours_ago, hours_ago))

    assert repair(folder.root) == ["1 half-written files were removed"]
    assert not old.exists()
    assert fresh.exists()
    assert other.exists()
