"""A log of which nothing is known: its text is what the agent said."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.formats.agent_logs.log import MAIN, AgentLog, Entry, Trajectory


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return one entry a file.

    Args:
        files: contents by name.
    """
    entries = [
        Entry(kind="assistant", source=f"{name}#1", text=text)
        for name, raw in files.items()
        if (text := raw.decode("utf-8", "replace").strip())
    ]
    return AgentLog((Trajectory(MAIN, entries),))
