"""What the makers of ATIF say that a trajectory is: models of their package, which is unpacked."""

import os
import sys

import pytest

from tests.support.paths import TOOLS

FOLDER = TOOLS / "harbor"


def real_atif():
    """Return their class of a trajectory; in CI its absence is a failure, else it is skipped."""
    if not (FOLDER / "harbor").is_dir():
        why = "needs the models of ATIF: `make harbor`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    sys.path.append(str(FOLDER))
    try:
        from harbor.models.trajectories import Trajectory
    finally:
        sys.path.remove(str(FOLDER))
    return Trajectory
