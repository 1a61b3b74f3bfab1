"""resources_<tag>_before.txt and _after.txt: what the machine said, as a ResourceSnapshot.

These are outputs of other programs. A part that failed or reads otherwise is null; nothing here
raises, since a summary must not depend on `free` having worked.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from schemas.run.inventory import DiskRoot, ResourceSnapshot

MEMORY_COLUMNS = (
    "mem_total",
    "mem_used",
    "mem_free",
    "mem_shared",
    "mem_buff_cache",
    "mem_available",
)
"""Columns of the `Mem:` line of free, in its order."""

PS_LINES = 6
"""Lines kept of `ollama ps`, its header included."""

HEADERS = {
    "# free": "memory",
    "# df": "disk",
    "# du": "store",
    "# ollama ps": "models",
}
"""Start of each section's header line to our name of it."""

FALLBACK = re.compile(r"\(.* failed\)")
"""What a section holds when its command gave nothing."""


def read_snapshot(
    run_dir: Path, tag: str, moment: Literal["before", "after"]
) -> ResourceSnapshot | None:
    """Return the snapshot of a model's start or end, or None when there is no such file."""
    path = run_dir / f"resources_{tag}_{moment}.txt"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_snapshot(path.name, text)


def parse_snapshot(name: str, text: str) -> ResourceSnapshot:
    """Return what a snapshot's text says; what it does not say is null."""
    sections = _sections(text)
    store = sections["store"]
    return ResourceSnapshot(
        path=name,
        **_memory(sections["memory"]),
        disk_root=_disk(sections["disk"]),
        ollama_store_du=store[0] if store else None,
        ollama_ps=tuple(sections["models"][:PS_LINES]),
    )


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section, without blank ones and fallback texts."""
    sections: dict[str, list[str]] = {name: [] for name in HEADERS.values()}
    current: list[str] = []
    for line in text.split("\n"):
        name = next((name for start, name in HEADERS.items() if line.startswith(start)), None)
        if name is not None:
            current = sections[name]
        elif line.strip() and not FALLBACK.fullmatch(line.strip()):
            current.append(line.rstrip())
    return sections


def _memory(lines: list[str]) -> dict[str, str]:
    """Return the columns of the `Mem:` line, as far as it goes."""
    words = next((line.split()[1:] for line in lines if line.startswith("Mem:")), [])
    return dict(zip(MEMORY_COLUMNS, words, strict=False))


def _disk(lines: list[str]) -> DiskRoot | None:
    """Return the line below df's header; a long device name puts its numbers on the next line."""
    words = " ".join(lines[1:]).split()[:5]
    if len(words) < 5 or not words[4].endswith("%"):
        return None
    fs, size, used, avail, use_pct = words
    return DiskRoot(fs=fs, size=size, used=used, avail=avail, use_pct=use_pct)
