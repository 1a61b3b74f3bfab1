"""Where things of the repository are; no other file of the tests counts the folders above it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SAMPLES = ROOT / "data" / "samples" / "runs"
TOOLS = ROOT / ".tools"
"""What make fetched for the tests beside other tools."""

PLACEHOLDER = re.compile(r"(?:\{[^}\n]*\}|<\w+>)+")


def as_glob(path):
    """Return a path as a pattern; what `{…}` and `<…>` stand for may have folders in it."""
    return re.sub(r"(?<=/)\*(?!\*)", "**/*", PLACEHOLDER.sub("*", path))
