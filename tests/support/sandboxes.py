"""Tests that run commands in a real sandbox."""

import os
import shutil

import pytest

sandboxed = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("CI"),
    reason="bubblewrap is not installed (apt-get install bubblewrap)",
)
