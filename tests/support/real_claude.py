"""Where the real Claude Code CLI is that tests run against."""

import os

import pytest

from tests.support.paths import TOOLS

COMMAND = TOOLS / "node_modules/.bin/claude"


def real_claude():
    """Return the command's path; in CI its absence is a failure, elsewhere a reason to skip."""
    if not COMMAND.exists():
        why = "needs the Claude Code CLI: `make claude`, which needs npm"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return str(COMMAND)
