"""What a trial leaves: its files as a copy and a list, what has changed, and reading them safely.

Names, links and contents are a model's. The sandbox's helper loads `handles` alone, so each module
is imported where it is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKSPACE = "/workspace"
HOME = "/home/agent"
TMP = "/tmp"  # noqa: S108 - inside the sandbox
"""Where a command finds the three folders of its trial, the only ones it can write to."""

PLACES: Mapping[str, str] = {WORKSPACE: "workspace", TMP: "tmp", HOME: "home"}
"""The same, and what each is called among the folders of a trial and in what is kept of it."""
