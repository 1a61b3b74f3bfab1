"""What has changed, and its text, held against a plain comparison and against git."""

import os
import random
import re
import shutil
import stat
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collect.workspace import diff as module
from collect.workspace.diff import changes, unified
from collect.workspace.lines import MAX_STEPS, NO_NEWLINE, Work, hunks, lines_of
from collect.workspace.snapshot import Budget, Snapshot
from schemas.run.workspace import WorkspaceEntry, spelled, unspelled
from tests.support.cage import files_below

GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "LANG": "C", "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": "/",
}  # fmt: skip
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def made(folder, tree):
    """Make a tree: bytes for files, a text for a link, None for a folder; (bytes,) executable."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, what in tree.items():
        path = folder / os.fsdecode(unspelled(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        if what is None:
            path.mkdir(exist_ok=True)
        elif isinstance(what, str):
            path.symlink_to(what)
        else:
            path.write_bytes(what[0] if isinstance(what, tuple) else what)
            path.chmod(0o755 if isinstance(what, tuple) else 0o644)
    return folder


def listed(folder):
    snapshot = Snapshot(folder.with_name(f"{folder.name}.copy"), Budget(10**9, 10**5, 10**9))
    shutil.rmtree(snapshot.target, ignore_errors=True)
    snapshot.take(folder)
    return snapshot.entries


def compared(tmp_path, before, after, max_bytes=1_000_000):
    """Return the changes, the diff and whether it is cut."""
    old, new = made(tmp_path / "a", before), made(tmp_path / "b", after)
    found = changes(listed(old), listed(new))
    return found, *unified(found, old, new, max_bytes)


# ---- changes


def entry(path, content=b"x", **fields):
    digest = f"{hash(content) % 10**12:064x}" if isinstance(content, bytes) else None
    size = len(content) if isinstance(content, bytes) else content
    return WorkspaceEntry(
        **{"path": path, "kind": "file", "size": size, "sha256": digest, "is_binary": False}
        | fields
    )


def change_facts(before, after):
    return [(one.change, one.old_path, one.path) for one in changes(before, after)]


def test_nothing_has_changed():
    entries = [entry("a"), entry("d", b"", kind="folder", sha256=None)]

    assert changes(entries, entries[::-1]) == ()
    assert changes((), ()) == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"sha256": "0" * 64},
        {"size": 2},
        {"is_executable": True},
        {"kind": "link", "target": "b", "sha256": None, "size": 0},
        {"kind": "folder", "sha256": None, "size": 0},
        {"sha256": None, "left_out": "too_large", "size": 10**10},
        {"sha256": None, "left_out": "unreadable"},
    ],
)
def test_what_makes_a_thing_another_one(fields):
    assert change_facts([entry("a")], [entry("a", **fields)]) == [("modified", None, "a")]
    assert change_facts([entry("a", **fields)], [entry("a")]) == [("modified", None, "a")]


def test_a_link_that_leads_elsewhere_is_modified():
    links = [entry("a", 0, kind="link", target=target) for target in ("b", "c")]

    assert change_facts(links[:1], links[1:]) == [("modified", None, "a")]


def test_files_that_were_not_read_are_the_same_by_their_size():
    huge = entry("a", 10**10, left_out="too_large", is_binary=None)
    larger = huge.model_copy(update={"size": 10**11})

    assert change_facts([huge], [huge]) == []
    assert change_facts([huge], [larger]) == [("modified", None, "a")]
    (change,) = changes([huge], [larger])
    assert (change.size, change.is_binary, change.left_out) == (10**11, None, "too_large")


def test_a_change_is_binary_where_one_side_is():
    text, raw = entry("a"), entry("a", b"y", is_binary=True)
    unread = entry("a", 10**10, left_out="too_large", is_binary=None)

    for before, after, is_binary in [
        ([text], [raw], True), ([raw], [text], True), ([text], [unread], False),
        ([], [text], False), ([raw], [], True), ([], [unread], None),
    ]:  # fmt: skip
        assert [one.is_binary for one in changes(before, after)] == [is_binary]


def test_a_file_with_the_same_content_was_renamed():
    before = [entry("old/n.txt"), entry("z"), entry("gone", b"1")]
    after = [entry("a"), entry("new/n.txt"), entry("z", b"2")]

    assert change_facts(before, after) == [
        ("added", None, "a"), ("deleted", None, "gone"),
        ("renamed", "old/n.txt", "new/n.txt"), ("modified", None, "z"),
    ]  # fmt: skip


def test_of_several_one_of_the_same_name_comes_first_then_the_first_by_path():
    before = [entry(path) for path in ("b/x", "a/x", "q", "r")]
    after = [entry(path) for path in ("1", "2/x", "3/x", "4", "5")]

    assert change_facts(before, after) == [
        ("renamed", "q", "1"), ("renamed", "a/x", "2/x"), ("renamed", "b/x", "3/x"),
        ("renamed", "r", "4"), ("added", None, "5"),
    ]  # fmt: skip
    assert change_facts(before[::-1], after[::-1]) == change_facts(before, after)


@pytest.mark.parametrize(
    "fields",
    [{"size": 0}, {"kind": "link", "target": "t", "sha256": None}, {"sha256": None}],
    ids=["empty", "link", "unread"],
)
def test_what_is_never_renamed(fields):
    before, after = [entry("a", **fields)], [entry("b", **fields)]

    assert change_facts(before, after) == [("deleted", None, "a"), ("added", None, "b")]


ENTRIES = st.dictionaries(
    st.sampled_from(["a", "b", "c/a", "c/b", "d", "e"]),
    st.sampled_from([b"", b"1", b"2", (b"1",), "t", "u", 10**10, None]),
)


def entries_of(tree):
    made_of = {
        bytes: entry,
        tuple: lambda path, it: entry(path, it[0], is_executable=True),
        str: lambda path, it: entry(path, 0, kind="link", target=it),
        int: lambda path, it: entry(path, it, left_out="too_large"),
        type(None): lambda path, _: entry(path, 0, kind="folder"),
    }
    return [made_of[type(what)](path, what) for path, what in tree.items()]


@settings(max_examples=300)
@given(ENTRIES, ENTRIES, st.randoms())
def test_changes_are_those_of_a_plain_comparison(before, after, order):
    """What is in one of both, and what differs; a renaming is one of each with one content."""
    entries = entries_of(before), entries_of(after)
    found = changes(*entries)
    for one in entries:
        order.shuffle(one)

    assert changes(*entries) == found
    assert [one.path for one in found] == sorted(one.path for one in found)
    by_change = {
        kind: {one.path for one in found if one.change == kind}
        for kind in ("added", "deleted", "modified", "renamed")
    }
    sources = {one.old_path for one in found if one.change == "renamed"}
    assert by_change["modified"] == {
        path for path in before.keys() & after.keys() if before[path] != after[path]
    }
    assert by_change["added"] | by_change["renamed"] == after.keys() - before.keys()
    assert by_change["deleted"] | sources == before.keys() - after.keys()
    assert len(sources) == len(by_change["renamed"])

    def content(what):
        return what[0] if isinstance(what, tuple) else what

    def contents(tree, names):
        whole = (content(tree[name]) for name in names)
        return sorted(one for one in whole if isinstance(one, bytes) and one)

    for one in found:
        if one.change == "renamed":
            assert content(before[one.old_path]) == content(after[one.path]) != b""
    left = contents(before, by_change["deleted"]), contents(after, by_change["added"])
    assert not set(left[0]) & set(left[1]), "all that can be paired is"


# ---- lines


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d\r"]), max_size=12).map("\n".join)


def fewest(old, new):
    """Return with how many lines removed and added one becomes the other."""
    row = list(range(len(new) + 1))
    for number, line in enumerate(old, 1):
        above, row = row, [number]
        for at, other in enumerate(new, 1):
            row.append(above[at - 1] if line == other else 1 + min(above[at], row[-1]))
    return row[-1]


def applied(old, text):
    """Return what the hunks make of lines, by their numbers."""
    result, at = [], 0
    for shown in text:
        line = shown.removesuffix(f"\n{NO_NEWLINE}")
        if line.startswith("@@"):
            numbers = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n", line).groups()
            begin = int(numbers[0]) - (numbers[1] != "0")
            result += old[at:begin]
            at = begin
            assert len(result) == int(numbers[2]) - (numbers[3] != "0")
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert line[1:] == old[at]
            result += [old[at]] if line[0] == " " else []
            at += 1
    return result + old[at:]


@given(LINES, LINES)
def test_hunks_make_the_new_text_with_the_fewest_lines(old, new):
    lines = lines_of(old), lines_of(new)

    text = [*hunks(*lines, Work())]

    assert applied(lines[0], text) == lines[1]
    assert sum(line[0] in "+-" for line in text) == fewest(*lines)


def test_lines_end_with_a_newline_alone():
    assert lines_of("a\r\nb\x0bc\u2028d\n\ne") == ["a\r\n", "b\x0bc\u2028d\n", "\n", "e"]
    assert lines_of("") == []
    assert lines_of("\n") == ["\n"]


def test_a_hostile_pair_of_texts_costs_no_more_than_is_left():
    """Shuffled lines: two orders of magnitude more steps than are allowed."""
    numbers = random.Random(1)
    old = [f"{numbers.randrange(3)}\n" for _ in range(20_000)]
    new = [f"{numbers.randrange(3)}\n" for _ in range(20_000)]
    work = Work(steps=2 * MAX_STEPS)

    texts = [[*hunks(old, new, work)] for _ in range(4)]

    assert texts[0] == texts[3]
    assert work.steps > -40_000, "each of them stops at its own limit, and all at theirs"
    assert applied(old, texts[0]) == new


# ---- the text


CONTENTS = st.one_of(
    LINES.map(str.encode),
    LINES.map(str.encode).map(lambda raw: (raw,)),
    st.sampled_from([b"", b"\0bin", b"\xff", b"\0more", "a", "c/b", "x y", "n\nl", None]),
)
NAMES = st.sampled_from(["a", "b", "c/a", "c/b", "x y", "c/é", spelled(b'q\xff\n"'), "back\\s"])
TREES = st.dictionaries(NAMES, CONTENTS, max_size=6)


def git(*words, cwd, **settings):
    return subprocess.run(
        ["git", *words], cwd=cwd, env=ENVIRONMENT, capture_output=True, check=False, **settings
    )


@GIT
@settings(suppress_health_check=FIXTURES, deadline=None, max_examples=60)
@given(before=TREES, after=TREES)
def test_git_makes_the_new_tree_of_the_old_one_with_the_diff(tmp_path, before, after):
    """But for what is binary, which no text can hold, and for folders, which git does not see."""
    for tree in (before, after):
        for name, what in tree.items():
            if isinstance(what, bytes) and (b"\0" in what or b"\xff" in what):
                tree[name] = b"text"
    _, text, is_cut = compared(tmp_path, before, after)

    work = made(tmp_path / "work", before)
    if text:
        done = git("apply", "-p1", "-", cwd=work, input=text.encode())
        assert done.returncode == 0, (done.stderr, text)

    def without_folders(folder):
        return {name: what for name, what in files_below(folder).items() if what is not None}

    assert without_folders(work) == without_folders(tmp_path / "b")
    modes = [
        {name: (folder / name).lstat().st_mode & stat.S_IXUSR for name in without_folders(folder)}
        for folder in (work, tmp_path / "b")
    ]
    assert modes[0] == modes[1]
    assert not is_cut


HEADERS = re.compile(
    rb"(diff --git|new file mode|deleted file mode|old mode|new mode|rename |--- |\+\+\+ |Binary )"
)


def headers(text):
    """Return what a diff says of its files."""
    return [line for line in text.split(b"\n") if HEADERS.match(line)]


@GIT
@settings(suppress_health_check=FIXTURES, deadline=None, max_examples=60)
@given(before=TREES, after=TREES)
def test_files_are_named_as_git_names_them(tmp_path, before, after):
    """Text of Latin-1 is text for git and none for us; of equal ones git renames others."""
    for tree in (before, after):
        for name, what in tree.items():
            if what == b"\xff":
                tree[name] = b"\0\xff"
    _, text, _ = compared(tmp_path, before, after)
    done = git(
        "-c", "core.quotepath=false", "diff", "--no-index", "--no-renames", "a", "b", cwd=tmp_path
    )
    theirs = done.stdout.replace(b"a/b/", b"a/").replace(b"b/a/", b"b/")
    theirs = theirs.replace(b"a/a/", b"a/").replace(b"b/b/", b"b/").replace(b"\xff", b"\\377")

    assert "rename from" in text or sorted(headers(text.encode())) == sorted(headers(theirs))


def test_what_is_no_text_is_only_named(tmp_path):
    before = {"m": b"\0old", "gone": b"\xff", "same": b"\0"}
    after = {"m": b"text", "new": b"\0", "same": b"\0"}

    _, text, is_cut = compared(tmp_path, before, after)

    assert text == (
        "diff --git a/gone b/gone\ndeleted file mode 100644\n"
        "Binary files a/gone and /dev/null differ\n"
        "diff --git a/m b/m\nBinary files a/m and b/m differ\n"
        "diff --git a/new b/new\nnew file mode 100644\nBinary files /dev/null and b/new differ\n"
    )
    assert is_cut is False


def test_renames_modes_and_links_are_said_in_lines(tmp_path):
    before = {"old name": b"same\n", "run": b"x", "link": "one", "turns": b"file\n"}
    after = {"new": (b"same\n",), "run": (b"x",), "link": "two", "turns": "elsewhere"}

    _, text, _ = compared(tmp_path, before, after)

    assert text == (
        "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n"
        f"-one\n{NO_NEWLINE}+two\n{NO_NEWLINE}"
        "diff --git a/old name b/new\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n"
        "rename from old name\nrename to new\n"
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/turns b/turns\ndeleted file mode 100644\n--- a/turns\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-file\n"
        "diff --git a/turns b/turns\nnew file mode 120000\n--- /dev/null\n+++ b/turns\n"
        f"@@ -0,0 +1 @@\n+elsewhere\n{NO_NEWLINE}"
    )


def test_what_was_left_out_has_a_line(tmp_path):
    folder = made(tmp_path / "b", {})
    entries = [
        WorkspaceEntry(path="huge", kind="file", size=10**10, left_out="too_large"),
        WorkspaceEntry(path="out", kind="link", target="/etc", left_out="leads_out"),
    ]

    text, is_cut = unified(changes((), entries), None, folder, 1_000)

    assert text == (
        "diff --git a/huge b/huge\nLeft out: too_large, 10,000,000,000 bytes\n"
        "diff --git a/out b/out\nLeft out: leads_out\n"
    )
    assert is_cut is False


@given(st.integers(0, 400))
@settings(suppress_health_check=FIXTURES, deadline=None, max_examples=40)
def test_a_diff_has_no_more_bytes_than_are_allowed(tmp_path, max_bytes):
    _, whole, _ = compared(tmp_path, {}, {"é": "ü\n".encode() * 20, "b": b"x\n" * 40})

    _, text, is_cut = compared(
        tmp_path, {}, {"é": "ü\n".encode() * 20, "b": b"x\n" * 40}, max_bytes
    )

    assert len(text.encode()) <= max_bytes
    assert is_cut is (text != whole)
    assert not is_cut or whole.startswith(text[: text.rindex(module.END[0])] if text else "")


def test_a_long_file_ends_with_a_count_and_a_large_one_with_its_size(tmp_path):
    after = {
        "long": b"x\n" * 30_000, "large": b"y\n" * 600_000, "last": b"z\n",
    }  # fmt: skip

    _, text, is_cut = compared(tmp_path, {}, after)

    assert is_cut is True
    assert "+++ b/long\n@@ -0,0 +1,30000 @@\n" in text
    assert "\\ 29,001 more lines\n" in text
    assert "b/large\nnew file mode 100644\n\\ 1,200,000 bytes are not shown\n" in text
    assert "+++ b/last\n@@ -0,0 +1 @@\n+z\n" in text
    assert text.count("\n") < 1_100


def test_many_files_are_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_READ_BYTES", 25_000)
    after = {f"{number}": b"x" * 10_000 for number in range(5)}

    _, text, is_cut = compared(tmp_path, {}, after)

    assert text.count("10,000 bytes are not shown") == 3
    assert is_cut is True


def test_hostile_texts_in_many_files_share_what_may_be_spent(tmp_path, monkeypatch):
    numbers = random.Random(2)
    work = Work()
    monkeypatch.setattr(module, "Work", lambda: work)

    def shuffled():
        return b"".join(b"%d\n" % numbers.randrange(3) for _ in range(20_000))

    before, after = ({f"{number}": shuffled() for number in range(20)} for _ in range(2))

    _, text, is_cut = compared(tmp_path, before, after)

    assert -20_000 < work.steps <= 0
    assert is_cut is True
    assert len(text) <= 1_000_000
