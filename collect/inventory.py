"""What a run is made with: machine, versions, local models, which keys are there."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import psutil

from collect.commands import OLLAMA_STORE, Output, output_of
from collect.redact import key_names
from schemas.inventory import CommandError, Host, Inventory, OllamaModel

PACKAGES = ("benchlake", "httpx", "pydantic", "orjson", "regex", "pyarrow", "duckdb", "xllamacpp")


async def take_inventory(run_id: str) -> Inventory:
    """Return the inventory; a command that gives no answer is noted with its reason."""
    models, store, claude = await asyncio.gather(
        output_of("ollama", "list"),
        output_of("du", "-sh", OLLAMA_STORE, timeout_s=30.0),
        output_of("claude", "--version"),
    )
    memory = psutil.virtual_memory()
    return Inventory(
        run_id=run_id,
        created_at=datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        host=Host(
            uname=" ".join(platform.uname()),
            python=sys.version,
            cpu_count=os.cpu_count() or 1,
            memory_bytes=memory.total,
        ),
        packages={name: found for name in PACKAGES if (found := _version(name)) is not None},
        ollama_list=_said(models),
        ollama_models=tuple(_ollama_models(models.text)),
        ollama_store_du=_said(store),
        claude_version=_said(claude),
        keys_present=key_names(),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _said(output: Output) -> str | CommandError:
    return output.text.rstrip() if output.error is None else CommandError(error=output.error)


def _ollama_models(text: str) -> list[OllamaModel]:
    """Return name and size of each line: NAME, ID, SIZE with its unit, MODIFIED."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return [OllamaModel(name=row[0], size=" ".join(row[2:4])) for row in rows if len(row) > 3]
