"""Resource snapshots: what other programs print, and what is left when they fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.summary.summarize import parse_snapshot, read_snapshot

FULL = """\
# free -h
               total        used        free      shared  buff/cache   available
Mem:            62Gi       7.6Gi        10Gi       1.2Gi        44Gi        53Gi
Swap:          8.0Gi          0B       8.0Gi

# df -h /
Filesystem      Size  Used Avail Use% Mounted on
/dev/nvme0n1p2  468G  210G  235G  48% /

# du -sh ~/.ollama
41G\t/home/someone/.ollama

# ollama ps
NAME           ID              SIZE      PROCESSOR    UNTIL
llama3.2:3b    a80c4f17acd5    4.0 GB    100% CPU     4 minutes from now
"""

FAILED = """\
# free -h
(free failed)
# df -h /
(df failed)
# du -sh ~/.ollama
(du failed)
# ollama ps
(ollama ps failed)
"""

NOTHING = {
    "mem_total": None,
    "mem_used": None,
    "mem_free": None,
    "mem_shared": None,
    "mem_buff_cache": None,
    "mem_available": None,
    "disk_root": None,
    "ollama_store_du": None,
    "ollama_ps": (),
}


def test_everything_printed_is_found():
    snapshot = parse_snapshot("resources_x_before.txt", FULL)

    assert snapshot.path == "resources_x_before.txt"
    assert (snapshot.mem_total, snapshot.mem_used, snapshot.mem_free) == ("62Gi", "7.6Gi", "10Gi")
    assert (snapshot.mem_shared, snapshot.mem_buff_cache) == ("1.2Gi", "44Gi")
    assert snapshot.mem_available == "53Gi"
    assert snapshot.disk_root.model_dump() == {
        "fs": "/dev/nvme0n1p2",
        "size": "468G",
        "used": "210G",
        "avail": "235G",
        "use_pct": "48%",
    }
    assert snapshot.ollama_store_du == "41G\t/home/someone/.ollama"
    assert [line.split()[0] for line in snapshot.ollama_ps] == ["NAME", "llama3.2:3b"]


@pytest.mark.parametrize("text", [FAILED, "", "\n\n", "# free -h", "junk\n# other\nmore junk"])
def test_what_failed_is_null(text):
    assert parse_snapshot("x", text).model_dump(exclude={"path"}) == NOTHING


def test_a_device_name_on_a_line_of_its_own():
    text = (
        "# df -h /\nFilesystem Size Used Avail Use% Mounted on\n/dev/mapper/long\n  9G 1G 8G 12% /"
    )

    assert parse_snapshot("x", text).disk_root.use_pct == "12%"


def test_a_short_memory_line_gives_what_it_has():
    snapshot = parse_snapshot("x", "# free -h\nMem: 62Gi 7Gi\n")

    assert (snapshot.mem_used, snapshot.mem_free) == ("7Gi", None)


def test_six_lines_of_models_are_kept():
    lines = "\n".join(f"model{n}" for n in range(20))

    assert len(parse_snapshot("x", f"# ollama ps\n{lines}").ollama_ps) == 6


@given(st.text())
def test_junk_never_raises(text):
    parse_snapshot("x", text)
    parse_snapshot("x", f"# free -h\nMem: {text}\n# df -h /\n{text}\n# du\n{text}")


def test_file_that_is_missing_or_no_text(tmp_path):
    (tmp_path / "resources_a_after.txt").write_bytes(b"# free -h\nMem: \xff\xfe 1Gi\n")
    (tmp_path / "resources_b_after.txt").mkdir()

    assert read_snapshot(tmp_path, "a", "before") is None
    assert read_snapshot(tmp_path, "b", "after") is None
    assert read_snapshot(tmp_path, "a", "after").mem_used == "1Gi"


def test_summary_takes_the_snapshots_of_its_tag(run):
    run.result(run.plan(model="a/b"))
    run.write()
    (run.path / "resources_ollama_openai__a_b__none_before.txt").write_text(FULL)

    group = run.group()

    assert group.resources_before.mem_used == "7.6Gi"
    assert group.resources_after is None
