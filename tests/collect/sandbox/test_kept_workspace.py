"""What commands of a real sandbox leave, as it is kept: a copy, a list, a diff."""

import json

import pytest

from collect.workspace.files import Found, Tree, Unreadable
from tests.support.cage import LIMITS, USERS, cage_of, files_below
from tests.support.sandboxes import sandboxed

pytestmark = sandboxed

MB = 1_000_000


@pytest.fixture(scope="module", params=USERS)
def cage(request):
    with cage_of(request.param) as cage:
        yield cage


def kept(cage, folders, target, *named):
    """Keep what is there and remove the folders of the trial, as a run does."""
    try:
        return cage.call(cage.sandbox.keep(folders, target, named))
    finally:
        cage.call(cage.sandbox.remove(folders))


def left_out(record):
    return {one.path: one.left_out for one in record.entries if one.left_out is not None}


def test_a_trial_that_writes_nothing_leaves_nothing(cage, tmp_path):
    folders = cage.folders()
    cage.sh("echo nothing; touch /tmp/x ~/y; mkdir d; rmdir d", folders)

    assert kept(cage, folders, tmp_path / "kept", "/tmp/z", "/home/agent/d") is None
    assert not (tmp_path / "kept").exists()


def test_what_is_left_is_copied_listed_and_shown(cage, tmp_path):
    folders = cage.folders()
    cage.sh(
        "mkdir out; printf 'one\\ntwo' > out/a.txt; printf '#!/bin/sh\\n' > run; chmod 700 run; "
        "ln -s out/a.txt link; printf '\\0' > raw; touch ~/unnamed /tmp/unnamed; "
        "mkdir -p /tmp/x/y ~/z; echo tmp > /tmp/x/y/f; echo home > ~/z/g",
        folders,
    )

    record = kept(cage, folders, tmp_path / "kept", "/tmp/x/y", "/home/agent/z/g", "/etc/passwd")

    text = (tmp_path / "kept/workspace.diff").read_text()
    assert files_below(tmp_path / "kept") == {
        "workspace": None, "workspace/out": None, "workspace/out/a.txt": b"one\ntwo",
        "workspace/run": b"#!/bin/sh\n", "workspace/link": "-> out/a.txt", "workspace/raw": b"\0",
        "tmp": None, "tmp/x": None, "tmp/x/y": None, "tmp/x/y/f": b"tmp\n",
        "home": None, "home/z": None, "home/z/g": b"home\n",
        "workspace.json": (tmp_path / "kept/workspace.json").read_bytes(),
        "workspace.diff": text.encode(),
    }  # fmt: skip
    assert record.is_complete
    assert [one.path for one in record.entries if one.is_executable] == ["run"]
    assert [one.path for one in record.changes] == ["link", "out", "out/a.txt", "raw", "run"]
    assert "+++ b/out/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline" in text
    assert "new file mode 100755\n" in text
    assert json.loads((tmp_path / "kept/workspace.json").read_text()) == record.model_dump(
        mode="json"
    )


def test_a_hostile_trial_is_kept_with_reasons(cage, tmp_path):
    folders = cage.folders()
    done = cage.python(
        "import os, socket\n"
        "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('sock')\n"
        "os.symlink('/etc/passwd', 'out'); os.symlink('loop', 'loop'); os.symlink('../tmp', 'up')\n"
        "open(b'\\xff\\n', 'w').write('odd'); open('secret', 'w').write('mine')\n"
        "os.mkdir('closed'); open('closed/f', 'w').write('in'); os.chmod('closed', 0)\n"
        "os.chmod('secret', 0)\n"
        "open('sparse', 'w').truncate(20_000_000)\n"
        "os.mkdir('d'); os.chdir('d')\n"
        "os.mkfifo('/tmp/pipe'); os.symlink('/etc', '/tmp/etc')\n"
        "os.chmod('/workspace', 0); os.chmod('/tmp', 0)\n"
        "for _ in range(120):\n"
        "    os.mkdir('d'); os.chdir('d')\n",
        folders,
    )
    assert done.ended_by in {"exit", "workspace"}, done

    record = kept(cage, folders, tmp_path / "kept", "/tmp/pipe", "/tmp/etc/passwd")

    assert left_out(record) == {
        "pipe": "pipe", "sock": "socket", "out": "leads_out", "up": "leads_out",
        "/".join("d" * 101): "too_deep", "/tmp/pipe": "pipe", "/tmp/etc": "leads_out",
    }  # fmt: skip
    assert {"\\xff\n", "closed/f", "secret", "sparse", "loop"} < {
        one.path for one in record.entries
    }
    tree = Tree(tmp_path / "kept/workspace")
    assert tree.text("closed/f", 10) == "in"
    assert tree.text("secret", 10) == "mine"
    assert tree.text("\\xff\n", 10) == "odd"
    assert tree.find("loop") is None
    assert tree.find("pipe") is None
    assert tree.find("sparse") == Found("file", LIMITS.file_mb * MB)
    with pytest.raises(Unreadable, match="larger than 8,000,000 bytes"):
        tree.text("sparse", 8 * MB)


def test_a_trial_past_the_limits_is_kept_as_far_as_they_go(cage, tmp_path):
    folders = cage.folders()
    cage.python("for number in range(700): open(f'{number:03}', 'w').close()", folders)
    n_made = len([*folders.workspace.iterdir()])

    record = kept(cage, folders, tmp_path / "kept")

    n_kept = len([*(tmp_path / "kept/workspace").iterdir()])
    assert n_kept == LIMITS.workspace_files
    assert len(record.entries) == n_made > n_kept
    assert set(left_out(record).values()) == {"too_many"}
    assert record.is_complete is False
