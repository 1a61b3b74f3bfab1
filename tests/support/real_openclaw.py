"""The real OpenClaw that tests run: in an image that was built here, or as it is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import TOOLS

VERSION = os.environ.get("OPENCLAW_VERSION", "2026.5.28")
FOLDER = Path(os.environ.get("OPENCLAW_FOLDER", TOOLS / "openclaw"))
IMAGE = f"localhost/openclaw:{VERSION}"
WHY = "needs OpenClaw in an image: `make openclaw`, which needs npm, podman and busybox-static"


def real_programs():
    """Return the folder in which `node` and `openclaw` of that version are."""
    if not (FOLDER / "bin" / "openclaw").exists():
        _missing()
    return FOLDER / "bin"


def real_image():
    """Return the image's name; in CI its absence is a failure, elsewhere a reason to skip."""
    exists = ["podman", "image", "exists", IMAGE]
    if shutil.which("podman") is None or subprocess.run(exists, check=False).returncode != 0:
        _missing()
    return IMAGE


def containers(of=None):
    """Return containers whose owner's folder lies below one; without one, those whose is gone.

    Tests of sandboxes start others beside these, of owners that never were and images of their own.
    """
    listed = subprocess.run(
        ["podman", "ps", "--all", "--filter", "label=benchlake.sandbox", "--format",
         '{{.ID}} {{index .Labels "benchlake.test"}} {{index .Labels "benchlake.sandbox"}}'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = []
    for line in listed.stdout.splitlines():
        number, test, owner = line.split(" ", 2)
        folder = Path(owner[owner.find("/") :])
        is_left = not folder.exists() if of is None else folder.is_relative_to(of)
        if is_left and not test:
            found.append(number)
    return found


def _missing():
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(WHY)
