"""A shard on a node: what nobody asks after begins nothing new, and what is left is cleared."""

import os
import sys
import time

import pytest

from collect.dispatch import node
from collect.dispatch.messages import Begin, Division, line_of
from collect.dispatch.node import NodeShard, Place, clear_left
from collect.dispatch.replica import Changes, Piece
from schemas.io.own_files import take_lock
from tests.support.kept_run import wait_for

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"


@pytest.fixture
def shard(tmp_path, monkeypatch):
    """A shard whose process says what it hears."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "benchlake.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(node.tempfile, "tempdir", None)
    monkeypatch.setattr(node, "shard_command", lambda _: (sys.executable, "-c", ECHO))
    made = NodeShard(Place("work", "work/runs/r"))
    made.receive(Changes([Piece("plan.jsonl", 0, b"plan\n")]))
    yield made
    made.end()


def heard(shard, n, *lines):
    """Exchange until the process has said `n` lines."""
    found = [*shard.exchange(lines, 0.05).lines]
    while len(found) < n:
        found += shard.exchange((), 0.05).lines
    return found


def test_nothing_new_begins_while_nobody_asks_and_the_part_is_given_again(shard, monkeypatch):
    monkeypatch.setattr(node, "LEASE_S", 0.3)
    begin, part = line_of(Begin()), line_of(Division(4, 1, 2))
    shard.begin(begin, {})
    assert heard(shard, 2, part) == [begin.strip(), part.strip()]

    time.sleep(0.8)
    paused = line_of(Division(4, 0, 0)).strip()
    assert heard(shard, 2) == [paused, part.strip()]


def test_the_folder_comes_home_with_what_was_said_and_the_end_takes_all_away(shard, tmp_path):
    shard.begin(line_of(Begin()), {})
    (root,) = tmp_path.glob("benchlake-shard-*")
    assert (root / "benchlake.yaml").is_file()
    (root / "work" / "runs" / "r" / "results.jsonl").write_bytes(b"{}\n")
    news = shard.exchange((), 1.0)

    assert {piece.name: piece.content for piece in news.changes.pieces}["results.jsonl"] == b"{}\n"
    assert "plan.jsonl" not in {piece.name for piece in news.changes.pieces}
    shard.end()
    assert not root.exists()


def test_how_the_process_ended_comes_after_its_last_word(shard):
    shard.begin(line_of(Begin()), {})
    assert heard(shard, 1) == [line_of(Begin()).strip()]
    shard._process.stdin.close()
    wait_for(lambda: shard._process.poll() is not None)

    assert (shard.exchange((), 0.05).lines, shard.exchange((), 0.05).code) == ([], 0)


def test_only_old_folders_that_nobody_holds_are_cleared(tmp_path):
    names = ("old", "new", "held")
    for name in names:
        (tmp_path / f"benchlake-shard-{name}" / "runs").mkdir(parents=True)
    other = tmp_path / "something-else"
    other.mkdir()
    long_ago = time.time() - 3_600
    for path in (tmp_path / "benchlake-shard-old", tmp_path / "benchlake-shard-held", other):
        os.utime(path, (long_ago, long_ago))
    handle = os.open(tmp_path / "benchlake-shard-held", os.O_RDONLY)
    take_lock(handle)
    clear_left(tmp_path)
    os.close(handle)

    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["benchlake-shard-held", "benchlake-shard-new", "something-else"]
