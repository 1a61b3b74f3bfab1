"""What an interpreter of its own has loaded, and what not."""

import importlib.util
import os
import subprocess
import sys

from tests.support.paths import ROOT

LOADED = """
import sys
sys.exit(" ".join(sorted({modules!r} & sys.modules.keys())) or None)
"""


def run_without(code, *modules, cwd=None):
    """Run code to its end and assert that it has loaded none of the modules.

    A module that is not there, or no longer under this name, is never loaded: each of them must
    be one that could be.

    Returns:
        The process, for what it wrote to its standard output.
    """
    assert_are_modules(*modules)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code + LOADED.format(modules=set(modules))],
        cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def assert_are_modules(*names):
    """Assert that each of the names could be imported; none is."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    assert missing == [], "no such module"


def imported(importtime):
    """Return the modules that `-X importtime` has written to a process's standard error."""
    return {line.rpartition("|")[2].strip() for line in importtime.splitlines()}
