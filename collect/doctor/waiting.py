"""Says what is waited for, on a terminal, once waiting is felt."""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console

FELT_S = 1.0


async def say_waiting(addresses: int) -> None:
    """Show a spinner on standard error until cancelled; nothing in the first second."""
    if not sys.stderr.isatty():
        return
    await asyncio.sleep(FELT_S)
    what = f"asking {addresses} endpoint{'s' * (addresses != 1)}" if addresses else "looking"
    with Console(stderr=True).status(f"{what} …"):
        await asyncio.Event().wait()
