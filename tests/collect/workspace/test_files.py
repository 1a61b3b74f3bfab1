"""Reading what a hostile model may have left: names, links, kinds, sizes, races."""

import itertools
import os
import shutil
import socket
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collect.workspace.files import Found, Tree, Unreadable
from collect.workspace.handles import MAX_DEPTH, MAX_LINKS, found_place, opened_file
from tests.support.snapshots import growing, without_rights

SECRET = "canary of the host"
ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\r\n")
    (folder / "d/e").mkdir(parents=True)
    (folder / "d/e/f").write_text("deep")
    return folder


def n_handles():
    return len([*Path("/dev/fd").iterdir()])


def test_files_and_folders_are_found(root):
    (root / "a.txt").chmod(0o755)
    tree = Tree(root)

    assert tree.find("a.txt") == Found("file", 9, is_executable=True)
    assert tree.find("./d//e/f") == Found("file", 4)
    for name in ("d", "d/", "d/e/..", ".", "d/../d/e/../../."):
        assert tree.find(name) == Found("folder"), name
    for name in ("b", "a.txt/b", "d/e/f/g", "x" * 300, "a\0b", "\ud800", "d/x/.."):
        assert tree.find(name) is None, name
    assert tree.text("a.txt", 9) == "one\ntwo\r\n"


@pytest.mark.parametrize(
    "make",
    [Path.touch, lambda path: path.symlink_to("kept"), lambda _: None],
    ids=["file", "link", "nothing"],
)
def test_a_root_that_is_no_folder_holds_nothing(root, make):
    other = root.parent / "other"
    make(other)

    assert Tree(other).find("a.txt") is None
    with pytest.raises(Unreadable, match=r"^no file a\.txt$"):
        Tree(other).text("a.txt", 10)


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("a.txt", Found("file", 9)),
        ("d/e", Found("folder")),
        (".", Found("folder")),
        ("nothing", None),
        ("self", None),
        ("..", Found("link_out")),
        ("../secret", Found("link_out")),
        ("/", Found("link_out")),
        ("/workspace/a.txt", Found("link_out")),
        ("d/../../secret", Found("link_out")),
        ("/proc/self/root", Found("link_out")),
    ],
)
def test_links_stay_inside(root, link, found):
    (root / "self").symlink_to(link)
    tree = Tree(root)

    assert tree.find("self") == found
    assert tree.find("self", follows=False) == Found("link", target=link)
    if found == Found("link_out"):
        assert tree.find("self/secret") == found
        with pytest.raises(Unreadable, match="self leads out of the workspace"):
            tree.text("self", 100)


@pytest.mark.parametrize("name", ["..", "../secret", "d/../../secret", "d/e/../../../kept/a.txt"])
def test_names_stay_inside(root, name):
    assert Tree(root).find(name) == Found("link_out")
    with pytest.raises(Unreadable, match="leads out"):
        Tree(root).text(name, 100)


def test_links_of_links_end_somewhere(root):
    for number in range(MAX_LINKS + 1):
        (root / f"l{number + 1}").symlink_to(f"l{number}")
    (root / "l0").symlink_to("a.txt")
    (root / "d/up").symlink_to("../d/e/back")
    (root / "d/e/back").symlink_to("../../l0")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one/x")
    before = n_handles()
    tree = Tree(root)

    assert tree.text(f"l{MAX_LINKS - 1}", 9) == "one\ntwo\r\n"
    assert tree.find(f"l{MAX_LINKS}") is None
    assert tree.text("d/up", 9) == "one\ntwo\r\n"
    assert tree.find("one") is None
    assert n_handles() == before


def test_as_many_folders_as_a_copy_has_are_entered_and_not_more(root):
    names = "x/" * (MAX_DEPTH + 50)
    place = root
    for name in names.split("/")[:-1]:
        place /= name
        place.mkdir()
    (root / "x/f").write_text("1")
    before = n_handles()
    tree = Tree(root)

    assert tree.find("x/" * MAX_DEPTH + "x") == Found("folder")
    assert tree.find(names) is None
    assert tree.text("x/../" * 5_000 + "x/f", 1) == "1", "no more handles than folders"
    assert n_handles() == before


KINDS = {
    "pipe": ("a pipe", os.mkfifo),
    "sock": ("a socket", lambda path: os.mknod(path, stat.S_IFSOCK | 0o600)),
    "char": ("a device", lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))),
    "block": ("a device", lambda path: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 99))),
}


@ROOT_ALONE
@pytest.mark.parametrize("name", KINDS)
def test_what_is_no_file_is_never_opened(root, name):
    word, make = KINDS[name]
    make(root / name)
    (root / "link").symlink_to(name)
    tree = Tree(root)

    for one in (name, "link"):
        assert tree.find(one) == Found("other")
        with pytest.raises(Unreadable, match=f"{one} is {word}, which is not read"):
            tree.text(one, 100)
    with pytest.raises(Unreadable, match="d is a folder, which is not read"):
        tree.text("d", 100)


def test_a_socket_in_use_is_left_alone(root):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "s"))
        assert Tree(root).find("s") == Found("other")


def test_what_is_no_text_says_where(root):
    (root / "raw").write_bytes(b"abc\xff")
    (root / "half").write_bytes("aé".encode()[:-1])
    tree = Tree(root)

    with pytest.raises(Unreadable, match=r"^raw is no text: byte 3 is not UTF-8$"):
        tree.text("raw", 100)
    with pytest.raises(Unreadable, match=r"^half is no text: byte 1 "):
        tree.text("half", 100)
    assert tree.content("raw", 4) == b"abc\xff"


def test_a_file_is_as_large_as_is_allowed(root):
    with (root / "sparse").open("wb") as file:
        file.truncate(10_000_000_000)
    tree = Tree(root)

    assert tree.find("sparse") == Found("file", 10_000_000_000)
    with pytest.raises(Unreadable, match=r"^sparse is larger than 8,000,000 bytes$"):
        tree.text("sparse", 8_000_000)
    assert tree.text("d/e/f", 4) == "deep"
    with pytest.raises(Unreadable, match="larger than 3 bytes"):
        tree.text("d/e/f", 3)


def test_a_file_that_claims_to_be_empty_is_read_to_the_limit_and_not_further():
    tree = Tree(Path(f"/proc/{os.getpid()}"))

    assert tree.find("maps") == Found("file", 0)
    assert "Name:\t" in tree.text("status", 100_000)
    with pytest.raises(Unreadable, match="maps is larger than 100 bytes"):
        tree.text("maps", 100)


def test_a_file_that_grows_while_it_is_read_ends(root):
    ends = set()
    with growing(root / "grows", 100_000):
        for number in range(100_000):
            if number > 50 and len(ends) > 1:
                break
            try:
                ends.add(len(Tree(root).content("grows", 1_000_000)) <= 1_000_000)
            except Unreadable as exc:
                ends.add(str(exc))
    assert ends == {True, "grows is larger than 1,000,000 bytes"}


@ROOT_ALONE
def test_a_name_that_is_swapped_meanwhile_gains_nothing(root):
    """Between a file, a link out, a pipe, a device and a folder; nothing blocks or leads out."""
    target = root / "swapped"
    (root / "pipe").touch()
    forms = ("file", "out", "pipe", "null", "folder")
    shelf = root.parent / "shelf"
    shelf.mkdir()
    (shelf / "file").write_text("fine")
    (shelf / "out").symlink_to("../secret")
    os.mkfifo(shelf / "pipe")
    os.mknod(shelf / "null", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    (shelf / "folder").mkdir()
    is_over = threading.Event()

    def swap():
        for form in itertools.cycle(forms):
            if is_over.is_set():
                return
            (shelf / form).rename(target)
            target.rename(shelf / form)

    thread = threading.Thread(target=swap)
    thread.start()
    seen, tree = set(), Tree(root)
    try:
        for _ in range(20_000):
            found = tree.find("swapped")
            seen.add(None if found is None else found.kind)
            try:
                assert tree.text("swapped", 100) == "fine"
            except Unreadable as exc:
                seen.add(str(exc).split(" ", 1)[1])
    finally:
        is_over.set()
        thread.join()
    assert {"file", "link_out", "other", "folder", None} <= seen, seen


def test_a_folder_that_becomes_a_link_leads_nowhere_else(root):
    """The handle of what was there goes on; the link is never followed."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text(SECRET)
    (root / "in").mkdir()
    (root / "in/f").write_text("fine")
    is_over = threading.Event()

    def swap():
        while not is_over.is_set():
            (root / "in").rename(root / "aside")
            (root / "in").symlink_to("../outside")
            (root / "in").unlink()
            (root / "aside").rename(root / "in")

    thread = threading.Thread(target=swap)
    thread.start()
    texts = set()
    try:
        for _ in range(10_000):
            try:
                texts.add(Tree(root).text("in/f", 100))
            except Unreadable:
                texts.add("fine")
    finally:
        is_over.set()
        thread.join()
    assert texts == {"fine"}


def test_a_file_without_permission_cannot_be_opened_and_stays_so(root):
    (root / "closed").mkdir()
    (root / "closed/f").write_text("x")
    (root / "secret").write_text("x")
    for path in (root / "closed", root / "secret"):
        path.chmod(0)

    def work():
        tree = Tree(root)
        assert tree.find("secret") == Found("file", 1)
        with pytest.raises(Unreadable, match=r"^secret cannot be opened: Permission denied$"):
            tree.text("secret", 10)
        assert tree.find("closed") == Found("folder")
        assert tree.find("closed/f") == Found("other")
        with pytest.raises(Unreadable, match="closed/f cannot be opened"):
            tree.text("closed/f", 10)

    assert without_rights(work, root, root.parent) == 0
    assert stat.S_IMODE((root / "secret").stat().st_mode) == 0


def test_names_that_are_not_utf_8_are_found_as_they_are_spelled(root):
    for name in (b"\xff", b"\\xff", b"a\nb"):
        (root / os.fsdecode(name)).write_bytes(name)
    tree = Tree(root)

    assert tree.content("\\xff", 9) == b"\xff"
    assert tree.content("\\x5cxff", 9) == b"\\xff"
    assert tree.text("a\nb", 9) == "a\nb"


def test_a_shortage_of_ours_is_no_fault_of_the_file(root):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    tree = Tree(root)
    next_free = os.open(os.devnull, os.O_RDONLY)
    os.close(next_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            tree.find("d/e/f")
        with pytest.raises(OSError, match="Too many open files"):
            tree.text("d/e/f", 9)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_file_that_was_replaced_after_the_look_is_said_to_be(root):
    handle = os.open(root, os.O_RDONLY)
    try:
        with found_place(handle, b"a.txt", opens=False) as place:
            (root / "a.txt").unlink()
            os.mkfifo(root / "a.txt")
            with (
                pytest.raises(PermissionError),
                opened_file(place.name, place.parent, opens=False),
            ):
                pass
    finally:
        os.close(handle)


PIECES = st.sampled_from(["a", "b", "..", "f", "l", "m"])
PATHS = st.lists(PIECES, min_size=1, max_size=6).map("/".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    links=st.dictionaries(st.sampled_from(["l", "a/l", "a/b/l", "m"]), PATHS, max_size=4),
    names=st.lists(PATHS, max_size=6),
)
def test_names_lead_where_the_kernel_says_or_nowhere(tmp_path, links, names):
    """What may go above the root, by `..`, leads out, even where it would come back."""
    root = tmp_path / "r"
    shutil.rmtree(root, ignore_errors=True)
    (root / "a/b").mkdir(parents=True)
    (root / "f").write_text("top")
    (root / "a/b/f").write_text("deep")
    for link, target in links.items():
        (root / link).symlink_to(target)
    tree = Tree(root)

    for name in names:
        found = tree.find(name)
        climbs = any(".." in path for path in (name, *links.values()))
        if found == Found("link_out"):
            assert climbs
            continue
        assert (found is not None) == (root / name).exists(), name
        if found is not None:
            real = (root / name).resolve()
            assert real.is_relative_to(root)
            assert found.kind == ("folder" if real.is_dir() else "file")
            assert found.kind == "folder" or tree.text(name, 4) == real.read_text()
