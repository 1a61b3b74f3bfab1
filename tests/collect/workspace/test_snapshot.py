"""A copy and a list of hostile folders: limits, kinds, rights, races."""

import hashlib
import os
import socket
import stat
import threading

import pytest

from collect.sandbox.trees import usage
from collect.workspace.handles import MAX_DEPTH, stays_inside
from collect.workspace.snapshot import CHUNK_BYTES, MAX_PATH_BYTES, Budget, Snapshot
from tests.support.cage import files_below
from tests.support.snapshots import growing, without_rights

ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def budget_of(**limits):
    return Budget(**{"size": 10_000_000, "files": 1_000, "file_size": 1_000_000} | limits)


def taken(source, target, **limits):
    """Return what was listed, by path."""
    snapshot = Snapshot(target, budget_of(**limits))
    snapshot.take(source)
    return {entry.path: entry for entry in snapshot.entries}


def left_out(entries):
    return {path: one.left_out for path, one in entries.items() if one.left_out is not None}


def test_nothing_makes_no_folder(source, tmp_path):
    assert taken(source, tmp_path / "kept") == {}
    assert taken(tmp_path / "missing", tmp_path / "kept") == {}
    os.mkfifo(source / "pipe")
    assert left_out(taken(source, tmp_path / "kept")) == {"pipe": "pipe"}
    assert not (tmp_path / "kept").exists()


def test_a_copy_has_plain_modes_and_the_list_says_what_is_in_it(source, tmp_path):
    (source / "tool").write_text("x")
    (source / "tool").chmod(0o6711)
    (source / "text").write_text("y")
    (source / "text").chmod(0o666)
    (source / "in").mkdir(mode=0o777)
    os.link(source / "text", source / "in" / "again")
    (source / "link").symlink_to("in/again")
    (source / "empty").touch()

    entries = taken(source, tmp_path / "kept")

    kept = tmp_path / "kept"
    assert files_below(kept) == {
        "empty": b"", "tool": b"x", "text": b"y", "in": None, "in/again": b"y",
        "link": "-> in/again",
    }  # fmt: skip
    modes = {name: stat.S_IMODE((kept / name).lstat().st_mode) for name in files_below(kept)}
    assert modes | {"link": 0} == {
        "tool": 0o755, "text": 0o644, "in": 0o755, "in/again": 0o644, "empty": 0o644, "link": 0,
    }  # fmt: skip
    assert (kept / "in/again").stat().st_nlink == 1
    assert list(entries) == ["empty", "in", "in/again", "link", "text", "tool"]
    kinds = {path: (one.kind, one.size, one.is_executable) for path, one in entries.items()}
    assert kinds == {
        "empty": ("file", 0, False), "in": ("folder", 0, False), "in/again": ("file", 1, False),
        "link": ("link", 0, False), "text": ("file", 1, False), "tool": ("file", 1, True),
    }  # fmt: skip
    assert entries["link"].target == "in/again"
    for path, content in files_below(kept).items():
        is_file = isinstance(content, bytes)
        assert entries[path].sha256 == (hashlib.sha256(content).hexdigest() if is_file else None)
    assert left_out(entries) == {}


@pytest.mark.parametrize(
    ("content", "is_binary"),
    [
        (b"", False),
        ("é\n".encode(), False),
        (b"a\0b", True),
        (b"\xff", True),
        ("é".encode()[:1], True),
        (b"x" * (CHUNK_BYTES - 1) + "é".encode(), False),
        (b"x" * (CHUNK_BYTES - 1) + b"\xc3", True),
        (b"x" * CHUNK_BYTES + b"\0", True),
    ],
    ids=["empty", "text", "NUL", "byte", "half", "across", "half at the end", "late"],
)
def test_text_is_told_from_what_is_none(source, tmp_path, content, is_binary):
    (source / "f").write_bytes(content)

    entries = taken(source, tmp_path / "kept", file_size=5_000_000)

    assert entries["f"].is_binary is is_binary
    assert (tmp_path / "kept/f").read_bytes() == content


def test_a_copy_is_bounded(source, tmp_path):
    for number in range(20):
        (source / f"{number:02}").write_bytes(bytes(10_000))
    with (source / "sparse").open("wb") as file:
        file.truncate(2_000_000)

    few = taken(source, tmp_path / "a", files=7)
    small = taken(source, tmp_path / "b", size=55_000)
    entries = taken(source, tmp_path / "c")

    assert len(files_below(tmp_path / "a")) == 7
    assert [*left_out(few).values()] == ["too_many"] * 14
    assert sum(map(len, files_below(tmp_path / "b").values())) == 50_000
    assert [*left_out(small).values()] == ["too_large"] * 16
    assert left_out(entries) == {"sparse": "too_large"}
    assert entries["sparse"].size == 2_000_000
    assert "sparse" not in files_below(tmp_path / "c")
    taken(source, tmp_path / "d", file_size=2_000_000)
    assert len(files_below(tmp_path / "d")["sparse"]) == 2_000_000


def test_a_sparse_file_that_would_fill_the_disk_is_not_read(source, tmp_path):
    with (source / "huge").open("wb") as file:
        file.truncate(10_000_000_000)

    entries = taken(source, tmp_path / "kept")

    assert (entries["huge"].size, entries["huge"].left_out) == (10_000_000_000, "too_large")
    assert not (tmp_path / "kept").exists()


@ROOT_ALONE
def test_what_is_no_file_is_listed_and_never_opened(source, tmp_path):
    os.mkfifo(source / "pipe")
    os.mknod(source / "char", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.mknod(source / "block", stat.S_IFBLK | 0o666, os.makedev(7, 99))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(source / "sock"))
        entries = taken(source, tmp_path / "kept")

    assert left_out(entries) == {
        "block": "device", "char": "device", "pipe": "pipe", "sock": "socket",
    }  # fmt: skip
    assert {one.kind for one in entries.values()} == {"other"}


def test_links_that_lead_out_are_listed_and_not_copied(source, tmp_path):
    (source / "d").mkdir()
    targets = {
        "a": "/etc/passwd", "b": "..", "c": "d/../..", "d/e": "../../x", "d/f": "../g",
        "loop": "loop", "nothing": "d/none",
    }  # fmt: skip
    for name, target in targets.items():
        (source / name).symlink_to(target)

    entries = taken(source, tmp_path / "kept")

    out = ("a", "b", "c", "d/e")
    assert left_out(entries) == dict.fromkeys(out, "leads_out")
    assert {one.path: one.target for one in entries.values() if one.kind == "link"} == targets
    assert set(files_below(tmp_path / "kept")) == {"d", "d/f", "loop", "nothing"}


def test_deep_folders_and_long_paths_are_left_out(source, tmp_path):
    place = source
    for _ in range(150):
        place /= "d"
        place.mkdir()
    (place / "f").write_text("x")
    long = "n" * 200
    place = source
    for _ in range(6):
        place /= long
        place.mkdir()

    entries = taken(source, tmp_path / "kept")

    assert left_out(entries) == {
        "/".join("d" * (MAX_DEPTH + 1)): "too_deep",
        "/".join([long] * (MAX_PATH_BYTES // 201 + 1)): "too_deep",
    }
    assert len(entries) == MAX_DEPTH + 1 + MAX_PATH_BYTES // 201 + 1


def test_names_of_any_bytes_are_copied_and_spelled(source, tmp_path):
    names = (b"\xff\xfe", b"\\xff", b"a\nb", b"-rf", b" ", b"*", b'"', "\u202e".encode())
    for name in names:
        (source / os.fsdecode(name)).write_bytes(name)

    entries = taken(source, tmp_path / "kept")

    assert {os.fsencode(path.name) for path in (tmp_path / "kept").iterdir()} == set(names)
    assert {"\\xff\\xfe", "\\x5cxff", "a\nb", "\u202e"} < set(entries)
    assert all(one.model_dump_json().encode() for one in entries.values())


def test_a_crowd_is_counted_where_it_is_not_listed(source, tmp_path):
    for number in range(20_000):
        (source / f"{number:05}").touch()
    budget = budget_of(files=100, left_out=1_000)
    snapshot = Snapshot(tmp_path / "kept", budget)

    snapshot.take(source)

    assert len(snapshot.entries) == 1_100
    assert len(files_below(tmp_path / "kept")) == 100
    assert budget.n_unlisted == 18_900


def test_names_are_bounded_all_together(source, tmp_path):
    for number in range(30):
        (source / f"{number:0100}").touch()
    for number in range(3):
        (source / f"a{number}").symlink_to("b" * 900)
    budget = budget_of(names=2_000)
    snapshot = Snapshot(tmp_path / "kept", budget)

    snapshot.take(source)

    assert len(snapshot.entries) == 20
    assert set(files_below(tmp_path / "kept")) == {one.path for one in snapshot.entries}
    assert budget.n_unlisted == 13


def test_a_target_that_is_there_is_not_touched(source, tmp_path):
    (source / "f").write_text("x")
    (tmp_path / "kept").mkdir()

    with pytest.raises(FileExistsError):
        taken(source, tmp_path / "kept")

    assert files_below(tmp_path / "kept") == {}


def test_a_copy_that_cannot_be_written_is_an_error_of_ours(source, tmp_path):
    (source / "f").write_text("x")
    (tmp_path / "file").touch()

    with pytest.raises(NotADirectoryError):
        taken(source, tmp_path / "file" / "kept")


def test_a_shortage_of_ours_is_no_fault_of_a_file(source, tmp_path):
    import resource

    (source / "d").mkdir()
    (source / "d/f").write_text("x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)  # the limit is of the highest number, and numbers have gaps
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            taken(source, tmp_path / "kept")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_its_owner_closed_is_copied_by_a_user_without_rights(source, tmp_path):
    (source / "closed").mkdir()
    (source / "closed" / "in").mkdir()
    (source / "closed" / "in" / "f").write_text("x")
    (source / "list only").mkdir()
    (source / "list only" / "g").write_text("y")
    (source / "secret").write_text("z")
    (source / "secret").chmod(0)
    (source / "run only").write_text("r")
    (source / "run only").chmod(0o100)
    (source / "closed" / "in").chmod(0)
    (source / "closed").chmod(0)
    (source / "list only").chmod(0o400)
    source.chmod(0)
    counted = []

    def work():
        entries = taken(source, tmp_path / "kept")
        assert left_out(entries) == {}
        assert [one.path for one in entries.values() if one.is_executable] == ["run only"]
        counted.append([*usage([str(source)], opens=True)][-1].files)
        counted.append([*usage([str(source)], opens=False)][-1].files)
        assert counted == [7, 0], counted

    assert without_rights(work, source, tmp_path) == 0
    source.chmod(0o700)
    for name in ("closed", "list only", "secret", "run only"):
        assert stat.S_IMODE((source / name).stat().st_mode) in {0, 0o400, 0o100}, "put back"
    assert files_below(tmp_path / "kept") == {
        "closed": None, "closed/in": None, "closed/in/f": b"x", "run only": b"r",
        "list only": None, "list only/g": b"y", "secret": b"z",
    }  # fmt: skip


@ROOT_ALONE
def test_what_belongs_to_another_user_is_listed_as_unreadable(source, tmp_path):
    (source / "mine").write_text("x")

    def work():
        entries = taken(source, tmp_path / "kept")
        assert left_out(entries) == {"folder": "unreadable", "file": "unreadable"}
        assert (entries["file"].size, entries["file"].sha256) == (1, None)
        assert (entries["folder"].kind, entries["mine"].kind) == ("folder", "file")

    source.chmod(0o777)
    (source / "file").write_text("y")
    (source / "folder").mkdir()
    (source / "folder/f").write_text("z")
    for name in ("file", "folder"):
        (source / name).chmod(0)
    assert without_rights(work, source / "mine", tmp_path) == 0
    assert files_below(tmp_path / "kept") == {"mine": b"x"}


def test_a_file_that_grows_is_left_out_or_whole(source, tmp_path):
    """Nothing runs in what is copied; where something did, the limit would hold all the same."""
    ends = set()
    with growing(source / "grows", 50_000):
        for number in range(5_000):
            if number > 50 and "too_large" in ends:
                break
            target = tmp_path / f"kept{number}"
            entry = taken(source, target)["grows"]
            copies = files_below(target)
            ends.add(entry.left_out)
            if entry.left_out is None:
                assert hashlib.sha256(copies["grows"]).hexdigest() == entry.sha256
                assert entry.size == len(copies["grows"]) <= 1_000_000
            else:
                assert (entry.left_out, copies, entry.sha256) == ("too_large", {}, None)
    assert "too_large" in ends


def test_what_is_swapped_meanwhile_leads_nowhere_else(source, tmp_path):
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("canary")
    (source / "f").write_text("fine")
    (source / "d").mkdir()
    (source / "d/f").write_text("fine")
    is_over = threading.Event()

    def swap():
        while not is_over.is_set():
            for name, target in (("f", "../secret"), ("d", "../outside")):
                (source / name).rename(source / f".{name}")
                (source / name).symlink_to(target)
                (source / name).unlink()
                os.mkfifo(source / name)
                (source / name).unlink()
                (source / f".{name}").rename(source / name)

    thread = threading.Thread(target=swap)
    thread.start()
    reasons = set()
    try:
        for number in range(5_000):
            if number > 200 and {"leads_out", "pipe"} <= reasons:
                break
            target = tmp_path / f"kept{number}"
            reasons |= set(left_out(taken(source, target)).values())
            contents = [one for one in files_below(target).values() if one is not None]
            assert set(contents) <= {b"fine"}, contents
    finally:
        is_over.set()
        thread.join()
    assert {"leads_out", "pipe"} <= reasons


@pytest.mark.parametrize(
    ("link", "depth", "stays"),
    [
        (b"f", 0, True),
        (b"d/f", 0, True),
        (b"./d//f", 0, True),
        (b"../f", 1, True),
        (b"../../f", 2, True),
        (b".", 0, True),
        (b"..", 0, False),
        (b"../f", 0, False),
        (b"../../f", 1, False),
        (b"d/../f", 0, False),
        (b"d/../../f", 1, False),
        (b"/workspace/f", 0, False),
        (b"/", 3, False),
    ],
)
def test_links_that_stay(link, depth, stays):
    assert stays_inside(link, depth) is stays
