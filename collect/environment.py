"""What the processes that a run starts get to see of this one's environment: no keys."""

from __future__ import annotations

import os

from schemas.redact import SECRET_NAME


def without_secrets() -> dict[str, str]:
    """Return the environment without variables whose names look like secrets.

    A process that needs one of them is given that one by name (D-H4).
    """
    return {name: value for name, value in os.environ.items() if not SECRET_NAME.search(name)}
