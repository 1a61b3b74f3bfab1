"""What happens around a model's trials: others make room, it warms up, snapshots are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.inventory.resources import snapshot
from collect.runners.base import Runner
from schemas.redact import redact

Note = Callable[[str, str | None, JsonValue], None]
"""(event, model_id, detail): writes an event row."""


@dataclass(frozen=True)
class Around:
    """Prepares models and takes their snapshots."""

    tags: Mapping[str, str]
    """model_id to the tag in the names of its snapshots."""
    write_text: Callable[[str, str], None]
    event: Note

    async def before(self, model: ResolvedModel, runner: Runner) -> None:
        """Make room for a model that runs alone, warm it up, then take its first snapshot."""
        if model.exclusive and model.provider == "ollama_openai":
            from collect.providers.ollama import unload_others  # noqa: PLC0415 - rarely needed

            done = await unload_others(model.base_url, model.model)
            detail: JsonValue = {
                "asked": list(done.asked),
                "still_loaded": list(done.left),
                "error": done.error,
            }
            self.event("exclusive", model.model_id, detail)
        for number in range(1, model.warmup + 1):
            reply = await runner.warm_up()
            self.event(
                "warmup",
                model.model_id,
                {
                    "number": number,
                    "e2e_ms": reply.e2e_ms,
                    "failure_type": reply.failure_type,
                    "error_message": reply.error_message,
                },
            )
        await self._snapshot(model, "before")

    async def after(self, model: ResolvedModel) -> None:
        """Take a model's second snapshot."""
        await self._snapshot(model, "after")

    async def _snapshot(self, model: ResolvedModel, when: str) -> None:
        self.write_text(
            f"resources_{self.tags[model.model_id]}_{when}.txt", redact(await snapshot())
        )
