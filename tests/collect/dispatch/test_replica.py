"""A run folder that is copied while it grows: wherever the copy ends, it is a run cut short."""

import os
import random

import pytest

from collect.dispatch import replica
from collect.dispatch.replica import Changes, Copy, Original, Piece
from schemas.errors import NotOwnFile


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(replica, "MAX_BYTES", 64)
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        (folder / "artifacts").mkdir(parents=True)
    return there, here


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def send_all(original, copy):
    while True:
        changes = original.changes()
        copy.apply(changes)
        if changes.is_all:
            return


def test_a_line_is_there_only_after_what_it_points_to(folders):
    there, here = folders
    rng, original, copy = random.Random(3), Original(there), Copy(here)
    ends = []
    for number in range(300):
        with (there / "artifacts" / "m.jsonl.zst").open("ab") as traces:
            traces.write(bytes([number % 250]) * rng.randint(1, 90))
        ends.append((there / "artifacts" / "m.jsonl.zst").stat().st_size)
        with (there / "results.jsonl").open("ab") as log:
            log.write(b"%d\n" % ends[-1])
        if rng.random() < 0.6:
            copy.apply(original.changes())
            lines = (
                (here / "results.jsonl").read_bytes() if (here / "results.jsonl").exists() else b""
            )
            whole = lines[: lines.rfind(b"\n") + 1].split()
            size = (here / "artifacts" / "m.jsonl.zst").stat().st_size
            assert all(int(end) <= size for end in whole)
    send_all(original, copy)
    assert content(here) == content(there)


def test_files_that_change_are_sent_whole_and_what_is_gone_goes(folders):
    there, here = folders
    original, copy = Original(there), Copy(here)
    (there / "workspaces" / "m" / "c").mkdir(parents=True)
    (there / "workspaces" / "m" / "c" / "run.sh").write_bytes(b"#" * 200)
    (there / "workspaces" / "m" / "c" / "run.sh").chmod(0o755)
    (there / "inventory.json").write_bytes(b"first")
    send_all(original, copy)
    assert content(here) == content(there)
    assert os.access(here / "workspaces" / "m" / "c" / "run.sh", os.X_OK)

    (there / "inventory.json").write_bytes(b"x")
    (there / "workspaces" / "m" / "c" / "run.sh").unlink()
    send_all(original, copy)
    assert content(here) == content(there)


def test_what_was_there_at_the_start_is_not_sent_again(folders):
    there, _ = folders
    (there / "results.jsonl").write_bytes(b"old\n")
    (there / "plan.jsonl").write_bytes(b"plan\n")
    original = Original(there)
    original.take_as_sent()
    with (there / "results.jsonl").open("ab") as log:
        log.write(b"new\n")

    assert original.changes().pieces == [Piece("results.jsonl", 4, b"new\n")]


def test_locks_links_and_what_is_made_again_stay_where_they_are(folders):
    there, _ = folders
    for name in (".run.lock", "summary.json", "report.html"):
        (there / name).write_bytes(b"x")
    (there / "leads-elsewhere").symlink_to("/etc/passwd")
    (there / "folder").symlink_to("/etc")

    assert Original(there).changes().pieces == []


@pytest.mark.parametrize("name", ["../out", "/etc/out", "artifacts/../../out", ""])
def test_no_name_leads_out_of_the_folder(folders, tmp_path, name):
    _, here = folders
    before = content(tmp_path)

    with pytest.raises(ValueError, match="no file of a run"):
        Copy(here).apply(Changes([Piece(name, 0, b"x")]))
    with pytest.raises(ValueError, match="no file of a run"):
        Copy(here).apply(Changes(gone=[name]))
    assert content(tmp_path) == before


def test_a_link_in_the_way_is_not_followed(folders, tmp_path):
    _, here = folders
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (here / "results.jsonl").symlink_to(outside)

    with pytest.raises(NotOwnFile):
        Copy(here).apply(Changes([Piece("results.jsonl", 0, b"x")]))
    assert outside.read_bytes() == b"mine"


def test_a_piece_that_does_not_go_on_where_the_copy_ends_is_refused(folders):
    _, here = folders
    copy = Copy(here)
    copy.apply(Changes([Piece("results.jsonl", 0, b"one\n")]))

    with pytest.raises(ValueError, match="does not end at byte 9"):
        copy.apply(Changes([Piece("results.jsonl", 9, b"three\n")]))
    assert (here / "results.jsonl").read_bytes() == b"one\n"
