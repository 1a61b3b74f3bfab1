"""What happens around a model's trials: others make room, it warms up, snapshots are taken.

A snapshot holds memory, disk and loaded models as plain text. Its sections and fallback lines are
those of the older tool, so that files of both parse alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.endpoints import PROVIDERS
from collect.inventory.git import OLLAMA_STORE, Output, output_of
from collect.runners.base import Runner
from schemas.redact import redact

if TYPE_CHECKING:
    from collect.local.servers import Servers

WARM_UP_FACTS = ("e2e_ms", "failure_type", "error_message")
"""Kept of a warm-up."""

Note = Callable[[str, str | None, JsonValue], None]
"""(event, model_id, detail): writes an event row."""


async def snapshot() -> str:
    """Return the four sections of a resource snapshot."""
    free, disk, store, models = await asyncio.gather(
        output_of("free", "-h"),
        output_of("df", "-h", "/"),
        output_of("du", "-sh", OLLAMA_STORE, timeout_s=30.0),
        output_of("ollama", "ps"),
    )
    sections = (
        ("free -h", free if free.error is None else Output(_memory()), "(free failed)"),
        ("df -h /", disk, "(df failed)"),
        ("du -sh ~/.ollama", store, "(du failed)"),
        ("ollama ps", models, "(ollama ps failed)"),
    )
    return "".join(
        f"# {title}\n{(output.text if output.error is None else failed).rstrip()}\n\n"
        for title, output, failed in sections
    )


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


@dataclass(frozen=True)
class Around:
    """Prepares models and takes their snapshots."""

    tags: Mapping[str, str]
    """model_id to the tag in the names of its snapshots."""
    write_text: Callable[[str, str], None]
    event: Note
    warms_up: str
    """The kind of runner that makes the requests of a warm-up; empty: the run has none."""

    async def before_model(self, model: ResolvedModel, runner_of: Callable[[str], Runner]) -> None:
        """Make room for a model that runs alone, warm it up, then take its first snapshot."""
        if model.exclusive and PROVIDERS[model.provider].may_be_ollama:
            from collect.inventory.ollama import unload_others  # noqa: PLC0415 - rarely needed

            done = await unload_others(model.base_url, model.model)
            detail: JsonValue = {
                "asked": list(done.requested),
                "still_loaded": list(done.remaining),
                "error": done.error,
            }
            self.event("exclusive", model.model_id, detail)
        for number in range(1, model.warmup + 1) if self.warms_up else ():
            outcome = await runner_of(self.warms_up).warm_up()
            facts = {name: getattr(outcome, name) for name in WARM_UP_FACTS}
            self.event("warmup", model.model_id, {"number": number, **facts})
        await self._snapshot(model, "before")

    async def after_model(self, model: ResolvedModel) -> None:
        """Take a model's second snapshot."""
        await self._snapshot(model, "after")

    async def _snapshot(self, model: ResolvedModel, when: str) -> None:
        self.write_text(
            f"resources_{self.tags[model.model_id]}_{when}.txt", redact(await snapshot())
        )


def absence_reason(servers: Servers | None, model: ResolvedModel, at_first: bool) -> str | None:
    """Return why nobody is at a model's address, as `collect doctor` says it.

    Args:
        servers: of the run's embedded models.
        model: whose address refused.
        at_first: it has refused from the first request on.

    Returns:
        None where it may come back: another machine, or a server that did answer (then it has
        not refused `at_first`, from the first request on).
    """
    ended = None if servers is None else servers.obituary(model)
    if ended is not None:
        lines = (line.strip() for line in ended.splitlines())
        return f"the server of the embedded model {'; '.join(lines)}"
    if not (at_first and model.is_loopback):
        return None
    from collect.doctor.endpoints import refused  # noqa: PLC0415 - hardly ever needed

    needs_ollama = PROVIDERS[model.provider].may_be_ollama
    what, advice = refused(model.base_url, needs_ollama=needs_ollama)
    return f"{model.base_url}: {what}; {advice}"
