"""Readers, collectors and a compaction that is killed now and then, all at once, for seconds."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.peers


def test_nobody_ever_counts_wrong(tmp_path):
    for seconds in ("6", "40"):  # a busy machine compacts little in the first
        done = subprocess.run(
            [sys.executable, ROOT / "benchmarks" / "together.py", "--seconds", seconds],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200,
            env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        facts = json.loads(done.stdout.splitlines()[0])
        if facts["files replaced"] > 0:
            break

    assert facts["runs"] > 0
    assert facts["files replaced"] > 0
    assert facts["looks by files"] > 0
    assert facts["looks by session"] > 0
