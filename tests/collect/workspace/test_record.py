"""The folder of what a trial left: what is in it, and what checks name elsewhere."""

import os

import pytest

from collect.workspace.files import Found, Tree
from collect.workspace.record import MAX_DIFF_BYTES, keep_workspace
from collect.workspace.snapshot import Budget
from schemas.base import read_stored
from schemas.run.workspace import Workspace
from tests.support.cage import files_below


class Trial:
    """The folders of a trial, and where they are kept."""

    def __init__(self, folder):
        self.workspace, self.tmp, self.home = (folder / name for name in ("w", "tmp", "home"))
        for path in (self.workspace, self.tmp, self.home):
            path.mkdir()
        self.target = folder / "run" / "m" / "1"

    def keep(self, *named, **limits):
        budget = Budget(**{"size": 1_000_000, "files": 100, "file_size": 100_000} | limits)
        elsewhere = {"/tmp": self.tmp, "/home/agent": self.home}
        return keep_workspace(self.workspace, self.target, budget, elsewhere=elsewhere, named=named)

    @property
    def kept(self):
        """Return the copies, without the two files about them."""
        about = {"workspace.json", "workspace.diff"}
        return {name: what for name, what in files_below(self.target).items() if name not in about}


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


def paths(record):
    return [entry.path for entry in record.entries]


def test_nothing_leaves_nothing(trial):
    assert trial.keep() is None
    assert trial.keep("/tmp/x", "/home/agent/x/y", "/etc/passwd", "/tmp/a/../../etc") is None
    assert not trial.target.parent.exists()


def test_the_folder_says_what_is_in_it(trial):
    (trial.workspace / "a.txt").write_text("one\r\ntwo")
    (trial.tmp / "other").write_text("not named")

    record = trial.keep()

    assert trial.kept == {"workspace": None, "workspace/a.txt": b"one\r\ntwo"}
    assert read_stored(Workspace, trial.target / "workspace.json") == record
    assert (record.is_complete, record.diff_truncated, record.n_unlisted) == (True, False, 0)
    assert [(one.path, one.change) for one in record.changes] == [("a.txt", "added")]
    assert (trial.target / "workspace.diff").read_bytes() == (
        b"diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n"
        b"@@ -0,0 +1,2 @@\n+one\r\n+two\n\\ No newline at end of file\n"
    )


def test_what_cannot_be_kept_is_said_without_a_copy(trial):
    os.mkfifo(trial.workspace / "pipe")

    record = trial.keep()

    assert trial.kept == {}
    assert [one.left_out for one in record.entries] == ["pipe"]
    assert not record.is_complete
    assert (trial.target / "workspace.diff").read_text().endswith("\nLeft out: pipe\n")


def test_what_is_named_elsewhere_is_kept_and_nothing_beside_it(trial):
    (trial.tmp / "x").write_text("1")
    (trial.tmp / "other").write_text("2")
    (trial.home / "y/z").mkdir(parents=True)
    (trial.home / "y/z/f").write_text("3")
    (trial.home / "y/secret").write_text("4")

    record = trial.keep(
        "/tmp/x", "/tmp/x", "/tmp/none", "/home/agent/y/z", "/home/other", "/tmpx", "/etc/passwd"
    )

    assert trial.kept == {
        "tmp": None, "tmp/x": b"1",
        "home": None, "home/y": None, "home/y/z": None, "home/y/z/f": b"3",
    }  # fmt: skip
    assert paths(record) == ["/home/agent/y", "/home/agent/y/z", "/home/agent/y/z/f", "/tmp/x"]
    assert record.changes == (), "the diff is of the workspace"
    assert record.is_complete


def test_whole_folders_may_be_named(trial):
    (trial.tmp / "x").write_text("1")
    (trial.tmp / "d/e").mkdir(parents=True)

    record = trial.keep("/tmp/", "/tmp/d/e", "/tmp/./d")

    assert trial.kept == {"tmp": None, "tmp/x": b"1", "tmp/d": None, "tmp/d/e": None}
    assert paths(record) == ["/tmp/d", "/tmp/d/e", "/tmp/x"]


def test_names_through_links_are_found_in_the_copy_as_they_were(trial):
    (trial.tmp / "real/deep").mkdir(parents=True)
    (trial.tmp / "real/deep/f").write_text("1")
    (trial.tmp / "real/other").write_text("2")
    (trial.tmp / "link").symlink_to("real/deep")
    (trial.tmp / "real/deep/up").symlink_to("../../link/f")

    record = trial.keep("/tmp/link/up")

    assert trial.kept == {
        "tmp": None, "tmp/link": "-> real/deep", "tmp/real": None, "tmp/real/deep": None,
        "tmp/real/deep/up": "-> ../../link/f", "tmp/real/deep/f": b"1",
    }  # fmt: skip
    assert record.is_complete
    assert Tree(trial.target / "tmp").find("link/up") == Found("file", 1)


@pytest.mark.parametrize("target", ["/etc", "..", "../home", "d/../.."])
def test_names_through_links_that_lead_out_are_listed(trial, target):
    (trial.tmp / "d").mkdir()
    (trial.tmp / "d/out").symlink_to("../" + target if target == ".." else target)
    (trial.tmp / "out").symlink_to(target)

    record = trial.keep("/tmp/out/passwd", "/tmp/out")

    assert trial.kept == {}
    assert [(one.path, one.left_out) for one in record.entries] == [("/tmp/out", "leads_out")]
    assert not record.is_complete


def test_links_in_circles_and_into_nothing_keep_nothing(trial):
    (trial.tmp / "a").symlink_to("b")
    (trial.tmp / "b").symlink_to("a")
    (trial.tmp / "dangling").symlink_to("none")
    (trial.tmp / "f").touch()

    assert trial.keep("/tmp/a", "/tmp/dangling", "/tmp/f/x") is None


def test_a_named_pipe_is_listed(trial):
    os.mkfifo(trial.home / "p")

    record = trial.keep("/home/agent/p")

    assert trial.kept == {}
    assert [(one.path, one.left_out) for one in record.entries] == [("/home/agent/p", "pipe")]


def test_all_copies_share_the_limits(trial):
    (trial.workspace / "a").write_bytes(bytes(600))
    (trial.tmp / "b").write_bytes(bytes(600))
    (trial.home / "c").write_bytes(bytes(300))

    record = trial.keep("/tmp/b", "/home/agent/c", size=1_000)

    assert set(trial.kept) == {"workspace", "workspace/a", "home", "home/c"}
    assert [one.path for one in record.entries if one.left_out == "too_large"] == ["/tmp/b"]


def test_a_target_that_is_there_is_left_alone(trial):
    (trial.workspace / "f").write_text("x")
    trial.target.mkdir(parents=True)

    with pytest.raises(FileExistsError):
        trial.keep()
    assert files_below(trial.target) == {}


def test_a_crowd_of_hostile_names_makes_a_record_of_bounded_size(trial):
    for number in range(3_000):
        name = b"\xff" * 240 + b"%d" % number
        (trial.workspace / os.fsdecode(name)).touch()

    record = trial.keep(files=2_000, names=500_000)

    assert record.n_unlisted > 900
    assert (trial.target / "workspace.json").stat().st_size < 8_000_000
    assert (trial.target / "workspace.diff").stat().st_size <= MAX_DIFF_BYTES
    assert record.diff_truncated is True
