"""Memory, disk and loaded models before and after each model's trials, as plain text.

The sections and fallback lines are those of the older tool, so that files of both parse alike.
"""

from __future__ import annotations

import asyncio

import psutil

from collect.inventory.subprocesses import OLLAMA_STORE, Output, output_of


async def snapshot() -> str:
    """Return the four sections of a resource snapshot."""
    free, disk, store, models = await asyncio.gather(
        output_of("free", "-h"),
        output_of("df", "-h", "/"),
        output_of("du", "-sh", OLLAMA_STORE, timeout_s=30.0),
        output_of("ollama", "ps"),
    )
    sections = (
        ("free -h", _first(free, _memory()), "(free failed)"),
        ("df -h /", disk, "(df failed)"),
        ("du -sh ~/.ollama", store, "(du failed)"),
        ("ollama ps", models, "(ollama ps failed)"),
    )
    return "".join(
        f"# {title}\n{(output.text if output.error is None else failed).rstrip()}\n\n"
        for title, output, failed in sections
    )


def _first(output: Output, instead: str) -> Output:
    return output if output.error is None else Output(instead)


def _memory() -> str:
    """Return what `free -h` prints, for systems without it."""
    memory = psutil.virtual_memory()
    columns = (
        memory.total,
        memory.used,
        memory.free,
        getattr(memory, "shared", 0),
        getattr(memory, "buffers", 0) + getattr(memory, "cached", 0),
        memory.available,
    )
    names = ("total", "used", "free", "shared", "buff/cache", "available")
    head = " " * 8 + "".join(f"{name:>12}" for name in names)
    return head + "\nMem:    " + "".join(f"{_human(column):>12}" for column in columns)


def _human(size: float) -> str:
    for unit in ("B", "Ki", "Mi", "Gi"):
        if size < 1024:
            return f"{size:.1f}{unit}" if size < 10 else f"{size:.0f}{unit}"
        size /= 1024
    return f"{size:.1f}Ti"
